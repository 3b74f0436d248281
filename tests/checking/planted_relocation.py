"""Planted bugs in publishers and subscribers that move, and in the routing below them."""

from __future__ import annotations

from typing import Any

from protocols.relocation.clients import Publishing, PublishNext, Subscribing
from protocols.relocation.migration import Migration, MigrationUpdate, Resume
from protocols.routing.content import ContentRouting, Publication, Subscription, Unsubscription
from protocols.routing.filters import Filter
from runtime.agent import Node
from tests.checking.planted import Planted, nothing

announce = Migration.announce
complete = Migration.complete
redirect = Migration.redirect
tell = ContentRouting.tell
route = ContentRouting.route
resume = Publishing.resume
due = Publishing.due


def update_as_the_mum_passes(self: Migration, node: Node, update: MigrationUpdate) -> None:
    """What the paper says: the tables change while publications are still on their way."""
    place = update.path.index(node.id)
    self.redirect(node, update.publisher, update.path[place - 1] if place else update.publisher)
    announce(self, node, update)


def go_at_once(self: Migration, node: Node, publisher: str) -> None:
    """The source does not wait for the publisher's word that nothing more comes."""
    if self.leaving[publisher].update is not None:
        self.leaving[publisher].paused = True
    complete(self, node, publisher)


def keep_the_last_hop(self: Migration, node: Node, publisher: str, hop: str) -> None:
    if hop == publisher:
        redirect(self, node, publisher, hop)


def forget_the_covered(self: ContentRouting, node: Node, peer: str, fresh: dict[str, Filter], gone: list[str]) -> None:
    """When a subscription goes, those that it covered are not told."""
    tell(self, node, peer, {} if gone else fresh, gone)


def gone_first(self: ContentRouting, node: Node, peer: str, fresh: dict[str, Filter], gone: list[str]) -> None:
    """Cancellations before what takes their place: for a moment nobody stands for the subscriber."""
    told = self.told[peer]
    for name in gone:
        del told[name]
    told |= fresh
    if gone:
        self.connections.send(node, peer, Unsubscription(tuple(sorted(gone))))
    if fresh:
        self.connections.send(node, peer, Subscription(tuple(sorted(fresh.items()))))


def back_to_the_sender(self: ContentRouting, publication: Publication, sender: str) -> Any:
    return route(self, publication, "")


def only_to_the_first(self: ContentRouting, publication: Publication, sender: str) -> Any:
    brokers, clients = route(self, publication, sender)
    return brokers[:1], clients


def forget_the_buffer(self: Publishing, node: Node, sender: str, word: Resume) -> None:
    self.buffer.clear()
    resume(self, node, sender, word)


def publish_nothing_on_the_way(self: Publishing, node: Node, sender: str, timer: PublishNext) -> None:
    if self.paused_at is None:
        due(self, node, sender, timer)


def read_everything(self: Subscribing, publication: Publication) -> bool:
    return True


def planted(name: str, target: type[Any], attribute: str, bug: Any, caught_by: str) -> Planted:
    return Planted("relocation", name, target, attribute, bug, caught_by)


PLANTED = [
    planted("updates as the MUM passes", Migration, "announce", update_as_the_mum_passes, "one-home-each"),
    planted("goes at once", Migration, "complete", go_at_once, "runs-without-error"),
    planted("keeps the last hop", Migration, "redirect", keep_the_last_hop, "one-home-each"),
    planted("forgets the covered", ContentRouting, "tell", forget_the_covered, "tables-as-if-started-here"),
    planted("cancels first", ContentRouting, "tell", gone_first, "nothing-missed-from-the-start"),
    planted("sends back to the sender", ContentRouting, "route", back_to_the_sender, "newer-than-before"),
    planted("sends to one neighbour only", ContentRouting, "route", only_to_the_first, "nothing-lost-or-doubled"),
    planted("forgets the buffer", Publishing, "resume", forget_the_buffer, "nothing-lost-or-doubled"),
    planted("stops on the way", Publishing, "due", publish_nothing_on_the_way, "everything-published"),
    planted("withdraws nothing", ContentRouting, "unadvertised", nothing, "tables-as-if-started-here"),
    planted("reads everything anew", Subscribing, "is_new", read_everything, "newer-than-before"),
]
