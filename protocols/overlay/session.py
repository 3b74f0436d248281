"""Sessions that outlive a crash: what was sent and not acknowledged is kept, and sent again after a crash.

The channel below repairs links but not lives: what is on its way to or from a node that crashes is lost with it. The
hand-over must lose nothing, so over reliable links every message is numbered and kept, in the durable part of the
state, until the other side has dealt with it. A handler either ran, with all that it changed and sent, or did not,
so a crash with recovery is nothing but a long delay. On raw links, without faults, sessions add nothing.

Our own: the paper assumes brokers that never fail.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from runtime.agent import Node, Protocol, on
from runtime.message import Message, message


@message(tag="overlay.Numbered")
class Numbered:
    number: int
    payload: Message


@message(tag="overlay.Dealt")
class Dealt:
    """I have dealt with everything below this number."""

    expected: int


@dataclass
class Sent:
    """What was sent to each peer and may have to be sent again; what is expected from each."""

    numbered: dict[str, int] = field(default_factory=dict)
    kept: dict[str, dict[int, Any]] = field(default_factory=dict)
    expected: dict[str, int] = field(default_factory=dict)


class Sessions(Protocol):
    """Carries messages for the protocols above; `lasting` sessions survive crashes."""

    durable: Sent

    def __init__(self, lasting: bool = False) -> None:
        self.lasting = lasting
        self.durable = Sent()
        self.above: Sequence[Protocol] = ()

    def tell(self, node: Node, peer: str, what: Any) -> None:
        if not self.lasting:
            node.send(peer, what)
            return
        number = self.durable.numbered.get(peer, 0)
        self.durable.numbered[peer] = number + 1
        self.durable.kept.setdefault(peer, {})[number] = what
        node.send(peer, Numbered(number, what))

    @on(Numbered)
    def told(self, node: Node, sender: str, told: Numbered) -> None:
        expected = self.durable.expected.get(sender, 0)
        if told.number == expected:
            self.durable.expected[sender] = expected + 1
            kind = told.payload.__class__
            owner = next(protocol for protocol in self.above if kind in protocol.handlers)
            getattr(owner, owner.handlers[kind])(node, sender, told.payload)
        # What comes too early follows something that a crash swallowed: all of it will come again, in order.
        node.send(sender, Dealt(self.durable.expected.get(sender, 0)))

    @on(Dealt)
    def dealt(self, node: Node, sender: str, news: Dealt) -> None:
        kept = self.durable.kept.get(sender, {})
        for number in [number for number in kept if number < news.expected]:
            del kept[number]

    def recovered(self, node: Node) -> None:
        for peer in sorted(self.durable.kept):
            self.again(node, peer)

    def neighbour_up(self, node: Node, peer: str) -> None:
        self.again(node, peer)

    def again(self, node: Node, peer: str) -> None:
        if self.lasting:
            for number, what in list(self.durable.kept.get(peer, {}).items()):
                node.send(peer, Numbered(number, what))
