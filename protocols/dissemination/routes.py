"""A node's routing table in the Tapestry mesh, and routes by it (dissemination, 2; Zhao et al., JSAC 2004).

Tapestry prefers nodes that are near in the network. The underlay here has the same delays everywhere, so slots hold
the nearest by identifier.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from math import inf
from typing import Any

from protocols.dissemination.identifiers import VALUES, Slot, distance, shared, slot_of
from protocols.dissemination.mesh_messages import Contact, Gone
from runtime.agent import Node, Protocol
from runtime.message import replace


@dataclass
class Lives:
    """What survives a crash."""

    life: int = 1
    left: bool = False


class Routes(Protocol):
    """Whom a node points to, who points to it, and of which lives it has heard."""

    durable: Lives

    def __init__(self, identifier: str, base: int, table: Iterable[tuple[str, str]] | None = ()) -> None:
        """A table of (identifier, name) to begin with; None for a node that is to join."""
        self.identifier = identifier
        self.base = base
        self.durable = Lives()
        self.joined = table is not None
        self.table: dict[Slot, Contact] = {}
        self.spare: dict[Slot, dict[str, Contact]] = {}
        self.back: dict[str, Contact] = {}
        self.gone: dict[str, int] = {}
        self.held: list[Any] = []
        self.changed_at = -inf
        self.changed: Callable[[Node], None] = lambda node: None
        for other, name in table or ():
            self.table[slot_of(identifier, other)] = Contact(other, name, 1)

    def me(self, node: Node) -> Contact:
        return Contact(self.identifier, node.id, self.durable.life)

    def begin_with(self, back: Iterable[tuple[str, str]]) -> None:
        """In a mesh that is complete at the start, who points to this node."""
        self.back = {name: Contact(other, name, 1) for other, name in back}

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

    # The table

    def is_gone(self, contact: Contact) -> bool:
        return contact.life <= self.gone.get(contact.name, 0)

    def is_nearer(self, one: Contact, other: Contact) -> bool:
        key, base = self.identifier, self.base
        return distance(key, one.identifier, base) < distance(key, other.identifier, base)

    def keep_spare(self, slot: Slot, contact: Contact) -> None:
        self.spare.setdefault(slot, {})[contact.name] = contact

    def has_changed(self, node: Node) -> None:
        """Routes may now lead elsewhere."""
        self.changed_at = node.now
        self.changed(node)

    def useful(self, other: Contact) -> tuple[Contact, ...]:
        """The part of the table that fits into the other's."""
        common = shared(self.identifier, other.identifier)
        return tuple(
            contact for (level, _), contact in self.table.items() if level <= common and contact.name != other.name
        )

    def filled(self, other: Contact) -> tuple[Slot, ...]:
        common = shared(self.identifier, other.identifier)
        return tuple(slot for slot in self.table if slot[0] <= common)

    def linked(self, level: int, skip: str = "") -> list[str]:
        """All who point here or are pointed to, with at least so many digits in common."""
        peers = {contact.name: None for (own, _), contact in self.table.items() if own >= level}
        peers |= {c.name: None for c in self.back.values() if shared(c.identifier, self.identifier) >= level}
        return [name for name in peers if name != skip]
