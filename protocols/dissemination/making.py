"""Making formats from others at one broker: the cheapest operators, found over sets of formats.

To make a set from what is at hand is a minimum directed Steiner tree in the CAG. Here it is solved over all sets at
once, one format at a time: whoever has the set A and makes f pays for the cheapest operator from a member of A. Arrays
of costs have a row for each set, and a column for each of the nodes that are looked at together.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from protocols.dissemination.cag import Matrix, Rates, members
from protocols.dissemination.plan import Operator

Costs = NDArray[np.float64]
Sets = NDArray[np.int64]
LONG = 16
MOST_FORMATS = 16
"""Sets of more formats than this are too many to go through."""


@lru_cache(maxsize=64)
def adding(conversion: Matrix) -> tuple[Costs, NDArray[np.int8]]:
    """For each format f and each set A: the cheapest operator from a member of A to f, and its source."""
    costs, sources = [], []
    for target in range(len(conversion)):
        least, first = np.array([math.inf]), np.zeros(1, dtype=np.int8)
        for source in range(len(conversion)):
            cost = conversion[source][target]
            first = np.concatenate([first, np.where(cost < least, np.int8(source), first)])
            least = np.concatenate([least, np.minimum(least, cost)])
        costs.append(least)
        sources.append(first)
    return np.array(costs), np.array(sources)


def halves(costs: Costs, place: int, beside: int = 0) -> list[tuple[Costs, Costs]]:
    """The costs of the sets without this format, and of the same sets with it: pairs of views.

    Where only a few numbers would lie side by side, numpy would loop over a few at a time; they come in several pairs
    instead, each a long one. What is to fit another array is cut as one with so many columns beside each other.
    """
    step, (sets, columns) = 1 << place, costs.shape
    if step * (beside or columns) >= LONG or sets < 2 * LONG * LONG:
        view = costs.reshape(-1, 2, step, columns)
        return [(view[:, 0], view[:, 1])]
    return [(costs[start :: 2 * step], costs[start + step :: 2 * step]) for start in range(step)]


def keep_less(costs: Costs, place: int, charge: Costs, factors: Costs | None, scratch: Costs) -> None:
    """Sets without the format may also get it, at this charge for a factor of 1: take the lesser cost, in place."""
    charges = halves(charge[:, None], place, beside=costs.shape[1])
    for (without, having), (added, _) in zip(halves(costs, place), charges, strict=True):
        room = scratch[: without.size].reshape(without.shape)
        if factors is None:
            np.add(having, added, out=room)
        else:
            np.multiply(added, factors, out=room)
            np.add(having, room, out=room)
        np.minimum(without, room, out=without)


def passes(costs: Costs, groups: Iterable[Sequence[int]]) -> Iterator[int]:
    """Goes through the formats; through a group in which operators form cycles, until nothing changes."""
    for group in groups:
        yield from group
        before = None
        while len(group) > 1 and (before is None or not np.array_equal(costs, before)):
            before = costs.copy()
            yield from group


def make_before(costs: Costs, rates: Rates, factors: Costs) -> Costs:
    """Turns the cost of going on with a set into the cost of having it and making more first, in place."""
    charges, _ = adding(rates.conversion)
    scratch = np.empty(costs.size)
    unless_all_are_1 = factors if (factors != 1.0).any() else None
    # What is made last is gone through first.
    for place in passes(costs, reversed(rates.sources_first)):
        keep_less(costs, place, charges[place], unless_all_are_1, scratch)
    return costs


def made_before(
    costs: Costs, rows: Sets, at_hand: Sets, rates: Rates, factors: Costs
) -> tuple[Sets, list[list[Operator]]]:
    """What each node makes first from what it has, read off what `make_before` left in its row, and has then."""
    charges, sources = adding(rates.conversion)
    bits = (1 << np.arange(rates.count))[:, None]
    at_hand = at_hand.copy()
    operators: list[list[Operator]] = [[] for _ in at_hand]
    busy = np.flatnonzero(at_hand)
    while busy.size:
        have = at_hand[busy]
        # As in make_before, to the last bit.
        options = costs[rows[busy], have | bits] + charges[:, have] * factors[busy]
        options[have & bits != 0] = math.inf
        targets = options.argmin(axis=0)
        least = options[targets, np.arange(busy.size)]
        goes_on = (least <= costs[rows[busy], have]) & (least < math.inf)
        busy, have, targets = busy[goes_on], have[goes_on], targets[goes_on]
        for node, source, target in zip(busy, sources[targets, have], targets, strict=True):
            operators[node].append((int(source), int(target)))
        at_hand[busy] = have | 1 << targets
    return at_hand, operators


@lru_cache(maxsize=16)
def making(rates: Rates, available: int) -> Making:
    """Found once for all plans that begin with the same formats."""
    return Making(rates, available)


class Making:
    """The cheapest operators from one set of formats to any other."""

    def __init__(self, rates: Rates, available: int) -> None:
        self.rates = rates
        self.available = available
        self._found: dict[int, tuple[Operator, ...]] = {}
        self._reach = self._having = None
        if rates.count <= MOST_FORMATS:
            self._reach = self._reached()
            self._having = self._reach.copy()
            for place in range(rates.count):
                for without, having in halves(self._having[:, None], place):
                    np.minimum(without, having, out=without)

    def _reached(self) -> Costs:
        """What it costs to come to have exactly each set."""
        rates = self.rates
        costs = np.full(1 << rates.count, math.inf)
        costs[self.available] = 0.0
        charges, _ = adding(rates.conversion)
        for place in passes(costs, rates.sources_first):
            pairs = zip(halves(costs[:, None], place), halves(charges[place][:, None], place), strict=True)
            for (without, having), (charge, _) in pairs:
                np.minimum(having, without + charge, out=having)
        return costs

    def operators(self, wanted: int) -> tuple[Operator, ...]:
        """How to make this set, in order; infeasible demands are for the caller to refuse."""
        wanted &= ~self.available
        if wanted not in self._found:
            self._found[wanted] = self._approximate(wanted) if self._reach is None else self._exact(wanted)
        return self._found[wanted]

    def _exact(self, wanted: int) -> tuple[Operator, ...]:
        assert self._reach is not None and self._having is not None
        rates, reach = self.rates, self._reach
        have = wanted
        for place in range(rates.count):  # from the wanted set up to the cheapest one that holds it
            more = have | 1 << place
            while self._having[have] < reach[have] and more != have and self._having[more] == self._having[have]:
                have = more
        operators = []
        while have & ~self.available:
            last = min(
                (place for place in members(have & ~self.available)),
                key=lambda place: reach[have & ~(1 << place)] + self._cheapest(have & ~(1 << place), place)[0],
            )
            have &= ~(1 << last)
            operators.append((self._cheapest(have, last)[1], last))
        return tuple(reversed(operators))

    def _cheapest(self, at_hand: int, target: int) -> tuple[float, int]:
        return min((self.rates.conversion[source][target], source) for source in members(at_hand))

    def _approximate(self, wanted: int) -> tuple[Operator, ...]:
        """The nearest wanted format first, by the cheapest chain from all that is there; then the next."""
        at_hand, operators = self.available, []
        while wanted & ~at_hand:
            closure = self.rates.closure
            _, source, target = min((closure[a][b], a, b) for b in members(wanted & ~at_hand) for a in members(at_hand))
            for operator in self.rates.chain(source, target):
                if not at_hand >> operator[1] & 1:
                    operators.append(operator)
                    at_hand |= 1 << operator[1]
        return tuple(operators)
