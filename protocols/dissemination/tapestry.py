"""Tapestry: a mesh in which every node knows the way to every key's root (dissemination, 2; Zhao et al., JSAC 2004).

Tapestry is itself an overlay on an IP network, so its messages go over the underlay; the links of the scenario's
network are acquaintances: over them a newcomer finds its way in, and the news of a failure spreads.

A newcomer's Join is routed to its own identifier. The node at which that ends, its surrogate, welcomes it with its
own table. Whoever finds an empty slot filled by somebody new tells all whom it knows with at least as many digits in
common. News of a node for whose slot one has another is passed on to that other one, who shares more digits with it,
so that no two nodes with a common prefix stay unknown to each other. A node that knows a nearer one for somebody who
points to it says so. At quiescence every table is the one that full knowledge gives. The paper's own joins, by
acknowledged multicast, need locks to survive joins at the same time; these rules need none.

Tapestry prefers nodes that are near in the network. The underlay here has the same delays everywhere, so slots hold
the nearest by identifier.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from math import inf
from typing import Any

from protocols.dissemination.identifiers import VALUES, Slot, distance, shared, slot_of
from protocols.dissemination.mesh_messages import (
    Arrive,
    Contact,
    Depart,
    Gone,
    Join,
    Need,
    News,
    Point,
    Retry,
    Rows,
    Unpoint,
    Welcome,
)
from runtime.agent import Node, Protocol, Timer, on
from runtime.message import replace


@dataclass
class Lives:
    """What survives a crash."""

    life: int = 1
    left: bool = False


class Tapestry(Protocol):
    """The routing table of one node, and routes by it."""

    durable: Lives

    def __init__(
        self,
        identifier: str,
        base: int,
        table: Iterable[tuple[str, str]] | None = (),
        arrives_at: float = 0.0,
        departs_at: float | None = None,
        patience_s: float = 20.0,
        acquaintances: Mapping[str, str] | None = None,
    ) -> None:
        """A table of (identifier, name) to begin with; None for a node that is to join, at a time.

        The acquaintances' identifiers follow from their names, as everybody's do.
        """
        self.identifiers = dict(acquaintances or {})
        self.identifier = identifier
        self.base = base
        self.patience_s = patience_s
        self.arrives_at = arrives_at
        self.departs_at = departs_at
        self.durable = Lives()
        self.joined = table is not None
        self.table: dict[Slot, Contact] = {}
        self.spare: dict[Slot, dict[str, Contact]] = {}
        self.back: dict[str, Contact] = {}
        self.gone: dict[str, int] = {}
        self.alive: dict[str, int] = {}
        self.held: list[Any] = []
        self.tried = 0
        self.known_as = 0
        """The first life in which it has said anything since it forgot everything or last announced itself."""

        self.timer: Timer | None = None
        self.changed_at = -inf
        self.ask: Callable[[Node, str], None] = lambda node, name: None
        self.changed: Callable[[Node], None] = lambda node: None
        self.reborn: Callable[[Node], None] = lambda node: None
        self.lost: Callable[[Node, str], None] = lambda node, name: None
        self.resume: Callable[[Node, Any], None] = lambda node, held: None
        for other, name in table or ():
            self.table[slot_of(identifier, other)] = Contact(other, name, 1)

    def me(self, node: Node) -> Contact:
        return Contact(self.identifier, node.id, self.durable.life)

    def begin_with(self, back: Iterable[tuple[str, str]]) -> None:
        """In a mesh that is complete at the start, who points to this node."""
        self.back = {name: Contact(other, name, 1) for other, name in back}

    def started(self, node: Node) -> None:
        if not self.joined:
            node.after(self.arrives_at, Arrive())
        if self.departs_at is not None and self.departs_at >= node.now:
            node.after(self.departs_at - node.now, Depart())

    def recovered(self, node: Node) -> None:
        """Everything is forgotten; the old life is over, and the new one begins as a newcomer."""
        before = self.me(node)
        self.durable.life += 1
        self.forget_everything()
        self.changed_at = node.now
        if self.durable.left:
            self.say_farewell(node)  # perhaps the crash came before anybody heard it
        elif node.now >= self.arrives_at:
            node.broadcast(Gone(before))
            self.join(node)
        else:
            node.after(self.arrives_at - node.now, Arrive())
        if self.departs_at is not None and self.departs_at >= node.now:
            node.after(self.departs_at - node.now, Depart())

    def forget_everything(self) -> None:
        self.joined = False
        self.known_as = 0
        self.table, self.spare, self.back = {}, {}, {}

    # Routing

    def next_hop(self, key: str, level: int, skip: str = "") -> tuple[Contact | None, int]:
        """Where a message goes of whose key so many digits are resolved; None if it has reached the root."""
        table, identifier = self.table, self.identifier
        for place in range(level, len(key)):
            own, first = VALUES[identifier[place]], VALUES[key[place]]
            if first == own and not self.durable.left:
                continue
            contact = table.get((place, first))  # mostly there is somebody
            if contact is not None and contact.name != skip:
                return contact, place + 1
            for digit in (*range(first, self.base), *range(first)):
                if digit == own and (not self.durable.left or self.knows_deeper(place, skip)):
                    break
                contact = table.get((place, digit))
                if contact is not None and contact.name != skip:
                    return contact, place + 1
        return None, len(key)

    def knows_deeper(self, level: int, skip: str) -> bool:
        """Is there anybody else who has so many digits and one more in common with this node?"""
        return any(own > level and contact.name != skip for (own, _), contact in self.table.items())

    def forward(self, node: Node, routed: Any) -> bool:
        """Send a message with a key and a level on its way; False if it is at the root here.

        Where its way ends, it begins anew: the table of somebody on the way may have been an old one.
        """
        hop, level = self.next_hop(routed.key, routed.level)
        if hop is None:
            hop, level = self.next_hop(routed.key, 0)
        if hop is None:
            return False
        node.send_underlay(hop.name, replace(routed, level=level))
        return True

    def pass_on(self, node: Node, sender: str, routed: Any) -> bool:
        """The same for what comes from others. Who has not joined knows no way: there it waits. Who has left is
        nobody's root and tells the sender so, which else may get back what it sent, and send it here again.
        """
        if self.hold(routed):
            return True
        if self.durable.left and sender != node.id:
            node.send_underlay(sender, Gone(self.me(node)))
        return self.forward(node, routed) or self.durable.left

    def hold(self, routed: Any) -> bool:
        """Keep until this node has joined."""
        if not self.joined:
            self.held.append(routed)
        return not self.joined

    # Joining

    @on(Arrive)
    def arrives(self, node: Node, sender: str, timer: Arrive) -> None:
        if not self.durable.left:
            self.join(node)

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

    def useful(self, other: Contact) -> tuple[Contact, ...]:
        """The part of the table that fits into the other's."""
        common = shared(self.identifier, other.identifier)
        return tuple(
            contact for (level, _), contact in self.table.items() if level <= common and contact.name != other.name
        )

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

    # News

    @on(News)
    def told(self, node: Node, sender: str, news: News) -> None:
        self.hear(node, news.contact, news.introduced)

    @on(Rows)
    def shown(self, node: Node, sender: str, rows: Rows) -> None:
        for contact in rows.contacts:
            self.hear(node, contact, introduced=True)

    def is_gone(self, contact: Contact) -> bool:
        return contact.life <= self.gone.get(contact.name, 0)

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

    def keep_spare(self, slot: Slot, contact: Contact) -> None:
        self.spare.setdefault(slot, {})[contact.name] = contact

    def is_nearer(self, one: Contact, other: Contact) -> bool:
        key, base = self.identifier, self.base
        return distance(key, one.identifier, base) < distance(key, other.identifier, base)

    def take(self, node: Node, slot: Slot, contact: Contact) -> None:
        """Point to this node from now on."""
        self.table[slot] = contact
        self.known_as = self.known_as or self.durable.life
        node.send_underlay(contact.name, Point(self.me(node), self.filled(contact)))
        for other in list(self.back.values()):
            self.recommend(node, other, contact)
        if self.joined:
            self.has_changed(node)

    def has_changed(self, node: Node) -> None:
        """Routes may now lead elsewhere."""
        self.changed_at = node.now
        self.changed(node)

    def filled(self, other: Contact) -> tuple[Slot, ...]:
        common = shared(self.identifier, other.identifier)
        return tuple(slot for slot in self.table if slot[0] <= common)

    def recommend(self, node: Node, other: Contact, contact: Contact) -> None:
        """Tell one who points here of a node that is nearer to it, if this one is."""
        level = shared(other.identifier, self.identifier)
        fits = shared(contact.identifier, self.identifier) > level
        if fits and distance(other.identifier, contact.identifier, self.base) < distance(
            other.identifier, self.identifier, self.base
        ):
            node.send_underlay(other.name, News(contact, introduced=False))

    def linked(self, level: int, skip: str = "") -> list[str]:
        """All who point here or are pointed to, with at least so many digits in common."""
        peers = {contact.name: None for (own, _), contact in self.table.items() if own >= level}
        peers |= {c.name: None for c in self.back.values() if shared(c.identifier, self.identifier) >= level}
        return [name for name in peers if name != skip]

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

    # Leaving and failing

    @on(Depart)
    def departs(self, node: Node, sender: str, timer: Depart) -> None:
        """Leave in order: the others are told, and what still comes is sent on."""
        self.durable.left = True
        self.say_farewell(node)
        self.has_changed(node)

    def say_farewell(self, node: Node) -> None:
        self.identifiers[node.id] = self.identifier
        self.gone[node.id] = self.durable.life
        node.broadcast(Gone(self.me(node)))

    def neighbour_up(self, node: Node, peer: str) -> None:
        """Perhaps in a new life. What was on its way to the last one over the link is lost; what the new one heard
        over the underlay meanwhile may be of nodes that are gone.
        """
        for name, life in self.gone.items():
            node.send(peer, Gone(Contact(self.identifiers[name], name, life)))

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

    def declare(self, node: Node, peer: str, life: int) -> None:
        """Tell everybody that this life of the node is over; itself too, for it may live and object."""
        if life > self.gone.get(peer, 0):
            gone = Contact(self.identifiers[peer], peer, life)
            node.broadcast(Gone(gone), skip=peer)
            node.send_underlay(peer, Gone(gone))
            self.bury(node, gone)

    @on(Gone)
    def failed(self, node: Node, sender: str, gone: Gone) -> None:
        contact = gone.contact
        if contact.name == node.id:
            if contact.life >= self.durable.life and not self.durable.left:
                self.refute(node, contact.life)
            return
        if contact.life > self.gone.get(contact.name, 0):
            node.broadcast(gone, skip=sender)
            self.bury(node, contact)

    def refute(self, node: Node, life: int) -> None:
        """Somebody took this node for dead: it makes itself known again, in a new life."""
        self.durable.life = life + 1
        if self.joined:
            self.announce(node)
        elif self.timer is None:
            self.join(node)

    def announce(self, node: Node) -> None:
        self.known_as = self.durable.life
        news = News(self.me(node), introduced=True)
        for peer in dict.fromkeys((*self.linked(0), *node.neighbours)):
            node.send_underlay(peer, news)
        for contact in self.table.values():
            node.send_underlay(contact.name, Point(self.me(node), self.filled(contact)))
        self.reborn(node)

    def bury(self, node: Node, dead: Contact) -> None:
        """Nothing of that life is to be used any more; close the gaps that it leaves.

        Among those with whom it shared a prefix, it may have been the only one who knew two others. Whoever has a
        slot for that prefix therefore tells whom it has there; acquaintances are told that one is still there.
        """
        name = dead.name
        self.identifiers[name] = dead.identifier
        self.gone[name] = max(dead.life, self.gone.get(name, 0))
        for spares in self.spare.values():
            if name in spares and self.is_gone(spares[name]):
                del spares[name]
        if name in self.back and self.is_gone(self.back[name]):
            del self.back[name]
        for slot, contact in list(self.table.items()):
            if contact.name == name and self.is_gone(contact):
                del self.table[slot]
                self.refill(node, slot)
        if self.joined and not self.durable.left:
            for peer in node.neighbours:
                node.send_underlay(peer, News(self.me(node), introduced=True))
        slot = slot_of(self.identifier, dead.identifier)
        if slot in self.table:
            news = News(self.table[slot], introduced=True)
            for peer in self.linked(slot[0], skip=self.table[slot].name):
                node.send_underlay(peer, news)
        self.lost(node, name)
        self.has_changed(node)

    def refill(self, node: Node, slot: Slot) -> None:
        """Take the nearest of those that are known for this slot; ask around, for others may know more."""
        spares = self.spare.pop(slot, {})
        known = {**spares, **{c.name: c for c in self.back.values() if slot_of(self.identifier, c.identifier) == slot}}
        for contact in known.values():
            self.hear(node, contact, introduced=True)
        for peer in self.linked(slot[0]):
            node.send_underlay(peer, Need(self.me(node), *slot))

    @on(Need)
    def needed(self, node: Node, sender: str, need: Need) -> None:
        contact = self.table.get((need.level, need.digit))
        if VALUES[self.identifier[need.level]] == need.digit and not self.durable.left:
            contact = self.me(node)
        if contact is not None and contact.name != sender:
            node.send_underlay(sender, News(contact, introduced=True))
