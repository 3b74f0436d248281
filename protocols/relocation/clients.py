"""Publishers and subscribers: the thin layer that pauses, buffers, reconnects and resumes (relocation, 3.3).

The application above it only publishes and reads; it notices nothing of a migration but a short silence.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from protocols.relocation.following import Follow, HandedOver, Join, Settled
from protocols.relocation.migration import Disconnect, Migrate, MigrationAdvertisement, MoveTo, Paused, Resume
from protocols.relocation.pings import AskPings, Ping, PingTimes, Pong
from protocols.routing.content import Advertisement, Publication, Subscription, Unadvertisement, Unsubscription
from protocols.routing.filters import Content, Filter, matches
from runtime.agent import Node, Protocol, on
from runtime.message import message


@message
class PublishNext:
    """A timer: the next publication is due."""


@message
class MoveNext:
    """A timer: an operator wants this publisher to move."""


@message
class Begin:
    """A timer: the subscription with this place in the plan begins."""

    place: int


@message
class End:
    """A timer: the subscription with this place in the plan ends."""

    place: int


@dataclass(frozen=True)
class Program:
    """What a publisher will publish: these contents in turn, so many in all, at regular times."""

    conditions: Filter
    contents: tuple[Content, ...]
    count: int
    every_s: float
    start_s: float = 0.0
    leaves: bool = False
    """It withdraws its advertisement after its last publication."""


def say(node: Node, broker: str, word: object) -> None:
    """To the home broker over the access link, to any other over the underlay."""
    if broker in node.neighbours:
        node.send(broker, word)
    else:
        node.send_underlay(broker, word)


class Publishing(Protocol):
    """A publisher."""

    def __init__(self, home: str, program: Program, moves: Sequence[tuple[float, tuple[str, ...]]] = ()) -> None:
        self.broker = home
        self.program = program
        self.moves = tuple(moves)
        self.numbered = 0
        self.paused_at: float | None = None
        self.buffer: list[Publication] = []
        self.ordered: list[tuple[str, ...]] = []
        self.pings: dict[str, float] = {}
        self.awaited: tuple[str, ...] = ()
        self.left = False
        self.path: tuple[str, ...] = ()
        self.migrations: list[tuple[int, float]] = []
        """For each migration the length of its path in hops and how long the publisher was paused."""

        self.first_moved_at: float | None = None

    def started(self, node: Node) -> None:
        say(node, self.broker, Advertisement(node.id, self.program.conditions))
        if self.program.count:
            node.after(self.program.start_s, PublishNext())
        for at, _ in self.moves:
            node.after(at, MoveNext())

    @on(PublishNext)
    def due(self, node: Node, sender: str, timer: PublishNext) -> None:
        program = self.program
        content = program.contents[self.numbered % len(program.contents)]
        if not matches(program.conditions, content):
            raise ValueError(f"{node.id} publishes {content}, which its advertisement excludes")
        self.numbered += 1
        publication = Publication(node.id, self.numbered, content, node.now)
        if self.paused_at is None:
            say(node, self.broker, publication)
        else:
            self.buffer.append(publication)
        if self.numbered < program.count:
            node.after(program.every_s, PublishNext())
        else:
            self.leave(node)

    def leave(self, node: Node) -> None:
        """After the last publication, if nothing keeps it here, the advertisement is withdrawn."""
        over = self.numbered >= self.program.count and self.paused_at is None
        if self.program.leaves and over and not self.ordered and not self.moves:
            self.left = True
            say(node, self.broker, Unadvertisement(node.id))

    # Migration

    @on(MoveNext)
    def wanted(self, node: Node, sender: str, timer: MoveNext) -> None:
        path = self.moves[0][1]
        self.moves = self.moves[1:]
        self.ordered.append(path)
        if len(self.ordered) == 1 and self.paused_at is None:
            say(node, self.broker, MoveTo(node.id, path))

    @on(Migrate)
    def migrate(self, node: Node, sender: str, order: Migrate) -> None:
        if self.left:
            return  # its withdrawal and this order have crossed
        self.paused_at, self.path = node.now, order.path
        say(node, self.broker, Paused(node.id))
        say(node, order.path[0], MigrationAdvertisement(node.id, self.program.conditions, order.path))

    @on(Resume)
    def resume(self, node: Node, sender: str, word: Resume) -> None:
        assert self.paused_at is not None
        wait_s, self.paused_at, self.broker = node.now - self.paused_at, None, sender
        for publication in self.buffer:
            say(node, self.broker, publication)
        node.log("migrated", to=sender, hops=len(self.path) - 1, wait_s=wait_s, buffered=len(self.buffer))
        self.migrations.append((len(self.path) - 1, wait_s))
        if self.first_moved_at is None:
            self.first_moved_at = node.now
        self.buffer.clear()
        if self.ordered and self.ordered[0][0] == sender:
            del self.ordered[0]
        if self.ordered:
            say(node, self.broker, MoveTo(node.id, self.ordered[0]))
        else:
            self.leave(node)

    @on(Disconnect)
    def disconnect(self, node: Node, sender: str, word: Disconnect) -> None:
        say(node, word.source, Disconnect(word.source))

    # Pings (4.2)

    @on(AskPings)
    def ping(self, node: Node, sender: str, wish: AskPings) -> None:
        self.pings, self.awaited = {}, wish.brokers
        for broker in wish.brokers:
            say(node, broker, Ping(node.now))

    @on(Pong)
    def ponged(self, node: Node, sender: str, pong: Pong) -> None:
        self.pings[sender] = node.now - pong.sent_s
        if len(self.pings) == len(self.awaited):
            times = tuple((broker, self.pings[broker]) for broker in self.awaited)
            say(node, self.broker, PingTimes(node.id, times))


@dataclass
class Received:
    """What a subscriber got from one publisher."""

    numbers: list[int] = field(default_factory=list)
    delay_s: float = 0.0
    counted: int = 0
    ways: dict[tuple[str, str], int] = field(default_factory=dict)
    """The publications' first broker, the subscriber's own, and how many came that way."""


@dataclass(frozen=True)
class Wish:
    """A subscription, from when on and until when."""

    conditions: Filter
    since_s: float = 0.0
    until_s: float | None = None


class Subscribing(Protocol):
    """A subscriber. Each of its moves gives its subscriptions new names."""

    def __init__(self, home: str, wishes: Sequence[Wish], counted_from_s: float = 0.0) -> None:
        self.broker = home
        self.wishes = tuple(wishes)
        self.counted_from_s = counted_from_s
        self.received: dict[str, Received] = {}
        self.active: dict[int, None] = {}
        self.moves = 0
        self.target: str | None = None
        self.kept: list[Publication] = []
        self.waiting: list[Begin | End] = []

    def started(self, node: Node) -> None:
        self.active = {place: None for place, wish in enumerate(self.wishes) if wish.since_s == 0}
        self.subscribe(node, self.broker, self.active)
        for place, wish in enumerate(self.wishes):
            if wish.since_s:
                node.after(wish.since_s, Begin(place))
            if wish.until_s is not None:
                node.after(wish.until_s, End(place))

    def subscribe(self, node: Node, broker: str, places: Iterable[int]) -> None:
        wishes = tuple((name_of(node.id, place, self.moves), self.wishes[place].conditions) for place in places)
        if wishes:
            say(node, broker, Subscription(wishes))

    @on(Begin)
    def begin(self, node: Node, sender: str, timer: Begin) -> None:
        if self.target is not None:
            self.waiting.append(timer)  # the move first
        else:
            self.active[timer.place] = None
            self.subscribe(node, self.broker, [timer.place])

    @on(End)
    def end(self, node: Node, sender: str, timer: End) -> None:
        if self.target is not None:
            self.waiting.append(timer)
        else:
            del self.active[timer.place]
            say(node, self.broker, Unsubscription((name_of(node.id, timer.place, self.moves),)))

    @on(Publication)
    def arrived(self, node: Node, sender: str, publication: Publication) -> None:
        if sender == self.target:
            self.kept.append(publication)
        elif sender == self.broker and (not self.moves or self.is_new(publication)):
            self.read(node, publication)

    def is_new(self, publication: Publication) -> bool:
        """After a move, what comes from the new broker may have come from the old one before."""
        seen = self.received.get(publication.publisher)
        return seen is None or publication.number > seen.numbers[-1]

    def read(self, node: Node, publication: Publication) -> None:
        publisher = publication.publisher
        received = self.received.get(publisher)
        if received is None:
            received = self.received[publisher] = Received()
        received.numbers.append(publication.number)
        if node.now >= self.counted_from_s:
            received.counted += 1
            received.delay_s += node.now - publication.published_s
            way = (publication.broker, self.broker)
            received.ways[way] = received.ways.get(way, 0) + 1

    # Following (see there)

    @on(Follow)
    def follow(self, node: Node, sender: str, order: Follow) -> None:
        self.target = order.target
        self.moves += 1
        self.subscribe(node, order.target, self.active)
        say(node, order.target, Join(sender))

    @on(HandedOver)
    def handed_over(self, node: Node, sender: str, word: HandedOver) -> None:
        assert self.target is not None
        old = tuple(name_of(node.id, place, self.moves - 1) for place in self.active)
        if old:
            say(node, self.broker, Unsubscription(old))
        self.broker, self.target = self.target, None
        for publication in self.kept:
            if self.is_new(publication):
                self.read(node, publication)
        say(node, self.broker, Settled())
        node.log("followed", to=self.broker, kept=len(self.kept))
        self.kept.clear()
        timers, self.waiting = self.waiting, []
        for timer in timers:
            (self.begin if isinstance(timer, Begin) else self.end)(node, node.id, timer)  # type: ignore[arg-type]


def name_of(subscriber: str, place: int, moves: int = 0) -> str:
    """What the subscriber's subscription with this place in its plan is called after so many moves."""
    return f"{subscriber}/{place + 1}" + f".{moves}" * (moves > 0)
