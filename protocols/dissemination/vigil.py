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
    """A timer: the node should have answered this ping by now, if the life that was doubted is not over."""

    peer: str
    number: int
    life: int


class Vigil(Protocol):
    """Asks whoever may have failed: an acquaintance that the layer below calls down, or somebody in a new life, for
    the news of it may come when it is long over. Who does not answer a ping in time is down.
    """

    def __init__(self, tapestry: Tapestry, patience_s: float) -> None:
        self.tapestry = tapestry
        self.patience_s = patience_s
        self.asked = 0
        self.waiting: dict[str, dict[int, Timer]] = {}
        """By node: its pings that are not answered."""
        tapestry.ask = self.ask

    def neighbour_down(self, node: Node, peer: str) -> None:
        self.ask(node, peer)

    def ask(self, node: Node, peer: str) -> None:
        """Each ping has its own time: who is asked again and again has not longer to answer the first."""
        self.asked += 1
        node.send_underlay(peer, Ping(self.asked))
        silence = Silence(peer, self.asked, self.tapestry.alive.get(peer, 1))
        self.waiting.setdefault(peer, {})[self.asked] = node.after(self.patience_s, silence)

    @on(Ping)
    def pinged(self, node: Node, sender: str, ping: Ping) -> None:
        if self.tapestry.durable.left:
            node.send_underlay(sender, Gone(self.tapestry.me(node)))
        node.send_underlay(sender, Pong(ping.number))

    @on(Pong)
    def answered(self, node: Node, sender: str, pong: Pong) -> None:
        pings = self.waiting.get(sender, {})
        if pong.number in pings:
            for number in [number for number in pings if number <= pong.number]:
                node.cancel(pings.pop(number))

    @on(Silence)
    def silent(self, node: Node, sender: str, timer: Silence) -> None:
        del self.waiting[timer.peer][timer.number]
        self.tapestry.declare(node, timer.peer, timer.life)


class LinkVigil(Vigil):
    """Where no layer watches over the acquaintances, the hint that something happened to a link does.

    It stands in for heartbeats, which would never let a run end.
    """

    @on(LinkChanged)
    def doubtful(self, node: Node, sender: str, hint: LinkChanged) -> None:
        self.ask(node, hint.peer)
