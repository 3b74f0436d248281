"""One run: a scenario in, what it showed out."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from runtime.agent import Agent
from runtime.errors import WiringError
from runtime.garbage import quiet_collector
from runtime.pulse import Pulse
from runtime.scenario import Scenario
from runtime.simulator import Simulator
from runtime.system import World
from runtime.tally import Counts, Tally
from runtime.trace import Recorder, Trace

Progress = Callable[[Simulator], None]


@dataclass(frozen=True)
class Outcome:
    """What a run showed."""

    scenario: Scenario
    tally: Tally
    agents: Mapping[str, Agent]
    """The agents that were up at the end."""

    quiescent: bool
    interrupted: bool
    violations: list[str]
    results: dict[str, Any]
    trace: Trace | None
    wall_s: float
    world: World
    """As an observer saw it at the end."""

    pulse: tuple[tuple[float, int], ...] = ()
    """How many messages had been sent by when."""

    @property
    def verdict(self) -> str:
        if self.violations:
            return "violated"
        return "valid" if self.quiescent else "undecided"

    def summary(self) -> dict[str, Any]:
        """What a person wants to know, as JSON; the same seed gives the same summary."""
        tally = self.tally
        summary = {
            "protocol": self.scenario.protocol,
            "seed": self.scenario.seed,
            "links": self.scenario.links,
            "nodes": len(self.scenario.network.neighbours),
            "quiescent": self.quiescent,
            "interrupted": self.interrupted,
            "verdict": self.verdict,
            "violations": self.violations,
            "virtual_time": tally.now,
            "events": tally.handled,
            "messages": tally.messages,
            "bytes": sum(size for _, size in tally.sent.values()),
            "by_type": _rows(tally.sent),
            "underlay": _rows(tally.sent_underlay),
            "carried": _rows(tally.carried),
            "faults": dict(sorted(tally.fired.items())),
            "waited_s": tally.queued_s(),
            "logged": tally.events.counts(),
            "fingerprint": tally.fingerprint(),
        }
        if taken := sorted(summary.keys() & self.results.keys()):
            raise WiringError(f"{self.scenario.protocol}: a result cannot be called {taken[0]}: every summary has that")
        return summary | self.results


def _rows(counts: Counts) -> dict[str, dict[str, int]]:
    return {tag: {"messages": messages, "bytes": size} for tag, (messages, size) in sorted(counts.items())}


def simulate(scenario: Scenario, progress: Progress | None = None, trace: bool = False) -> Outcome:
    """Run a scenario on the simulator. Ctrl-C ends the run; what it showed until then is kept."""
    started = time.perf_counter()
    scenario.plan.fired.clear()
    sim = Simulator(scenario.network, scenario.system.agent, scenario.seed, scenario.plan)
    recorder = Recorder(sim) if trace else None
    pulse = Pulse()

    def after_window(seen: Simulator) -> None:
        if pulse.is_due():
            sent = (*seen.sent.values(), *seen.sent_underlay.values())
            pulse.add(seen.now, sum(messages for messages, _ in sent))
        if progress is not None:
            progress(seen)

    quiescent = interrupted = False
    try:
        quiescent = sim.run(scenario.time_limit, scenario.limits.events, after_window)
    except KeyboardInterrupt:
        interrupted = True
    seen = recorder.trace if recorder else None
    return conclude(scenario, sim.tally(), sim.alive(), quiescent, interrupted, started, seen, pulse)


@quiet_collector()
def conclude(
    scenario: Scenario,
    tally: Tally,
    agents: Mapping[str, Agent],
    quiescent: bool,
    interrupted: bool,
    started: float,
    trace: Trace | None = None,
    pulse: Pulse | None = None,
) -> Outcome:
    """Look at how a run ended, wherever it ran."""
    world = World(agents, scenario.network, scenario.plan.cut_at(tally.now), tally.events, tally.now)
    scenario.system.observe(world)
    return Outcome(
        scenario,
        tally,
        agents,
        quiescent,
        interrupted,
        violations=scenario.system.violations(world) if quiescent else [],
        results=scenario.system.results(world),
        trace=trace,
        wall_s=time.perf_counter() - started,
        world=world,
        pulse=() if pulse is None else tuple(pulse.points),
    )
