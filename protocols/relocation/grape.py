"""GRAPE, Greedy Relocation Algorithm for Publishers of Events (relocation, 4).

The first broker traces consecutive publications in sessions. Each broker notes in a bit vector which of a session's
publications it delivered to its own subscribers, and how many deliveries that were. When a session is full, a request
(TIR) follows the publications, and the answers (TIA) come back together with the brokers' delays. The first broker then
estimates what the publisher would cost at each of them: it drops those that are too expensive by the preferred measure
and takes the best by the other one. Delays need the publisher's ping times, which are asked for when they matter.

Where the paper is silent: the publisher's own broker is a candidate too, and wins ties; with one candidate left nothing
is pinged; no session is open while a broker is being chosen.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from protocols.relocation.estimate import BrokerStatistics, Estimate, cheapest, shortlist
from protocols.relocation.migration import Migration
from protocols.relocation.pings import AskPings, Ping, PingTimes, Pong
from protocols.routing.connections import Connections
from protocols.routing.content import Publication, Tracer
from runtime.agent import Node, on
from runtime.message import message


@message
class TraceInformationRequest:
    """TIR: what did this session show at and below you?"""

    publisher: str
    session: int


@message
class BrokerTrace:
    """What a session showed at one broker, and how long messages take there."""

    broker: str
    neighbours: tuple[str, ...]
    bits: bytes
    deliveries: int
    input_s: float
    matching_s: float
    output_s: tuple[tuple[str, float], ...]


@message
class TraceInformationAnswer:
    """TIA: the sender's trace and those of all brokers below it."""

    publisher: str
    session: int
    traces: tuple[BrokerTrace, ...]


@dataclass(frozen=True)
class GrapeSettings:
    threshold: int = 100
    """G_threshold: the publications of a session."""

    priority: str = "load"
    """Which cost comes first: "load" or "delay"."""

    weight: float = 100.0
    """P: how much that cost is to be minimised, in percent."""


@dataclass
class Session:
    """What one broker knows of a session."""

    upstream: str
    bits: int = 0
    deliveries: int = 0
    sent_to: dict[str, None] = field(default_factory=dict)
    waiting: dict[str, None] = field(default_factory=dict)
    answers: list[BrokerTrace] = field(default_factory=list)


@dataclass
class Managed:
    """How far the tracing of one publisher is, at its first broker."""

    session: int = 0
    """The number of its first publication; 0: none is open."""

    traced: int = 0
    asked_at: float | None = None
    estimate: Estimate | None = None
    candidates: list[str] = field(default_factory=list)


class Grape(Tracer):
    """A broker's part in GRAPE."""

    def __init__(self, connections: Connections, settings: GrapeSettings = GrapeSettings()) -> None:
        super().__init__()
        self.connections = connections
        self.settings = settings
        self.migration: Migration
        self.managed: dict[str, Managed] = {}
        self.sessions: dict[tuple[str, int], Session] = {}

    # Phase 1: tracing

    def trace(self, node: Node, publication: Publication) -> int:
        mine = self.managed.setdefault(publication.publisher, Managed())
        if mine.asked_at is not None:
            return 0
        if not mine.session:
            mine.session, mine.traced = publication.number, 0
        mine.traced += 1
        return mine.session

    def passed(self, node: Node, sender: str, seen: Publication, brokers: list[str], clients: list[str]) -> None:
        session = self.sessions.setdefault((seen.publisher, seen.trace), Session(sender))
        session.deliveries += len(clients)
        session.bits |= bool(clients) << (seen.number - seen.trace)
        session.sent_to |= dict.fromkeys(brokers)
        if sender in self.connections.brokers:
            return
        mine = self.managed[seen.publisher]
        if mine.traced >= self.settings.threshold:
            mine.asked_at = node.now
            self.retrieve(node, TraceInformationRequest(seen.publisher, mine.session))

    @on(TraceInformationRequest)
    def asked(self, node: Node, sender: str, request: TraceInformationRequest) -> None:
        self.connections.received(node)
        self.retrieve(node, request)

    def retrieve(self, node: Node, request: TraceInformationRequest) -> None:
        session = self.sessions[request.publisher, request.session]
        session.waiting = dict(session.sent_to)
        for neighbour in session.sent_to:
            self.connections.send(node, neighbour, request)
        self.aggregate(node, request.publisher, request.session)

    @on(TraceInformationAnswer)
    def answered(self, node: Node, sender: str, answer: TraceInformationAnswer) -> None:
        self.connections.received(node)
        session = self.sessions.get((answer.publisher, answer.session))
        if session is None:
            return  # the publisher left meanwhile
        del session.waiting[sender]
        session.answers += answer.traces
        self.aggregate(node, answer.publisher, answer.session)

    def aggregate(self, node: Node, publisher: str, number: int) -> None:
        """Once all below have answered, everything goes upstream, and the session is forgotten."""
        session = self.sessions[publisher, number]
        if session.waiting:
            return
        del self.sessions[publisher, number]
        traces = (self.own(node, session), *session.answers)
        if session.upstream in self.connections.brokers:
            self.connections.send(node, session.upstream, TraceInformationAnswer(publisher, number, traces))
        elif publisher in self.managed:
            self.select(node, publisher, traces)

    def own(self, node: Node, session: Session) -> BrokerTrace:
        desk = self.connections
        return BrokerTrace(
            node.id,
            tuple(sorted(desk.brokers)),
            session.bits.to_bytes(-(-session.bits.bit_length() // 8), "little"),
            session.deliveries,
            desk.waiting_s.value,
            desk.matching_s.value,
            tuple((queue, desk.output_s[queue].value) for queue in sorted(desk.output_s)),
        )

    # Phase 2: the choice

    def select(self, node: Node, publisher: str, traces: Iterable[BrokerTrace]) -> None:
        mine = self.managed[publisher]
        mine.estimate = estimate = Estimate({trace.broker: statistics(trace) for trace in traces})
        mine.candidates = sorted(estimate.brokers)
        if self.settings.priority == "load":
            rates = {name: float(estimate.message_rate(name)) for name in mine.candidates}
            mine.candidates = shortlist(rates, self.settings.weight)
        if len(mine.candidates) == 1:
            self.decide(node, publisher, mine.candidates[0])
        else:
            self.connections.send(node, publisher, AskPings(tuple(mine.candidates)))

    @on(Ping)
    def pinged(self, node: Node, sender: str, ping: Ping) -> None:
        self.connections.received(node)
        self.connections.send(node, sender, Pong(ping.sent_s))

    @on(PingTimes)
    def measured(self, node: Node, sender: str, pings: PingTimes) -> None:
        self.connections.received(node)
        mine = self.managed.get(pings.publisher)
        if mine is None or mine.estimate is None:
            return
        estimate = mine.estimate
        # A round trip goes both ways; a publication goes one.
        costs = {name: estimate.average_delay(name, time_s / 2) for name, time_s in pings.times}
        if self.settings.priority == "delay":
            costs = {name: float(estimate.message_rate(name)) for name in shortlist(costs, self.settings.weight)}
        self.decide(node, pings.publisher, cheapest(costs, node.id))

    def decide(self, node: Node, publisher: str, target: str) -> None:
        mine = self.managed[publisher]
        assert mine.estimate is not None and mine.asked_at is not None
        path = mine.estimate.path(target, node.id)
        took_s = node.now - mine.asked_at
        self.selections.append((len(path) - 1, took_s))
        node.log("selected", publisher=publisher, target=target, hops=len(path) - 1, took_s=took_s)
        mine.estimate, mine.session = None, 0
        if target == node.id:
            mine.asked_at = None
        else:
            self.migration.begin(node, publisher, path)

    def forget(self, publisher: str) -> None:
        self.managed.pop(publisher, None)
        for key in [key for key in self.sessions if key[0] == publisher]:
            del self.sessions[key]

    def size_bytes(self) -> int:
        return sum(24 + -(-session.bits.bit_length() // 8) for session in self.sessions.values())


def statistics(trace: BrokerTrace) -> BrokerStatistics:
    bits = int.from_bytes(trace.bits, "little")
    return BrokerStatistics(
        trace.neighbours, bits, trace.deliveries, trace.input_s, trace.matching_s, dict(trace.output_s)
    )
