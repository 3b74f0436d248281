"""POP, Publisher Optimistic Placement (relocation, 3).

The first broker tags publications; each broker that a tagged one reaches reports how many subscribers it found there
and beyond (TRM), once all brokers below it have reported. The reports go into running averages, the Publisher Profile
Table. When enough has been traced, a Relocation Request (RRM) walks from the first broker to wherever more subscribers
lie than in all other directions together; where it stops is the closest broker, which answers (RAM) with the path.

Where the paper is silent: a TRM names its publication, for a broker can have several traces open; a neighbour that a
tagged publication did not go to counts as 0 for it; nothing is tagged while the publisher is about to move.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from protocols.relocation.migration import Migration
from protocols.routing.connections import Connections
from protocols.routing.content import Publication, Tracer
from runtime.agent import Node, on
from runtime.message import message


@message
class TraceResult:
    """TRM: so many subscribers at and below the sender got this publication."""

    publisher: str
    number: int
    subscribers: int


@message
class RelocationRequest:
    """RRM: so many subscribers lie behind the sender; the brokers that it passed, the last one first."""

    publisher: str
    subscribers: float
    path: tuple[str, ...]


@message
class RelocationAnswer:
    """RAM: the brokers from the closest to the publisher's own."""

    publisher: str
    path: tuple[str, ...]


@dataclass(frozen=True)
class PopSettings:
    """The paper's defaults."""

    threshold: int = 100
    """P_threshold: so many traces before a broker is chosen."""

    traced_per_window: int = 50
    """N: the most publications that are traced in a window."""

    window_s: float = 60.0
    """W."""

    newest: float = 0.25
    """The weight of the newest value in the running average."""


@dataclass
class Trace:
    """A tagged publication that brokers below this one still have to report on."""

    upstream: str
    """The neighbour that it came from, or the publisher."""

    local: int
    waiting: dict[str, None]
    found: dict[str, int] = field(default_factory=dict)


@dataclass
class Profile:
    """A publisher's part of the Profile Table: the average number of subscribers here and behind each neighbour."""

    local: float = 0.0
    behind: dict[str, float] = field(default_factory=dict)
    new: bool = True

    def learn(self, local: int, found: dict[str, int], newest: float) -> None:
        weight = 1.0 if self.new else newest
        self.new = False
        self.local += weight * (local - self.local)
        for neighbour in {**self.behind, **found}:
            before = self.behind.get(neighbour, 0.0)
            self.behind[neighbour] = before + weight * (found.get(neighbour, 0) - before)

    def next_closest(self, upstream: str | None, beyond: float) -> tuple[str | None, float]:
        """The neighbour with more subscribers behind it than all else, or None; and how many all else are."""
        behind = {peer: count for peer, count in self.behind.items() if peer != upstream}
        total = self.local + beyond + sum(behind.values())
        closest = next((peer for peer, count in sorted(behind.items()) if count > total - count), None)
        return closest, total - behind[closest] if closest is not None else total


@dataclass
class Window:
    """How far the tracing of one publisher is, at its first broker."""

    number: int = -1
    tagged: int = 0
    """T: in the current window."""

    traced: int = 0
    """Since the last decision."""

    outstanding: int = 0
    asked_at: float | None = None
    """When the RRM was sent whose answer is awaited, or the publisher was told to go."""


class Pop(Tracer):
    """A broker's part in POP."""

    def __init__(self, connections: Connections, settings: PopSettings = PopSettings()) -> None:
        super().__init__()
        self.connections = connections
        self.settings = settings
        self.migration: Migration
        self.windows: dict[str, Window] = {}
        self.traces: dict[tuple[str, int], Trace] = {}
        self.profiles: dict[str, Profile] = {}

    # Phase 1: tracing

    def trace(self, node: Node, publication: Publication) -> int:
        """P_trace = 1 - T/N."""
        window = self.windows.setdefault(publication.publisher, Window())
        if window.asked_at is not None:
            return 0
        number = int(node.now // self.settings.window_s)
        if number != window.number:
            window.number, window.tagged = number, 0
        if node.rng.random() >= 1 - window.tagged / self.settings.traced_per_window:
            return 0
        window.tagged += 1
        window.outstanding += 1
        return publication.number

    def passed(self, node: Node, sender: str, seen: Publication, brokers: list[str], clients: list[str]) -> None:
        trace = Trace(sender, len(clients), dict.fromkeys(brokers))
        self.traces[seen.publisher, seen.number] = trace
        self.report(node, seen.publisher, seen.number, trace)

    @on(TraceResult)
    def reported(self, node: Node, sender: str, result: TraceResult) -> None:
        self.connections.received(node)
        trace = self.traces.get((result.publisher, result.number))
        if trace is None:
            return  # the publisher left meanwhile
        del trace.waiting[sender]
        trace.found[sender] = result.subscribers
        self.report(node, result.publisher, result.number, trace)

    def report(self, node: Node, publisher: str, number: int, trace: Trace) -> None:
        """Once all below have reported: into the profile, and upstream."""
        if trace.waiting:
            return
        del self.traces[publisher, number]
        self.profiles.setdefault(publisher, Profile()).learn(trace.local, trace.found, self.settings.newest)
        if trace.upstream in self.connections.brokers:
            total = trace.local + sum(trace.found.values())
            self.connections.send(node, trace.upstream, TraceResult(publisher, number, total))
        elif publisher in self.windows:
            window = self.windows[publisher]
            window.traced += 1
            window.outstanding -= 1
            if window.traced >= self.settings.threshold and not window.outstanding:
                self.select(node, publisher, window)

    # Phase 2: the closest broker

    def select(self, node: Node, publisher: str, window: Window) -> None:
        window.traced = 0
        window.asked_at = node.now
        self.walk(node, None, RelocationRequest(publisher, 0.0, ()))

    @on(RelocationRequest)
    def requested(self, node: Node, sender: str, request: RelocationRequest) -> None:
        self.connections.received(node)
        self.walk(node, sender, request)

    def walk(self, node: Node, upstream: str | None, request: RelocationRequest) -> None:
        profile = self.profiles.get(request.publisher, Profile())
        closest, others = profile.next_closest(upstream, request.subscribers)
        path = (node.id, *request.path)
        if closest is not None:
            self.connections.send(node, closest, RelocationRequest(request.publisher, others, path))
        else:
            self.answer(node, RelocationAnswer(request.publisher, path))

    @on(RelocationAnswer)
    def answered(self, node: Node, sender: str, answer: RelocationAnswer) -> None:
        self.connections.received(node)
        self.answer(node, answer)

    def answer(self, node: Node, answer: RelocationAnswer) -> None:
        """Back along the path; the publisher's own broker then lets it go."""
        if node.id == answer.path[-1]:
            self.decide(node, answer.publisher, answer.path)
        else:
            back = answer.path[answer.path.index(node.id) + 1]
            self.connections.send(node, back, answer)

    def decide(self, node: Node, publisher: str, path: Sequence[str]) -> None:
        window = self.windows.get(publisher)
        if window is None or window.asked_at is None:
            return  # it left meanwhile
        took_s = node.now - window.asked_at
        self.selections.append((len(path) - 1, took_s))
        node.log("selected", publisher=publisher, target=path[0], hops=len(path) - 1, took_s=took_s)
        if len(path) == 1:
            window.asked_at = None
        else:
            self.migration.begin(node, publisher, tuple(path))

    # The publisher moves

    def forget(self, publisher: str) -> None:
        self.profiles.pop(publisher, None)
        self.windows.pop(publisher, None)
        for key in [key for key in self.traces if key[0] == publisher]:
            del self.traces[key]

    def size_bytes(self) -> int:
        rows = sum(1 + len(profile.behind) for profile in self.profiles.values())
        return 16 * rows + 24 * len(self.traces)
