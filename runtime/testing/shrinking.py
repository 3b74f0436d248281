"""Shrinking: from a case in which a property is violated to the smallest that still violates it.

What chance had decided is written out first. Then one thing after the other is left out or made simpler, as long as
the same property is violated: brokers, whoever is attached to them, faults, deviations of the schedule, digits.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import islice
from time import monotonic

from runtime.errors import BrokerlabError
from runtime.scenario import check
from runtime.testing.cases import Case, Schedule, Way
from runtime.testing.explicit import with_named_faults, with_plain_network
from runtime.testing.running import QUIET, Shown, run_case
from runtime.testing.smaller import Data, contracted, renamed, simplified, with_fewer_edges, with_less

RETRIES = 4
"""A smaller network has another row of pending events: so many fresh orders are tried before it is given up."""

RESTLESS_EVENTS = 5_000
"""What has not come to rest by then is taken for restless, while it is made smaller; the result is run in full."""

Tell = Callable[[Case, Shown, int], None]


@dataclass
class Shrinker:
    """The smallest case found so far, and the means to find a smaller one."""

    case: Case
    shown: Shown
    until: float
    tell: Tell
    restless_after: int = RESTLESS_EVENTS
    tries: int = 0

    def __post_init__(self) -> None:
        assert self.shown.violation is not None
        self.name = self.shown.violation.name

    def shrink(self) -> None:
        """First in few words, with the dice for faults that were drawn; then what they decided, one by one."""
        self._settle_the_order()
        self._accept(replace(self.case, data={**self.case.data, "faults": []}))
        self._write_out(with_plain_network)
        self._leave_out()
        self._write_out(with_named_faults)
        self._leave_out()

    def _leave_out(self) -> None:
        before = None
        while before != self.case and not self._late():
            before = self.case
            self._greedily(contracted)
            self._greedily(with_fewer_edges)
            self._greedily(with_less, retries=1)
            self._deviate_less()
            self._greedily(simplified, retries=0)
            self._find_a_shorter_order()
            self._greedily(renamed, retries=0)

    def _late(self) -> bool:
        return monotonic() > self.until

    def _settle_the_order(self) -> None:
        schedule = self.case.schedule
        if schedule.way == "timed":
            # What the delays brought about, choices may bring about too.
            for other in _orders(replace(schedule, way="deviations", deviations={}), 10 * RETRIES):
                if self._accept(replace(self.case, schedule=other)):
                    break
        self._note_the_order()

    def _write_out(self, written_out: Callable[[Case], Case]) -> None:
        with suppress(BrokerlabError):  # not every network can be written as a list of edges
            self._accept(written_out(self.case))

    def _note_the_order(self) -> None:
        schedule = self.case.schedule
        if schedule.way not in ("timed", "deviations"):
            noted = replace(schedule, way="deviations", deviations=self.shown.deviations)
            self._accept(replace(self.case, schedule=noted))

    def _greedily(self, smaller: Callable[[Data], Iterator[Data]], retries: int = RETRIES) -> None:
        """Take what still shows the violation, and go on from there, past what does not."""
        place = 0
        while not self._late():
            for data in islice(smaller(dict(self.case.data)), place, None):
                if self._late():
                    return
                if self._shows(data, retries):
                    break
                place += 1
            else:
                return

    def _shows(self, data: Data, retries: int) -> bool:
        case = replace(self.case, data=data)
        if self._accept(case):
            return True
        if self.case.schedule.way == "timed" or not _may_be_a_scenario(case):
            return False
        return any(self._accept(replace(case, schedule=other)) for other in _orders(self.case.schedule, retries))

    def _find_a_shorter_order(self) -> None:
        schedule = self.case.schedule
        if schedule.way == "deviations" and schedule.deviations:
            for other in _orders(schedule, 10 * RETRIES):
                if not self._late() and self._accept(replace(self.case, schedule=other), shorter=True):
                    self._deviate_less()

    def _deviate_less(self) -> None:
        schedule = self.case.schedule
        if schedule.way != "deviations":
            return
        size = len(schedule.deviations)
        while size and not self._late():
            steps = sorted(self.case.schedule.deviations)
            for first in range(0, len(steps), size):
                self._deviate({s: d for s, d in self._now().items() if s not in steps[first : first + size]})
            size //= 2
        for step in sorted(self._now()):
            for place in range(1, self._now().get(step, 0)):
                if self._late() or self._deviate({**self._now(), step: place}):
                    break

    def _now(self) -> dict[int, int]:
        return dict(self.case.schedule.deviations)

    def _deviate(self, deviations: dict[int, int]) -> bool:
        if deviations == self._now():
            return False
        return self._accept(replace(self.case, schedule=replace(self.case.schedule, deviations=deviations)))

    def _accept(self, case: Case, shorter: bool = False) -> bool:
        """Is the same property violated in this case? Then it is the one to go on from."""
        if case.data == self.case.data and case.schedule == self.case.schedule:
            return False
        self.tries += 1
        most = self.restless_after if self.name == QUIET else 4 * self.shown.events + 1000
        case = replace(case, max_events=min(case.max_events, most))
        try:
            shown = run_case(case)
        except (BrokerlabError, ValueError, ArithmeticError, LookupError):
            return False  # no scenario any more
        if shown.violation is None or shown.violation.name != self.name:
            return False
        if shorter and len(shown.deviations) >= len(self.shown.deviations):
            return False
        self.case, self.shown = case, shown
        self._keep_to_what_was_done()
        self.tell(self.case, self.shown, self.tries)
        return True

    def _keep_to_what_was_done(self) -> None:
        """Choices that came after the violation, or where there was no choice, say nothing."""
        if self.case.schedule.way != "timed":
            self.case = replace(
                self.case, schedule=replace(self.case.schedule, way="deviations", deviations=self.shown.deviations)
            )


def _orders(schedule: Schedule, count: int) -> Iterator[Schedule]:
    """The first in the row, and then fresh dice."""
    yield replace(schedule, way="deviations", deviations={})
    ways: tuple[Way, ...] = ("delays", "random", "priority")
    for number in range(count):
        yield replace(schedule, way=ways[number % len(ways)], seed=number)


def _may_be_a_scenario(case: Case) -> bool:
    try:
        check(case.data, case.folder)
    except (BrokerlabError, ValueError, ArithmeticError, LookupError):
        return False
    return True


def shrink(
    case: Case, shown: Shown, seconds: float = 60.0, tell: Tell = lambda case, shown, tries: None
) -> tuple[Case, Shown, int]:
    """The smallest case that was found in this time, what it shows, and how many were tried."""
    until = monotonic() + seconds
    shrinker = Shrinker(case, shown, until, tell)
    shrinker.shrink()
    if shrinker.name != QUIET:
        return shrinker.case, shrinker.shown, shrinker.tries
    small = replace(shrinker.case, max_events=case.max_events)
    if (seen := run_case(small)).violation is not None and seen.violation.name == QUIET:
        return small, seen, shrinker.tries
    slower = Shrinker(case, shown, until, tell, case.max_events, shrinker.tries)
    slower.shrink()
    return slower.case, slower.shown, slower.tries
