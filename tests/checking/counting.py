"""A small protocol to check the checker with: the first node counts the others, which say that they are there.

It has one bug for each of the ways in which a protocol can go wrong, switched on by its settings.
"""

from runtime.agent import Protocol, on
from runtime.message import message
from runtime.properties import always, eventually, sometimes


@message(tag="counting.Here")
class Here:
    name: str


@message(tag="counting.Again")
class Again:
    pass


@message(tag="counting.Never")
class Never:
    pass


class Counting(Protocol):
    """Every node hears of every other."""

    tolerates = ("delay",)

    def __init__(self, bug: str = ""):
        self.bug = bug
        self.heard_of = ()

    def started(self, node):
        self.heard(node, None, Here(node.id))
        if self.bug == "restless":
            node.after(1.0, Again())

    @on(Here)
    def heard(self, node, sender, here):
        if here.name in self.heard_of and self.bug != "counts twice":
            return
        if self.bug == "fails" and len(self.heard_of) == 2:
            raise ValueError("too many to count")
        if self.bug == "first only" and self.heard_of and sender is not None and self.heard_of[-1] != node.id:
            return
        known = here.name in self.heard_of
        self.heard_of = (*self.heard_of, here.name)
        if not known:
            node.broadcast(here, skip=sender)

    @on(Again)
    def again(self, node, sender, again):
        node.after(1.0, Again())

    @staticmethod
    def case(draw):
        names = draw.names()
        return draw.case({"seed": draw.seed, "network": draw.graph(names), "faults": draw.trouble(names)})

    @always
    @staticmethod
    def nobody_counts_twice(world):
        """No name is counted twice."""
        for name, counting in world.protocols(Counting).items():
            if len(set(counting.heard_of)) < len(counting.heard_of):
                yield f"{name} counts {counting.heard_of}"

    @eventually
    @staticmethod
    def everybody_is_counted(world):
        """Every node has heard of all."""
        for name, counting in world.protocols(Counting).items():
            if len(set(counting.heard_of)) < len(world.agents):
                yield f"{name} knows of {len(counting.heard_of)} of {len(world.agents)}"

    @sometimes
    @staticmethod
    def somebody_counts_three(world):
        """There are three nodes to count."""
        return any(len(counting.heard_of) >= 3 for counting in world.protocols(Counting).values())
