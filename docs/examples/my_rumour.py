from collections import Counter

from runtime.agent import Protocol, on
from runtime.message import message


@message
class Hearsay:
    hops: int


class MyRumour(Protocol):
    """A rumour that everybody tells on, once."""

    def __init__(self, source: str):
        self.source = source
        self.knows = False

    def started(self, node):
        if node.id == self.source:
            self.heard(node, None, Hearsay(0))

    @on(Hearsay)
    def heard(self, node, sender, rumour):
        if not self.knows:
            self.knows = True
            node.log("heard", hops=rumour.hops)
            node.broadcast(Hearsay(rumour.hops + 1), skip=sender)

    @staticmethod
    def report(world, report):
        """What report.html shows of its own: who knows it, how fast it spread, over how many hops it came."""
        heard = world.events.rows("heard")
        report.holding = "heard it at"
        for name in world.network.brokers:
            report.hold(0.0, name, [])
        for row in heard:
            report.hold(row["time"], row["node"], [f"hop {row['hops']}"])
        report.curve("who knows it", {"nodes": [(row["time"], count) for count, row in enumerate(heard, start=1)]})
        report.bars("Over how many hops", Counter(f"hop {row['hops']}" for row in heard), unit="nodes")
