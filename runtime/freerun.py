"""Free-running on Ray: real time, real asynchrony. Each host runs at its own pace, and order is what it happens to be.

Virtual time follows the real one at `scale` real seconds for a virtual one. A message that comes later than its
link's delay says arrives when it comes. At scale 0 there is no clock: hosts run as fast as they can, but none runs
farther ahead of the slowest than messages take, or every timer would ring before any answer could come.

The driver carries the batches, each host's next call with all that came meanwhile; so it knows of everything on its
way, and the run is quiet exactly when every host has answered, none has anything to do and no batch is left.

What happened is recorded as the arrival of every message: `Trace.recording()` runs it again in the simulator.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from math import inf
from typing import Any

import ray
from ray.exceptions import RayTaskError

from runtime.cluster import start_hosts
from runtime.ensemble import Ensemble
from runtime.errors import ClusterError
from runtime.hosts import Kit
from runtime.lockstep import DEATHS, cause_of
from runtime.partition import partition
from runtime.progress import Seen
from runtime.scenario import Scenario
from runtime.share import Step
from runtime.trace import Trace

LEAD = 2.0
"""At scale 0, how many mean delays a host may be ahead of the slowest."""

MOST_AT_ONCE = 20_000
PATIENCE_S = 0.5
"""How long the driver waits for answers before it looks up: for Ctrl-C and for the progress line."""


@dataclass
class Runner:
    """One host, and what waits for it."""

    number: int
    actor: Any
    answer: Any = None
    inbox: list[bytes] = field(default_factory=list)
    step: Step | None = None
    nudged: bool = False
    """It was told something that it looks at only when it is called."""

    dead: bool = False


class FreeRun(Ensemble):
    """Hosts that run as fast as they can."""

    def __init__(
        self,
        scenario: Scenario,
        count: int,
        scale: float,
        report: Callable[[str], None] = lambda line: None,
        progress: Callable[[Seen], None] = lambda seen: None,
    ) -> None:
        self.scenario = scenario
        self.scale = scale
        self.report = report
        self.shares = partition(scenario.network.neighbours, count)
        self.progress = progress
        actors = start_hosts(Kit.of(scenario, count), count, lambda ready: progress(Seen(0.0, 0, 0, 0, ready)))
        self.runners = [Runner(number, actor) for number, actor in enumerate(actors)]
        self.lead = LEAD * max(scenario.network.default.delay.mean, scenario.network.access_delay.mean)
        self.lost: list[str] = []
        self.origin = 0.0

    def run(self) -> bool:
        """Run until it is quiet (True) or a limit is reached (False)."""
        self.origin = time.time()
        for runner in self.runners:
            runner.answer = runner.actor.set_free.remote(self.origin, self.scale)
        while not self._quiet():
            if self._over():
                return False
            self._listen(self._send())
            self.progress(self.seen())
        return True

    def alive(self) -> list[Runner]:
        return [runner for runner in self.runners if not runner.dead]

    def seen(self) -> Seen:
        steps = [runner.step for runner in self.alive() if runner.step is not None]
        return Seen(
            max((step.now for step in steps), default=0.0),
            sum(step.handled for step in steps),
            sum(step.messages for step in steps),
            sum(step.pending for step in steps),
            len(steps),
        )

    def _quiet(self) -> bool:
        """Nobody is at work, nobody has anything left to do, nothing is on its way."""
        return bool(self.alive()) and all(
            runner.answer is None
            and not runner.inbox
            and not runner.nudged
            and runner.step is not None
            and runner.step.due is None
            for runner in self.alive()
        )

    def _over(self) -> bool:
        if not self.alive():
            raise ClusterError("every host died")
        if any(runner.answer is not None for runner in self.alive()):
            return False
        steps = [runner.step for runner in self.alive() if runner.step is not None]
        if sum(step.handled for step in steps) >= self.scenario.limits.events:
            return True
        waiting = [step.due for step in steps if step.due is not None]
        return (
            not any(runner.inbox or runner.nudged for runner in self.alive())
            and min(waiting) > self.scenario.time_limit
        )

    def _send(self) -> float:
        """Call every host that has something to do; how long until the next one has."""
        soonest = inf
        most = self.scenario.limits.events
        horizon = self._horizon()
        room = most - sum(runner.step.handled for runner in self.alive() if runner.step is not None)
        for runner in self.alive():
            if runner.answer is not None or runner.step is None:
                continue
            wait = self._wait(runner.step.due, horizon)
            if runner.inbox or runner.nudged or (wait <= 0 and room > 0):
                # A host that is at work for long hears neither the others nor Ctrl-C.
                mine = runner.step.handled + min(max(room, 0), MOST_AT_ONCE)
                runner.answer = runner.actor.pump.remote(runner.inbox, horizon, mine)
                runner.inbox = []
                runner.nudged = False
            else:
                soonest = min(soonest, wait)
        return soonest

    def _horizon(self) -> float:
        """The virtual time up to which hosts may run."""
        limit = self.scenario.time_limit
        if self.scale:
            return limit
        return min([limit, *(self._passed(runner) + self.lead for runner in self.alive())])

    @staticmethod
    def _passed(runner: Runner) -> float:
        """Up to when nothing will happen any more at this host, as far as the driver knows."""
        if runner.step is None:
            return 0.0
        if runner.answer is not None or runner.inbox:
            return runner.step.now
        return inf if runner.step.due is None else runner.step.due

    def _wait(self, due: float | None, horizon: float) -> float:
        """Real seconds until this virtual time."""
        if due is None or due > horizon:
            return inf
        return self.origin + due * self.scale - time.time()

    def _listen(self, wait_s: float) -> None:
        answers = {runner.answer: runner for runner in self.alive() if runner.answer is not None}
        patience = max(0.0, min(wait_s, PATIENCE_S))
        if not answers:
            time.sleep(patience)  # nobody is at work: until the next timer or arrival is due
            return
        ready, _ = ray.wait(list(answers), num_returns=1, timeout=patience)
        for answer in ready:
            self._hear(answers[answer])

    def _hear(self, runner: Runner) -> None:
        try:
            step: Step = ray.get(runner.answer)
        except DEATHS as death:
            self._bury(runner, death)
            return
        except RayTaskError as problem:
            raise cause_of(problem) from None
        runner.answer = None
        runner.step = step
        for other, batch in step.batches.items():
            if not self.runners[other].dead:
                self.runners[other].inbox.append(batch)

    def _bury(self, runner: Runner, death: Exception) -> None:
        """The death of a host is the crash of its agents."""
        runner.dead = True
        runner.answer = None
        names = self.shares[runner.number]
        self.lost += names
        self.report(f"host {runner.number} of {len(self.runners)} died, and with it its {len(names)} agents")
        for other in self.alive():
            other.actor.lost.remote(names)
            other.nudged = True

    def _ask_all(self, question: str) -> list[Any]:
        found = []
        for runner in self.alive():
            try:
                found.append(ray.get(getattr(runner.actor, question).remote()))
            except DEATHS as death:
                self._bury(runner, death)
            except RayTaskError as problem:
                raise cause_of(problem) from None
        return found

    def trace(self) -> Trace:
        events = [event for events in self._ask_all("events") for event in events]
        return Trace(self.scenario.network.shortest_delay, sorted(events))

    def _actors(self) -> list[Any]:
        return [runner.actor for runner in self.runners]
