"""Content-based routing on a tree: advertisements, subscriptions, publications (relocation, 2.1 and 5, as in PADRES).

Advertisements go to every broker; a subscription follows those that it meets back to their publishers; a publication
follows the subscriptions that it matches. What a neighbour is told is a function of the tables: the subscriptions
from elsewhere that meet an advertisement from there and, with covering, only those that no other one covers. When the
tables change, the neighbour is told the difference, the new ones first: over links that keep order no subscription is
ever without one that stands for it, and the tables that result do not depend on what happened before.

With flooding, advertisements stay at their broker and subscriptions go everywhere.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from operator import itemgetter
from typing import NamedTuple

from protocols.routing.connections import Connections
from protocols.routing.filters import Filter, covers, intersects
from protocols.routing.index import Index
from runtime.agent import Node, Protocol, on
from runtime.message import Scalar, message, replace


@message(tag="ContentAdvertisement")
class Advertisement:
    """Whatever this publisher publishes matches these conditions."""

    publisher: str
    conditions: tuple[tuple[str, str, Scalar], ...]


@message(tag="ContentUnadvertisement")
class Unadvertisement:
    publisher: str


@message(tag="ContentSubscription")
class Subscription:
    """Names and filters: those that one change brings about travel together. A name keeps its filter for ever."""

    wishes: tuple[tuple[str, tuple[tuple[str, str, Scalar], ...]], ...]


@message(tag="ContentUnsubscription")
class Unsubscription:
    names: tuple[str, ...]


@message(tag="ContentPublication")
class Publication:
    """The publisher's publication with this number. Its first broker fills in its own name and the trace."""

    publisher: str
    number: int
    content: tuple[tuple[str, Scalar], ...]
    published_s: float
    broker: str = ""
    trace: int = 0
    """0: nobody traces it. Else the number of the publication with which this trace session began."""


class Entry(NamedTuple):
    """A line of a table: a filter and the neighbour or client that it came from."""

    conditions: Filter
    hop: str


class Tracer(Protocol):
    """Watches publications pass; this one does nothing about them."""

    def __init__(self) -> None:
        self.selections: list[tuple[int, float]] = []
        """For each choice of a broker the hops to it and how long it took."""

    def trace(self, node: Node, publication: Publication) -> int:
        """A client's publication comes to its first broker: is it to be traced, and in which session?"""
        return 0

    def passed(self, node: Node, sender: str, seen: Publication, brokers: list[str], clients: list[str]) -> None:
        """A traced publication came from the sender and went on to these brokers and clients."""

    def forget(self, publisher: str) -> None:
        """This publisher is moving: what is known of its publications no longer counts."""

    def size_bytes(self) -> int:
        """How much memory the trace takes."""
        return 0


class ContentRouting(Protocol):
    """Keeps the advertisement and subscription tables of a broker and passes publications on."""

    def __init__(
        self,
        connections: Connections,
        covering: bool = False,
        flooding: bool = False,
        tracer: Tracer | None = None,
        delivered: Callable[[Node, str, list[str]], None] | None = None,
    ) -> None:
        self.connections = connections
        self.covering = covering
        self.flooding = flooding
        self.tracer = tracer or Tracer()
        self.delivered = delivered
        self.advertisements: dict[str, Entry] = {}
        self.advertised_by: dict[str, dict[str, Filter]] = {peer: {} for peer in sorted(connections.brokers)}
        self.subscriptions: dict[str, Entry] = {}
        self.index = Index()
        self.told: dict[str, dict[str, Filter]] = {peer: {} for peer in sorted(connections.brokers)}

    # Advertisements

    @on(Advertisement)
    def advertised(self, node: Node, sender: str, ad: Advertisement) -> None:
        self.connections.received(node)
        if not self.flooding:
            self.connections.broadcast(node, ad, skip=sender)
        self.place(node, ad.publisher, Entry(ad.conditions, sender))

    @on(Unadvertisement)
    def unadvertised(self, node: Node, sender: str, gone: Unadvertisement) -> None:
        self.connections.received(node)
        if gone.publisher in self.advertisements:
            self.tracer.forget(gone.publisher)
            if not self.flooding:
                self.connections.broadcast(node, gone, skip=sender)
            self.place(node, gone.publisher, None)

    def place(self, node: Node, publisher: str, entry: Entry | None) -> None:
        """The publisher's advertisement is now this one."""
        before = self.advertisements.pop(publisher, None)
        concerned = {}
        if before is not None and before.hop in self.told:
            del self.advertised_by[before.hop][publisher]
            concerned[before.hop] = before
        if entry is not None:
            self.advertisements[publisher] = entry
            if entry.hop in self.told:
                self.advertised_by[entry.hop][publisher] = entry.conditions
                concerned[entry.hop] = entry
        if not self.flooding:
            for peer in sorted(concerned):
                self.correct(node, peer)

    # Subscriptions

    @on(Subscription)
    def subscribed(self, node: Node, sender: str, news: Subscription) -> None:
        self.connections.received(node)
        for name, conditions in news.wishes:
            self.subscriptions[name] = Entry(conditions, sender)
            self.index.add(name, conditions)
        names = [name for name, _ in news.wishes]
        for peer in self.told:
            if fresh := self.meeting(peer, names):
                self.tell(node, peer, *self.added(peer, fresh))

    @on(Unsubscription)
    def unsubscribed(self, node: Node, sender: str, gone: Unsubscription) -> None:
        self.connections.received(node)
        for name in gone.names:
            if name in self.subscriptions and self.subscriptions[name].hop == sender:
                del self.subscriptions[name]
                self.index.remove(name)
        for peer, told in self.told.items():
            if any(name in told and name not in self.subscriptions for name in gone.names):
                self.correct(node, peer)

    def meeting(self, peer: str, names: Iterable[str]) -> dict[str, Filter]:
        """Those of these subscriptions that did not come from the peer and meet an advertisement that did."""
        ads = list(self.advertised_by[peer].values())
        found = {}
        for name in names:
            conditions, hop = self.subscriptions[name]
            if hop != peer and (self.flooding or any(intersects(ad, conditions) for ad in ads)):
                found[name] = conditions
        return found

    def added(self, peer: str, fresh: dict[str, Filter]) -> tuple[dict[str, Filter], list[str]]:
        """What the peer should hear when there are these new subscriptions: which of them, and which it may forget."""
        if not self.covering:
            return fresh, []
        told = self.told[peer]
        kept = uncovered({**told, **fresh})
        return {name: kept[name] for name in fresh if name in kept}, [name for name in told if name not in kept]

    def correct(self, node: Node, peer: str) -> None:
        """Compare what the peer was told with what it should know, and tell it the difference."""
        told, due = self.told[peer], self.meeting(peer, self.subscriptions)
        if self.covering:
            due = uncovered(due)
        fresh = {name: wish for name, wish in due.items() if name not in told}
        self.tell(node, peer, fresh, [name for name in told if name not in due])

    def tell(self, node: Node, peer: str, fresh: dict[str, Filter], gone: list[str]) -> None:
        """First what is new, then what no longer holds."""
        told = self.told[peer]
        for name in gone:
            del told[name]
        told |= fresh
        if fresh:
            self.connections.send(node, peer, Subscription(tuple(sorted(fresh.items(), key=itemgetter(0)))))
        if gone:
            self.connections.send(node, peer, Unsubscription(tuple(sorted(gone))))

    # Publications

    @on(Publication)
    def published(self, node: Node, sender: str, publication: Publication) -> None:
        self.connections.received(node, len(self.index))
        if sender not in self.connections.brokers:
            publication = replace(publication, broker=node.id, trace=self.tracer.trace(node, publication))
        brokers, clients = self.route(publication, sender)
        self.connections.spread(node, publication, brokers, clients)
        if publication.trace:
            self.tracer.passed(node, sender, publication, brokers, clients)
        if self.delivered is not None:
            self.delivered(node, sender, clients)

    def route(self, publication: Publication, sender: str) -> tuple[list[str], list[str]]:
        """The neighbours and the clients with a subscription that matches."""
        table = self.subscriptions
        hops = {table[name].hop for name in self.index.matching(publication.content)}
        hops.discard(sender)
        brokers = sorted(hops & self.connections.brokers)
        return brokers, sorted(hops.difference(brokers))

    def tables(self) -> dict[str, dict[str, str]]:
        """For each publisher and each subscription the hop that it came from."""
        return {
            "advertisements": {name: entry.hop for name, entry in sorted(self.advertisements.items())},
            "subscriptions": {name: entry.hop for name, entry in sorted(self.subscriptions.items())},
        }


def uncovered(wishes: dict[str, Filter]) -> dict[str, Filter]:
    """Those that no other one covers; of equal ones, that with the first name."""
    kept: dict[str, Filter] = {}
    for name, conditions in wishes.items():
        if not any(_stands_for(other, kept[other], name, conditions) for other in kept):
            covered = [other for other in kept if _stands_for(name, conditions, other, kept[other])]
            for other in covered:
                del kept[other]
            kept[name] = conditions
    return kept


def _stands_for(one: str, its: Filter, other: str, others: Filter) -> bool:
    return covers(its, others) and (one < other or not covers(others, its))
