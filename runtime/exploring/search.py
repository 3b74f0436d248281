"""The search: from the first state over every step to every state that can be reached, or to a limit."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from math import inf
from time import monotonic
from typing import Literal

from runtime.exploring.judging import Judge, Problem
from runtime.exploring.machine import Machine
from runtime.exploring.needless import Mistaken, Watch
from runtime.exploring.needs import NOTHING, Needs, Unforeseen
from runtime.exploring.reduction import Independence, Persistence, Reduction
from runtime.exploring.rules import Rules, State
from runtime.exploring.space import Space
from runtime.exploring.steps import Step, Steps, each
from runtime.properties import Property
from runtime.scenario import Scenario
from runtime.testing.running import QUIET

Verdict = Literal["valid", "violated", "undecided"]
Order = Literal["breadth", "depth"]
TELL_EVERY = 256
AHEAD = 2_000
"""So many steps are gone ahead on one way, to see what the properties look at."""


@dataclass(frozen=True)
class Limits:
    states: float = inf
    depth: float = inf
    seconds: float = inf


@dataclass
class Report:
    """What an exploration has shown so far."""

    scenario: Scenario
    rules: Rules
    reduction: Reduction
    states: int = 0
    transitions: int = 0
    depth: int = 0
    quiet: int = 0
    node_states: int = 0
    handled: int = 0
    """How often a handler was really called; every other time its effect was known."""

    waiting: int = 0
    took_s: float = 0.0
    needs: Needs = NOTHING
    sometimes: set[str] = field(default_factory=set)
    unasked: set[str] = field(default_factory=set)
    ends: set[int] = field(default_factory=set)
    """The digests of the quiet states."""

    reached: str = ""
    """Which limit was, if one was."""

    interrupted: bool = False
    problem: Problem | None = None
    way: list[Step] = field(default_factory=list)
    space: Space | None = None

    @property
    def properties(self) -> tuple[Property, ...]:
        return self.scenario.system.properties()

    @property
    def complete(self) -> bool:
        return not self.reached and not self.interrupted and self.problem is None

    @property
    def verdict(self) -> Verdict:
        if self.problem is not None:
            return "violated"
        return "undecided" if self.doubts() else "valid"

    def doubts(self) -> list[str]:
        found = ["it was interrupted"] if self.interrupted else []
        found += [self.reached] if self.reached else []
        if not any(asked.kind != "sometimes" for asked in self.properties):
            found.append("the protocol has no property: mark one with always or eventually")
        return found

    @property
    def states_per_s(self) -> float:
        return self.states / self.took_s if self.took_s else 0.0


Tell = Callable[[Report], None]


def explore(
    scenario: Scenario,
    rules: Rules,
    reduction: Reduction = "sleep",
    order: Order = "breadth",
    limits: Limits = Limits(),
    tell: Tell = lambda report: None,
) -> Report:
    """Visit every state that can be reached, or stop at a limit or at the first state in which something is wrong."""
    needs = Needs()
    machine = Machine(scenario, needs, rules.fifo)
    watch = Watch(machine)
    started = monotonic()
    while True:
        space = Space(machine, rules, None if reduction == "none" else watch)
        try:
            return Search(space, reduction, order, limits, started).run(tell)
        except Mistaken:
            continue
        except Unforeseen as looked:
            needs = needs | looked.needs
            machine = Machine(scenario, needs, rules.fifo)
            watch = Watch(machine)


Work = tuple[State, Steps, Steps, int]
"""A state, what is to be tried from it, what sleeps there, and how deep it is."""

NOWHERE = -1


class Search:
    def __init__(self, space: Space, reduction: Reduction, order: Order, limits: Limits, started: float) -> None:
        self.space = space
        self.judge = Judge(space, reduction == "persistent")
        self.report = Report(space.machine.scenario, space.rules, reduction, needs=space.machine.needs, space=space)
        self._independence = Independence(space)
        self._persistence = Persistence(space) if reduction == "persistent" else None
        self._limits = limits
        self._started = started
        self._work: deque[Work] = deque()
        self._next = self._work.popleft if order == "breadth" else self._work.pop
        self._next_stock = self._next_check = TELL_EVERY
        self._seen: dict[int, tuple[int, int, Steps]] = {}

    def run(self, tell: Tell) -> Report:
        try:
            self._look_ahead()
            self._arrive(self.space.first(), 0, 0, NOWHERE, NOWHERE)
            while self._work and self.report.problem is None and not self._at_a_limit():
                self._expand(*self._next())
                if self.report.states >= self._next_stock:
                    self._next_stock = self.report.states + TELL_EVERY
                    self._take_stock()
                    tell(self.report)
                if self.report.states >= self._next_check:
                    self._next_check *= 2
                    self._check_what_was_taken()
            if self.report.problem is None:
                self._check_what_was_taken()
        except KeyboardInterrupt:
            self.report.interrupted = True
        self._take_stock()
        if self.report.complete and not self.report.quiet:
            self.report.problem = QUIET, f"none of its {self.report.states:,} states is quiet"
        return self.report

    def _check_what_was_taken(self) -> None:
        if self.space.watch is not None:
            self.space.watch.check()

    def _take_stock(self) -> None:
        report, machine = self.report, self.space.machine
        report.took_s = monotonic() - self._started
        report.waiting = len(self._work)
        report.node_states, report.handled = len(machine.kept), machine.computed
        report.sometimes, report.unasked = self.judge.sometimes, self.judge.unasked

    def _at_a_limit(self) -> bool:
        report, limits = self.report, self._limits
        if report.states >= limits.states:
            report.reached = (
                f"{report.states:,} states were seen (--states), {len(self._work):,} are left to go on from"
            )
        elif monotonic() - self._started > limits.seconds:
            report.reached = f"{limits.seconds:g} s have passed (--seconds)"
        return report.states >= limits.states or monotonic() - self._started > limits.seconds

    def _look_ahead(self) -> None:
        """One way to its end, so that what must be part of the state is known before much is done."""
        judge = Judge(self.space)
        state = self.space.first()
        for _ in range(AHEAD):
            steps = self.space.steps(state)
            quiet = self.space.is_quiet(steps)
            judge.look(state, quiet)
            if quiet:
                break
            state = self.space.after(state, next(each(steps)))

    def _expand(self, state: State, todo: Steps, sleep: Steps, depth: int) -> None:
        if depth >= self._limits.depth:
            self.report.reached = f"deeper than {self._limits.depth:,} steps nothing was tried (--depth)"
            return
        later, reduces = 0, self.report.reduction != "none"
        for step in each(todo):
            self.report.transitions += 1
            if reduces:
                later = self._independence.asleep_after(state, step, sleep)
                sleep |= 1 << step
            self._arrive(self.space.after(state, step), later, depth + 1, state.digest, step)
            if self.report.problem is not None:
                return

    def _arrive(self, state: State, sleep: Steps, depth: int, before: int, step: int) -> None:
        known = self._seen.get(state.digest)
        if known is None:
            self._seen[state.digest] = (before, step, sleep)
            todo = self._first_time(state, depth)
            if todo := todo & ~sleep:
                self._work.append((state, todo, sleep, depth))
            return
        came_from, by, slept = known
        if awake := slept & ~sleep:
            # What was left out before, another way has not made up for.
            self._seen[state.digest] = (came_from, by, slept & sleep)
            self._work.append((state, awake, slept & sleep, depth))

    def _first_time(self, state: State, depth: int) -> Steps:
        """Look at this state; gives what is to be tried from it."""
        report = self.report
        report.states += 1
        report.depth = max(report.depth, depth)
        steps = self.space.steps(state)
        quiet = self.space.is_quiet(steps)
        if quiet:
            report.quiet += 1
            report.ends.add(state.digest)
        report.problem = self.judge.look(state, quiet)
        if report.problem is not None:
            report.way = self._way_to(state.digest)
        return steps if self._persistence is None else self._persistence.enough(state, steps)

    def _way_to(self, digest: int) -> list[Step]:
        way: list[Step] = []
        while True:
            digest, step, _ = self._seen[digest]
            if step == NOWHERE:
                return way[::-1]
            way.append(self.space.catalogue.all[step])
