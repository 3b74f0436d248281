"""Ways: messages between brokers that are not linked, carried hop by hop over the links that there are.

Some papers let any two brokers talk: a complete graph of brokers (overlay), a mesh on an underlay (dissemination). On
a network with fewer links the word goes over the brokers in between, on a shortest way, and so it meets all the other
traffic of these links. Over links that keep order, what one broker tells another arrives in order.

Our own: the papers do not say what their graphs are made of.
"""

from __future__ import annotations

from collections.abc import Mapping

from runtime.agent import Carrier, Node, on
from runtime.message import Message, encode, message


@message
class Carried:
    """What one broker has to tell another, on its way."""

    origin: str
    target: str
    payload: Message


class Ways(Carrier):
    """Knows the next hop to every broker; `arrived` is told of what has come here for this broker."""

    durable: dict[str, list[int]]
    """Messages and bytes that left over a link, by the tag of what they carried."""

    def __init__(self, next_hop: Mapping[str, str]) -> None:
        self.next_hop = dict(next_hop)
        self.durable = {}

    def send(self, node: Node, target: str, what: Message) -> None:
        self.pass_on(node, Carried(node.id, target, what))

    def pass_on(self, node: Node, carried: Carried) -> None:
        counts = self.durable.setdefault(carried.payload.tag, [0, 0])
        counts[0] += 1
        counts[1] += len(encode(carried))
        node.send(self.next_hop[carried.target], carried)

    @on(Carried)
    def passes(self, node: Node, sender: str, carried: Carried) -> None:
        if carried.target == node.id:
            self.arrived(node, carried.origin, carried.payload)
        else:
            self.pass_on(node, carried)
