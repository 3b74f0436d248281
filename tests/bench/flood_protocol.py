"""Flooding as a protocol file: what the race of tests/bench/flooding.py floods, but as a scenario can name it.

Workers of a Ray cluster load it from the scenario; they need not know this folder.
"""

from runtime.agent import Node, Protocol, on
from runtime.message import message

FAR = 1_000_000


@message(tag="bench.Nearer")
class Nearer:
    source: str
    hops: int


class Flood(Protocol):
    """Nearer news is kept and sent on to all other neighbours; the rest is dropped."""

    def __init__(self, sources: list[str]) -> None:
        self.sources = sources
        self.hops: dict[str, int] = {}

    def started(self, node: Node) -> None:
        if node.id in self.sources:
            self.hops[node.id] = 0
            node.broadcast(Nearer(node.id, 1))

    @on(Nearer)
    def heard(self, node: Node, sender: str, news: Nearer) -> None:
        if news.hops < self.hops.get(news.source, FAR):
            self.hops[news.source] = news.hops
            node.broadcast(Nearer(news.source, news.hops + 1), skip=sender)
