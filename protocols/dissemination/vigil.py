"""Noticing that a node has failed."""

from __future__ import annotations

from protocols.dissemination.mesh_messages import Gone
from protocols.dissemination.tapestry import Tapestry
from runtime.agent import LinkChanged, Node, Protocol, Timer, on
from runtime.message import message


@message
class Ping:
    """Are you there? The question has a number, for an older answer says nothing."""

    number: int


@message
class Pong:
    """I am."""

    number: int


@message
class Silence:
    """A timer: the node should have answered by now."""

    peer: str


class Vigil(Protocol):
    """Asks whoever may have failed: an acquaintance that the layer below calls down, or somebody in a new life, for
    the news of it may come when it is long over. Who does not answer a ping in time is down.
    """

    def __init__(self, tapestry: Tapestry, patience_s: float) -> None:
        self.tapestry = tapestry
        self.patience_s = patience_s
        self.asked = 0
        self.waiting: dict[str, tuple[Timer, int]] = {}
        tapestry.ask = self.ask

    def neighbour_down(self, node: Node, peer: str) -> None:
        self.ask(node, peer)

    def ask(self, node: Node, peer: str) -> None:
        if peer in self.waiting:
            node.cancel(self.waiting[peer][0])
        self.asked += 1
        node.send_underlay(peer, Ping(self.asked))
        self.waiting[peer] = (node.after(self.patience_s, Silence(peer)), self.asked)

    @on(Ping)
    def pinged(self, node: Node, sender: str, ping: Ping) -> None:
        if self.tapestry.durable.left:
            node.send_underlay(sender, Gone(self.tapestry.me(node)))
        node.send_underlay(sender, Pong(ping.number))

    @on(Pong)
    def answered(self, node: Node, sender: str, pong: Pong) -> None:
        if sender in self.waiting and self.waiting[sender][1] == pong.number:
            node.cancel(self.waiting.pop(sender)[0])

    @on(Silence)
    def silent(self, node: Node, sender: str, timer: Silence) -> None:
        del self.waiting[timer.peer]
        self.tapestry.declare(node, timer.peer)


class LinkVigil(Vigil):
    """Where no layer watches over the acquaintances, the hint that something happened to a link does.

    It stands in for heartbeats, which would never let a run end.
    """

    @on(LinkChanged)
    def doubtful(self, node: Node, sender: str, hint: LinkChanged) -> None:
        self.ask(node, hint.peer)
