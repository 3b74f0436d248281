"""Agents of several parts: protocols that know nothing of each other, on one node and over the same links.

A part sees the node as if it were alone there: of the neighbours only those that belong to it. What it says to a
broker that is not linked goes over the brokers in between, if the agent knows the ways.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from runtime.agent import Agent, Carrier, Handler, Layer, Node, NodeAbove, Protocol, Unhandled
from runtime.errors import LocalityError
from runtime.message import Message, encode


@dataclass(eq=False)
class Part:
    """Some protocols of an agent, and the neighbours that they know."""

    name: str
    protocols: tuple[Protocol, ...]
    neighbours: tuple[str, ...]
    carrier: Carrier | None = None
    """Brings what is for a neighbour without a link."""

    meshed: bool = False
    """Brokers to whom it speaks past the overlay are reached over the links, too."""

    sent: list[int] = field(default_factory=lambda: [0, 0])
    """Messages and bytes that it gave to the links of this node."""

    sent_underlay: list[int] = field(default_factory=lambda: [0, 0])
    _node: PartNode | None = None

    def __post_init__(self) -> None:
        self.known = frozenset(self.neighbours)

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | {"_node": None}  # an agent can move; the node it saw stays

    def seen(self, node: Node) -> PartNode:
        """The node as this part sees it."""
        below = node.below if isinstance(node, PartNode) else node
        if self._node is None or self._node.below is not below:
            self._node = PartNode(below, self)
        return self._node


class PartNode(NodeAbove):
    """A node as one of its parts sees it."""

    __slots__ = ("linked", "part")

    def __init__(self, below: Node, part: Part) -> None:
        super().__init__(below)
        self.part = part
        self.linked = frozenset(below.neighbours)

    @property
    def neighbours(self) -> tuple[str, ...]:  # type: ignore[override]
        return self.part.neighbours

    def send(self, peer: str, message: Any) -> None:
        part = self.part
        if peer not in part.known:
            known = ", ".join(part.neighbours) or "none"
            raise LocalityError(f"{self.id} cannot send to {peer} as {part.name}: its neighbours there are {known}")
        self._bring(peer, message)

    def _bring(self, peer: str, message: Any) -> None:
        carrier = self.part.carrier
        if carrier is None or peer in self.linked:
            _count(self.part.sent, message, 1)
            self.below.send(peer, message)
        else:
            carrier.send(self.below, peer, message)

    def broadcast(self, message: Any, skip: str | None = None, to: Sequence[str] | None = None) -> None:
        part = self.part
        peers = part.neighbours if to is None else to
        linked = [peer for peer in peers if part.carrier is None or peer in self.linked]
        far = [] if part.carrier is None else [peer for peer in peers if peer not in linked and peer != skip]
        if linked or not far:
            _count(part.sent, message, len(linked) - (skip in linked))
            self.below.broadcast(message, skip, linked)
        for peer in far:
            self.send(peer, message)

    def send_underlay(self, peer: str, message: Any) -> None:
        part = self.part
        if part.meshed and part.carrier is not None and peer in part.carrier.next_hop:
            self._bring(peer, message)
        else:
            _count(part.sent_underlay, message, 1)
            self.below.send_underlay(peer, message)


def _count(counts: list[int], message: Any, copies: int) -> None:
    counts[0] += copies
    counts[1] += copies * len(encode(message))


class PartedAgent(Agent):
    """An agent whose protocols belong to parts; a message type is still handled by exactly one of them."""

    __slots__ = ("_part_of", "parts")

    def __init__(self, parts: Iterable[Part], layer: Layer | None = None) -> None:
        self.parts = tuple(parts)
        self._part_of = {protocol: part for part in self.parts for protocol in part.protocols}
        super().__init__(self._part_of, layer)
        for protocol in self.protocols:
            if isinstance(protocol, Carrier):
                protocol.arrived = self.arrived

    def view(self, protocol: Protocol, handler: Handler) -> Handler:
        part = self._part_of.get(protocol)
        if part is None:  # the layer below all of them
            return handler
        return lambda node, sender, message: handler(part.seen(node), sender, message)

    def seen_by(self, protocol: Protocol, node: Node) -> Node:
        return self._part_of[protocol].seen(node)

    def knows(self, protocol: Protocol, peer: str) -> bool:
        return peer in self._part_of[protocol].known

    def arrived(self, node: Node, origin: str, payload: Message) -> None:
        """A carrier has brought this from a broker that is not linked."""
        while isinstance(node, NodeAbove):  # handlers begin with the node itself
            node = node.below
        handler = self.handlers.get(payload.__class__)
        if handler is None:
            raise Unhandled(node, payload, self.handlers)
        handler(node, origin, payload)

    def remember(self, before: Agent) -> None:
        super().remember(before)
        if isinstance(before, PartedAgent):
            for mine, old in zip(self.parts, before.parts, strict=True):
                mine.sent, mine.sent_underlay = list(old.sent), list(old.sent_underlay)
