"""Making formats from others at one broker: the cheapest operators, found over sets of formats.

To make a set from what is at hand is a minimum directed Steiner tree in the CAG. Here it is solved over all sets at
once, one format at a time: whoever has the set A and makes f pays for the cheapest operator from a member of A.
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
LONG = 16
MOST_FORMATS = 16
"""Sets of more formats than this are too many to go through."""


@lru_cache(maxsize=8)
def adding(conversion: Matrix) -> list[Costs]:
    """For each format f and each set A: the cheapest operator from a member of A to f."""
    arrays = []
    for target in range(len(conversion)):
        costs = np.array([math.inf])
        for source in range(len(conversion)):
            costs = np.concatenate([costs, np.minimum(costs, conversion[source][target])])
        arrays.append(costs)
    return arrays


def halves(costs: Costs, place: int) -> list[tuple[Costs, Costs]]:
    """The costs of the sets without this format, and of the same sets with it: pairs of views.

    Sets that differ in a low bit lie so close together that numpy would loop over a few numbers at a time; they come
    in several pairs instead, each a long one.
    """
    step = 1 << place
    if step >= LONG or len(costs) < 2 * LONG * LONG:
        view = costs.reshape(-1, 2, step)
        return [(view[:, 0, :], view[:, 1, :])]
    return [(costs[start :: 2 * step], costs[start + step :: 2 * step]) for start in range(step)]


def keep_less(costs: Costs, place: int, charge: Costs | None, scratch: Costs, factor: float = 1.0) -> None:
    """Sets without the format may also get it, at this charge: take the lesser cost, in place."""
    charges = halves(charge, place) if charge is not None else None
    for pair, (without, having) in enumerate(halves(costs, place)):
        if charges is None:
            np.minimum(without, having, out=without)
            continue
        room = scratch[: without.size].reshape(without.shape)
        if factor == 1.0:
            np.add(having, charges[pair][0], out=room)
        else:
            np.multiply(charges[pair][0], factor, out=room)
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


def make_before(costs: Costs, rates: Rates, factor: float = 1.0) -> Costs:
    """Turns the cost of going on with a set into the cost of having it and making more first, in place."""
    arrays = adding(rates.conversion)
    scratch = np.empty_like(costs)
    # What is made last is gone through first.
    for place in passes(costs, reversed(rates.sources_first)):
        keep_less(costs, place, arrays[place], scratch, factor)
    return costs


def made_before(costs: Costs, at_hand: int, rates: Rates, factor: float = 1.0) -> tuple[int, list[Operator]]:
    """What is made first from this set, read off the array that `make_before` left, and what is at hand then."""
    operators: list[Operator] = []
    while at_hand:
        best, operator = math.inf, (0, 0)
        for target in range(rates.count):
            if not at_hand >> target & 1:
                source = min(members(at_hand), key=lambda place: rates.conversion[place][target])
                # As in make_before, to the last bit.
                cost = float(costs[at_hand | 1 << target] + rates.conversion[source][target] * factor)
                if cost < best:
                    best, operator = cost, (source, target)
        if best > costs[at_hand] or best == math.inf:
            break
        operators.append(operator)
        at_hand |= 1 << operator[1]
    return at_hand, operators


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
                keep_less(self._having, place, None, self._having)

    def _reached(self) -> Costs:
        """What it costs to come to have exactly each set."""
        rates = self.rates
        costs = np.full(1 << rates.count, math.inf)
        costs[self.available] = 0.0
        arrays = adding(rates.conversion)
        for place in passes(costs, rates.sources_first):
            for (without, having), (charge, _) in zip(halves(costs, place), halves(arrays[place], place), strict=True):
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
