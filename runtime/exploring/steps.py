"""Steps by number, and which of them commute. A set of steps is an int: the bit of a step is set if it is in it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

DELIVER, FIRE, LOSE, DOUBLE, CRASH, DIE, HINT, RECOVER = range(8)
ON_LINKS = frozenset({DELIVER, LOSE, DOUBLE})
ENVIRONMENT = (CRASH, DIE, HINT, RECOVER)
FAULTS = (LOSE, DOUBLE, CRASH, DIE)
SPENT_BY = {LOSE: 0, DOUBLE: 1, CRASH: 2, DIE: 3}

Steps = int
"""A set of steps."""


class Step(NamedTuple):
    """`where` is a link for messages, else a node. `what` is the message where a link keeps no order."""

    kind: int
    where: int
    what: int = -1


class Catalogue:
    """Every step that was ever possible has a number."""

    def __init__(self, targets: Sequence[int], nodes: int, timers_wait: bool) -> None:
        self._targets = targets
        self._timers_wait = timers_wait
        self.all: list[Step] = []
        self.places: list[int] = []
        """By step: the node to which it happens."""

        self._numbers: dict[Step, int] = {}
        self.of_kind: list[Steps] = [0] * 8
        self.at_place: list[Steps] = [0] * nodes
        self.deliver = [self.number(DELIVER, link) for link in range(len(targets))]
        self.fire = [self.number(FIRE, place) for place in range(nodes)]

    def number(self, kind: int, where: int, what: int = -1) -> int:
        step = Step(kind, where, what)
        number = self._numbers.get(step)
        if number is None:
            number = self._numbers[step] = len(self.all)
            place = self._targets[where] if kind in ON_LINKS else where
            self.all.append(step)
            self.places.append(place)
            self.of_kind[kind] |= 1 << number
            self.at_place[place] |= 1 << number
        return number

    @property
    def faults(self) -> Steps:
        """What need not happen."""
        found = 0
        for kind in FAULTS:
            found |= self.of_kind[kind]
        return found

    def dependent(self, number: int) -> Steps:
        """The steps that do not commute with this one: those at its node, and those that share something else."""
        kind = self.all[number].kind
        if kind in (CRASH, DIE):
            return -1  # when no node can crash any more, more messages are known to do nothing, anywhere
        found = self.at_place[self.places[number]] | self.of_kind[CRASH] | self.of_kind[DIE]
        if self._timers_wait:
            # A timer waits for the last message, wherever it is.
            found |= -1 if kind == FIRE else self.of_kind[FIRE]
        if kind in ENVIRONMENT:
            for other in ENVIRONMENT:
                found |= self.of_kind[other]
        elif kind in (LOSE, DOUBLE):
            found |= self.of_kind[kind]  # they spend the same budget
        return found


def each(steps: Steps) -> Iterator[int]:
    """The numbers of these steps, the lowest first."""
    while steps:
        lowest = steps & -steps
        yield lowest.bit_length() - 1
        steps ^= lowest
