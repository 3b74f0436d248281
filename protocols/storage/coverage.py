"""Advertisement coverage: every broker knows the way to the nearest stores of each topic (planning, 4.1).

The paper never withdraws an advertisement. Ours carry the store and the store's number of the advertisement; a
withdrawal beats every advertisement of that store with a number not above its own, wherever it still travels, so
nothing counts to infinity. A store that hears its own valid advertisement withdrawn (because a broker lost the
way to it) advertises again under the next number.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from protocols.presence import Watcher
from runtime.agent import Node, on
from runtime.message import message


@message
class Advertise:
    """This store, so many hops away from the receiver, holds the topic."""

    topic: str
    store: str
    number: int
    distance_hops: int


@message
class Withdraw:
    """Advertisements of this store up to this number no longer hold."""

    topic: str
    store: str
    number: int


@message
class Ask:
    """I have lost my way to this topic: forget the one over me, and who has another?"""

    topic: str


Tag = tuple[str, int]
"""A store and the number of its advertisement."""


@dataclass
class Routes:
    """The entries of the advertisement table for one topic: all equally near."""

    distance_hops: int
    hops: dict[str, Tag]
    announced: Tag

    def tags(self) -> Iterable[Tag]:
        return self.hops.values()


@dataclass
class Memory:
    """What a broker must not forget in a crash, lest it believe old news: by (topic, store)."""

    withdrawn: dict[tuple[str, str], int] = field(default_factory=dict)
    """The highest number that was withdrawn."""

    nearest: dict[tuple[str, str], tuple[int, int]] = field(default_factory=dict)
    """The latest number that this broker had an entry for, and how near it was by that number."""


class Coverage(Watcher):
    """Keeps the advertisement table AT of a broker.

    Nearer news replaces what is known and travels on; equally near news is kept and stops here; farther news is
    dropped. A broker whose last entry is withdrawn asks its neighbours, and those that still have a way offer it.
    What neighbours heard from a broker always names a store that the broker itself still has an entry for: when
    that entry goes and equally near ones stay, it announces one of these.
    """

    durable: Memory

    def __init__(self, attached: Iterable[str] = ()) -> None:
        self.attached = frozenset(attached)
        self.routes: dict[str, Routes] = {}
        self.durable = Memory()
        self.farthest_hops = 0
        self.route_found: Callable[[Node, str], None] = lambda node, topic: None

    def nearest(self, topic: str) -> float:
        routes = self.routes.get(topic)
        return math.inf if routes is None else routes.distance_hops

    def next_hops(self, topic: str) -> list[str]:
        routes = self.routes.get(topic)
        return [] if routes is None else sorted(routes.hops)

    def table(self) -> dict[str, list[tuple[str, str, int]]]:
        """The AT: for each topic the entries (next hop, store, distance)."""
        return {
            topic: sorted((hop, tag[0], routes.distance_hops) for hop, tag in routes.hops.items())
            for topic, routes in sorted(self.routes.items())
        }

    def brokers(self, node: Node) -> list[str]:
        return [peer for peer in node.neighbours if peer not in self.attached]

    # Advertisements

    @on(Advertise)
    def heard(self, node: Node, sender: str, ad: Advertise) -> None:
        known = self.nearest(ad.topic)
        if self.is_withdrawn(ad) or self.is_detour(ad) or ad.distance_hops > known:
            self.forget(node, ad.topic, sender)
            return
        self.farthest_hops = max(self.farthest_hops, ad.distance_hops)
        if ad.distance_hops < known:
            self.replace(node, sender, ad)
        else:
            self.add(node, sender, ad)

    def is_withdrawn(self, ad: Advertise) -> bool:
        return ad.number <= self.durable.withdrawn.get((ad.topic, ad.store), 0)

    def is_detour(self, ad: Advertise) -> bool:
        """Has this broker been nearer by the same advertisement? Then this one came back to it by a loop."""
        number, nearest = self.durable.nearest.get((ad.topic, ad.store), (0, math.inf))
        if ad.number == number:
            return ad.distance_hops > nearest
        return ad.number < number

    def replace(self, node: Node, sender: str, ad: Advertise) -> None:
        tag = (ad.store, ad.number)
        self.durable.nearest[ad.topic, ad.store] = (ad.number, ad.distance_hops)
        self.routes[ad.topic] = Routes(ad.distance_hops, {sender: tag}, tag)
        self.announce(node, ad.topic, skip=sender)
        self.route_found(node, ad.topic)

    def add(self, node: Node, sender: str, ad: Advertise) -> None:
        self.durable.nearest[ad.topic, ad.store] = (ad.number, ad.distance_hops)
        self.routes[ad.topic].hops[sender] = (ad.store, ad.number)
        self.keep_word(node, ad.topic)

    def announce(self, node: Node, topic: str, skip: str | None = None) -> None:
        node.broadcast(self.offer(topic), skip=skip, to=self.brokers(node))

    def offer(self, topic: str) -> Advertise:
        routes = self.routes[topic]
        return Advertise(topic, *routes.announced, routes.distance_hops + 1)

    # Withdrawals

    @on(Withdraw)
    def withdrawal(self, node: Node, sender: str, gone: Withdraw) -> None:
        if gone.number <= self.durable.withdrawn.get((gone.topic, gone.store), 0):
            return
        self.spread(node, gone, skip=sender)
        self.drop(node, gone)

    def spread(self, node: Node, gone: Withdraw, skip: str | None = None) -> None:
        self.durable.withdrawn[gone.topic, gone.store] = gone.number
        concerned = [gone.store] if gone.store in self.attached else []
        node.broadcast(gone, skip=skip, to=self.brokers(node) + concerned)

    def drop(self, node: Node, gone: Withdraw) -> None:
        routes = self.routes.get(gone.topic)
        if routes is None:
            return
        routes.hops = {
            hop: (store, number)
            for hop, (store, number) in routes.hops.items()
            if store != gone.store or number > gone.number
        }
        self.keep_word(node, gone.topic)

    def forget(self, node: Node, topic: str, peer: str) -> None:
        """Whatever this neighbour said before no longer holds."""
        routes = self.routes.get(topic)
        if routes is not None and routes.hops.pop(peer, None) is not None:
            self.keep_word(node, topic)

    def keep_word(self, node: Node, topic: str) -> None:
        """Neighbours must not rely on an advertisement that this broker no longer has."""
        routes = self.routes[topic]
        if not routes.hops:
            del self.routes[topic]
            node.broadcast(Ask(topic), to=self.brokers(node))
        elif routes.announced not in routes.tags():
            routes.announced = routes.hops[min(routes.hops)]
            self.announce(node, topic)

    @on(Ask)
    def asked(self, node: Node, sender: str, ask: Ask) -> None:
        self.forget(node, ask.topic, sender)
        if ask.topic in self.routes:
            node.send(sender, self.offer(ask.topic))

    # Neighbours that fail and return

    def neighbour_down(self, node: Node, peer: str) -> None:
        for topic, routes in list(self.routes.items()):
            tag = routes.hops.get(peer)
            if tag is None:
                continue
            if list(routes.tags()).count(tag) > 1:
                del routes.hops[peer]
            else:
                # Others may still rely on a way over this broker: withdraw it, and let the store speak again.
                gone = Withdraw(topic, *tag)
                self.spread(node, gone)
                self.drop(node, gone)

    def introduce(self, node: Node, peer: str) -> None:
        if peer in self.attached:
            return
        for (topic, store), number in self.durable.withdrawn.items():
            node.send(peer, Withdraw(topic, store, number))
        for topic in self.routes:
            node.send(peer, self.offer(topic))
