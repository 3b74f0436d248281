"""Estimated trees, and plans that are put right on the way (dissemination, 3.1, Algorithm 1)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from protocols.dissemination.cag import Rates
from protocols.dissemination.identifiers import nearest, shared
from protocols.dissemination.making import making
from protocols.dissemination.plan import Operator, Plan, Tree, tidied

Planner = Callable[[Tree, Rates, int], Plan]
Factors = Mapping[str, tuple[float, float]]
Hops = dict[str, str]
"""For each identifier, its parent's."""


def estimated_hops(own: str, first: Mapping[str, str], known: Iterable[str], base: int) -> Hops:
    """A guess at the routes from here: the first hops are in the table, the further ones follow from who is known.

    `first` has the next hop to each receiver. Of the table of another node nothing is known, but by which rule it is
    filled is: it holds the nearest of those that fit, and a broker takes for that the nearest of those that it knows.
    While tables change, what they say together need not be a tree: nobody has two parents, no way leads back.
    """
    parents: Hops = dict.fromkeys(first.values(), own)
    everybody = sorted({*known, *first, *first.values()} - {own})
    for hop in list(parents):
        _guess(hop, [r for r, way in first.items() if way == hop and r != hop], everybody, base, parents)
    return parents


def _guess(here: str, receivers: list[str], known: list[str], base: int, parents: Hops) -> None:
    below: dict[str, list[str]] = {}
    for receiver in receivers:
        if receiver in parents:
            continue
        prefix = receiver[: shared(here, receiver) + 1]
        below.setdefault(prefix, []).append(receiver)
    for prefix, group in below.items():
        fitting = [identifier for identifier in known if identifier.startswith(prefix) and identifier not in parents]
        hop = nearest(here, fitting, base)
        parents[hop] = here
        _guess(hop, [receiver for receiver in group if receiver != hop], fitting, base, parents)


def tree_of(own: str, parents: Mapping[str, str], wanted: Mapping[str, int], factors: Factors) -> Tree:
    """The tree with these parents, by name; factors that are not known are taken for 1."""
    below: dict[str, list[str]] = {}
    for name, parent in parents.items():
        below.setdefault(parent, []).append(name)
    order, places = [own], [-1]
    for place, name in enumerate(order):
        children = sorted(below.get(name, ()))
        order += children
        places += [place] * len(children)
    return Tree(
        tuple(order),
        tuple(places),
        tuple(wanted.get(name, 0) for name in order),
        tuple(factors.get(name, (1.0, 1.0))[0] for name in order),
        tuple(factors.get(name, (1.0, 1.0))[1] for name in order),
    )


def followed(plan: Plan, tree: Tree, rates: Rates) -> Plan:
    """The plan as far as it can be followed on another tree for the same receivers.

    Every broker that is in both trees performs its operators, as far as they are of use; links carry what is needed
    below; what is then missing at the top is made there.
    """
    doing = dict(zip(plan.tree.names, plan.operators, strict=True))
    arrives = list(tree.wanted)
    operators: list[tuple[Operator, ...]] = [()] * len(tree)
    for place in range(len(tree) - 1, 0, -1):
        kept = []
        for source, target in reversed(doing.get(tree.names[place], ())):
            if arrives[place] >> target & 1:
                arrives[place] = arrives[place] & ~(1 << target) | 1 << source
                kept.append((source, target))
        operators[place] = tuple(reversed(kept))
        arrives[tree.parents[place]] |= arrives[place]
    available = plan.arrives[0]
    own = Plan(tree, (available, *arrives[1:]), (plan.operators[0], *operators[1:]))
    missing = arrives[0] & ~own.at_hand(0)
    more = making(rates, own.at_hand(0)).operators(missing) if missing else ()
    return tidied(Plan(tree, own.arrives, ((*plan.operators[0], *more), *operators[1:])))


def refined(plan: Plan, tree: Tree, rates: Rates, planner: Planner, threshold: float) -> tuple[Plan, bool]:
    """Algorithm 1: where the tree is another, plan anew if that promises more than the threshold B."""
    received = followed(plan, tree, rates)
    anew = planner(tree, rates, plan.arrives[0])
    benefit = received.cost(rates) - anew.cost(rates)
    return (anew, True) if benefit > threshold else (received, False)
