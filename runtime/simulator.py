"""The simulator: one process, virtual time, every choice derived from the seed.

Events at one node are ordered by (time, sender, the sender's count). Messages wait in windows as long as
the shortest link delay: what is sent inside a window can only arrive after it, so a window is sorted once
and then run from end to end. Timers, which may be short, wait in a heap and are merged in.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from heapq import heappop, heappush
from math import inf
from operator import eq, itemgetter
from typing import Any

from runtime.agent import Agent, Handler, LinkChanged, Node, Unhandled
from runtime.errors import AgentError, BrokerlabError, LocalityError, WiringError
from runtime.events import EventLog
from runtime.faults import FaultPlan
from runtime.garbage import quiet_collector, tidy
from runtime.links import COUNT_BITS, Link, Special
from runtime.message import message
from runtime.network import Network
from runtime.simnode import Died, Entry, SimNode
from runtime.streams import derive, derive_each
from runtime.tally import Tally, add_counts

Observer = Callable[[Entry], None]
Send = tuple[int, float]
"""The sender's count and clock."""

ENVIRONMENT = ""


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
        self.max_events = inf
        self.crash_times: dict[str, list[float]] = {}
        # A hair shorter than the shortest delay, so that rounding never puts a message into its own window.
        shortest = network.shortest_delay if recording is None else recording.gap
        self.rate = 1.0 / (shortest * (1 - 1e-6))
        self._make_agent = agent
        self._gone = _Gone(self._lost)
        self._started = False
        tidy()
        with quiet_collector():
            self._build()

    def _build(self) -> None:
        neighbours = self.network.neighbours
        self._width = len(neighbours) + 1
        self.nodes = {
            name: SimNode(self, name, index, neighbours[name])
            for index, name in enumerate(sorted(neighbours))
            if self.is_here(name)
        }
        for node in self.nodes.values():
            node.live(self._make_agent(node.id), self._overlay_links(node), self._own_link(node))

    def is_here(self, name: str) -> bool:
        """Does this simulator run the node of this name?"""
        return True

    def _find(self, name: str) -> SimNode:
        return self.nodes[name]

    def _order(self, target: SimNode, source: int) -> int:
        """Rank by (target, source); the environment, source -1, comes first."""
        return (target.index * self._width + source + 1) << COUNT_BITS

    def _overlay_links(self, source: SimNode) -> dict[str, Link]:
        seed_of = derive_each(str(self.seed), "link", source.id)
        return {peer: self._overlay_link(source, self._find(peer), seed_of(peer)) for peer in source.neighbours}

    def _overlay_link(self, source: SimNode, target: SimNode, seed: int) -> Link:
        model = self.network.link(source.id, target.id)
        faults = self.plan.on_link(source.id, target.id)
        recorded = self._recorded(source.id, target.id)
        plain = model.delay.linear and model.bandwidth is None and faults is None and recorded is None
        special = None if plain else Special(model.delay, model.bandwidth, faults, recorded)
        order = self._order(target, source.index)
        return Link(source.id, target, order, self.windows_of(target), model.delay, seed, special)

    def underlay_link(self, source: SimNode, peer: str) -> Link:
        if peer not in self.network.neighbours or peer == source.id:
            why = "that is itself; write after(0, ...)" if peer == source.id else "no node has this name"
            raise LocalityError(f"{source.id} cannot reach {peer} over the underlay: {why}")
        target = self._find(peer)
        delay = self.network.underlay_delay
        recorded = self._recorded(source.id, peer)
        special = None if delay.linear and recorded is None else Special(delay, recorded=recorded)
        state = derive(self.seed, "underlay", source.id, peer)
        return Link(
            source.id, target, self._order(target, source.index), self.windows_of(target), delay, state, special
        )

    def windows_of(self, target: SimNode) -> dict[int, list[Entry]]:
        """Where messages to this node wait."""
        return self.windows

    def _own_link(self, node: SimNode) -> Link:
        return Link(node.id, node, self._order(node, node.index), self.windows)

    def _recorded(self, source: str, target: str) -> dict[int, float] | None:
        return None if self.recording is None else self.recording.arrivals.get((source, target), {})

    def transmit(self, link: Link, special: Special, message: Any, size: int, send: Send) -> None:
        """The way of a message over a link that is not plain."""
        count, now = send
        for number, arrival in link.arrivals(special, now, size, count):
            self.put(link.windows, (arrival, link.order + number, link, message))

    def put(self, windows: dict[int, list[Entry]], entry: Entry) -> None:
        """Let this event wait for its window."""
        window = int(entry[0] * self.rate)
        try:
            windows[window].append(entry)
        except KeyError:
            windows[window] = [entry]
            heappush(self.window_heap, window)

    def start(self, timed: bool = True) -> None:
        """Start every agent at time 0 and put the planned faults on the agenda.

        If not timed, somebody else decides when they come; then no handler knows that it works past a crash.
        """
        if self._started:
            return
        self._started = True
        number = 0
        for name, spans in sorted(self.plan.crashes.items()):
            for at, until in spans:
                crash = self._plan(name, at, Crashes(), number)
                if timed and crash is not None:
                    self.crash_times.setdefault(name, []).append(crash)
                self._plan(name, until, Recovers(), number + 1)
                number += 2
        for at, name, peer in self.plan.changes(self.network):
            self._plan(name, at, LinkChanged(peer), number)
            number += 1
        for node in self.nodes.values():
            self._guarded(node, "its start", partial(node.agent.start, node))

    def _plan(self, name: str, at: float, order: Any, number: int) -> float | None:
        """Put this order on the agenda; gives the time at which it comes, if it does."""
        if not self.is_here(name):
            return None
        node = self.nodes[name]
        when: float | None = at
        if self.recording is not None:
            when = self.recording.arrivals.get((ENVIRONMENT, name), {}).get(number)
        if when is not None and when < inf:
            link = Link(ENVIRONMENT, node, self._order(node, -1), self.windows)
            heappush(self.timers, (when, link.order + number, link, order))
        return when

    def crashes_between(self, node: str, after: float, until: float) -> bool:
        """Does the node crash in (after, until]?"""
        times = self.crash_times.get(node, ())
        return bisect_right(times, until) > bisect_right(times, after)

    def run(
        self, until: float = inf, max_events: float = inf, progress: Callable[[Simulator], None] | None = None
    ) -> bool:
        """Run until nothing is left to happen (True) or a limit is reached (False)."""
        self.max_events = max_events
        with quiet_collector():
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
        complete = True
        # One window more than needed, since rounding may have put an event into the window before its own.
        if (window + 2) / self.rate > until:
            late = [entry for entry in batch if entry[0] > until]
            if late:
                complete = False
                batch = [entry for entry in batch if entry[0] <= until]
                self._put_back(window, late)
        self.heard += _sort(batch)
        self._run_batch(batch)
        timers, rate = self.timers, self.rate
        while timers and int(timers[0][0] * rate) <= window:
            if timers[0][0] > until or self.handled >= self.max_events:
                return False
            self.deliver(heappop(timers))
        return complete

    def _put_back(self, window: int, entries: list[Entry]) -> None:
        if window not in self.windows:
            self.windows[window] = []
            heappush(self.window_heap, window)
        self.windows[window] += entries

    def _run_batch(self, batch: list[Entry]) -> None:
        """The kernel's hot loop; `deliver` does the same for one event."""
        timers, observer, service = self.timers, self.observer, self.network.service
        entries = iter(batch)
        for entry in entries:
            while timers and timers[0] < entry:
                if self.handled >= self.max_events:
                    # Timers that set timers for the same moment would never let the batch end.
                    self._leave(batch, [entry, *entries])
                    return
                self.deliver(heappop(timers))
            arrival, _, link, message = entry
            node = link.target
            if observer is not None:
                observer(entry)
            if arrival >= node.now:
                node.now = node.arrived = arrival
            elif not self._waits(node, arrival):
                self.plan.fired["lost"] += 1
                continue
            try:
                if service is not None and node.handlers is not self._gone:
                    node.work(service.value(node.rng.random()))
                node.handlers[message.__class__](node, link.source, message)
            except Died:
                pass
            except Exception as problem:
                raise _blame(node, message, problem) from problem
        if batch:
            self.handled += len(batch)
            self.now = max(self.now, batch[-1][0])

    def _leave(self, batch: list[Entry], rest: list[Entry]) -> None:
        """Stop in the middle of a batch as if the rest had not been taken out yet."""
        self.heard -= sum(hash(entry[:2]) for entry in rest)
        done = batch[: -len(rest)]
        self.handled += len(done)
        if done:
            self.now = max(self.now, done[-1][0])
        self._put_back(int(rest[0][0] * self.rate), rest)

    def deliver(self, entry: Entry) -> None:
        """Let one event happen: a message, a timer or an order of the environment."""
        arrival, key, link, message = entry
        node = link.target
        own = link.source == node.id
        if own and (link is not node._own or key in self.cancelled):
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
        if self._turn(node, arrival):
            self._guarded(node, message, lambda: self._handle(node, link.source, message, own))
        elif not own:
            self.plan.fired["lost"] += 1

    def _turn(self, node: SimNode, arrival: float) -> bool:
        """Does the node get to handle what arrives now? Its clock then says when."""
        if arrival < node.now:
            return self._waits(node, arrival)
        node.now = node.arrived = arrival
        return True

    def _handle(self, node: SimNode, sender: str, message: Any, own: bool) -> None:
        if self.network.service is not None and not own and node.handlers is not self._gone:
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
        if self.crash_times and self.crashes_between(node.id, arrival, node.now):
            return False
        node.arrived = arrival
        node.waited_s += node.now - arrival
        return True

    def _obey(self, node: SimNode, time: float, order: Any) -> None:
        if isinstance(order, Crashes):
            self.plan.fired["crash"] += 1
            node.handlers = self._gone
            node._own = self._own_link(node)  # timers of the old life no longer fire
            node.now = time  # whatever it was busy with has ended
        elif isinstance(order, Recovers):
            self.plan.fired["recover"] += 1
            reborn = self._make_agent(node.id)
            reborn.remember(node.agent)
            node.agent, node.handlers = reborn, reborn.handlers
            node.now = node.arrived = time
            self._guarded(node, order, lambda: reborn.start(node, recovered=True))
        elif order.__class__ in node.handlers and self._turn(node, time):
            self._guarded(node, order, lambda: node.handlers[order.__class__](node, order.peer, order))

    def _lost(self, node: Node, sender: str, message: Any) -> None:
        if sender != node.id:
            self.plan.fired["lost"] += 1

    def alive(self) -> dict[str, Agent]:
        """The agents of the nodes that are up."""
        return {name: node.agent for name, node in self.nodes.items() if node.handlers is not self._gone}

    def dead(self) -> dict[str, Agent]:
        """The agents of the nodes that are down, as they were when they crashed."""
        return {name: node.agent for name, node in self.nodes.items() if node.handlers is self._gone}

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

    def tally(self) -> Tally:
        """What was counted until now."""
        tally = Tally(self.now, self.handled, self.heard, fired=self.plan.fired, events=self.events)
        for name, node in self.nodes.items():
            tally.said[name] = node.said
            tally.waited_s[name] = node.waited_s
            add_counts(tally.carried, getattr(node.agent.layer, "carried", {}))
        add_counts(tally.sent, {kind.tag: counts for kind, counts in self.sent.items()})
        add_counts(tally.sent_underlay, {kind.tag: counts for kind, counts in self.sent_underlay.items()})
        return tally

    def fingerprint(self) -> str:
        return self.tally().fingerprint()


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
    if isinstance(problem, Unhandled):
        return WiringError(str(problem))
    if isinstance(problem, KeyError) and problem.args == (cause.__class__,) and cause.__class__ not in node.handlers:
        return Unhandled(node, cause, node.handlers)
    return AgentError(f"{node.id} at {node.now:g}, handling {cause}: {type(problem).__name__}: {problem}")
