"""Presence: neighbours that fail, forget or return, and what is then to be said again.

A broker that recovers from a crash says so itself; a failed store is noticed because its connection closes; a
layer such as Channel notices more. Whoever finds a neighbour back asks it what it knows, because it dropped what
it had from that neighbour; the neighbour itself may have noticed nothing.
"""

from __future__ import annotations

from collections.abc import Sequence

from runtime.agent import Node, Protocol, on
from runtime.message import message


@message
class Reborn:
    """I crashed and forgot everything: forget what you had from me and tell me what you know."""


@message
class Closed:
    """The sender's connection closed: it failed. Its machine says so; what failed says nothing."""


@message
class Introduce:
    """Tell me what you know."""


class Watcher(Protocol):
    """A protocol whose tables depend on the neighbours."""

    def introduce(self, node: Node, peer: str) -> None:
        """Tell this neighbour everything that it should know from here."""


class Presence(Protocol):
    """Tells the agent's watchers which neighbours are lost and which want to be told everything."""

    def __init__(self, watchers: Sequence[Watcher] = ()) -> None:
        self.watchers = tuple(watchers)

    def recovered(self, node: Node) -> None:
        node.broadcast(Reborn())

    @on(Reborn)
    def reborn(self, node: Node, sender: str, news: Reborn) -> None:
        for watcher in self.watchers:
            watcher.neighbour_down(node, sender)
            watcher.introduce(node, sender)

    @on(Closed)
    def closed(self, node: Node, sender: str, news: Closed) -> None:
        for watcher in self.watchers:
            watcher.neighbour_down(node, sender)

    def neighbour_up(self, node: Node, peer: str) -> None:
        node.send(peer, Introduce())

    @on(Introduce)
    def wanted(self, node: Node, sender: str, wish: Introduce) -> None:
        for watcher in self.watchers:
            watcher.introduce(node, sender)
