"""Tapestry: a mesh in which every node knows the way to every key's root (dissemination, 2; Zhao et al., JSAC 2004).

Tapestry is itself an overlay on an IP network, so its messages go over the underlay; the links of the scenario's
network are acquaintances: over them a newcomer finds its way in, and the news of a failure spreads.

The table and routes by it are in routes.py, joining and news in joining.py; this is how nodes leave, fail, and begin
a new life.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from protocols.dissemination.identifiers import Slot, slot_of
from protocols.dissemination.joining import Joining
from protocols.dissemination.mesh_messages import Arrive, Contact, Depart, Gone, Need, News
from runtime.agent import Node, on


class Tapestry(Joining):
    """One node of the mesh, from its arrival to its departure, over all its lives."""

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
        """A table of (identifier, name) to begin with; None for a node that is to join, at a time."""
        super().__init__(identifier, base, table, patience_s, acquaintances or {})
        self.arrives_at = arrives_at
        self.departs_at = departs_at
        self.lost: Callable[[Node, str], None] = lambda node, name: None

    def started(self, node: Node) -> None:
        if not self.joined:
            node.after(self.arrives_at, Arrive())
        if self.departs_at is not None and self.departs_at >= node.now:
            node.after(self.departs_at - node.now, Depart())

    @on(Arrive)
    def arrives(self, node: Node, sender: str, timer: Arrive) -> None:
        if not self.durable.left:
            self.join(node)

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

    # Leaving

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

    # Failing

    def neighbour_up(self, node: Node, peer: str) -> None:
        """Perhaps in a new life. What was on its way to the last one over the link is lost; what the new one heard
        over the underlay meanwhile may be of nodes that are gone.
        """
        for name, life in self.gone.items():
            node.send(peer, Gone(Contact(self.identifiers[name], name, life)))

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
