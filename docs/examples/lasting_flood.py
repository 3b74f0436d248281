import networkx

from runtime.agent import Protocol, on
from runtime.message import message
from runtime.testing import eventually


@message
class Wave:
    hops: int


class LastingFlood(Protocol):
    """As MyFlood, but a neighbour that is back is told again."""

    tolerates = ("drop", "duplicate", "reorder", "crash")

    def __init__(self, source: str):
        self.source = source
        self.hops = None

    def started(self, node):
        if node.id == self.source:
            self.heard(node, None, Wave(0))

    @on(Wave)
    def heard(self, node, sender, wave):
        if self.hops is None or wave.hops < self.hops:
            self.hops = wave.hops
            node.broadcast(Wave(wave.hops + 1), skip=sender)

    def neighbour_up(self, node, peer):
        if self.hops is not None:
            node.send(peer, Wave(self.hops + 1))

    def result(self):
        return {"hops": self.hops}

    @eventually
    @staticmethod
    def counts_the_fewest_hops(world):
        """Every node ends with the length of a shortest path."""
        for name, flood in world.protocols(LastingFlood).items():
            if flood.hops != networkx.shortest_path_length(world.graph, name, flood.source):
                yield f"{name} counts {flood.hops} hops to {flood.source}"

    @staticmethod
    def case(draw):
        names = draw.names(least=2)
        return draw.case(
            {
                "seed": draw.seed,
                "links": "reliable",
                "network": draw.graph(names),
                "settings": {"source": draw.rng.choice(names)},
                "faults": draw.trouble(names),
            }
        )
