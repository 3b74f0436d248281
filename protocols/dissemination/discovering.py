"""The tree discovery message: from the RP to all matching brokers, and from the leaves back (dissemination, 2)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from protocols.dissemination.content_messages import Discover, Discovered, Hop, Overdue, Publication, PublishContent
from protocols.dissemination.mesh_messages import Contact
from protocols.dissemination.resources import Resources
from protocols.dissemination.tapestry import Tapestry
from runtime.agent import Node, Protocol, Timer, on


@dataclass
class Looking:
    """A publication whose tree is being discovered."""

    publish: PublishContent
    targets: dict[str, Contact]
    hops: dict[str, tuple[str, Hop]] = field(default_factory=dict)
    """Every broker that was found, its parent and what it charges."""

    timer: Timer | None = None


Demand = dict[str, tuple[Contact, tuple[str, ...]]]
Found = Callable[[Node, PublishContent, Demand, dict[str, tuple[str, Hop]] | None], None]


class Discovering(Protocol):
    """Finds the tree of routes to the brokers that match a publication, and what those on the way charge."""

    def __init__(self, tapestry: Tapestry, resources: Resources, discover: bool, patience_s: float) -> None:
        self.tapestry = tapestry
        self.resources = resources
        self.discover = discover
        self.patience_s = patience_s
        self.matched: dict[Publication, Demand] = {}
        self.looking: dict[Publication, Looking] = {}
        self.probes = 0
        self.found: Found = lambda node, publish, demand, hops: None

    def look(self, node: Node, publish: PublishContent, demand: Demand) -> None:
        if not self.discover:
            self.found(node, publish, demand, None)
            return
        publication = (publish.publisher, publish.number)
        gone = self.tapestry.is_gone
        targets = {name: broker for name, (broker, _) in demand.items() if name != node.id and not gone(broker)}
        self.looking[publication] = looking = Looking(publish, targets)
        self.send_on(node, publication, tuple(targets.values()), (self.hop(node, 0.0),))
        if targets:
            looking.timer = node.after(self.patience_s, Overdue(publication))
        self.conclude(node, publication)

    def hop(self, node: Node, link_factor: float) -> Hop:
        return node.id, self.tapestry.identifier, self.resources.told_node_factor(node.now), link_factor

    def send_on(self, node: Node, publication: Publication, targets: Sequence[Contact], path: tuple[Hop, ...]) -> bool:
        """Send the discovery on to all who are below; False if nobody is."""
        groups = self.by_next_hop(targets)
        for hop, group in groups.items():
            self.probes += 1
            link_factor = self.resources.told_link_factor(hop.name, node.now)
            node.send_underlay(hop.name, Discover(publication, tuple(group), path, link_factor))
        return bool(groups)

    def by_next_hop(self, targets: Iterable[Contact]) -> dict[Contact, list[Contact]]:
        """Who is reached over whom. One to whom no way leads at the moment is left out."""
        groups: dict[Contact, list[Contact]] = {}
        for target in targets:
            hop, _ = self.tapestry.next_hop(target.identifier, 0)
            if hop is not None:
                groups.setdefault(hop, []).append(target)
        return groups

    @on(Discover)
    def probed(self, node: Node, sender: str, probe: Discover) -> None:
        path = (*probe.path, self.hop(node, probe.link_factor))
        rest = tuple(target for target in probe.targets if target.name != node.id)
        if not self.send_on(node, probe.publication, rest, path):
            self.probes += 1
            node.send_underlay(path[0][0], Discovered(probe.publication, path))

    @on(Discovered)
    def answered(self, node: Node, sender: str, answer: Discovered) -> None:
        looking = self.looking.get(answer.publication)
        if looking is not None:
            for (parent, *_), hop in pairwise(answer.path):
                looking.hops[hop[0]] = (parent, hop)
            self.conclude(node, answer.publication)

    def conclude(self, node: Node, publication: Publication) -> None:
        """When the way to every matching broker is known, the tree is."""
        looking = self.looking[publication]
        if looking.targets.keys() <= looking.hops.keys():
            del self.looking[publication]
            if looking.timer is not None:
                node.cancel(looking.timer)
            demand = self.matched[publication]
            reached = {name: wish for name, wish in demand.items() if name == node.id or name in looking.targets}
            self.found(node, looking.publish, reached, looking.hops)

    @on(Overdue)
    def overdue(self, node: Node, sender: str, timer: Overdue) -> None:
        """A broker on the way has failed: look again, for those that are still there."""
        looking = self.looking.pop(timer.publication, None)
        if looking is not None:
            for name, target in looking.targets.items():
                if name not in looking.hops:
                    self.tapestry.doubt(node, target)
            self.look(node, looking.publish, self.matched[timer.publication])
