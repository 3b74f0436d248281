"""Lock-step on Ray: virtual time, window by window, with the same trace as the simulator.

The driver hands each host what the others had for it and lets all of them run the next window. It keeps what it
handed out since the last snapshots, so a host that dies is started again from its snapshot, goes through the same
steps once more, and the run goes on as if nothing had happened.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import ray
from ray.exceptions import (
    NodeDiedError,
    ObjectLostError,
    OutOfMemoryError,
    RayActorError,
    RayTaskError,
    WorkerCrashedError,
)

from runtime.cluster import await_hosts, cpus, start_host, start_hosts
from runtime.ensemble import Ensemble
from runtime.errors import BrokerlabError, ClusterError
from runtime.hosts import Kit
from runtime.progress import Seen
from runtime.scenario import Scenario
from runtime.share import Row, Step

DEATHS = (RayActorError, NodeDiedError, ObjectLostError, OutOfMemoryError, WorkerCrashedError)
SNAPSHOT_EVERY_S = 10.0
MOST_DEATHS = 10

Call = tuple[int, int, list[bytes], float, float]


@dataclass
class Seat:
    """One host: its actor, where it can be started again from, and what it was told since."""

    number: int
    actor: Any
    snapshot: bytes | None = None
    told: list[Call | None] = field(default_factory=list)  # None: begin
    inbox: list[bytes] = field(default_factory=list)
    step: Step | None = None


class LockStep(Ensemble):
    """Hosts that run window by window."""

    def __init__(
        self,
        scenario: Scenario,
        count: int,
        report: Callable[[str], None] = lambda line: None,
        progress: Callable[[Seen], None] = lambda seen: None,
        watch: str | None = None,
    ) -> None:
        self.scenario = scenario
        self.kit = Kit.of(scenario, count, watch)
        self._news: list[Row] = []
        self.report = report
        self.progress = progress
        self.snapshot_every_s = SNAPSHOT_EVERY_S
        self.deaths = 0
        actors = start_hosts(self.kit, count, lambda ready: progress(Seen(0.0, 0, 0, 0, ready)))
        self.seats = [Seat(number, actor) for number, actor in enumerate(actors)]
        self.lookahead = min(self._ask_all("ready"))
        self._earliest: int | None = None
        self._kept_at = time.monotonic()
        self._keeping_s = 0.0

    def run(self) -> bool:
        """Run until nothing is left to happen (True) or a limit is reached (False)."""
        limit, most = self.scenario.time_limit, self.scenario.limits.events
        self._step([(seat, None) for seat in self.seats])
        while (window := self._next_window()) is not None:
            steps = self._steps()
            if sum(step.handled for step in steps) >= most or not all(step.complete for step in steps):
                return False
            last = window + self.lookahead - 1
            calls: list[tuple[Seat, Call | None]] = []
            for seat in self.seats:
                due = seat.step is not None and seat.step.next_window is not None and seat.step.next_window <= last
                if seat.inbox or due:
                    room = most - sum(step.handled for step in steps) + (seat.step.handled if seat.step else 0)
                    calls.append((seat, (window, last, seat.inbox, limit, room)))
                    seat.inbox = []
            self._step(calls)
            self.progress(self.seen())
            self._keep()
        return all(step.complete for step in self._steps())

    def _steps(self) -> list[Step]:
        return [seat.step for seat in self.seats if seat.step is not None]

    def seen(self) -> Seen:
        steps = self._steps()
        news, self._news = tuple(self._news), []
        return Seen(
            max(step.now for step in steps),
            sum(step.handled for step in steps),
            sum(step.messages for step in steps),
            sum(step.pending for step in steps),
            len(self.seats),
            news,
        )

    def _next_window(self) -> int | None:
        waiting = [step.next_window for step in self._steps()] + [self._earliest]
        return min((window for window in waiting if window is not None), default=None)

    def _step(self, calls: list[tuple[Seat, Call | None]]) -> None:
        """Let these hosts run, then bring what each has for the others into their inboxes."""
        for seat, call in calls:
            seat.told.append(call)
        pending = [(seat, self._tell(seat.actor, call)) for seat, call in calls]
        stepped: list[Step] = []
        for seat, answer in pending:
            seat.step = self._answer(seat, answer)
            stepped.append(seat.step)
        for step in stepped:
            self._news += step.news
            for other, batch in step.batches.items():
                self.seats[other].inbox.append(batch)
        self._earliest = min((step.earliest for step in stepped if step.earliest is not None), default=None)

    @staticmethod
    def _tell(actor: Any, call: Call | None) -> Any:
        return actor.begin.remote() if call is None else actor.step.remote(*call)

    def _answer(self, seat: Seat, answer: Any) -> Step:
        while True:
            try:
                step: Step = ray.get(answer)
                return step
            except DEATHS as death:
                answer = self._revive(seat, death)
            except RayTaskError as problem:
                raise cause_of(problem) from None

    def _revive(self, seat: Seat, death: Exception) -> Any:
        """Start the host again from its snapshot and repeat what it was told since; the last answer is the due one."""
        self.deaths += 1
        if self.deaths > MOST_DEATHS:
            raise ClusterError(f"hosts died {self.deaths} times; the last: {str(death).splitlines()[0]}")
        self.report(
            f"host {seat.number} of {len(self.seats)} died; started again from "
            f"{'the beginning' if seat.snapshot is None else 'its last snapshot'}, {len(seat.told)} steps back"
        )
        ray.kill(seat.actor)  # it may be alive and only out of reach
        seat.actor = start_host(self.kit, seat.number)
        await_hosts([seat.actor])
        if seat.snapshot is not None:
            seat.actor.restore.remote(seat.snapshot)
        answer = None
        for call in seat.told:
            answer = self._tell(seat.actor, call)
        return answer

    def _keep(self) -> None:
        """Take snapshots now and then: never for more than a tenth of the time."""
        since = time.monotonic() - self._kept_at
        if since < max(self.snapshot_every_s, 10 * self._keeping_s):
            return
        started = time.monotonic()
        answers = [seat.actor.snapshot.remote() for seat in self.seats]
        for seat, answer in zip(self.seats, answers, strict=True):
            try:
                seat.snapshot = ray.get(answer)
                seat.told.clear()
            except DEATHS:
                continue  # it will be noticed, and repeated, at its next step
        self._kept_at = time.monotonic()
        self._keeping_s = self._kept_at - started

    def _ask_all(self, question: str) -> list[Any]:
        """The same question to all hosts; one that died meanwhile answers after its revival."""
        answers = [(seat, getattr(seat.actor, question).remote()) for seat in self.seats]
        found = []
        for seat, answer in answers:
            while True:
                try:
                    found.append(ray.get(answer))
                    break
                except DEATHS as death:
                    self._revive(seat, death)
                    answer = getattr(seat.actor, question).remote()
                except RayTaskError as problem:
                    raise cause_of(problem) from None
        return found

    def _actors(self) -> list[Any]:
        return [seat.actor for seat in self.seats]


def cause_of(problem: RayTaskError) -> Exception:
    """What the host itself raised."""
    cause = getattr(problem, "cause", None)
    return cause if isinstance(cause, BrokerlabError) else problem


def packing(agents: int, per_actor: int | None) -> int:
    """How many actors these agents need: as many as there are cores, unless it was asked for otherwise."""
    if per_actor is None:
        return max(1, min(cpus(), agents))
    return -(-agents // per_actor)
