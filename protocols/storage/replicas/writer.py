"""What all writers share: they hear what their store learns, and they can give up.

A store that finds itself going round in circles tells everyone, and all stop. Whoever was away then is told when it
returns: it would wait for ever for those who do nothing any more.
"""

from __future__ import annotations

from protocols.storage.replicas.facts import Fact
from runtime.agent import Node, Protocol, on
from runtime.message import message


@message
class DoesNotConverge:
    """I have seen enough: a cycle, or a livelock."""

    origin: str
    why: str


class Writer(Protocol):
    """Says when its store may replace something."""

    def __init__(self) -> None:
        self.stopped = ""
        """Why, if so."""
        self._end_told: DoesNotConverge | None = None

    @property
    def at_rest(self) -> bool:
        """Will nothing more happen, as far as this store knows? So it is once it has stopped."""
        return bool(self.stopped)

    def learnt(self, node: Node, fact: Fact) -> None:
        """The store has learnt something, perhaps from itself."""

    def introduced(self, node: Node, peer: str) -> None:
        """The neighbour has just been told everything that the store knows."""
        if self._end_told is not None:
            node.send(peer, self._end_told)

    def stop(self, node: Node, why: str) -> None:
        node.log("gave_up", why=why)
        self._end(node, DoesNotConverge(node.id, why), None)

    @on(DoesNotConverge)
    def hopeless(self, node: Node, sender: str, news: DoesNotConverge) -> None:
        self._end(node, news, sender)

    def _end(self, node: Node, news: DoesNotConverge, sender: str | None) -> None:
        if not self.stopped:
            self.stopped, self._end_told = news.why, news
            self.halt(node)
            node.broadcast(news, skip=sender)

    def halt(self, node: Node) -> None:
        """Do nothing any more."""
