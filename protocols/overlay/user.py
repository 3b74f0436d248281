"""A user: registers with a broker, publishes, receives, and moves when it is asked to and willing (overlay, V)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

from protocols.overlay.content import Box, ContentSpace
from protocols.overlay.messages import (
    Accept,
    Connect,
    Decline,
    Deliver,
    Disconnect,
    Full,
    Happen,
    Leave,
    Migrate,
    Publish,
    PublishNext,
    Register,
    Registered,
    RequestToMove,
    Room,
)
from protocols.overlay.session import Sessions
from runtime.agent import Node, Protocol, on


@dataclass(frozen=True)
class Profile:
    """What a user wants and publishes: its exact box, the channels that hold it, and its rate on each channel."""

    box: Box
    interests: tuple[int, ...]
    rates: tuple[float, ...]

    def matches(self, content: Sequence[float]) -> bool:
        return all(low <= x <= high for x, (low, high) in zip(content, self.box, strict=True))


@dataclass(frozen=True)
class Planned:
    """Something that a user will do: join or change with this profile, or leave."""

    at: float
    do: Literal["join", "change", "leave"]
    profile: Profile | None = None


@dataclass
class Life:
    """All of it survives a crash."""

    home: str | None = None
    profile: Profile | None = None
    profiles: list[Profile] = field(default_factory=list)
    confirmed: list[tuple[float, int]] = field(default_factory=list)
    """When, and up to which of the profiles, a registration was in force everywhere."""

    left: bool = False
    full: list[str] = field(default_factory=list)
    happened: list[int] = field(default_factory=list)
    next_publication: float | None = None
    published: dict[int, tuple[float, tuple[float, ...]]] = field(default_factory=dict)
    received: dict[tuple[str, int], int] = field(default_factory=dict)
    unwanted: int = 0
    moves: int = 0
    declined: int = 0
    paid: float = 0.0


class Using(Protocol):
    durable: Life

    def __init__(
        self,
        brokers: Sequence[str],
        costs: Sequence[float],
        space: ContentSpace,
        sessions: Sessions,
        first: str | None,
        plans: Sequence[Planned],
        publishing: tuple[float, float, float] = (0.0, 0.0, 0.0),
        patience: int | None = None,
    ) -> None:
        self.brokers = tuple(brokers)
        self.costs = tuple(costs)
        self.space = space
        self.sessions = sessions
        self.first = first
        """The broker to begin with; the one with the cheapest link unless told."""

        self.plans = tuple(plans)
        self.since, self.until, self.scale = publishing
        self.patience = patience
        """It accepts to move so many times; always, if there is no limit."""

        self.durable = Life()

    def started(self, node: Node) -> None:
        for place, plan in enumerate(self.plans):
            node.after(plan.at, Happen(place))
        if self.until > self.since:
            self.durable.next_publication = self.since
            node.after(self.since, PublishNext())

    def recovered(self, node: Node) -> None:
        for place, plan in enumerate(self.plans):
            if place not in self.durable.happened:
                node.after(max(0.0, plan.at - node.now), Happen(place))
        if self.durable.next_publication is not None:
            node.after(max(0.0, self.durable.next_publication - node.now), PublishNext())

    # Joining, changing, leaving

    @on(Happen)
    def happens(self, node: Node, sender: str, timer: Happen) -> None:
        life, plan = self.durable, self.plans[timer.place]
        life.happened.append(timer.place)
        if plan.profile is None:
            life.left = True
            if life.home is not None:
                self.sessions.tell(node, life.home, Leave())
            node.log("home", broker="")
            return
        life.profile = plan.profile
        life.profiles.append(plan.profile)
        if life.home is None:  # it joins, or has found no room so far
            life.full = []
            life.home = self.first or self.brokers[self.costs.index(min(self.costs))]
            node.log("home", broker=life.home)
        self.register(node)

    def register(self, node: Node) -> None:
        life = self.durable
        if life.home is not None and life.profile is not None:
            news = Register(len(life.profiles), life.profile.interests, life.profile.rates, self.costs)
            self.sessions.tell(node, life.home, news)

    @on(Registered)
    def registered(self, node: Node, sender: str, news: Registered) -> None:
        self.durable.confirmed.append((node.now, news.number))

    @on(Full)
    def full(self, node: Node, sender: str, news: Full) -> None:
        """Try the next cheapest broker; with none left, this user is not served until one has room."""
        life = self.durable
        life.full.append(sender)
        others = [(cost, name) for cost, name in zip(self.costs, self.brokers, strict=True) if name not in life.full]
        life.home = min(others)[1] if others and not life.left else None
        node.log("home", broker=life.home or "")
        self.register(node)

    @on(Room)
    def room(self, node: Node, sender: str, news: Room) -> None:
        """If another broker is being asked meanwhile, and refuses, this one is asked again."""
        life = self.durable
        life.full = [name for name in life.full if name != sender]
        if life.home is None and not life.left:
            life.home = sender
            node.log("home", broker=sender)
            self.register(node)

    # Publishing and receiving

    @on(PublishNext)
    def publish(self, node: Node, sender: str, timer: PublishNext) -> None:
        life = self.durable
        life.next_publication = None
        rate = self.scale * sum(life.profile.rates) if life.profile is not None else 0.0
        if life.left or (rate <= 0 and life.profile is not None):
            return
        if rate > 0 and life.home is not None and node.now > self.since:
            number = len(life.published) + 1
            content = self.content(node)
            life.published[number] = (node.now, content)
            life.paid += self.costs[self.brokers.index(life.home)]
            self.sessions.tell(node, life.home, Publish(number, content))
        wait = node.rng.expovariate(rate) if rate > 0 else 1.0
        if node.now + wait < self.until:
            life.next_publication = node.now + wait
            node.after(wait, PublishNext())

    def content(self, node: Node) -> tuple[float, ...]:
        """A point in a channel that is drawn by the rates."""
        assert self.durable.profile is not None
        rates = self.durable.profile.rates
        (channel,) = node.rng.choices(range(len(rates)), rates)
        width = 1 / self.space.intervals
        return tuple(low + width * node.rng.random() for low in self.space.corner(channel))

    @on(Deliver)
    def receive(self, node: Node, sender: str, news: Deliver) -> None:
        """Its channel is one of this user's; whether its content is in the box is for the user to see (IV.A)."""
        life = self.durable
        life.paid += self.costs[self.brokers.index(sender)]
        if any(profile.matches(news.content) for profile in life.profiles):
            key = (news.publisher, news.number)
            life.received[key] = life.received.get(key, 0) + 1
        else:
            life.unwanted += 1

    # Moving

    @property
    def willing(self) -> bool:
        return self.patience is None or self.durable.moves < self.patience

    @on(RequestToMove)
    def asked(self, node: Node, sender: str, wish: RequestToMove) -> None:
        if self.willing and not self.durable.left:
            self.sessions.tell(node, sender, Accept(wish.foreign))
        else:
            self.durable.declined += 1
            self.sessions.tell(node, sender, Decline(wish.foreign))

    @on(Migrate)
    def migrate(self, node: Node, sender: str, order: Migrate) -> None:
        life = self.durable
        self.sessions.tell(node, sender, Disconnect())
        if not life.left:
            life.home = order.foreign
            life.moves += 1
            node.log("home", broker=order.foreign)
            self.sessions.tell(node, order.foreign, Connect())
