"""Shrinking: from a case in which a property is violated to the smallest that still violates it.

Small cases that are drawn anew come first. Then one thing after the other is left out or made simpler, as long as the
same property is violated: faults, brokers, whoever is attached to them, waiting, deviations of the schedule, digits.
What chance had decided is written out for that. How much is tried is counted in runs and events, not by the clock, so
the same effort gives the same case everywhere.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import islice
from typing import Literal

from runtime.errors import BrokerlabError
from runtime.scenario import check
from runtime.testing.anew import small_cases
from runtime.testing.cases import Case, Schedule, Way
from runtime.testing.checking import Subject
from runtime.testing.effort import Effort
from runtime.testing.explicit import as_they_struck, with_named_faults, with_plain_network, with_tables_written_out
from runtime.testing.running import QUIET, Shown, noted, run_case
from runtime.testing.sizes import bulk, choices, size_of
from runtime.testing.smaller import (
    Data,
    contracted,
    renamed,
    simplified,
    sooner,
    with_fewer,
    with_fewer_edges,
    with_less,
    with_small_seed,
    without_a_broker,
    without_faults,
)

RETRIES = (0, 3, 12, 50)
"""Where something is left out, dice fall differently and pending events stand in another row: so many fresh seeds and
orders are tried before it is given up. More of them only when fewer lead no further."""

READABLE = 100
"""What is as small as that needs no more than a few retries."""

PATIENCE = 0.15
"""The part of what is left that goes, without any success, into one kind of step."""

NAMED = 1.25
"""Faults with names are worth some more of them: they stay what they are when something else is left out."""

TIDY = 0.1
"""The part of the effort that is left for what makes nothing smaller, but easier to read."""

DRAWN_ANEW = 0.2
"""The part of the effort that goes into small cases at most."""

ENOUGH_ANEW = 8

RESTLESS_EVENTS = 2_000
"""What has not come to rest by then is taken for restless, while it is made smaller; the result is run for longer."""

RESTLESS_AT_LAST = 20_000

FEW_CHOICES = 5
COARSE = 16
"""Into so many pieces an order is cut while there is much else to leave out."""

NO_SCENARIO = (BrokerlabError, ValueError, ArithmeticError, LookupError)
"""What a scenario that lacks something may raise."""

Tell = Callable[[Case, Shown, int], None]
Smaller = Callable[[Case], Iterator[Case]]
Wanted = Literal["any", "no larger", "smaller"]


@dataclass
class Shrinker:
    """The case to go on from, the smallest that was found so far, and the means to find a smaller one."""

    case: Case
    shown: Shown
    effort: Effort
    tell: Tell
    what: Subject | None = None
    restless_after: int = RESTLESS_EVENTS
    tries: int = 0
    failed: set[int] = field(default_factory=set)

    def __post_init__(self) -> None:
        assert self.shown.violation is not None
        self.name = self.shown.violation.name
        self.case = noted(self.case, self.shown)
        self.best = (self.case, self.shown)

    def shrink(self) -> None:
        """First in few words, with the dice for faults that were drawn; then what they decided, one by one."""
        self._draw_anew()
        self._settle_the_order()
        self._greedily(_of_data(without_faults), RETRIES[2])
        self._follow_in_pieces(COARSE)
        self._write_out(with_plain_network)
        self._leave_out(RETRIES[0])
        self._write_out(with_tables_written_out)
        self._name_the_faults()
        self._leave_out_more()
        self._name_the_faults()
        self._leave_out_more()
        self._tidy_up()

    def _leave_out_more(self) -> None:
        """With ever more retries; what has become smaller is tried with few of them again."""
        level = 0
        while level < len(RETRIES) and not self.effort.spent:
            before = self._extent()
            if level < len(RETRIES) - 1 or size_of(*self.best)[0] > READABLE:
                self._leave_out(RETRIES[level])
            level = 0 if self._extent() < before else level + 1

    def _draw_anew(self) -> None:
        if self.what is None:
            return
        until, hits = self.effort.share(DRAWN_ANEW), 0
        for case in small_cases(self.what, self.case):
            if self.effort.spent_s >= until or hits == ENOUGH_ANEW:
                return
            hits += self._accept(case)

    def _settle_the_order(self) -> None:
        """What the delays brought about, choices may bring about, too."""
        schedule = self.case.schedule
        if schedule.way == "timed":
            self._try_each(replace(self.case, schedule=other) for other in _orders(schedule, RETRIES[2]))

    def _write_out(self, written_out: Callable[[Case], Case]) -> None:
        with suppress(*NO_SCENARIO):  # not every network can be written as a list of edges
            self._accept(written_out(self.case), "any")

    def _leave_out(self, retries: int) -> None:
        self._greedily(_of_data(without_faults), retries)
        self._greedily(_of_data(without_a_broker), retries)
        self._greedily(_sooner, wanted="smaller")
        self._greedily(_of_data(with_less), retries // 3)
        self._greedily(_of_data(contracted), retries)
        self._greedily(_of_data(with_fewer_edges), retries)
        self._greedily(_of_data(with_fewer), retries)
        self._choose_less(retries)
        self._greedily(_of_data(simplified))

    def _tidy_up(self) -> None:
        """What makes nothing smaller, but is easier to read; there is always some effort left for it."""
        self.case, self.shown = self.best
        self.effort.most_s = self.effort.spent_s + TIDY * self.effort.whole_s
        for tidier in (_sooner, _of_data(simplified), _of_data(with_small_seed), _of_data(renamed)):
            self._greedily(tidier)

    def _name_the_faults(self) -> None:
        """The dice of faults become the messages that they struck, unless these are too many to be read."""
        before = self.case, self.shown
        if any("probability" in fault for fault in self.case.data.get("faults", ())):
            self._write_out(with_named_faults)
            self._strike_less()
            if bulk(self.case, self.shown) > NAMED * bulk(*before):
                self.case, self.shown = before

    def _strike_less(self) -> None:
        size = sum(len(fault.get("nth", ())) for fault in self.case.data.get("faults", ()))
        while size and not self.effort.spent:
            self._greedily(partial(_with_fewer_strikes, size=size))
            self._write_out(as_they_struck)
            size //= 2

    # One candidate after the other

    def _greedily(self, smaller: Smaller, retries: int = 0, wanted: Wanted = "no larger") -> None:
        """Take what still shows the violation, and go on from there, past what does not."""
        place = 0
        while not self.effort.spent:
            until = self.effort.share(PATIENCE)
            for case in islice(smaller(self.case), place, None):
                if self.effort.spent_s >= until:
                    return
                if self._accept_in_order(case, wanted) or (retries and self._try_each(_shuffled(case, retries))):
                    break
                place += 1
            else:
                return

    def _accept_in_order(self, case: Case, wanted: Wanted) -> bool:
        """In the order in which things happened; what is left out is simply not there."""
        if self.shown.deviations and case.schedule.way == "deviations":
            followed = replace(case, schedule=self._following(case.schedule))
            if self._accept(followed, wanted):
                return True
        return self._accept(case, wanted)

    def _following(self, schedule: Schedule, first: int = 0, last: int = 0) -> Schedule:
        """The order of the present case; but from the first to the last of these events as they come."""
        order = [(called, first if first <= rank < last else rank) for rank, called in enumerate(self.shown.order)]
        return replace(schedule, way="order", order=order, deviations={}, held=())

    def _try_each(self, cases: Iterable[Case], wanted: Wanted = "no larger") -> bool:
        return any(not self.effort.spent and self._accept(case, wanted) for case in cases)

    def _choose_less(self, retries: int) -> None:
        if choices(self.case, self.shown) > FEW_CHOICES:
            self._find_a_shorter_order(retries)
        self._deviate_less(retries)
        self._find_a_shorter_order(retries)

    def _find_a_shorter_order(self, retries: int) -> None:
        if choices(self.case, self.shown):
            self._try_each(_shuffled(self.case, 4 * retries), "smaller")

    def _deviate_less(self, retries: int) -> None:
        """In few pieces first. One by one only if there is time for more than one try of anything."""
        much_else = retries == 0 and self.shown.choices > FEW_CHOICES
        self._follow_in_pieces(COARSE if much_else else len(self.shown.order))
        if not much_else:
            for smaller in (_with_fewer_choices, _with_nearer_choices):
                self._greedily_by_choices(smaller)

    def _greedily_by_choices(self, smaller: Smaller) -> None:
        """As `_greedily`, but exactly by these choices."""
        place = 0
        while not self.effort.spent:
            until = self.effort.share(PATIENCE)
            for case in islice(smaller(self.case), place, None):
                if self.effort.spent_s >= until:
                    return
                if self._accept(case):
                    break
                place += 1
            else:
                return

    def _follow_in_pieces(self, pieces: int) -> None:
        """In one of these pieces things happen as they come, and in all the others as before; large pieces first."""
        if self.case.schedule.way != "deviations":
            return
        size, until = len(self.shown.order), self.effort.share(PATIENCE)
        least = max(2, size // pieces) if size else 2
        while size >= least and self.shown.deviations:
            for last in range(len(self.shown.order), 0, -size):
                if self.effort.spent_s >= until:
                    return
                first = max(0, last - size)
                if any(first <= step < last for step in self.shown.deviations):
                    schedule = self._following(self.case.schedule, first, last)
                    if self._accept(replace(self.case, schedule=schedule), "smaller"):
                        until = self.effort.share(PATIENCE)
            size //= 2

    def _accept(self, case: Case, wanted: Wanted = "no larger") -> bool:
        """Is the same property violated in this case, and is it as small as wanted? Then go on from it."""
        if case.data == self.case.data and case.schedule == self.case.schedule:
            return False
        if (key := hash(repr((case.data, case.schedule, wanted)))) in self.failed:
            return False
        shown = self._run(case)
        if shown is None or not self._is_wanted(wanted, case, shown):
            self.failed.add(key)
            return False
        self.case, self.shown = noted(case, shown), shown
        if size_of(*self.best) > size_of(self.case, self.shown):
            self.best = (self.case, self.shown)
        return True

    def _run(self, case: Case) -> Shown | None:
        """What a case shows, if it is the violation."""
        self.tries += 1
        self.tell(*self.best, self.tries)
        # Whoever takes much longer cannot be smaller.
        most = self.restless_after if self.name == QUIET else self.shown.events * 3 // 2 + 500
        try:
            shown = run_case(replace(case, max_events=min(case.max_events, most)))
        except Exception:  # no scenario any more, or nothing that a property can look at
            self.effort.spend(0)
            return None
        self.effort.spend(shown.events)
        return shown if shown.violation is not None and shown.violation.name == self.name else None

    def _is_wanted(self, wanted: Wanted, case: Case, shown: Shown) -> bool:
        """Choices may become more where anything else becomes less: most of them will be left out."""
        now, new = self._extent(), (bulk(case, shown), choices(case, shown))
        return wanted == "any" or new < now or (wanted == "no larger" and new == now)

    def _extent(self) -> tuple[int, int]:
        return bulk(self.case, self.shown), choices(self.case, self.shown)


def _of_data(smaller: Callable[[Data], Iterator[Data]]) -> Smaller:
    return lambda case: (replace(case, data=data) for data in smaller(dict(case.data)))


def _sooner(case: Case) -> Iterator[Case]:
    schedule = case.schedule
    for data, moved in sooner(dict(case.data), (schedule.since_s,)):
        yield replace(case, data=data, schedule=replace(schedule, since_s=moved(schedule.since_s)))


def _with_fewer_choices(case: Case) -> Iterator[Case]:
    """The last ones first: what comes before them stays what it was."""
    schedule = case.schedule
    for gone in sorted(schedule.deviations, reverse=True):
        left = {step: place for step, place in schedule.deviations.items() if step != gone}
        yield replace(case, schedule=replace(schedule, deviations=left))
    for place in reversed(range(len(schedule.held))):
        yield replace(case, schedule=replace(schedule, held=(*schedule.held[:place], *schedule.held[place + 1 :])))


def _with_nearer_choices(case: Case) -> Iterator[Case]:
    schedule = case.schedule
    for step, place in sorted(schedule.deviations.items()):
        for nearer in range(1, place):
            yield replace(case, schedule=replace(schedule, deviations={**schedule.deviations, step: nearer}))


def _with_fewer_strikes(case: Case, size: int) -> Iterator[Case]:
    """The last ones first: what comes before them stays what it was."""
    faults = case.data.get("faults", ())
    named = [(place, nth) for place, fault in enumerate(faults) for nth in fault.get("nth", ())]
    named.sort(key=lambda strike: strike[1], reverse=True)
    for first in range(0, len(named), size):
        gone = set(named[first : first + size])
        left = [
            {**fault, "nth": nth} if "nth" in fault else fault
            for place, fault in enumerate(faults)
            if (nth := [n for n in fault.get("nth", ()) if (place, n) not in gone]) or "nth" not in fault
        ]
        yield replace(case, data={**case.data, "faults": left})


def _shuffled(case: Case, count: int) -> Iterator[Case]:
    """The same with other orders; and with other seeds, so that all that is drawn is another."""
    if not _may_be_a_scenario(case):
        return
    for number, schedule in enumerate(_orders(case.schedule, count)):
        seed = {} if number % 2 == 0 else {"seed": number}
        yield replace(case, data={**case.data, **seed}, schedule=schedule)


def _orders(schedule: Schedule, count: int) -> Iterator[Schedule]:
    """The first in the row, as the delays have it, and then fresh dice."""
    yield replace(schedule, way="deviations", seed=0, deviations={}, held=())
    yield replace(schedule, way="timed", seed=0, deviations={}, held=())
    ways: tuple[Way, ...] = ("delays", "delays", "random", "timed", "priority")
    for number in range(count):
        yield replace(schedule, way=ways[number % len(ways)], seed=number, deviations={}, held=())


def _may_be_a_scenario(case: Case) -> bool:
    try:
        check(case.data, case.folder)
    except NO_SCENARIO:
        return False
    return True


def shrink(
    case: Case,
    shown: Shown,
    seconds: float = 60.0,
    tell: Tell = lambda case, shown, tries: None,
    what: Subject | None = None,
) -> tuple[Case, Shown, int]:
    """The smallest case that was found with this effort, what it shows, and how many were tried.

    `what` draws small cases anew; without it only what was found is made smaller. `tell` hears of the smallest so far.
    """
    shrinker = Shrinker(case, shown, Effort((1 - TIDY) * seconds), tell, what)
    shrinker.shrink()
    most = min(case.max_events, RESTLESS_AT_LAST) if shrinker.name == QUIET else case.max_events
    small = replace(shrinker.case, max_events=most)
    if (seen := run_case(small)).violation is not None and seen.violation.name == shrinker.name:
        return small, seen, shrinker.tries
    slower = Shrinker(case, shown, Effort((1 - TIDY) * seconds), tell, what, most, shrinker.tries)
    slower.shrink()
    return slower.case, slower.shown, slower.tries
