"""The plans that need no thought: everything converted in the root, or by whoever wants it (dissemination, 6.3)."""

from __future__ import annotations

from protocols.dissemination.cag import Rates
from protocols.dissemination.making import making
from protocols.dissemination.plan import Plan, Tree, below, tidied


def all_in_root(tree: Tree, rates: Rates, available: int) -> Plan:
    """AIR: the root makes every format that is wanted; a link carries what is wanted below it."""
    sets = below(tree)
    operators = making(rates, available).operators(sets[0])
    return tidied(Plan(tree, (available, *sets[1:]), (operators, *((),) * (len(tree) - 1))))


def all_in_leaves(tree: Tree, rates: Rates, available: int) -> Plan:
    """AIL: the content travels as it was published; every broker makes what its own subscribers want.

    Formats that are wanted in the form in which they arrive are not made again. With several formats at the root (in
    a subtree), a link carries those from which somebody below makes something.
    """
    made = making(rates, available)
    operators = tuple(made.operators(wanted) for wanted in tree.wanted)
    return tidied(Plan(tree, (available,) * len(tree), operators))
