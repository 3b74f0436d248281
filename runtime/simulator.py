"""The simulator: one process, virtual time, every choice derived from the seed.

Events at one node are ordered by (time, sender, the sender's count). Messages wait in windows as long as
the shortest link delay: what is sent inside a window can only arrive after it, so a window is sorted once
and then run from end to end. Timers, which may be short, wait in a heap and are merged in.
"""

from __future__ import annotations

import gc
import hashlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from heapq import heappop, heappush
from math import inf
from operator import eq, itemgetter
from typing import Any

from runtime.agent import Agent, Handler, LinkChanged, Node
from runtime.errors import AgentError, BrokerlabError, LocalityError, WiringError
from runtime.events import EventLog
from runtime.faults import FaultPlan
from runtime.links import COUNT_BITS, Link, Special
from runtime.message import Message, message
from runtime.network import Network
from runtime.simnode import Died, Entry, SimNode
from runtime.streams import derive

Observer = Callable[[Entry], None]
Send = tuple[int, float]
"""The sender's count and clock."""

ENVIRONMENT = ""
MASK = (1 << 64) - 1


@dataclass(frozen=True)
class Recording:
    """What was decided in a run: for each (sender, receiver), when the message with this number arrived.

    What is missing never arrived. `gap` is the shortest time between a sending and its arrival.
    """

    arrivals: dict[tuple[str, str], dict[int, float]]
    gap: float


@message
class Crashes:
    """The environment stops this node."""


@message
class Recovers:
    """The environment starts this node again."""


class _Gone(dict[type[Any], Handler]):
    """The handlers of a crashed node: whatever arrives is lost."""

    def __init__(self, lost: Handler) -> None:
        super().__init__()
        self._lost = lost

    def __missing__(self, kind: type[Any]) -> Handler:
        return self._lost


class Simulator:
    """Runs the agents of a network in virtual time."""

    def __init__(
        self,
        network: Network,
        agent: Callable[[str], Agent],
        seed: int = 0,
        plan: FaultPlan | None = None,
        recording: Recording | None = None,
    ) -> None:
        self.network = network
        self.seed = seed
        self.plan = plan or FaultPlan(seed)
        self.recording = recording
        self.observer: Observer | None = None
        self.events = EventLog()
        self.sent: dict[type[Any], list[int]] = {}
        self.sent_underlay: dict[type[Any], list[int]] = {}
        self.handled = 0
        self.heard = 0
        self.now = 0.0
        self.windows: dict[int, list[Entry]] = {}
        self.window_heap: list[int] = []
        self.timers: list[Entry] = []
        self.cancelled: set[int] = set()
        # A hair shorter than the shortest delay, so that rounding never puts a message into its own window.
        shortest = network.shortest_delay if recording is None else recording.gap
        self.rate = 1.0 / (shortest * (1 - 1e-6))
        self._make_agent = agent
        self._gone = _Gone(self._lost)
        self._started = False
        self.nodes = self._build()

    def _build(self) -> dict[str, SimNode]:
        names = sorted(self.network.neighbours)
        nodes = {name: SimNode(self, name, index, self.network.neighbours[name]) for index, name in enumerate(names)}
        self._width = len(nodes) + 1
        for node in nodes.values():
            links = {peer: self._overlay_link(node, nodes[peer]) for peer in node.neighbours}
            node.live(self._make_agent(node.id), links, self._own_link(node))
        return nodes

    def _order(self, target: SimNode, source: int) -> int:
        """Rank by (target, source); the environment, source -1, comes first."""
        return (target.index * self._width + source + 1) << COUNT_BITS

    def _overlay_link(self, source: SimNode, target: SimNode) -> Link:
        model = self.network.link(source.id, target.id)
        faults = self.plan.on_link(source.id, target.id)
        recorded = self._recorded(source.id, target.id)
        plain = model.delay.linear and model.bandwidth is None and faults is None and recorded is None
        special = None if plain else Special(model.delay, model.bandwidth, faults, recorded)
        state = derive(self.seed, "link", source.id, target.id)
        return Link(source.id, target, self._order(target, source.index), model.delay, state, special)

    def underlay_link(self, source: SimNode, peer: str) -> Link:
        target = self.nodes.get(peer)
        if target is None:
            raise LocalityError(f"{source.id} cannot reach {peer} over the underlay: no node has this name")
        delay = self.network.underlay_delay
        recorded = self._recorded(source.id, peer)
        special = None if delay.linear and recorded is None else Special(delay, recorded=recorded)
        state = derive(self.seed, "underlay", source.id, peer)
        return Link(source.id, target, self._order(target, source.index), delay, state, special)

    def _own_link(self, node: SimNode) -> Link:
        return Link(node.id, node, self._order(node, node.index), self.network.underlay_delay, 0, None)

    def _recorded(self, source: str, target: str) -> dict[int, float] | None:
        return None if self.recording is None else self.recording.arrivals.get((source, target), {})

    def transmit(self, link: Link, special: Special, message: Any, size: int, send: Send) -> None:
        """The way of a message over a link that is not plain."""
        count, now = send
        for number, arrival in link.arrivals(special, now, size, count):
            window = int(arrival * self.rate)
            if window not in self.windows:
                self.windows[window] = []
                heappush(self.window_heap, window)
            self.windows[window].append((arrival, link.order + number, link, message))

    def start(self) -> None:
        """Start every agent at time 0 and put the planned faults on the agenda."""
        if self._started:
            return
        self._started = True
        number = 0
        for name, spans in sorted(self.plan.crashes.items()):
            for at, until in spans:
                self._plan(name, at, Crashes(), number)
                self._plan(name, until, Recovers(), number + 1)
                number += 2
        for at, name, peer in self.plan.changes(self.network):
            self._plan(name, at, LinkChanged(peer), number)
            number += 1
        for node in self.nodes.values():
            try:
                node.agent.start(node)
            except Exception as problem:
                raise _blame(node, "its start", problem) from problem

    def _plan(self, name: str, at: float, order: Any, number: int) -> None:
        node = self.nodes[name]
        when: float | None = at
        if self.recording is not None:
            when = self.recording.arrivals.get((ENVIRONMENT, name), {}).get(number)
        if when is not None and when < inf:
            link = Link(ENVIRONMENT, node, self._order(node, -1), self.network.underlay_delay, 0, None)
            heappush(self.timers, (when, link.order + number, link, order))

    def run(
        self, until: float = inf, max_events: float = inf, progress: Callable[[Simulator], None] | None = None
    ) -> bool:
        """Run until nothing is left to happen (True) or a limit is reached (False)."""
        with _quiet_collector():
            self.start()
            while (window := self.next_window()) is not None:
                if self.handled >= max_events or not self.run_window(window, until):
                    return False
                if progress is not None:
                    progress(self)
        return True

    def next_window(self) -> int | None:
        """The window of the earliest event."""
        first = self.window_heap[0] if self.window_heap else None
        if self.timers:
            due = int(self.timers[0][0] * self.rate)
            return due if first is None else min(due, first)
        return first

    def run_window(self, window: int, until: float = inf) -> bool:
        """Run every event of this window up to the time limit; False if some were left behind it."""
        batch: list[Entry] = []
        if self.window_heap and self.window_heap[0] == window:
            heappop(self.window_heap)
            batch = self.windows.pop(window)
            self.heard += _sort(batch)
        complete = True
        if (window + 1) / self.rate > until:
            late = [entry for entry in batch if entry[0] > until]
            if late:
                complete = False
                batch = batch[: -len(late)]
                self.windows[window] = late
                heappush(self.window_heap, window)
        self._run_batch(batch)
        timers, rate = self.timers, self.rate
        while timers and int(timers[0][0] * rate) <= window:
            if timers[0][0] > until:
                return False
            self.deliver(heappop(timers))
        return complete

    def _run_batch(self, batch: list[Entry]) -> None:
        """The kernel's hot loop; `deliver` does the same for one event."""
        timers, observer, service = self.timers, self.observer, self.network.service
        for entry in batch:
            while timers and timers[0] < entry:
                self.deliver(heappop(timers))
            arrival, _, link, message = entry
            node = link.target
            if observer is not None:
                observer(entry)
            if arrival >= node.now:
                node.now = node.arrived = arrival
            elif not self._waits(node, arrival):
                continue
            try:
                if service is not None:
                    node.work(service.value(node.rng.random()))
                node.handlers[message.__class__](node, link.source, message)
            except Died:
                pass
            except Exception as problem:
                raise _blame(node, message, problem) from problem
        if batch:
            self.handled += len(batch)
            self.now = max(self.now, batch[-1][0])

    def deliver(self, entry: Entry) -> None:
        """Let one event happen: a message, a timer or an order of the environment."""
        arrival, key, link, message = entry
        node = link.target
        own = link.source == node.id
        if own and (link is not node.own or key in self.cancelled):
            self.cancelled.discard(key)
            return
        self.heard += hash((arrival, key))
        self.handled += 1
        self.now = max(self.now, arrival)
        if self.observer is not None:
            self.observer(entry)
        if link.source == ENVIRONMENT:
            self._obey(node, arrival, message)
            return
        if arrival >= node.now:
            node.now = node.arrived = arrival
        elif not self._waits(node, arrival):
            return
        self._guarded(node, message, lambda: self._handle(node, link.source, message, own))

    def _handle(self, node: SimNode, sender: str, message: Any, own: bool) -> None:
        if self.network.service is not None and not own:
            node.work(self.network.service.value(node.rng.random()))
        node.handlers[message.__class__](node, sender, message)

    def _guarded(self, node: SimNode, cause: Any, action: Callable[[], None]) -> None:
        try:
            action()
        except Died:
            pass
        except Exception as problem:
            raise _blame(node, cause, problem) from problem

    def _waits(self, node: SimNode, arrival: float) -> bool:
        """The node is busy: the message waits its turn, unless a crash empties the queue first."""
        if self.plan.crashes and self.plan.crashes_between(node.id, arrival, node.now):
            self.plan.fired["lost"] += 1
            return False
        node.arrived = arrival
        node.waited_s += node.now - arrival
        return True

    def _obey(self, node: SimNode, time: float, order: Any) -> None:
        if isinstance(order, Crashes):
            self.plan.fired["crash"] += 1
            node.handlers = self._gone
            node.own = self._own_link(node)  # timers of the old life no longer fire
        elif isinstance(order, Recovers):
            self.plan.fired["recover"] += 1
            reborn = self._make_agent(node.id)
            reborn.remember(node.agent)
            node.agent, node.handlers, node.now = reborn, reborn.handlers, time
            self._guarded(node, order, lambda: reborn.start(node, recovered=True))
        elif order.__class__ in node.handlers:
            node.now = max(node.now, time)
            self._guarded(node, order, lambda: node.handlers[order.__class__](node, order.peer, order))

    def _lost(self, node: Node, sender: str, message: Any) -> None:
        if sender != node.id:
            self.plan.fired["lost"] += 1

    def alive(self) -> dict[str, Agent]:
        """The agents of the nodes that are up."""
        return {name: node.agent for name, node in self.nodes.items() if node.handlers is not self._gone}

    @property
    def pending(self) -> int:
        return sum(map(len, self.windows.values())) + len(self.timers)

    def take_pending(self) -> list[Entry]:
        """Hand over everything that waits, for whoever decides the order instead."""
        entries = [entry for batch in self.windows.values() for entry in batch] + self.timers
        self.windows.clear()
        self.window_heap.clear()
        self.timers.clear()
        return entries

    def fingerprint(self) -> str:
        """Equal runs, and only they, have equal fingerprints.

        It covers, in name order, the wire form of everything that each node said, and when and where everything
        arrived: a sum over events that are ordered by what is summed, so that it does not matter how the network is
        cut over processes. Python's hash of a tuple of numbers does not depend on PYTHONHASHSEED.
        """
        digest = hashlib.blake2b((self.heard & MASK).to_bytes(8, "big"), digest_size=16)
        for name, node in self.nodes.items():
            digest.update(f"{name}\0{node.said}\n".encode())
        return digest.hexdigest()


_arrival = itemgetter(0)
_place = itemgetter(1)


def _sort(batch: list[Entry]) -> int:
    """Sort by (arrival, place) and give the sum of all (arrival, place).

    By arrival alone, which is much faster, unless two events are simultaneous.
    """
    batch.sort(key=_arrival)
    arrivals = [*map(_arrival, batch)]
    total = sum(map(hash, zip(arrivals, map(_place, batch), strict=True)))
    if any(map(eq, arrivals, arrivals[1:])):
        batch.sort()
    return total


def _blame(node: SimNode, cause: Any, problem: Exception) -> BrokerlabError:
    if isinstance(problem, AgentError):
        return problem
    if isinstance(problem, KeyError) and isinstance(cause, Message) and cause.__class__ not in node.handlers:
        handled = ", ".join(sorted(kind.__name__ for kind in node.handlers)) or "nothing"
        return WiringError(f"{node.id} has no handler for {cause!r}; it handles {handled}")
    return AgentError(f"{node.id} at {node.now:g}, handling {cause!r}: {type(problem).__name__}: {problem}")


@contextmanager
def _quiet_collector() -> Iterator[None]:
    """Events die by reference count; searching all agents for cycles again and again would cost half the run."""
    before = gc.get_threshold()
    gc.freeze()
    gc.set_threshold(200_000, 50, 100)
    try:
        yield
    finally:
        gc.set_threshold(*before)
        gc.unfreeze()
