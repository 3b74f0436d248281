"""Flooding as a protocol of this product: typed messages, bytes counted, a fingerprint kept."""

from __future__ import annotations

from runtime.agent import Agent, Node, Protocol, on
from runtime.message import message
from runtime.simulator import Simulator
from tests.bench.overlay import FAR, SEED, Distances, Overlay


@message
class Nearer:
    source: str
    hops: int


class Flooding(Protocol):
    """Nearer news is kept and sent on to all other neighbours; the rest is dropped."""

    def __init__(self, source: bool) -> None:
        self.source = source
        self.hops: dict[str, int] = {}

    def started(self, node: Node) -> None:
        if self.source:
            self.hops[node.id] = 0
            node.broadcast(Nearer(node.id, 1))

    @on(Nearer)
    def heard(self, node: Node, sender: str, news: Nearer) -> None:
        if news.hops < self.hops.get(news.source, FAR):
            self.hops[news.source] = news.hops
            node.broadcast(Nearer(news.source, news.hops + 1), skip=sender)


class Brokerlab:
    """The kernel; what it takes to build the agents and their links is told apart."""

    name = "brokerlab"

    def __init__(self, overlay: Overlay) -> None:
        sources = set(overlay.source_names)
        self.source_names = overlay.source_names
        self.simulator = Simulator(overlay.network, lambda name: Agent([Flooding(name in sources)]), SEED)

    def run(self) -> int:
        self.simulator.run()
        return self.simulator.handled

    def distances(self) -> Distances:
        known = [node.agent.protocols[0].hops for node in self.simulator.nodes.values()]
        return [[hops[name] for name in self.source_names] for hops in known]
