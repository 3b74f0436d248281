"""A share of a network: the nodes that one process runs, in step with the processes that run the others.

Within a window nothing that is sent can arrive, so every share runs the window alone, then gives the others what it
has for them. Whatever order the shares run in, each node sees what it would have seen in one simulator.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from heapq import heappush
from math import inf, nextafter
from typing import Any

from runtime.agent import Agent
from runtime.batches import decode_batch, encode_batch
from runtime.faults import FaultPlan
from runtime.garbage import quiet_collector
from runtime.links import COUNT_BITS, Link
from runtime.network import Network
from runtime.simnode import Entry, SimNode
from runtime.simulator import ENVIRONMENT, Simulator

Row = dict[str, Any]
HINTS = 1 << 30
"""Where the numbers of orders begin that are in no plan."""


class Away:
    """A node that another share runs: all that is known of it here is its name and its rank."""

    __slots__ = ("id", "index")

    def __init__(self, name: str, index: int) -> None:
        self.id = name
        self.index = index


class Outbox(dict[int, list[Entry]]):
    """What is on its way to another share, by window."""

    def __missing__(self, window: int) -> list[Entry]:
        entries: list[Entry] = []
        self[window] = entries
        return entries


@dataclass(frozen=True)
class Step:
    """What a share did in its windows, and what it has for the others."""

    next_window: int | None
    handled: int
    now: float
    messages: int
    pending: int
    batches: dict[int, bytes]
    earliest: int | None
    """The earliest window in which something in the batches arrives."""

    complete: bool
    """Nothing was left behind the time limit."""

    due: float | None = None
    """When the next event here is due; only hosts that run free are asked."""

    news: tuple[Row, ...] = ()
    """What was logged meanwhile of the events that somebody watches."""


class Share(Simulator):
    """The simulator of some of the nodes."""

    def __init__(
        self,
        network: Network,
        agent: Callable[[str], Agent],
        seed: int,
        plan: FaultPlan,
        owner: Mapping[str, int],
        number: int,
    ) -> None:
        self.owner = owner
        self.number = number
        self.outboxes = {other: Outbox() for other in range(max(owner.values()) + 1) if other != number}
        self._names = sorted(network.neighbours)
        self._away = {name: Away(name, index) for index, name in enumerate(self._names) if owner[name] != number}
        self._links_in: dict[int, Link] = {}
        self.reached = 0.0
        self.hints = 0
        super().__init__(network, agent, seed, plan)

    def is_here(self, name: str) -> bool:
        return self.owner[name] == self.number

    def _find(self, name: str) -> SimNode:
        return self.nodes[name] if self.is_here(name) else self._away[name]  # type: ignore[return-value]

    def windows_of(self, target: SimNode) -> dict[int, list[Entry]]:
        return self.windows if self.is_here(target.id) else self.outboxes[self.owner[target.id]]

    def begin(self) -> Step:
        """Start the agents."""
        with quiet_collector():
            self.start()
        return self._stepped(True)

    def step(self, first: int, last: int, batches: Iterable[bytes], until: float, max_events: float) -> Step:
        """Take in what the others had for this share, then run the windows from first to last."""
        self.max_events = max_events
        complete = True
        with quiet_collector():
            for batch in batches:
                self.receive(batch)
            while complete and (window := self.next_window()) is not None and first <= window <= last:
                complete = self.run_window(window, until)
        return self._stepped(complete)

    def catch_up(self, until: float, max_events: float, clock: float = 0.0) -> Step:
        """Run everything that is due until this time, in no step with the others.

        What comes later arrives after `clock`, too.
        """
        self.max_events = max_events
        with quiet_collector():
            while (window := self.next_window()) is not None and self.handled < max_events:
                if not self.run_window(window, until):
                    break
        self.reached = max(self.reached, self.now, clock)
        return replace(self._stepped(self.next_window() is None), due=self.due())

    def receive_late(self, batch: bytes) -> None:
        """Take in messages that may come after the time at which they were to arrive: then they arrive now."""
        now = nextafter(self.reached, inf)  # after all that has happened: a replay must not put it among that
        for arrival, place, number, message in decode_batch(batch):
            time = max(arrival, now)
            self.put(self.windows, (time, (place << COUNT_BITS) + number, self.link_at(place), message))

    def hint(self, name: str, order: Any) -> None:
        """The environment has something to say to this node that no plan foresaw."""
        self.hints += 1
        self._plan(name, nextafter(self.reached, inf), order, HINTS + self.hints)

    def due(self) -> float | None:
        """When the next event is due."""
        window = self.next_window()
        if window is None:
            return None
        times = [entry[0] for entry in self.windows.get(window, ())] + [entry[0] for entry in self.timers[:1]]
        return min(times)

    def receive(self, batch: bytes) -> None:
        """Take in messages that come in time; as `put` does, but for many."""
        windows, links, rate = self.windows, self._links_in, self.rate
        for arrival, place, number, message in decode_batch(batch):
            link = links[place] if place in links else self.link_at(place)
            window = int(arrival * rate)
            if window not in windows:
                windows[window] = []
                heappush(self.window_heap, window)
            windows[window].append((arrival, (place << COUNT_BITS) + number, link, message))

    def link_at(self, place: int) -> Link:
        """The link whose events have this rank; only its ends matter once a message is on its way."""
        link = self._links_in.get(place)
        if link is None:
            target, source = divmod(place, self._width)
            name = self._names[source - 1] if source else ENVIRONMENT
            node = self.nodes[self._names[target]]
            link = self._links_in[place] = Link(name, node, place << COUNT_BITS, self.windows)
        return link

    def _stepped(self, complete: bool) -> Step:
        windows = [window for outbox in self.outboxes.values() for window in outbox]
        batches = {
            other: encode_batch([entry for entries in outbox.values() for entry in entries])
            for other, outbox in self.outboxes.items()
            if outbox
        }
        for outbox in self.outboxes.values():
            outbox.clear()
        messages = sum(count for count, _ in (*self.sent.values(), *self.sent_underlay.values()))
        return Step(
            self.next_window(),
            self.handled,
            self.now,
            messages,
            self.pending,
            batches,
            min(windows, default=None),
            complete,
        )

    def lookahead(self) -> int:
        """How many windows this share may run before it must hear from the others."""
        floors = [self.network.underlay_delay.floor] + [
            self.network.link(name, peer).delay.floor
            for name, node in self.nodes.items()
            for peer in node.neighbours
            if not self.is_here(peer)
        ]
        return max(1, int(min(floors) * self.rate))

    # Snapshots

    def state(self) -> dict[str, Any]:
        """Everything that must be kept to go on from here, without the web of links between nodes."""
        return {
            "nodes": {name: node.state() for name, node in self.nodes.items()},
            "waiting": [
                (arrival, key, message) for entries in self.windows.values() for arrival, key, _, message in entries
            ],
            "timers": [
                (due, key, message)
                for due, key, link, message in self.timers
                if link.source != link.peer or link is link.target._own
            ],
            "counts": (self.handled, self.heard, self.now, self.sent, self.sent_underlay),
            "cancelled": self.cancelled,
            "crash_times": self.crash_times,
            "fired": self.plan.fired,
            "events": self.events,
            "dead": [name for name, node in self.nodes.items() if node.handlers is self._gone],
        }

    def restore(self, state: dict[str, Any]) -> None:
        """Go on from a state that this share, in this or another process, was in."""
        self._started = True
        for name, kept in state["nodes"].items():
            self.nodes[name].restore(kept)
        for name in state["dead"]:
            self.nodes[name].handlers = self._gone
        self.windows.clear()
        self.window_heap.clear()
        for arrival, key, message in state["waiting"]:
            self.put(self.windows, (arrival, key, self.link_at(key >> COUNT_BITS), message))
        self.timers[:] = [(due, key, self._timer_link(key), message) for due, key, message in state["timers"]]
        self.timers.sort(key=lambda entry: entry[:2])
        self.handled, self.heard, self.now, self.sent, self.sent_underlay = state["counts"]
        self.cancelled = state["cancelled"]
        self.crash_times = state["crash_times"]
        self.plan.fired.clear()
        self.plan.fired.update(state["fired"])
        self.events = state["events"]

    def _timer_link(self, key: int) -> Link:
        target, source = divmod(key >> COUNT_BITS, self._width)
        node = self.nodes[self._names[target]]
        return node._own if source - 1 == target else self.link_at(key >> COUNT_BITS)
