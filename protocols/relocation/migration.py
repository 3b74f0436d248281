"""The migration of a publisher to another broker: nothing lost, nothing twice, in order (relocation, 3.3).

The source broker tells the publisher to go. The publisher pauses, says so to the source, and submits a migration
advertisement to the target, which sends a Migration Update Message (MUM) along the path to the source. When the source
has the MUM and the publisher's word that nothing more comes, it sends a Migration Complete Message (MCM) back.

The paper updates the routing tables as the MUM passes. But the MUM travels against the last publications, which would
find tables from which their subscribers are already gone. So here each broker updates its tables as the MCM passes: the
MCM follows the last publication over the same links, and before it go the subscriptions that the next broker needs.
When it arrives at the target, every table on the path is right, and a handful of messages has crossed each link.
"""

from __future__ import annotations

from dataclasses import dataclass

from protocols.routing.connections import Connections
from protocols.routing.content import ContentRouting, Entry, Tracer
from protocols.routing.filters import Filter
from runtime.agent import Node, Protocol, on
from runtime.message import Scalar, message


@message
class Migrate:
    """To the publisher: pause, and go to the first broker of this path; it leads back to the sender."""

    path: tuple[str, ...]


@message
class Paused:
    """From the publisher to the source: nothing more comes here."""

    publisher: str


@message
class MigrationAdvertisement:
    """From the publisher to the target: its advertisement, and the path to where it was until now."""

    publisher: str
    conditions: tuple[tuple[str, str, Scalar], ...]
    path: tuple[str, ...]


@message
class MigrationUpdate:
    """MUM, from the target to the source: this publisher comes."""

    publisher: str
    path: tuple[str, ...]


@message
class MigrationComplete:
    """MCM, from the source to the target: the publisher's last publication has passed here."""

    publisher: str
    path: tuple[str, ...]


@message
class Resume:
    """To the publisher: every table knows that you are here now."""


@message
class Disconnect:
    """To the publisher: close the connection to the source. From the publisher to the source: it is closed."""

    source: str


@message
class MoveTo:
    """From the publisher, on the order of an operator: let me go along this path."""

    publisher: str
    path: tuple[str, ...]


@dataclass
class Leaving:
    """A publisher that was told to go."""

    paused: bool = False
    update: MigrationUpdate | None = None


class Migration(Protocol):
    """A broker's part in migrations: as the source, on the path, as the target."""

    def __init__(self, connections: Connections, routing: ContentRouting) -> None:
        self.connections = connections
        self.routing = routing
        self.tracer: Tracer = routing.tracer
        self.leaving: dict[str, Leaving] = {}
        self.coming: dict[str, Filter] = {}

    # The source

    @on(MoveTo)
    def ordered(self, node: Node, sender: str, order: MoveTo) -> None:
        self.connections.received(node)
        self.begin(node, order.publisher, order.path)

    def begin(self, node: Node, publisher: str, path: tuple[str, ...]) -> None:
        """Send the publisher along the path: the target comes first, this broker last."""
        self.leaving[publisher] = Leaving()
        self.connections.send(node, publisher, Migrate(path))

    @on(Paused)
    def paused(self, node: Node, sender: str, word: Paused) -> None:
        self.connections.received(node)
        self.leaving[word.publisher].paused = True
        self.complete(node, word.publisher)

    def complete(self, node: Node, publisher: str) -> None:
        """Both the MUM and the publisher's last word are here."""
        leaving = self.leaving[publisher]
        if leaving.paused and leaving.update is not None:
            del self.leaving[publisher]
            self.tracer.forget(publisher)
            self.pass_back(node, MigrationComplete(publisher, leaving.update.path))

    @on(Disconnect)
    def disconnected(self, node: Node, sender: str, word: Disconnect) -> None:
        self.connections.received(node)  # nothing is left to forget: that was done as the MCM left

    # On the path

    @on(MigrationUpdate)
    def updated(self, node: Node, sender: str, update: MigrationUpdate) -> None:
        self.connections.received(node)
        self.announce(node, update)

    def announce(self, node: Node, update: MigrationUpdate) -> None:
        place = update.path.index(node.id)
        if place < len(update.path) - 1:
            self.tracer.forget(update.publisher)
            self.connections.send(node, update.path[place + 1], update)
        else:
            self.leaving[update.publisher].update = update
            self.complete(node, update.publisher)

    @on(MigrationComplete)
    def completed(self, node: Node, sender: str, complete: MigrationComplete) -> None:
        self.connections.received(node)
        if node.id == complete.path[0]:
            self.arrived(node, complete)
        else:
            self.pass_back(node, complete)

    def pass_back(self, node: Node, complete: MigrationComplete) -> None:
        """The publisher is now towards the target; the target must know the subscriptions that are here."""
        closer = complete.path[complete.path.index(node.id) - 1]
        self.redirect(node, complete.publisher, closer)
        self.connections.send(node, closer, complete)

    def redirect(self, node: Node, publisher: str, hop: str) -> None:
        """Operations 1 to 3: the advertisement's last hop changes, and with it what the neighbours should know."""
        if self.routing.flooding and hop in self.connections.brokers:
            self.routing.place(node, publisher, None)
            return
        known = self.routing.advertisements.get(publisher)
        conditions = self.coming[publisher] if known is None else known.conditions
        self.routing.place(node, publisher, Entry(conditions, hop))

    # The target

    @on(MigrationAdvertisement)
    def submitted(self, node: Node, sender: str, ad: MigrationAdvertisement) -> None:
        self.connections.received(node)
        self.coming[ad.publisher] = ad.conditions
        self.announce(node, MigrationUpdate(ad.publisher, ad.path))

    def arrived(self, node: Node, complete: MigrationComplete) -> None:
        self.redirect(node, complete.publisher, complete.publisher)
        del self.coming[complete.publisher]
        self.connections.send(node, complete.publisher, Resume())
        self.connections.send(node, complete.publisher, Disconnect(complete.path[-1]))
