"""Runs whose diagrams tests look at, with what must be in them known from elsewhere."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import networkx

from runtime.agent import Agent, Node, Protocol, on
from runtime.distributions import parse_distribution
from runtime.faults import FaultPlan, Rule
from runtime.message import message
from runtime.network import Network, from_networkx
from runtime.simulator import Simulator
from runtime.spacetime import Caption, SpaceTime
from runtime.spacetime.model import Arrow, Happening

PLACES = ("n0", "n1", "n2", "n3", "n4")


@message(tag="spacetime.Gossip")
class Gossip:
    clock: tuple[int, ...]
    hops: int


@message(tag="spacetime.Wake")
class Wake:
    clock: tuple[int, ...]


class Clocked(Protocol):
    """Keeps a vector clock and sends it along: the textbook's way to know what happened before what.

    An event is in the past of another exactly if its clock is less. The simulator knows nothing of it.
    """

    def __init__(self, name: str) -> None:
        self.me = PLACES.index(name)
        self.durable: list[tuple[int, ...]] = []
        """The clock at each event that the node noticed, the latest last."""

    def tick(self, heard: Sequence[int] = ()) -> tuple[int, ...]:
        now = list(self.durable[-1]) if self.durable else [0] * len(PLACES)
        for place, count in enumerate(heard):
            now[place] = max(now[place], count)
        now[self.me] += 1
        self.durable.append(tuple(now))
        return self.durable[-1]

    def started(self, node: Node) -> None:
        clock = self.tick()
        node.after(1.0 + self.me, Wake(clock))
        node.broadcast(Gossip(clock, 2))

    @on(Gossip)
    def heard(self, node: Node, sender: str, gossip: Gossip) -> None:
        clock = self.tick(gossip.clock)
        if gossip.hops and node.rng.random() < 0.7:
            node.log("passed_on", hops=gossip.hops)
            node.broadcast(Gossip(clock, gossip.hops - 1), skip=sender)

    @on(Wake)
    def woken(self, node: Node, sender: str, wake: Wake) -> None:
        clock = self.tick(wake.clock)
        node.work(0.3)
        node.broadcast(Gossip(clock, 2))


def network() -> Network:
    graph = networkx.cycle_graph(len(PLACES))
    return from_networkx(networkx.relabel_nodes(graph, dict(enumerate(PLACES))), delay="uniform(0.5, 1.5)")


def faulty(seed: int) -> FaultPlan:
    """Losses, doubles, overtaking, and a crash with recovery."""
    plan = FaultPlan(seed)
    for kind in ("drop", "duplicate"):
        plan.rules.append((None, Rule(kind, 0.15, 0.0, 100.0)))
    plan.rules.append((None, Rule("reorder", 0.2, 0.0, 100.0, parse_distribution("uniform(0, 5)"))))
    plan.crashes["n0"] = [(1.2, 3.0)]  # in the midst of its work: what waits in its queue is lost
    plan.crashes["n2"] = [(2.0, 4.0)]
    return plan


def clocked(seed: int, plan: FaultPlan | None = None) -> Simulator:
    return Simulator(network(), lambda name: Agent([Clocked(name)]), seed, plan)


def clocks(sim: Simulator) -> dict[str, list[tuple[int, ...]]]:
    """The clocks of each node's events in their order."""
    found: dict[str, list[tuple[int, ...]]] = {}
    for name, node in sim.nodes.items():
        protocol: Any = node.agent.find(Clocked)
        found[name] = protocol.durable
    return found


def before(first: Sequence[int], second: Sequence[int]) -> bool:
    return all(mine <= theirs for mine, theirs in zip(first, second, strict=True)) and first != second


def large(events: int, nodes: int = 100) -> SpaceTime:
    """A relay race on a ring, as many at once as there are nodes."""
    happenings = [Happening(0, node, "start", 0.0, 0.0, 0.0) for node in range(nodes)]
    arrows: list[Arrow] = []
    latest = list(range(nodes))
    for number in range(1, events + 1):
        source, target = number % nodes, (number * 7 + number // nodes) % nodes
        arrival = number * 0.01
        arrow = Arrow(latest[source], source, target, happenings[latest[source]].begun, f"T{number % 9}", (("n", "1"),))
        arrow.arrival, arrow.effect = arrival, len(happenings)
        found = Happening(number, target, "message", arrival, arrival, arrival, len(arrows), arrow.type)
        found.before, latest[target] = latest[target], len(happenings)
        arrows.append(arrow)
        happenings.append(found)
        if number % 50 == 0:
            lost = Arrow(latest[target], target, source, arrival, "T0", (("n", "2"),), fate="dropped")
            arrows.append(lost)
    return SpaceTime([f"n{node}" for node in range(nodes)], {}, happenings, arrows, Caption("large"))
