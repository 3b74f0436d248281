"""Dissemination trees and plans: what each broker converts and what each link carries (dissemination, 2.2)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from protocols.dissemination.cag import CAG, Rates, members

Operator = tuple[int, int]
"""From one format to another."""


class InfeasibleDemandError(ValueError):
    """No chain of operators leads to a format that a broker wants."""

    def __init__(self, broker: str, format_name: str, at_hand: Sequence[str]) -> None:
        self.broker = broker
        self.format_name = format_name
        super().__init__(f"broker {broker} wants {format_name}, which cannot be made from {', '.join(at_hand)}")


@dataclass(frozen=True)
class Tree:
    """A dissemination tree: parents come before their children, the rendezvous point first.

    A broker's factor scales its conversions, a link's factor (from the parent) what it carries (section 5).
    """

    names: tuple[str, ...]
    parents: tuple[int, ...]
    wanted: tuple[int, ...]
    """The set of formats that the broker's own subscribers want; 0 for one that only passes content on."""

    node_factors: tuple[float, ...]
    link_factors: tuple[float, ...]

    def __len__(self) -> int:
        return len(self.names)

    @cached_property
    def children(self) -> tuple[tuple[int, ...], ...]:
        below: list[list[int]] = [[] for _ in self.names]
        for place, parent in enumerate(self.parents[1:], start=1):
            below[parent].append(place)
        return tuple(map(tuple, below))

    @cached_property
    def levels(self) -> tuple[tuple[int, ...], ...]:
        """The root, its children, their children, ..."""
        levels: list[tuple[int, ...]] = [(0,)]
        while below := tuple(child for place in levels[-1] for child in self.children[place]):
            levels.append(below)
        return tuple(levels)

    def subtree(self, top: int) -> list[int]:
        """This node and all below, parents first."""
        found = [top]
        for place in found:
            found += self.children[place]
        return sorted(found)

    def edges(self) -> frozenset[tuple[str, str]]:
        return frozenset((self.names[p], self.names[v]) for v, p in enumerate(self.parents) if v)


def make_tree(
    parents: Sequence[int],
    wanted: Sequence[int],
    names: Sequence[str] = (),
    node_factors: Sequence[float] = (),
    link_factors: Sequence[float] = (),
) -> Tree:
    """A tree with default names and factors of 1."""
    count = len(parents)
    if count == 0 or parents[0] != -1 or any(not 0 <= parent < place for place, parent in enumerate(parents) if place):
        raise ValueError("write the root first, with the parent -1, and every parent before its children")
    return Tree(
        tuple(names) or tuple(f"n{place}" for place in range(1, count + 1)),
        tuple(parents),
        tuple(wanted),
        tuple(node_factors) or (1.0,) * count,
        tuple(link_factors) or (1.0,) * count,
    )


@dataclass(frozen=True)
class Plan:
    """For each node of a tree: the formats that reach it, and the operators that it performs, in order."""

    tree: Tree
    arrives: tuple[int, ...]
    operators: tuple[tuple[Operator, ...], ...]

    def at_hand(self, place: int) -> int:
        """What a node has once it has performed its operators."""
        formats = self.arrives[place]
        for _, made in self.operators[place]:
            formats |= 1 << made
        return formats

    def node_cost(self, place: int, rates: Rates) -> float:
        """What the node's conversions cost."""
        return self.tree.node_factors[place] * sum(rates.conversion[a][b] for a, b in self.operators[place])

    def link_cost(self, place: int, rates: Rates) -> float:
        """What the link from the node's parent carries costs; the root has none."""
        if place == 0:
            return 0.0
        return self.tree.link_factors[place] * sum(rates.transmission[f] for f in members(self.arrives[place]))

    def conversion_cost(self, rates: Rates) -> float:
        return math.fsum(self.node_cost(place, rates) for place in range(len(self.tree)))

    def transmission_cost(self, rates: Rates) -> float:
        return math.fsum(self.link_cost(place, rates) for place in range(len(self.tree)))

    def cost(self, rates: Rates) -> float:
        """The total cost: transmission and conversion, as the rates weigh them."""
        return self.transmission_cost(rates) + self.conversion_cost(rates)

    def problems(self, rates: Rates) -> list[str]:
        """Why the plan is not valid; empty if it is."""
        found = []
        for place, name in enumerate(self.tree.names):
            at_hand = self.arrives[place]
            for source, target in self.operators[place]:
                if not at_hand >> source & 1:
                    found.append(f"{name} converts format {source}, which it does not have")
                if rates.conversion[source][target] == math.inf:
                    found.append(f"{name} uses an undefined operator, {source} to {target}")
                at_hand |= 1 << target
            if self.tree.wanted[place] & ~at_hand:
                found.append(f"{name} does not get all that it wants")
            for child in self.tree.children[place]:
                if self.arrives[child] & ~at_hand:
                    found.append(f"{name} sends {self.tree.names[child]} what it does not have")
        return found


def check_demands(tree: Tree, cag: CAG, available: int) -> None:
    """Refuse what cannot be made, with the broker and the format named."""
    possible = cag.reachable(available)
    for place, wanted in enumerate(tree.wanted):
        if missing := cag.names(wanted & ~possible):
            raise InfeasibleDemandError(tree.names[place], missing[0], cag.names(available))


def tidied(plan: Plan) -> Plan:
    """The same plan without operators and transmissions that nobody needs; it never costs more."""
    tree = plan.tree
    needed = list(tree.wanted)
    arrives = list(plan.arrives)
    operators = list(plan.operators)
    for place in range(len(tree) - 1, -1, -1):
        used, kept = needed[place], []
        have = plan.arrives[place]
        for source, target in reversed(operators[place]):
            if used >> target & 1 and not have >> target & 1:
                kept.append((source, target))
                used = used & ~(1 << target) | 1 << source
        operators[place] = tuple(reversed(kept))
        if place:
            arrives[place] = used
            needed[tree.parents[place]] |= used
    return Plan(tree, tuple(arrives), tuple(operators))


def below(tree: Tree) -> list[int]:
    """For each node, the formats that it or anybody below it wants."""
    sets = list(tree.wanted)
    for place in range(len(tree) - 1, 0, -1):
        sets[tree.parents[place]] |= sets[place]
    return sets
