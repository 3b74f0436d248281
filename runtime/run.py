"""One run: a scenario in, what it showed out."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from math import inf
from typing import Any

from runtime.scenario import Scenario
from runtime.simulator import Simulator
from runtime.system import World
from runtime.trace import Recorder, Trace

Progress = Callable[[Simulator], None]


@dataclass(frozen=True)
class Outcome:
    """What a run showed."""

    scenario: Scenario
    simulator: Simulator
    quiescent: bool
    interrupted: bool
    violations: list[str]
    results: dict[str, Any]
    trace: Trace | None
    wall_s: float

    @property
    def verdict(self) -> str:
        if self.violations:
            return "violated"
        return "valid" if self.quiescent else "undecided"

    def summary(self) -> dict[str, Any]:
        """What a person wants to know, as JSON; the same seed gives the same summary."""
        sim = self.simulator
        by_type = _by_type(sim.sent)
        return {
            "protocol": self.scenario.protocol,
            "seed": self.scenario.seed,
            "links": self.scenario.links,
            "nodes": len(sim.nodes),
            "quiescent": self.quiescent,
            "interrupted": self.interrupted,
            "verdict": self.verdict,
            "violations": self.violations,
            "virtual_time": sim.now,
            "events": sim.handled,
            "messages": sum(row["messages"] for row in by_type.values()),
            "bytes": sum(row["bytes"] for row in by_type.values()),
            "by_type": by_type,
            "underlay": _by_type(sim.sent_underlay),
            "carried": self._carried(),
            "faults": dict(sorted(sim.plan.fired.items())),
            "waited_s": sum(node.waited_s for node in sim.nodes.values()),
            "logged": sim.events.counts(),
            "fingerprint": sim.fingerprint(),
            **self.results,
        }

    def _carried(self) -> dict[str, dict[str, int]]:
        """What the protocols sent through a layer; `by_type` is what that took on the links."""
        carried: dict[str, list[int]] = {}
        for node in self.simulator.nodes.values():
            for tag, (messages, size) in getattr(node.agent.layer, "carried", {}).items():
                total = carried.setdefault(tag, [0, 0])
                total[0] += messages
                total[1] += size
        return {tag: {"messages": n, "bytes": size} for tag, (n, size) in sorted(carried.items())}


def _by_type(sent: dict[type[Any], list[int]]) -> dict[str, dict[str, int]]:
    rows = {kind.tag: {"messages": messages, "bytes": size} for kind, (messages, size) in sent.items()}
    return dict(sorted(rows.items()))


def simulate(scenario: Scenario, progress: Progress | None = None, trace: bool = False) -> Outcome:
    """Run a scenario on the simulator. Ctrl-C ends the run; what it showed until then is kept."""
    started = time.perf_counter()
    system = scenario.system
    scenario.plan.fired.clear()
    sim = Simulator(system.network, system.agent, scenario.seed, scenario.plan)
    recorder = Recorder(sim) if trace else None
    limit = inf if scenario.limits.time is None else scenario.limits.time
    quiescent = interrupted = False
    try:
        quiescent = sim.run(limit, scenario.limits.events, progress)
    except KeyboardInterrupt:
        interrupted = True
    world = World(sim.alive(), system.network, scenario.plan.cut_at(sim.now))
    return Outcome(
        scenario,
        sim,
        quiescent,
        interrupted,
        violations=system.violations(world) if quiescent else [],
        results=system.results(world),
        trace=recorder.trace if recorder else None,
        wall_s=time.perf_counter() - started,
    )
