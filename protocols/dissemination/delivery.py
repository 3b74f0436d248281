"""Content on its way: planned at the RP, converted and passed on by brokers (dissemination, 2.2, 3.1, Algorithm 1)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from protocols.dissemination.baselines import all_in_leaves, all_in_root
from protocols.dissemination.cag import CAG, Rates, members
from protocols.dissemination.content_messages import Hop, Publication, PublishContent, Refused
from protocols.dissemination.discovering import Demand
from protocols.dissemination.heuristic import Heuristic
from protocols.dissemination.mesh_messages import Contact
from protocols.dissemination.optimal import least_cost, optimal
from protocols.dissemination.plan import Operator, Plan, Tree, check_demands
from protocols.dissemination.refinement import Planner, estimated_hops, followed, refined, tree_of
from protocols.dissemination.rendezvous import Rendezvous
from protocols.dissemination.resources import Resources
from protocols.dissemination.tapestry import Tapestry
from runtime.agent import Node, Protocol, on
from runtime.message import message


@message
class Row:
    """A broker in a subplan: who it is, its parent's place, what it wants, gets and does, and what it charges."""

    broker: Contact
    parent: int
    wanted: int
    arrives: int
    operators: tuple[tuple[int, int], ...]
    node_factor: float
    link_factor: float


@message
class CustomContent:
    """The content in the formats that the first row says arrive, and the subplan for it and what is below."""

    publication: tuple[str, int]
    exact: bool
    """Was the tree discovered? Else it was estimated, and is to be looked at again."""

    rows: tuple[Row, ...]


@dataclass(frozen=True)
class Planning:
    """How plans are made, and what is compared with them."""

    cag: CAG
    rates: Rates
    algorithm: str = "optimal"
    threshold: float = 0.0
    heuristic: Heuristic = field(default_factory=Heuristic)
    planning_s: float = 0.1
    takes_time: bool = True
    """Do conversions keep a broker busy?"""

    compare: tuple[str, ...] = ()

    def planner(self, name: str) -> Planner:
        planners: dict[str, Planner] = {"optimal": optimal, "root": all_in_root, "leaves": all_in_leaves}
        return self.heuristic.plan if name == "heuristic" else planners[name]

    def cost(self, name: str, tree: Tree, available: int) -> float:
        if name == "optimal":
            return least_cost(tree, self.rates, available)
        return self.planner(name)(tree, self.rates, available).cost(self.rates)


@dataclass
class Planned:
    """What the RP decided for a publication."""

    original: str
    wanted: dict[str, int]
    brokers: int
    depth: int
    transmission: float
    conversion: float
    others: dict[str, float] = field(default_factory=dict)
    """What other algorithms' plans for the same tree cost."""

    @property
    def cost(self) -> float:
        return self.transmission + self.conversion


class Delivery(Protocol):
    """Plans, refines and follows plans, and delivers to the broker's own subscribers."""

    def __init__(self, tapestry: Tapestry, rendezvous: Rendezvous, resources: Resources, planning: Planning) -> None:
        self.tapestry = tapestry
        self.rendezvous = rendezvous
        self.resources = resources
        self.planning = planning
        self.planned: dict[Publication, Planned] = {}
        self.refused: list[tuple[Publication, str, str]] = []
        self.delivered: dict[Publication, list[int]] = {}
        self.paid: dict[Publication, tuple[float, float]] = {}
        self.changed_plans = 0
        self.other_trees = 0
        rendezvous.found = self.plan

    # At the RP

    def plan(
        self, node: Node, publish: PublishContent, demand: Demand, hops: Mapping[str, tuple[str, Hop]] | None
    ) -> None:
        planning, cag, rates = self.planning, self.planning.cag, self.planning.rates
        publication = (publish.publisher, publish.number)
        available = cag.set_of([publish.original])
        wanted = self.feasible(node, publish, demand, available)
        receivers = {name: demand[name][0] for name in wanted}
        if hops is None:
            tree = self.estimate(node, receivers, wanted, {})
        else:
            factors = {name: (node_factor, link) for name, (_, (_, _, node_factor, link)) in hops.items()}
            factors[node.id] = (self.resources.told_node_factor(node.now), 1.0)
            parents = _needed({name: parent for name, (parent, _) in hops.items()}, wanted)
            tree = tree_of(node.id, parents, wanted, factors)
        check_demands(tree, cag, available)
        node.work(planning.planning_s)
        plan = planning.planner(planning.algorithm)(tree, rates, available)
        self.planned[publication] = Planned(
            publish.original,
            wanted,
            len(tree),
            len(tree.levels) - 1,
            plan.transmission_cost(rates),
            plan.conversion_cost(rates),
            {name: planning.cost(name, tree, available) for name in planning.compare if name != planning.algorithm},
        )
        brokers = receivers | {name: Contact(hop[1], name, 1) for name, (_, hop) in (hops or {}).items()}
        brokers |= {contact.name: contact for contact in self.tapestry.table.values()}
        self.perform(node, publication, plan, hops is not None, brokers | {node.id: self.tapestry.me(node)})

    def feasible(self, node: Node, publish: PublishContent, demand: Demand, available: int) -> dict[str, int]:
        """What each broker wants, as far as it can be made; the rest is refused."""
        cag = self.planning.cag
        possible = cag.reachable(available)
        wanted = {}
        for name, (_, formats) in demand.items():
            asked = cag.set_of(formats)
            for missing in cag.names(asked & ~possible):
                self.refused.append(((publish.publisher, publish.number), name, missing))
                refusal = Refused(publish.topic, publish.original, missing)
                if name == node.id:
                    self.rendezvous.refusal(node, node.id, refusal)
                else:
                    node.send_underlay(name, refusal)
            if asked & possible:
                wanted[name] = asked & possible
        return wanted

    def estimate(
        self,
        node: Node,
        receivers: Mapping[str, Contact],
        wanted: Mapping[str, int],
        factors: Mapping[str, tuple[float, float]],
    ) -> Tree:
        """The tree as this broker's own table and the receivers' identifiers suggest (3.1)."""
        tapestry = self.tapestry
        names = {c.identifier: c.name for c in (*tapestry.table.values(), *receivers.values())}
        others = [contact for name, contact in receivers.items() if name != node.id]
        first = {
            target.identifier: hop.identifier
            for hop, group in self.rendezvous.by_next_hop(others).items()
            for target in group
        }
        hops = estimated_hops(tapestry.identifier, first, names, tapestry.base)
        names[tapestry.identifier] = node.id
        parents = {names[child]: names[parent] for child, parent in hops.items()}
        factors = dict(factors) | {
            hop: (factors.get(hop, (1.0, 1.0))[0], self.resources.told_link_factor(hop, node.now))
            for hop in dict.fromkeys(names[identifier] for identifier in first.values())
        }
        factors[node.id] = (self.resources.told_node_factor(node.now), 1.0)
        return tree_of(node.id, parents, wanted, factors)

    # At every broker

    @on(CustomContent)
    def arrived(self, node: Node, sender: str, content: CustomContent) -> None:
        rows = content.rows
        plan = _plan_of(rows)
        brokers = {row.broker.name: row.broker for row in rows}
        if not content.exact or self.misrouted(plan, brokers):
            plan = self.reconsidered(node, plan, brokers)
            brokers |= {contact.name: contact for contact in self.tapestry.table.values()}
        self.perform(node, content.publication, plan, content.exact, brokers)

    def misrouted(self, plan: Plan, brokers: Mapping[str, Contact]) -> bool:
        """Has this broker's table changed since the tree was discovered?"""
        tree = plan.tree
        for child in tree.children[0]:
            for place in tree.subtree(child):
                hop, _ = self.tapestry.next_hop(brokers[tree.names[place]].identifier, 0)
                if hop is None or hop.name != tree.names[child]:
                    return True
        return False

    def reconsidered(self, node: Node, plan: Plan, brokers: Mapping[str, Contact]) -> Plan:
        """Algorithm 1: if the tree as seen from here is another, refine the plan where that pays."""
        planning, old = self.planning, plan.tree
        wanted = {name: formats for name, formats in zip(old.names, old.wanted, strict=True) if formats}
        factors = dict(zip(old.names, zip(old.node_factors, old.link_factors, strict=True), strict=True))
        tree = self.estimate(node, {name: brokers[name] for name in wanted}, wanted, factors)
        if tree.edges() == old.edges():
            return followed(plan, tree, planning.rates)
        self.other_trees += 1
        planner = planning.planner(planning.algorithm)
        plan, changed = refined(plan, tree, planning.rates, planner, planning.threshold)
        self.changed_plans += changed
        return plan

    def perform(
        self, node: Node, publication: Publication, plan: Plan, exact: bool, brokers: Mapping[str, Contact]
    ) -> None:
        """Perform the operators, deliver, and forward what each child is to get with its part of the plan."""
        rates, cag, now = self.planning.rates, self.planning.cag, node.now
        made = sum(rates.conversion[source][target] for source, target in plan.operators[0])
        conversion = made * self.resources.node_factor(now)
        transmission = 0.0
        self.resources.use_node(made, now)
        if self.planning.takes_time:
            node.work(self.resources.node_base * sum(cag.conversions[a][b] for a, b in plan.operators[0]))
        tree = plan.tree
        if tree.wanted[0] and self.is_new(publication):
            self.delivered.setdefault(publication, []).append(tree.wanted[0])
            node.log("delivered", publisher=publication[0], number=publication[1], formats=tree.wanted[0].bit_count())
        for child in tree.children[0]:
            name = tree.names[child]
            sent = sum(rates.transmission[f] for f in members(plan.arrives[child]))
            transmission += sent * self.resources.link_factor(name, now)
            self.resources.use_link(name, sent, now)
            formats = " ".join(cag.names(plan.arrives[child]))
            node.log("forwarded", publisher=publication[0], number=publication[1], to=name, formats=formats)
            node.send_underlay(name, CustomContent(publication, exact, _rows_of(plan, child, brokers)))
        costs = {"transmission": transmission, "conversion": conversion}
        node.log("performed", publisher=publication[0], number=publication[1], **costs)
        before = self.paid.get(publication, (0.0, 0.0))
        self.paid[publication] = (before[0] + transmission, before[1] + conversion)

    def is_new(self, publication: Publication) -> bool:
        """When an RP is taken for dead, the publisher asks the next one, and both may send the content."""
        return publication not in self.delivered


def _needed(parents: Mapping[str, str], wanted: Mapping[str, int]) -> dict[str, str]:
    """Without the brokers that lead to nobody who wants anything."""
    kept: dict[str, str] = {}
    for name in wanted:
        while name in parents and name not in kept:
            kept[name] = parents[name]
            name = parents[name]
    return kept


def _rows_of(plan: Plan, top: int, brokers: Mapping[str, Contact]) -> tuple[Row, ...]:
    """The subplan of a child."""
    tree = plan.tree
    nodes = tree.subtree(top)
    places = {node: place for place, node in enumerate(nodes)}
    return tuple(
        Row(
            brokers[tree.names[node]],
            places.get(tree.parents[node], -1),
            tree.wanted[node],
            plan.arrives[node],
            plan.operators[node],
            tree.node_factors[node],
            tree.link_factors[node],
        )
        for node in nodes
    )


def _plan_of(rows: Sequence[Row]) -> Plan:
    tree = Tree(
        tuple(row.broker.name for row in rows),
        tuple(row.parent for row in rows),
        tuple(row.wanted for row in rows),
        tuple(row.node_factor for row in rows),
        tuple(row.link_factor for row in rows),
    )
    operators: tuple[tuple[Operator, ...], ...] = tuple(row.operators for row in rows)
    return Plan(tree, tuple(row.arrives for row in rows), operators)
