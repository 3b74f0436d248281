import networkx

from runtime.agent import Protocol, on
from runtime.message import message
from runtime.properties import eventually


@message
class Flood:
    hops: int


class MyFlood(Protocol):
    """Every node learns how many hops away the source is."""

    def __init__(self, source: str):
        self.source = source
        self.hops = None

    def started(self, node):
        if node.id == self.source:
            self.heard(node, None, Flood(0))

    @on(Flood)
    def heard(self, node, sender, flood):
        if self.hops is None or flood.hops < self.hops:
            self.hops = flood.hops
            node.broadcast(Flood(flood.hops + 1), skip=sender)

    def result(self):
        return {"hops": self.hops}

    @eventually
    @staticmethod
    def counts_the_fewest_hops(world):
        """Every node ends with the length of a shortest path."""
        for name, flood in world.protocols(MyFlood).items():
            if flood.hops != networkx.shortest_path_length(world.graph, name, flood.source):
                yield f"{name} counts {flood.hops} hops to {flood.source}"
