"""Advertisement coverage: every broker knows the way to the nearest stores of each topic (planning, 4.1).

The paper never withdraws an advertisement. Ours carry the store and the store's number of the advertisement; a
withdrawal beats every advertisement of that store with a number not above its own, wherever it still travels. A
store that hears its own valid advertisement withdrawn (because a broker lost the way to it) advertises again under
the next number.

While tables change, a broker that lost its way may be offered one that leads back over itself, and distances would
count up around such a loop. So an advertisement names the brokers that it passed (the paper builds only their
number, hop by hop), and a broker refuses what it has passed on before: no way is ever longer than the network.
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
    """This store holds the topic, and the way to it leads back over these brokers, the store's own first."""

    topic: str
    store: str
    number: int
    path: tuple[str, ...]

    @property
    def distance_hops(self) -> int:
        return len(self.path)


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


@dataclass
class Routes:
    """The entries of the advertisement table for one topic: the advertisement heard from each next hop.

    All are equally near. Neighbours were told of the one heard from `announced`.
    """

    hops: dict[str, Advertise]
    announced: str

    @property
    def distance_hops(self) -> int:
        return self.hops[self.announced].distance_hops


@dataclass
class Memory:
    """What a broker must not forget in a crash, lest it believe old news."""

    withdrawn: dict[tuple[str, str], int] = field(default_factory=dict)
    """By topic and store: the highest number that was withdrawn."""


class Coverage(Watcher):
    """Keeps the advertisement table AT of a broker.

    Nearer news replaces what is known and travels on; equally near news is kept and stops here; farther news is
    dropped, and with it what the same neighbour said before. A broker that loses its last entry asks its neighbours,
    and those that have a way offer it. What neighbours heard from a broker is always an entry that it still has:
    when that entry goes or changes, the broker tells them of one that stays.
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
            topic: sorted((hop, ad.store, ad.distance_hops) for hop, ad in routes.hops.items())
            for topic, routes in sorted(self.routes.items())
        }

    def brokers(self, node: Node) -> list[str]:
        return [peer for peer in node.neighbours if peer not in self.attached]

    # Advertisements

    @on(Advertise)
    def heard(self, node: Node, sender: str, ad: Advertise) -> None:
        known = self.nearest(ad.topic)
        if self.is_withdrawn(ad) or self.is_loop(node, ad) or ad.distance_hops > known:
            self.forget(node, ad.topic, sender)
            return
        self.farthest_hops = max(self.farthest_hops, ad.distance_hops)
        if ad.distance_hops < known:
            self.replace(node, sender, ad)
        else:
            self.add(node, sender, ad)

    def is_withdrawn(self, ad: Advertise) -> bool:
        return ad.number <= self.durable.withdrawn.get((ad.topic, ad.store), 0)

    def is_loop(self, node: Node, ad: Advertise) -> bool:
        return node.id in ad.path

    def replace(self, node: Node, sender: str, ad: Advertise) -> None:
        self.routes[ad.topic] = Routes({sender: ad}, sender)
        self.announce(node, ad.topic)
        self.route_found(node, ad.topic)

    def add(self, node: Node, sender: str, ad: Advertise) -> None:
        routes = self.routes[ad.topic]
        before = routes.hops.get(sender)
        routes.hops[sender] = ad
        if sender == routes.announced and ad != before:
            self.announce(node, ad.topic)

    def announce(self, node: Node, topic: str) -> None:
        node.broadcast(self.offer(node, topic), skip=self.routes[topic].announced, to=self.brokers(node))

    def offer(self, node: Node, topic: str) -> Advertise:
        routes = self.routes[topic]
        ad = routes.hops[routes.announced]
        return Advertise(topic, ad.store, ad.number, (*ad.path, node.id))

    # Withdrawals

    @on(Withdraw)
    def withdrawal(self, node: Node, sender: str, gone: Withdraw) -> None:
        if gone.number > self.durable.withdrawn.get((gone.topic, gone.store), 0):
            self.spread(node, gone, skip=sender)
            self.drop(node, gone)

    def spread(self, node: Node, gone: Withdraw, skip: str | None = None) -> None:
        self.durable.withdrawn[gone.topic, gone.store] = gone.number
        concerned = [gone.store] if gone.store in self.attached else []
        node.broadcast(gone, skip=skip, to=self.brokers(node) + concerned)

    def drop(self, node: Node, gone: Withdraw) -> None:
        routes = self.routes.get(gone.topic)
        if routes is not None:
            routes.hops = {hop: ad for hop, ad in routes.hops.items() if not self.is_withdrawn(ad)}
            self.keep_word(node, gone.topic)

    def forget(self, node: Node, topic: str, peer: str) -> None:
        """Whatever this neighbour said before no longer holds."""
        routes = self.routes.get(topic)
        if routes is not None and routes.hops.pop(peer, None) is not None:
            self.keep_word(node, topic)

    def keep_word(self, node: Node, topic: str) -> None:
        """Neighbours must not rely on an entry that this broker no longer has."""
        routes = self.routes[topic]
        if not routes.hops:
            del self.routes[topic]
            node.broadcast(Ask(topic), to=self.brokers(node))
        elif routes.announced not in routes.hops:
            routes.announced = min(routes.hops)
            self.announce(node, topic)

    @on(Ask)
    def asked(self, node: Node, sender: str, ask: Ask) -> None:
        self.forget(node, ask.topic, sender)
        if ask.topic in self.routes:
            node.send(sender, self.offer(node, ask.topic))

    # Neighbours that fail and return

    def neighbour_down(self, node: Node, peer: str) -> None:
        for topic, routes in list(self.routes.items()):
            ad = routes.hops.get(peer)
            if ad is None:
                continue
            others = [other for hop, other in routes.hops.items() if hop != peer]
            if any((other.store, other.number) == (ad.store, ad.number) for other in others):
                self.forget(node, topic, peer)
            else:
                # Others may still rely on a way over this broker: withdraw it, and let the store speak again.
                gone = Withdraw(topic, ad.store, ad.number)
                self.spread(node, gone)
                self.drop(node, gone)

    def introduce(self, node: Node, peer: str) -> None:
        if peer in self.attached:
            return
        for (topic, store), number in self.durable.withdrawn.items():
            node.send(peer, Withdraw(topic, store, number))
        for topic in self.routes:
            node.send(peer, self.offer(node, topic))
