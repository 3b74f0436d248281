"""Runs driven by choices: which of the pending messages is delivered next?

Delays then no longer matter; every order that an asynchronous network allows can be had. Timers never come
early: choosing one moves the clock at least to the time it was set for, so a late one is all a protocol sees.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from heapq import heappop, heappush

from runtime.links import COUNT_BITS, COUNT_MASK
from runtime.simnode import Entry
from runtime.simulator import ENVIRONMENT, Simulator

STEP = 1e-3
"""How far the clock moves from one delivery to the next."""

Choose = Callable[[Sequence[Entry]], int]
"""Which of the pending events comes next. The environment's orders and timers are events too."""


def at_random(rng: random.Random, patience: int = 10) -> Choose:
    """Any event, but a timer only if it is drawn that often in a row: time-outs outrun the network rarely."""

    def choose(pending: Sequence[Entry]) -> int:
        choice = rng.randrange(len(pending))
        for _ in range(patience - 1):
            if not _own(pending[choice]):
                break
            choice = rng.randrange(len(pending))
        return choice

    return choose


def by_priority(rng: random.Random, changes: int = 3, within: int = 300) -> Choose:
    """Links that starve: each has a priority, the highest always wins, and now and then the winner becomes last.

    Few changes at random moments find most ordering bugs (Burckhardt et al., ASPLOS 2010). Timers come last.
    """
    priority: dict[int, float] = {}
    moments = {rng.randrange(within) for _ in range(changes)}
    step = 0

    def rank(entry: Entry) -> float:
        place = entry[1] >> COUNT_BITS
        if place not in priority:
            priority[place] = rng.random() - 10 * _own(entry)
        return priority[place]

    def choose(pending: Sequence[Entry]) -> int:
        nonlocal step
        step += 1
        ranks = [rank(entry) for entry in pending]
        choice = ranks.index(max(ranks))
        if step in moments:
            priority[pending[choice][1] >> COUNT_BITS] = min(priority.values()) - 1
        return choice

    return choose


def _own(entry: Entry) -> bool:
    return entry[2].source == entry[2].peer


def steer(sim: Simulator, choose: Choose, fifo: bool = True, max_events: float = 1_000_000) -> bool:
    """Run by choices until nothing is pending (True) or the limit is reached (False).

    With `fifo`, each link keeps its order and only its first message is offered; without, every message is.
    """
    sim.start(timed=False)
    sim.crash_times.clear()
    pending = _Pending(fifo)
    clock = max(sim.now, *(node.now for node in sim.nodes.values()))
    while sim.handled < max_events:
        pending.add(sim.take_pending())
        if not pending:
            return True
        entry = pending.take(choose(pending))
        link = entry[2]
        # A node that worked is ahead of the clock: nothing may arrive before it was sent.
        clock = max(clock, link.target.now) + STEP
        if link.source in (ENVIRONMENT, link.peer):
            clock = max(clock, entry[0])
        sim.deliver((clock, *entry[1:]))
        clock = max(clock, link.target.now)
    sim.timers = sorted(pending.all())  # for whoever goes on
    return False


class _Pending(Sequence[Entry]):
    """What may be delivered next. A queue for each link keeps its order; its head is the option."""

    def __init__(self, fifo: bool) -> None:
        self._fifo = fifo
        self._queues: dict[int, list[tuple[float, int, Entry]]] = {}
        self._active: list[int] = []

    def add(self, entries: list[Entry]) -> None:
        # By place and number, not by time: what is offered must not depend on the delays.
        for entry in sorted(entries, key=lambda entry: entry[1]):
            queue, time, place = self._place(entry)
            if queue not in self._queues:
                self._queues[queue] = []
                self._active.append(queue)
            heappush(self._queues[queue], (time, place, entry))

    def _place(self, entry: Entry) -> tuple[int, float, int]:
        """The queue in which an event waits, and its place there."""
        time, key, link, _ = entry
        if link.source == ENVIRONMENT:
            # One queue for all nodes: nobody hears of a crash before it has happened.
            return 0, time, key & COUNT_MASK
        if link.source == link.peer:
            return key >> COUNT_BITS, time, key
        return key >> COUNT_BITS if self._fifo else -key, 0.0, key

    def take(self, choice: int) -> Entry:
        queue = self._active[choice]
        _, _, entry = heappop(self._queues[queue])
        if not self._queues[queue]:
            del self._queues[queue]
            self._active[choice] = self._active[-1]
            self._active.pop()
        return entry

    def all(self) -> list[Entry]:
        """Also what is not offered yet."""
        return [entry for queue in self._queues.values() for _, _, entry in queue]

    def __len__(self) -> int:
        return len(self._active)

    def __getitem__(self, choice: int) -> Entry:  # type: ignore[override]
        return self._queues[self._active[choice]][0][2]
