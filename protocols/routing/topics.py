"""Subscription forwarding by topic: publications find every subscriber (planning, 4).

A subscription travels to every broker and leaves, at each, the neighbour it first came from; these form a tree
towards the subscriber, which publications follow. On a network with cycles the trees of several subscribers
differ, so a broker passes each publication on once and drops it when it comes again. Cancelling works as for
advertisements: by number, and a living subscriber that hears itself cancelled subscribes again.

A broker that was away has forgotten who subscribed to what, and until its neighbours have told it, it passes nothing
on. Of topics that are retained, brokers therefore keep each publisher's last publication, for subscriptions that come
later from a neighbour: enough where only the last word counts. (Not in the paper, whose brokers do not fail.)
"""

from __future__ import annotations

from collections.abc import Iterable

from protocols.presence import Watcher
from runtime.agent import Node, on
from runtime.message import Scalar, message


@message
class Publish:
    """The publisher's publication with this number."""

    topic: str
    publisher: str
    number: int
    content: tuple[tuple[str, Scalar], ...]


@message
class Subscribe:
    topic: str
    subscriber: str
    number: int


@message
class Unsubscribe:
    """Subscriptions of this subscriber up to this number no longer hold."""

    topic: str
    subscriber: str
    number: int


class Subscriptions(Watcher):
    """Keeps the subscription table ST of a broker and passes publications on."""

    def __init__(self, attached: Iterable[str] = (), retained: Iterable[str] = ()) -> None:
        self.attached = frozenset(attached)
        self.last: dict[str, dict[str, Publish]] = {topic: {} for topic in retained}
        self.towards: dict[str, dict[str, tuple[str, int]]] = {}
        self.cancelled: dict[tuple[str, str], int] = {}
        self.seen: set[tuple[str, int]] = set()

    def brokers(self, node: Node) -> list[str]:
        return [peer for peer in node.neighbours if peer not in self.attached]

    def table(self) -> dict[str, list[str]]:
        """The ST: for each neighbour the topics that somebody behind it subscribed to."""
        topics: dict[str, set[str]] = {}
        for topic, subscribers in self.towards.items():
            for hop, _ in subscribers.values():
                topics.setdefault(hop, set()).add(topic)
        return {hop: sorted(names) for hop, names in sorted(topics.items())}

    @on(Subscribe)
    def subscribed(self, node: Node, sender: str, wish: Subscribe) -> None:
        if wish.number <= self.cancelled.get((wish.topic, wish.subscriber), 0):
            return
        subscribers = self.towards.setdefault(wish.topic, {})
        known = wish.subscriber in subscribers
        if known and subscribers[wish.subscriber][1] >= wish.number:
            return
        subscribers[wish.subscriber] = (sender, wish.number)
        node.broadcast(wish, skip=sender, to=self.brokers(node))
        if not known and sender not in self.attached:
            for publication in self.last.get(wish.topic, {}).values():
                node.send(sender, publication)

    @on(Unsubscribe)
    def unsubscribed(self, node: Node, sender: str, gone: Unsubscribe) -> None:
        if gone.number > self.cancelled.get((gone.topic, gone.subscriber), 0):
            self.cancel(node, gone, skip=sender)

    def cancel(self, node: Node, gone: Unsubscribe, skip: str | None = None) -> None:
        self.cancelled[gone.topic, gone.subscriber] = gone.number
        subscribers = self.towards.get(gone.topic, {})
        if gone.subscriber in subscribers and subscribers[gone.subscriber][1] <= gone.number:
            del subscribers[gone.subscriber]
        concerned = [gone.subscriber] if gone.subscriber in self.attached else []
        node.broadcast(gone, skip=skip, to=self.brokers(node) + concerned)

    @on(Publish)
    def published(self, node: Node, sender: str, publication: Publish) -> None:
        identity = (publication.publisher, publication.number)
        if identity in self.seen:
            return
        self.seen.add(identity)
        if publication.topic in self.last:
            self.retain(publication)
        hops = {hop for hop, _ in self.towards.get(publication.topic, {}).values()}
        node.broadcast(publication, skip=sender, to=sorted(hops))

    def retain(self, publication: Publish) -> None:
        kept = self.last[publication.topic]
        if publication.publisher not in kept or kept[publication.publisher].number < publication.number:
            kept[publication.publisher] = publication

    def neighbour_down(self, node: Node, peer: str) -> None:
        lost = [
            Unsubscribe(topic, subscriber, number)
            for topic, subscribers in self.towards.items()
            for subscriber, (hop, number) in subscribers.items()
            if hop == peer
        ]
        for gone in lost:
            self.cancel(node, gone)

    def introduce(self, node: Node, peer: str) -> None:
        if peer in self.attached:
            return
        for (topic, subscriber), number in self.cancelled.items():
            node.send(peer, Unsubscribe(topic, subscriber, number))
        for topic, subscribers in self.towards.items():
            for subscriber, (hop, number) in subscribers.items():
                if hop != peer:
                    node.send(peer, Subscribe(topic, subscriber, number))
