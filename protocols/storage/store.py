"""What a store does: it subscribes to its topics, advertises them, keeps what is published, answers requests."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from protocols.presence import Closed, Watcher
from protocols.routing.filters import matches
from protocols.routing.topics import Publish, Subscribe, Unsubscribe
from protocols.storage.coverage import Advertise, Withdraw
from protocols.storage.retrieval import Request, Response
from runtime.agent import Node, on
from runtime.message import message, replace


@message
class Order:
    """What the operator of the store wants: "withdraw" or "advertise" topics, or that it "fail" or "recover"."""

    what: str
    topics: tuple[str, ...]


@dataclass
class Held:
    """What a store keeps on disk."""

    number: int = 0
    topics: dict[str, int] = field(default_factory=dict)
    stored: dict[str, dict[tuple[str, int], Publish]] = field(default_factory=dict)


class Storing(Watcher):
    """A store (planning, 4.1): a client that subscribes to topics and advertises them with distance 0.

    Numbers grow with everything the store announces and survive a crash, so that new advertisements beat the
    withdrawal of old ones. A withdrawn topic is no longer stored, but what was kept stays on disk.
    """

    durable: Held

    def __init__(self, home: str, topics: Iterable[str], orders: Sequence[tuple[float, Order]] = ()) -> None:
        self.home = home
        self.initial = tuple(topics)
        self.orders = tuple(orders)
        self.failed = False
        self.answered = 0
        self.durable = Held()

    def started(self, node: Node) -> None:
        for at, order in self.orders:
            node.after(at, order)
        self.advertise(node, self.initial)

    def recovered(self, node: Node) -> None:
        for at, order in self.orders:
            if at > node.now:
                node.after(at - node.now, order)
        self.resume(node)

    def resume(self, node: Node) -> None:
        """Serve again, after a failure, what is on disk."""
        self.advertise(node, self.durable.topics)

    # Advertising

    def advertise(self, node: Node, topics: Iterable[str]) -> None:
        for topic in sorted(topics):
            self.announce(node, topic, self.subscribe(node, topic))

    def subscribe(self, node: Node, topic: str) -> int:
        """Ask for what is published on the topic; gives the number under which this was said."""
        self.durable.number += 1
        node.send(self.home, Subscribe(topic, node.id, self.durable.number))
        return self.durable.number

    def announce(self, node: Node, topic: str, number: int) -> None:
        self.durable.topics[topic] = number
        node.send(self.home, Advertise(topic, node.id, number, ()))

    def withdraw(self, node: Node, topics: Iterable[str]) -> None:
        for topic in sorted(topics):
            number = self.durable.topics.pop(topic, None)
            if number is not None:
                node.send(self.home, Withdraw(topic, node.id, number))
                node.send(self.home, Unsubscribe(topic, node.id, number))

    @on(Withdraw)
    def contradicted(self, node: Node, sender: str, gone: Withdraw) -> None:
        self.insist(node, gone.topic, gone.number)

    @on(Unsubscribe)
    def unsubscribed(self, node: Node, sender: str, gone: Unsubscribe) -> None:
        self.insist(node, gone.topic, gone.number)

    def insist(self, node: Node, topic: str, number: int) -> None:
        """Somebody lost the way to this store and withdrew what still holds: say it again, under a new number."""
        if not self.failed and self.durable.topics.get(topic, number + 1) <= number:
            self.durable.number = max(self.durable.number, number)
            self.advertise(node, [topic])

    def introduce(self, node: Node, peer: str) -> None:
        if not self.failed:
            self.advertise(node, self.durable.topics)

    @on(Order)
    def ordered(self, node: Node, sender: str, order: Order) -> None:
        if order.what == "fail":
            self.failed = True
            node.send(self.home, Closed())
        elif order.what == "recover":
            self.failed = False
            self.resume(node)
        elif self.failed:
            return
        elif order.what == "withdraw":
            self.withdraw(node, order.topics or tuple(self.durable.topics))
        else:
            self.advertise(node, order.topics or self.initial)

    # Storing and answering

    @on(Publish)
    def published(self, node: Node, sender: str, publication: Publish) -> None:
        if not self.failed and publication.topic in self.durable.topics:
            kept = self.durable.stored.setdefault(publication.topic, {})
            kept[publication.publisher, publication.number] = publication

    @on(Request)
    def requested(self, node: Node, sender: str, request: Request) -> None:
        if self.failed:
            return
        path = (*request.path, sender)
        if request.topic not in self.durable.topics:
            node.send(self.home, replace(request, path=path))  # the broker knows who holds it now
            return
        self.answered += 1
        for publication in self.durable.stored.get(request.topic, {}).values():
            if matches(request.conditions, publication.content):
                # The path is the client, its broker, ..., this store's broker.
                distance = len(path) - 2
                node.send(
                    self.home, Response(request.client, request.number, node.id, distance, publication, path[:-1])
                )
