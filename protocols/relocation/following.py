"""Subscribers that follow their publications: the other half of relocation (relocation, 6, as future work).

A broker counts for each of its subscribers where deliveries come from. If more than half come over one neighbour, the
subscriber moves there: one hop, after which every publication that came that way is one hop nearer and every other one
at most one farther. Repeated, it ends at the median of its publications, as POP's walk ends at that of subscribers; and
it goes together with POP or GRAPE, which move the publishers meanwhile.

The hand-over makes before it breaks. The subscriber subscribes at the new broker under a new name and asks it to tell
the old one (`Join`, `Joined`). The new subscription travels before `Joined` over the same link, so whatever reaches the
old broker after `Joined` reaches the new one too. The old broker says so (`HandedOver`); until then the subscriber
reads what the old broker sends and keeps what comes from the new one, afterwards it reads on from there, without
what it has read already.
"""

from __future__ import annotations

from protocols.routing.connections import Connections
from runtime.agent import Node, Protocol, on
from runtime.message import message


@message
class Follow:
    """To the subscriber: go to this broker, a neighbour of the sender."""

    target: str


@message(tag="FollowerJoin")
class Join:
    """From the subscriber to its new broker, after its subscriptions: tell the old one."""

    source: str


@message
class Joined:
    """From the new broker to the old one: this subscriber's new subscriptions went before."""

    subscriber: str


@message
class HandedOver:
    """From the old broker to the subscriber: what comes from now on comes from the new broker too."""


@message
class Settled:
    """From the subscriber to its new broker: from now on I read what you send."""


class Following(Protocol):
    """A broker's part in the moves of subscribers."""

    def __init__(self, connections: Connections, threshold: int) -> None:
        self.connections = connections
        self.threshold = threshold
        self.counts: dict[str, dict[str, int]] = {}
        self.here = dict.fromkeys(sorted(connections.attached))
        """Clients that are neither about to come nor about to go: only deliveries to them count."""

    def delivered(self, node: Node, sender: str, clients: list[str]) -> None:
        """A publication came from this neighbour or publisher and went to these subscribers."""
        for client in clients:
            if client not in self.here:
                continue
            count = self.counts.setdefault(client, {})
            count[sender] = count.get(sender, 0) + 1
            if sum(count.values()) >= self.threshold:
                self.decide(node, client, self.counts.pop(client))

    def decide(self, node: Node, client: str, count: dict[str, int]) -> None:
        most = max(count, key=lambda sender: (count[sender], sender))
        if most in self.connections.brokers and 2 * count[most] > sum(count.values()):
            del self.here[client]
            self.connections.send(node, client, Follow(most))

    @on(Join)
    def joins(self, node: Node, sender: str, wish: Join) -> None:
        self.connections.received(node)
        self.connections.send(node, wish.source, Joined(sender))

    @on(Joined)
    def joined(self, node: Node, sender: str, word: Joined) -> None:
        self.connections.received(node)
        self.connections.send(node, word.subscriber, HandedOver())

    @on(Settled)
    def settled(self, node: Node, sender: str, word: Settled) -> None:
        self.connections.received(node)
        self.here[sender] = None
