"""The way to a violation as a case: faults by name, the order as deviations, to be replayed and made small."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from runtime.agent import LinkChanged
from runtime.exploring.machine import UNDERLAY, Machine
from runtime.exploring.needless import Watch
from runtime.exploring.rules import State
from runtime.exploring.search import Report
from runtime.exploring.space import Space
from runtime.exploring.steps import CRASH, DELIVER, DIE, DOUBLE, FIRE, HINT, LOSE, ON_LINKS, RECOVER, Step
from runtime.schedule import STEP, Choose
from runtime.simnode import Entry
from runtime.simulator import ENVIRONMENT, Crashes, Recovers
from runtime.testing.cases import Case, Schedule
from runtime.testing.running import QUIET, Shown, run_case

TINY = 1e-6
"""Between two orders of the environment: their sequence counts, not their time."""

RESTLESS_EVENTS = 20_000
ORDERS = {CRASH: Crashes, DIE: Crashes, HINT: LinkChanged, RECOVER: Recovers}
WORDS = {
    DELIVER: "{a} > {b}: {message}",
    FIRE: "{b}: timer {message}",
    LOSE: "{a} > {b}: {message} is lost",
    DOUBLE: "{a} > {b}: {message}, and a copy of it stays behind",
    CRASH: "{b} crashes",
    DIE: "{b} dies",
    HINT: "{b} notices its link with {a}",
    RECOVER: "{b} is back",
}


@dataclass(frozen=True)
class Wanted:
    """An event that is to come next: from whom, at whom, and what, where that is not clear from the place alone."""

    source: str
    target: str
    order: type[Any] | None = None
    message: Any = None

    def fits(self, entry: Entry) -> bool:
        link, message = entry[2], entry[3]
        if (link.source, link.peer) != (self.source, self.target):
            return False
        if self.order is not None:
            return isinstance(message, self.order)
        return self.message is None or message == self.message


@dataclass
class Tale:
    """A way, step by step: in words, as events to wait for, and as the faults of a scenario."""

    words: list[str] = field(default_factory=list)
    wanted: list[Wanted] = field(default_factory=list)
    struck: dict[tuple[str, str, str], list[int]] = field(default_factory=dict)
    """By kind of fault and link: which messages, counted from 1 as they were sent."""

    crashes: list[tuple[str, int, int | None]] = field(default_factory=list)
    """Who, and the numbers of the environment's orders that stop it and start it again."""

    orders: int = 0

    def faults(self) -> Iterator[dict[str, Any]]:
        for (kind, a, b), nth in sorted(self.struck.items()):
            yield {"kind": kind, "links": [[a, b]], "one_way": True, "nth": sorted(nth)}
        for name, down, up in self.crashes:
            back = {} if up is None else {"recover_after": (up - down) * TINY}
            yield {"kind": "crash", "nodes": [name], "at": down * TINY, **back}


def tell(report: Report) -> Tale:
    """The way to the violation that was found."""
    assert report.space is not None
    machine, watch = report.space.machine, report.space.watch
    space = Space(machine, report.rules)
    numbers = _Numbers(machine)
    for effect in machine.begin():
        numbers.add(effect.sends)
    tale, state = Tale(), space.first()
    for step in [*report.way, None]:
        # What does nothing was taken at once; on the simulator it has to be taken, too.
        while watch is not None and (needless := _needless(space, state, watch)) is not None:
            state = _go(tale, space, state, needless, numbers)
        if step is not None:
            state = _go(tale, space, state, step, numbers)
    for place, (name, down, up) in enumerate(tale.crashes):
        if up == 0:
            tale.orders += 1
            tale.crashes[place] = (name, down, tale.orders)  # it would have been back later
    return tale


def _needless(space: Space, state: State, watch: Watch) -> Step | None:
    for link, (source, target) in enumerate(space.machine.links):
        for what in space.heads(state.queues[link]):
            message = state.queues[link][0] if what < 0 else what
            if watch.does_nothing(state.nodes[target], source, message, space.may_crash(target, state.left)):
                return Step(DELIVER, link, what)
    return None


def _go(tale: Tale, space: Space, state: State, step: Step, numbers: _Numbers) -> State:
    number = space.catalogue.number(*step)
    _tell(tale, space, state, step, numbers)
    numbers.add(space.effect(state, number).sends)
    return space.after(state, number)


class _Numbers:
    """The messages on each link, with their numbers: how many were sent before, plus one."""

    def __init__(self, machine: Machine) -> None:
        self._machine = machine
        self._sent = [0] * len(machine.links)
        self._waiting: list[list[tuple[int, int]]] = [[] for _ in machine.links]

    def add(self, sends: Sequence[tuple[int, int]]) -> None:
        for link, message in sends:
            self._sent[link] += self._machine.messages[message][1] != UNDERLAY
            self._waiting[link].append((message, self._sent[link]))

    def take(self, link: int, message: int, stays: bool) -> int:
        waiting = self._waiting[link]
        place = next(place for place, (other, _) in enumerate(waiting) if other == message)
        _, number = waiting.pop(place)
        if stays:
            waiting.insert(place, (self._machine.as_copy(message), number))
        return number


def _tell(tale: Tale, space: Space, state: State, step: Step, numbers: _Numbers) -> None:
    machine, names = space.machine, space.machine.names
    kind, where, _ = step
    if kind in ON_LINKS:
        a, b = (names[place] for place in machine.links[where])
        number = space.message(state, space.catalogue.number(*step))
        message = machine.messages[number][0]
        nth = numbers.take(where, number, kind == DOUBLE)
        if kind != DELIVER:
            fault = "drop" if kind == LOSE else "duplicate"
            tale.struck.setdefault((fault, a, b), []).append(nth)
        if kind != LOSE:
            tale.wanted.append(Wanted(a, b, message=None if space.rules.fifo else message))
    else:
        b = names[where]
        a = names[state.hints[0][1]] if kind == HINT else b
        message = machine.kept[state.nodes[where]].timers[0][2] if kind == FIRE else ""
        if kind == FIRE:
            tale.wanted.append(Wanted(b, b))
        else:
            _order(tale, kind, b)
    tale.words.append(WORDS[kind].format(a=a, b=b, message=message))


def _order(tale: Tale, kind: int, name: str) -> None:
    tale.wanted.append(Wanted(ENVIRONMENT, name, ORDERS[kind]))
    if kind != HINT:
        tale.orders += 1
    if kind in (CRASH, DIE):
        tale.crashes.append((name, tale.orders, 0 if kind == CRASH else None))
    elif kind == RECOVER:
        place = next(place for place, (who, _, up) in enumerate(tale.crashes) if who == name and up == 0)
        tale.crashes[place] = (name, tale.crashes[place][1], tale.orders)


@dataclass(frozen=True)
class Guided(Schedule):
    """An order that follows a way."""

    wanted: tuple[Wanted, ...] = ()

    def choose(self) -> Choose:
        left = deque(self.wanted)

        def follow(pending: Sequence[Entry]) -> int:
            if not left:
                return 0
            for place, entry in enumerate(pending):
                if left[0].fits(entry):
                    left.popleft()
                    return place
            # A hint that nobody listens to may stand before what the environment is to do.
            hints = [p for p, e in enumerate(pending) if e[2].source == ENVIRONMENT and isinstance(e[3], LinkChanged)]
            return hints[0] if hints and left[0].source == ENVIRONMENT else 0

        return follow


def as_case(report: Report, tale: Tale) -> tuple[Case, Shown] | None:
    """A case that violates the same property on the simulator, and what it shows; None if there is none.

    Where an agent looks at the clock, it may see another time there than in the exploration: then time stands still
    in the case, too, but for timers.
    """
    assert report.problem is not None
    data = {**report.scenario.data, "faults": list(tale.faults())}
    data["network"] = {key: value for key, value in data["network"].items() if key != "service"}
    most = RESTLESS_EVENTS if report.problem[0] == QUIET else Case.max_events
    own_clocks = report.rules.timers != "due"
    for times in (Schedule("deviations", step_s=STEP), Schedule("deviations", step_s=0.0, own_clocks=own_clocks)):
        order = replace(times, fifo=report.rules.fifo)
        case = Case(
            data, Guided(**vars(order), wanted=tuple(tale.wanted)), folder=report.scenario.folder, max_events=most
        )
        shown = run_case(case)
        if shown.violation is not None and shown.violation.name == report.problem[0]:
            order = replace(order, deviations=shown.deviations)
            plain = replace(case, schedule=order)
            shown = run_case(plain)
            if shown.violation is not None and shown.violation.name == report.problem[0]:
                return plain, shown
    return None
