"""A scenario on Ray: in lock-step or free-running, seen like a run on the simulator."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace

from runtime.cluster import cluster
from runtime.freerun import FreeRun
from runtime.lockstep import LockStep, packing
from runtime.partition import crossing, partition
from runtime.progress import Seen
from runtime.pulse import Pulse
from runtime.run import Outcome, conclude
from runtime.scenario import Scenario


@dataclass(frozen=True)
class RayOptions:
    """How to run on Ray."""

    clock: str = "lockstep"
    agents_per_actor: int | None = None
    address: str | None = None
    time_scale: float = 0.01


def run_on_ray(
    scenario: Scenario,
    options: RayOptions = RayOptions(),
    progress: Callable[[Seen], None] = lambda seen: None,
    report: Callable[[str], None] = lambda line: None,
    watch: str | None = None,
) -> Outcome:
    """Run a scenario as Ray actors. Ctrl-C ends the run; what it showed until then is kept.

    In lock-step, the rows of the event `watch` reach `progress` as they are logged.
    """
    started = time.perf_counter()
    pulse = Pulse()

    def after_step(seen: Seen) -> None:
        if seen.handled and pulse.is_due():
            pulse.add(seen.now, seen.messages)
        progress(seen)

    scenario.plan.fired.clear()
    with cluster(options.address):
        count = packing(len(scenario.network.neighbours), options.agents_per_actor)
        report(_how_packed(scenario, count))
        hosts: LockStep | FreeRun
        if options.clock == "lockstep":
            hosts = LockStep(scenario, count, report, after_step, watch)
        else:
            hosts = FreeRun(scenario, count, options.time_scale, report, after_step)
        quiescent = interrupted = False
        try:
            try:
                quiescent = hosts.run()
            except KeyboardInterrupt:
                interrupted = True
            tally, agents = hosts.tally(), hosts.agents()
            trace = hosts.trace() if isinstance(hosts, FreeRun) else None
        finally:
            hosts.close()
    outcome = conclude(scenario, tally, agents, quiescent, interrupted, started, trace, pulse)
    if isinstance(hosts, FreeRun) and hosts.lost:
        return replace(outcome, results=outcome.results | {"lost": sorted(hosts.lost)})
    return outcome


def _how_packed(scenario: Scenario, count: int) -> str:
    neighbours = scenario.network.neighbours
    shares = partition(neighbours, count)
    links = sum(map(len, neighbours.values())) // 2
    crossed = crossing(neighbours, shares) / links if links else 0.0
    largest = max(map(len, shares))
    actors = "1 actor" if len(shares) == 1 else f"{len(shares)} actors"
    return f"{len(neighbours)} agents in {actors}, at most {largest} each; {crossed:.0%} of the links cross"
