"""Running one case: does every property hold, and what was exercised on the way?"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property
from math import inf
from typing import Any

from runtime.agent import Above, Agent, Handler, Layer, Node
from runtime.errors import BrokerlabError, ScenarioError
from runtime.faults import Edge, Strike
from runtime.properties import Property
from runtime.scenario import Scenario, check
from runtime.schedule import Called, Noting, steer
from runtime.simulator import Simulator
from runtime.system import World
from runtime.testing.cases import Case

QUIET = "comes-to-rest"
FAILS = "runs-without-error"
BUILT_IN = {
    QUIET: "Nothing is left to happen before the limit of events is reached.",
    FAILS: "No handler fails, every message has a handler, and nobody sends past its neighbours.",
}
"""What is asked of every protocol, with no word of its own."""


@dataclass(frozen=True)
class Violation:
    """Which property does not hold, in words, and after how many events that was seen."""

    name: str
    problem: str
    events: int


@dataclass
class Shown:
    """What a case has shown."""

    scenario: Scenario
    violation: Violation | None = None
    quiet: bool = False
    events: int = 0
    messages: int = 0
    virtual_s: float = 0.0
    handled: Counter[str] = field(default_factory=Counter)
    """How often each handler was called; those that never were, too."""

    fired: Counter[str] = field(default_factory=Counter)
    sometimes: set[str] = field(default_factory=set)
    deviations: dict[int, int] = field(default_factory=dict)
    order: list[Called] = field(default_factory=list)
    """What happened, one after the other, where it was chosen."""

    noting: Noting | None = None

    @cached_property
    def in_few(self) -> tuple[dict[int, int], tuple[tuple[int, int, int], ...]]:
        """The choices in few words: deviations, and who was held back."""
        if self.noting is None:
            return {}, ()
        deviations, held = self.noting.in_few()
        return deviations, tuple(held)

    @property
    def choices(self) -> int:
        """How many choices it takes to say in which order things happened, where it was chosen."""
        return sum(map(len, self.in_few))

    @property
    def nodes(self) -> int:
        return len(self.scenario.network.neighbours)


def noted(case: Case, shown: Shown) -> Case:
    """The case with the choices that were made written down, so that it needs no dice to be had again."""
    if case.schedule.way == "timed":
        return case
    deviations, held = shown.in_few
    schedule = replace(case.schedule, way="deviations", seed=0, deviations=deviations, held=held, order=())
    return replace(case, schedule=schedule)


class Broken(Exception):
    """Ends a run as soon as something that should always hold does not."""

    def __init__(self, violation: Violation) -> None:
        super().__init__(violation)
        self.violation = violation


Prepare = Callable[[Simulator], None]


def run_case(case: Case, prepare: Prepare | None = None, strikes: list[Strike] | None = None) -> Shown:
    """Run a case to its end, or to the first violation.

    `prepare` sees the simulator before anything happens; `strikes` is filled with what the faults did to messages.
    """
    scenario = check(case.data, case.folder)
    shown = Shown(scenario)
    judge = Judge(scenario, shown)
    scenario.plan.strikes = strikes
    sim = None
    try:
        sim = Simulator(scenario.network, judge.agent, scenario.seed, scenario.plan)
        if prepare is not None:
            prepare(sim)
        shown.quiet = _run(case, sim, judge)
        judge.at_the_end(sim, case.restless)
    except Broken as broken:
        shown.violation = broken.violation
    except ScenarioError:
        raise
    except BrokerlabError as problem:
        shown.violation = Violation(FAILS, str(problem), sim.handled if sim else 0)
    if sim is not None:
        shown.events, shown.virtual_s = sim.handled, sim.now
        shown.messages = sum(count for sent in (sim.sent, sim.sent_underlay) for count, _ in sent.values())
    shown.fired.update(scenario.plan.fired)
    shown.fired["death"] += sum(1 for spans in scenario.plan.crashes.values() if spans[-1][1] == float("inf"))
    return shown


def _run(case: Case, sim: Simulator, judge: Judge) -> bool:
    schedule = case.schedule
    if schedule.way == "timed":
        return _by_time(sim, judge, judge.scenario.time_limit, case.max_events)
    if schedule.since_s and _by_time(sim, judge, schedule.since_s, case.max_events):
        return True
    choose = Noting(schedule.choose())
    try:
        limit, step_s = case.max_events, schedule.step_s
        return steer(sim, choose, schedule.fifo, limit, step_s, judge.after, schedule.own_clocks)
    finally:
        judge.shown.deviations, judge.shown.order, judge.shown.noting = choose.deviations, choose.order, choose


def _by_time(sim: Simulator, judge: Judge, until: float, max_events: int) -> bool:
    watching = sim.observer

    def before(entry: Any) -> None:
        judge.after(sim)  # the event before this one
        if watching is not None:
            watching(entry)

    sim.observer = before if judge.watches else watching
    try:
        return sim.run(until, max_events)
    finally:
        sim.observer = watching


class Judge:
    """Looks at the whole network from outside, after every event and at the end.

    What happens in a layer alone, such as an acknowledgement, is passed over, unless a property asks for layers.
    """

    def __init__(self, scenario: Scenario, shown: Shown) -> None:
        self.scenario = scenario
        self.shown = shown
        self._properties = scenario.system.properties()
        self._watched = [found for found in self._properties if found.kind != "eventually"]
        self._world = World({}, scenario.network)
        self._lives = (-1, -1)
        self._news = True
        self._cut: frozenset[Edge] = frozenset()
        self._cut_until = 0.0

    @property
    def watches(self) -> bool:
        return bool(self._watched)

    def agent(self, name: str) -> Agent:
        return counted(self.scenario.system.agent(name), self.shown.handled, self._told)

    def _told(self) -> None:
        self._news = True

    def after(self, sim: Simulator) -> None:
        if self._watched and (self._news or self._lives != _lives(sim)):
            self._look(sim, self._watched)
            self._news = any(issubclass(kind, Layer) for kind in self._world.found)

    def at_the_end(self, sim: Simulator, restless: bool) -> None:
        if not self.shown.quiet and not restless:
            raise Broken(Violation(QUIET, f"not quiet after {sim.handled} events", sim.handled))
        self._look(sim, self._properties if self.shown.quiet else self._watched)

    def _look(self, sim: Simulator, properties: list[Property] | tuple[Property, ...]) -> None:
        system, world = self.scenario.system, self.world(sim)
        for found in properties:
            if found.kind == "sometimes":
                if found.name not in self.shown.sometimes and system.come_about(found, world):
                    self.shown.sometimes.add(found.name)
            elif problems := system.problems(found, world):
                raise Broken(Violation(found.name, problems[0].removeprefix(f"{found.name}: "), sim.handled))

    def world(self, sim: Simulator) -> World:
        before, cut = self._world, self._cut_at(sim.now)
        alive, dead, found = before.agents, before.dead, before.found
        if self._lives != (lives := _lives(sim)):
            self._lives, alive, dead, found = lives, sim.alive(), sim.dead(), {}
        self._world = World(alive, self.scenario.network, cut, sim.events, sim.now, dead, found)
        return self._world

    def _cut_at(self, now: float) -> frozenset[Edge]:
        if now >= self._cut_until:
            cuts = self.scenario.plan.cuts.values()
            self._cut = self.scenario.plan.cut_at(now)
            self._cut_until = min((at for spans in cuts for span in spans for at in span if at > now), default=inf)
        return self._cut


def _lives(sim: Simulator) -> tuple[int, int]:
    """Says, when it is another, that nodes have crashed or come back."""
    return sim.plan.fired["crash"], sim.plan.fired["recover"]


def counted(agent: Agent, handled: Counter[str], tell: Callable[[], None]) -> Agent:
    """The agent, with every call of a handler counted, and every one above its layer told."""
    for protocol in agent.everything():
        for kind, method in protocol.handlers.items():
            name = f"{type(protocol).__name__}.{method}({kind.tag})"
            handled[name] += 0
            agent.handlers[kind] = _counting(
                agent.handlers[kind], name, handled, None if protocol is agent.layer else tell
            )
    if agent.layer is not None:
        agent.layer.above = _Heard(agent, tell)
    return agent


def _counting(handler: Handler, name: str, handled: Counter[str], tell: Callable[[], None] | None) -> Handler:
    def count(node: Any, sender: str, message: Any) -> None:
        handled[name] += 1
        if tell is not None:
            tell()
        handler(node, sender, message)

    return count


class _Heard(Above):
    """Tells when a layer says that a neighbour is up or down."""

    __slots__ = ("_tell",)

    def __init__(self, agent: Agent, tell: Callable[[], None]) -> None:
        super().__init__(agent)
        self._tell = tell

    def up(self, node: Node, peer: str) -> None:
        self._tell()
        super().up(node, peer)

    def down(self, node: Node, peer: str) -> None:
        self._tell()
        super().down(node, peer)
