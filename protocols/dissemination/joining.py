"""How a newcomer gets into the Tapestry mesh, and how those who are there hear of it (dissemination, 2).

A newcomer's Join is routed to its own identifier. The node at which that ends, its surrogate, welcomes it with its
own table. Whoever finds an empty slot filled by somebody new tells all whom it knows with at least as many digits in
common. News of a node for whose slot one has another is passed on to that other one, who shares more digits with it,
so that no two nodes with a common prefix stay unknown to each other. A node that knows a nearer one for somebody who
points to it says so. At quiescence every table is the one that full knowledge gives. The paper's own joins, by
acknowledged multicast, need locks to survive joins at the same time; these rules need none.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from protocols.dissemination.identifiers import VALUES, Slot, distance, shared, slot_of
from protocols.dissemination.mesh_messages import Contact, Gone, Join, Need, News, Point, Retry, Rows, Unpoint, Welcome
from protocols.dissemination.routes import Routes
from runtime.agent import Node, Timer, on
from runtime.message import replace


class Joining(Routes):
    """Joins, welcomes, and passes news on."""

    def __init__(
        self,
        identifier: str,
        base: int,
        table: Iterable[tuple[str, str]] | None,
        patience_s: float,
        acquaintances: Mapping[str, str],
    ) -> None:
        """The acquaintances' identifiers follow from their names, as everybody's do."""
        super().__init__(identifier, base, table)
        self.identifiers = dict(acquaintances)
        self.patience_s = patience_s
        self.alive: dict[str, int] = {}
        self.tried = 0
        self.known_as = 0
        """The first life in which it has said anything since it forgot everything or last announced itself."""

        self.timer: Timer | None = None
        self.ask: Callable[[Node, str], None] = lambda node, name: None
        self.reborn: Callable[[Node], None] = lambda node: None
        self.resume: Callable[[Node, Any], None] = lambda node, held: None

    # Getting in

    def join(self, node: Node) -> None:
        """Ask one acquaintance after the other, until one of them leads to a surrogate."""
        gateway = node.neighbours[self.tried % len(node.neighbours)]
        self.tried += 1
        self.known_as = self.known_as or self.durable.life
        node.send_underlay(gateway, Join(self.me(node), 0))
        self.timer = node.after(self.patience_s, Retry())

    @on(Retry)
    def unanswered(self, node: Node, sender: str, timer: Retry) -> None:
        self.timer = None
        if not self.joined and not self.durable.left:
            self.join(node)

    @on(Join)
    def asked(self, node: Node, sender: str, join: Join) -> None:
        newcomer = join.newcomer
        if self.is_gone(newcomer):
            node.send_underlay(newcomer.name, Gone(replace(newcomer, life=self.gone[newcomer.name])))
            return
        if newcomer.name == node.id or self.hold(join):
            return
        hop, level = self.next_hop(newcomer.identifier, join.level, skip=newcomer.name)
        if hop is not None:
            node.send_underlay(hop.name, Join(newcomer, level))
            return
        if not self.durable.left:  # the newcomer will ask somebody else
            node.send_underlay(newcomer.name, Welcome((self.me(node), *self.useful(newcomer))))
            self.hear(node, newcomer, introduced=False)

    @on(Welcome)
    def welcomed(self, node: Node, sender: str, welcome: Welcome) -> None:
        if self.timer is not None:
            node.cancel(self.timer)
            self.timer = None
        known = bool(self.table)
        for contact in welcome.contacts:
            self.hear(node, contact, introduced=known, tell=known)
        if not self.joined:
            self.joined = True
            held, self.held = self.held, []
            for waiting in held:
                if isinstance(waiting, Join):
                    self.asked(node, waiting.newcomer.name, waiting)
                else:
                    self.resume(node, waiting)
            self.has_changed(node)
            if self.known_as < self.durable.life:  # taken for dead meanwhile: what it said in that life was in vain
                self.announce(node)

    def announce(self, node: Node) -> None:
        self.known_as = self.durable.life
        news = News(self.me(node), introduced=True)
        for peer in dict.fromkeys((*self.linked(0), *node.neighbours)):
            node.send_underlay(peer, news)
        for contact in self.table.values():
            node.send_underlay(contact.name, Point(self.me(node), self.filled(contact)))
        self.reborn(node)

    # News

    @on(News)
    def told(self, node: Node, sender: str, news: News) -> None:
        self.hear(node, news.contact, news.introduced)

    @on(Rows)
    def shown(self, node: Node, sender: str, rows: Rows) -> None:
        for contact in rows.contacts:
            self.hear(node, contact, introduced=True)

    def hear(self, node: Node, contact: Contact, introduced: bool, tell: bool = True) -> None:
        """There is this node: take it in, or pass the news on to the one that has its slot."""
        if contact.name == node.id or self.is_gone(contact) or self.durable.left:
            return
        self.note(node, contact)
        slot = slot_of(self.identifier, contact.identifier)
        known = self.table.get(slot)
        if known is not None and known.name == contact.name:
            if contact.life > known.life:
                self.take(node, slot, contact)
                for spare in self.spare.get(slot, {}).values():  # what its last life was told, it has forgotten
                    node.send_underlay(contact.name, News(spare, introduced=True))
        elif known is None:
            self.take(node, slot, contact)
            if tell:
                node_news = News(contact, introduced=False)
                for peer in self.linked(slot[0], skip=contact.name):
                    node.send_underlay(peer, node_news)
            if introduced:
                node.send_underlay(contact.name, Rows((self.me(node), *self.useful(contact))))
        elif self.is_nearer(contact, known):
            self.take(node, slot, contact)
            self.keep_spare(slot, known)
            node.send_underlay(known.name, Unpoint(self.me(node)))
            node.send_underlay(contact.name, News(known, introduced=True))
        elif contact != self.spare.get(slot, {}).get(contact.name):
            self.keep_spare(slot, contact)
            node.send_underlay(known.name, News(contact, introduced=True))

    def take(self, node: Node, slot: Slot, contact: Contact) -> None:
        """Point to this node from now on."""
        self.table[slot] = contact
        self.known_as = self.known_as or self.durable.life
        node.send_underlay(contact.name, Point(self.me(node), self.filled(contact)))
        for other in list(self.back.values()):
            self.recommend(node, other, contact)
        if self.joined:
            self.has_changed(node)

    def recommend(self, node: Node, other: Contact, contact: Contact) -> None:
        """Tell one who points here of a node that is nearer to it, if this one is."""
        level = shared(other.identifier, self.identifier)
        fits = shared(contact.identifier, self.identifier) > level
        if fits and distance(other.identifier, contact.identifier, self.base) < distance(
            other.identifier, self.identifier, self.base
        ):
            node.send_underlay(other.name, News(contact, introduced=False))

    # Who points to whom

    @on(Point)
    def pointed_to(self, node: Node, sender: str, point: Point) -> None:
        if self.durable.left:
            node.send_underlay(sender, Gone(self.me(node)))
            return
        if self.is_gone(point.contact):
            return
        self.note(node, point.contact)
        self.back[sender] = point.contact
        for contact in list(self.table.values()):
            self.recommend(node, point.contact, contact)
        slot = slot_of(self.identifier, point.contact.identifier)
        known = self.table.get(slot)
        if known is None or known.name == sender or self.is_nearer(point.contact, known):
            self.hear(node, point.contact, introduced=False)
        self.compare(node, point)

    def compare(self, node: Node, point: Point) -> None:
        """Where one of two nodes has an empty slot that the other has filled, fill it."""
        theirs = {*point.filled, slot_of(point.contact.identifier, self.identifier)}
        mine = {*self.filled(point.contact), slot_of(self.identifier, point.contact.identifier)}
        for slot in sorted(mine - theirs):
            if VALUES[point.contact.identifier[slot[0]]] != slot[1]:
                node.send_underlay(point.contact.name, News(self.table[slot], introduced=True))
        for slot in sorted(theirs - mine):
            if VALUES[self.identifier[slot[0]]] != slot[1]:
                node.send_underlay(point.contact.name, Need(self.me(node), *slot))

    @on(Unpoint)
    def pointed_away(self, node: Node, sender: str, unpoint: Unpoint) -> None:
        known = self.back.get(sender)
        if known is not None and known.life <= unpoint.contact.life:
            del self.back[sender]

    @on(Need)
    def needed(self, node: Node, sender: str, need: Need) -> None:
        contact = self.table.get((need.level, need.digit))
        if VALUES[self.identifier[need.level]] == need.digit and not self.durable.left:
            contact = self.me(node)
        if contact is not None and contact.name != sender:
            node.send_underlay(sender, News(contact, introduced=True))

    # Lives of which nothing was known

    def note(self, node: Node, contact: Contact) -> None:
        """A life of which nothing was known before: it may be over already, without anybody having noticed."""
        first = 1 if self.durable.life == 1 else 0  # who was never away knows who has failed
        if contact.life > self.alive.get(contact.name, first):
            self.doubt(node, contact)

    def doubt(self, node: Node, contact: Contact) -> None:
        """Has this life ended?"""
        self.alive[contact.name] = max(contact.life, self.alive.get(contact.name, 1))
        self.identifiers[contact.name] = contact.identifier
        self.ask(node, contact.name)
