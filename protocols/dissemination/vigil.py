"""Noticing that an acquaintance has failed."""

from __future__ import annotations

from protocols.dissemination.tapestry import Tapestry
from runtime.agent import LinkChanged, Node, Protocol, Timer, on
from runtime.message import message


@message
class Ping:
    """Are you there?"""


@message
class Pong:
    """I am."""


@message
class Silence:
    """A timer: the acquaintance should have answered by now."""

    peer: str


class Vigil(Protocol):
    """Watches over the acquaintances where no layer does: whoever does not answer a ping in time is down.

    The hint that something happened to a link stands in for heartbeats, which would never let a run end.
    """

    def __init__(self, tapestry: Tapestry, patience_s: float) -> None:
        self.tapestry = tapestry
        self.patience_s = patience_s
        self.waiting: dict[str, tuple[Timer, int]] = {}

    @on(LinkChanged)
    def doubtful(self, node: Node, sender: str, hint: LinkChanged) -> None:
        if hint.peer not in self.waiting:
            node.send_underlay(hint.peer, Ping())
            timer = node.after(self.patience_s, Silence(hint.peer))
            self.waiting[hint.peer] = (timer, self.tapestry.alive.get(hint.peer, 1))

    @on(Ping)
    def pinged(self, node: Node, sender: str, ping: Ping) -> None:
        node.send_underlay(sender, Pong())

    @on(Pong)
    def answered(self, node: Node, sender: str, pong: Pong) -> None:
        if sender in self.waiting:
            node.cancel(self.waiting.pop(sender)[0])

    @on(Silence)
    def silent(self, node: Node, sender: str, timer: Silence) -> None:
        if timer.peer in self.waiting:
            _, life = self.waiting.pop(timer.peer)
            self.tapestry.declare(node, timer.peer, life)
