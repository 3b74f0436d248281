"""Faults: what goes wrong, where and when. A plan is part of the scenario and works on every runtime.

[[faults]]
kind = "drop"              # drop, duplicate, reorder, delay: each message with a probability
probability = 0.1          # or: nth = [3, 5], exactly these messages of each link
links = [["n1", "n2"]]     # all overlay links if left out
since = 5.0
until = 50.0

[[faults]]
kind = "partition"         # no message passes between the groups until it heals
groups = [["n1", "n2"], ["n3"]]   # or: links = [["n1", "n2"]], or: islands = 2
since = 10.0
until = 30.0

[[faults]]
kind = "crash"             # only durable state survives; without `recover_after` it never returns
nodes = ["n3"]             # or: count = 3
at = 12.0                  # or: between = [5.0, 50.0]
recover_after = "uniform(5, 20)"
"""

from __future__ import annotations

import math
import random
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal, NamedTuple

from pydantic import Field, model_validator

from runtime.distributions import Distribution, Duration
from runtime.errors import ScenarioError
from runtime.network import Network
from runtime.settings import Settings
from runtime.streams import stream

Edge = tuple[str, str]
Pair = Annotated[list[str], Field(min_length=2, max_length=2, examples=[["n1", "n2"]])]
Seconds = Annotated[float, Field(ge=0)]


class Timed(Settings):
    since: Seconds = 0.0
    until: Seconds = math.inf
    links: list[Pair] | None = None
    one_way: bool = False

    @model_validator(mode="after")
    def _ends_after_it_begins(self) -> Timed:
        if self.until <= self.since:
            raise ValueError(f"until = {self.until} is not after since = {self.since}")
        return self


class Chance(Timed):
    """Strikes messages by chance, or exactly those of each link that `nth` names, counted from 1 as they were sent."""

    probability: Annotated[float, Field(ge=0, le=1)] = 1.0
    nth: Annotated[list[Annotated[int, Field(ge=1)]], Field(min_length=1)] | None = None

    @model_validator(mode="after")
    def _by_chance_or_by_number(self) -> Chance:
        if self.nth is not None and "probability" in self.model_fields_set:
            raise ValueError("write either probability = ... or nth = [...]: which messages of each link, from 1")
        return self


class Drop(Chance):
    kind: Literal["drop"]


class Duplicate(Chance):
    kind: Literal["duplicate"]


class Reorder(Chance):
    """The message may be overtaken: it takes `by` longer and no longer keeps its place in the link's order."""

    kind: Literal["reorder"]
    by: Duration = Field(default=Distribution(0.0, 5.0), validate_default=False)


class ExtraDelay(Chance):
    kind: Literal["delay"]
    by: Duration = Field(examples=["uniform(1, 5)"])


class Partition(Timed):
    kind: Literal["partition"]
    groups: list[list[str]] | None = None
    islands: Annotated[int, Field(ge=2)] | None = None

    @model_validator(mode="after")
    def _says_where(self) -> Partition:
        if [self.groups, self.links, self.islands].count(None) != 2:
            raise ValueError("write one of groups = [[...], [...]], links = [[...], ...] and islands = how many")
        return self


class Crash(Settings):
    kind: Literal["crash"]
    nodes: list[str] | None = None
    count: Annotated[int, Field(ge=1)] | None = None
    at: Seconds | None = None
    between: Annotated[list[Seconds], Field(min_length=2, max_length=2)] | None = None
    recover_after: Duration | None = None

    @model_validator(mode="after")
    def _says_who_and_when(self) -> Crash:
        if (self.nodes is None) == (self.count is None):
            raise ValueError("write either nodes = [...] or count = how many at random")
        if (self.at is None) == (self.between is None):
            raise ValueError("write either at = a time or between = [from, to]")
        return self


Fault = Annotated[Drop | Duplicate | Reorder | ExtraDelay | Partition | Crash, Field(discriminator="kind")]


@dataclass(frozen=True)
class Rule:
    """Each message that leaves on the link while the rule holds is struck with this probability, or by its number."""

    kind: str
    probability: float
    since: float
    until: float
    by: Distribution | None = None
    nth: frozenset[int] | None = None


class Strike(NamedTuple):
    """Which message of which link a rule struck, and by how much it was delayed."""

    kind: str
    link: Edge
    number: int
    by: float


@dataclass
class LinkFaults:
    """What may happen on one directed link, and the dice that decide it."""

    rules: list[Rule]
    cuts: list[tuple[float, float]]
    rng: random.Random
    fired: Counter[str]
    sent: int = 0
    strikes: list[Strike] | None = None
    ends: Edge = ("", "")

    def cut(self, time: float) -> bool:
        """Is the link cut at this time? Then the message that leaves or arrives now is lost."""
        if self.cuts and any(since <= time < until for since, until in self.cuts):
            self.fired["partition"] += 1
            return True
        return False

    def fates(self, depart: float, arrival: float) -> list[tuple[float, bool]]:
        """What becomes of a message: (extra delay, may overtake) of each copy that arrives."""
        extra, overtakes, again = 0.0, False, False
        for rule in self.rules:
            if not rule.since <= depart < rule.until or not self._strikes(rule):
                continue
            self.fired[rule.kind] += 1
            by = 0.0 if rule.by is None else rule.by.value(self.rng.random())
            if self.strikes is not None:
                self.strikes.append(Strike(rule.kind, self.ends, self.sent, by))
            if rule.kind == "drop":
                return []
            if rule.kind == "duplicate":
                again = True
            if rule.by is not None:
                extra += by
                overtakes = overtakes or rule.kind == "reorder"
        if not again:
            return [(extra, overtakes)]
        later = self.rng.random() * (arrival - depart)
        return [(extra, overtakes), (extra + later, overtakes)]

    def _strikes(self, rule: Rule) -> bool:
        if rule.nth is not None:
            return self.sent in rule.nth
        return self.rng.random() < rule.probability

    def memory(self) -> tuple[Any, int]:
        """What the dice and the count must not forget when the link goes on in another process."""
        return self.rng.getstate(), self.sent

    def recall(self, memory: tuple[Any, int]) -> None:
        dice, self.sent = memory
        self.rng.setstate(dice)


@dataclass
class FaultPlan:
    """The faults of one run, with every random choice of time and node already made."""

    seed: int = 0
    rules: list[tuple[frozenset[Edge] | None, Rule]] = field(default_factory=list)
    cuts: dict[Edge, list[tuple[float, float]]] = field(default_factory=dict)
    crashes: dict[str, list[tuple[float, float]]] = field(default_factory=dict)
    fired: Counter[str] = field(default_factory=Counter)
    strikes: list[Strike] | None = None
    """Each strike of a rule, if somebody wants to know."""

    def on_link(self, source: str, target: str) -> LinkFaults | None:
        if not self.rules and not self.cuts:
            return None
        edge = (source, target)
        rules = [rule for edges, rule in self.rules if edges is None or edge in edges]
        cuts = self.cuts.get(edge, [])
        if not rules and not cuts:
            return None
        dice = stream(self.seed, "faults", source, target)
        return LinkFaults(rules, cuts, dice, self.fired, strikes=self.strikes, ends=edge)

    def cut_at(self, time: float) -> frozenset[Edge]:
        """The links that carry nothing at this time, in one direction at least."""
        return frozenset(
            edge for edge, cuts in self.cuts.items() if any(since <= time < until for since, until in cuts)
        )

    def changes(self, network: Network) -> list[tuple[float, str, str]]:
        """When a node may notice that something happened to its link with a peer: (time, node, peer)."""
        times = {(at, edge) for edge, cuts in self.cuts.items() for span in cuts for at in span}
        for node, spans in self.crashes.items():
            times |= {(at, (node, peer)) for peer in network.neighbours[node] for at, _ in spans}
        ends = {(at, *ends) for at, (a, b) in times for ends in ((a, b), (b, a)) if at < math.inf}
        return sorted(ends)


def plan_faults(faults: Sequence[Fault], network: Network, seed: int) -> FaultPlan:
    """Resolve the scenario's `[[faults]]` for this network."""
    plan = FaultPlan(seed)
    for place, fault in enumerate(faults):
        where = f"faults[{place}]"
        if isinstance(fault, Crash):
            _plan_crash(plan, fault, network, stream(seed, "crashes", str(place)), where)
        elif isinstance(fault, Partition):
            for edge in sorted(_cut_edges(fault, network, stream(seed, "islands", str(place)), where)):
                plan.cuts.setdefault(edge, []).append((fault.since, fault.until))
        else:
            edges = None if fault.links is None else frozenset(_directed(fault, network, where))
            by = fault.by if isinstance(fault, Reorder | ExtraDelay) else None
            nth = None if fault.nth is None else frozenset(fault.nth)
            plan.rules.append((edges, Rule(fault.kind, fault.probability, fault.since, fault.until, by, nth)))
    return plan


def _plan_crash(plan: FaultPlan, fault: Crash, network: Network, rng: random.Random, where: str) -> None:
    if fault.nodes is not None:
        for place, name in enumerate(fault.nodes):
            _known(name, network, f"{where}.nodes[{place}]")
        nodes = fault.nodes
    else:
        assert fault.count is not None
        if fault.count > len(network.neighbours):
            raise ScenarioError(f"{where}.count", f"{fault.count} crashes, but only {len(network.neighbours)} nodes")
        nodes = sorted(rng.sample(list(network.neighbours), fault.count))
    for node in nodes:
        at = fault.at if fault.between is None else rng.uniform(*fault.between)
        assert at is not None
        down = math.inf if fault.recover_after is None else fault.recover_after.value(rng.random())
        plan.crashes[node] = _merged([*plan.crashes.get(node, []), (at, at + down)])


def _merged(spans: Iterable[tuple[float, float]]) -> list[tuple[float, float]]:
    """A node that crashes while it is down stays down until the later recovery."""
    merged: list[tuple[float, float]] = []
    for start, end in sorted(spans):
        if merged and start <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        else:
            merged.append((start, end))
    return merged


def _cut_edges(fault: Partition, network: Network, rng: random.Random, where: str) -> set[Edge]:
    if fault.links is not None:
        return _directed(fault, network, where)
    group_of: dict[str, int] = {}
    for number, group in enumerate(fault.groups or _islands(fault, network, rng, where)):
        for name in group:
            _known(name, network, f"{where}.groups[{number}]")
            if name in group_of:
                raise ScenarioError(f"{where}.groups[{number}]", f"node {name} is in two groups")
            group_of[name] = number
    for agent, home in network.homes.items():
        if home in group_of:
            group_of.setdefault(agent, group_of[home])
    cut = {
        (a, b)
        for a, peers in network.neighbours.items()
        for b in peers
        if a in group_of and b in group_of and group_of[a] != group_of[b]
    }
    # One way: the first group can still reach the others, but hears nothing from them.
    return {(a, b) for a, b in cut if group_of[b] == 0} if fault.one_way else cut


def _islands(fault: Partition, network: Network, rng: random.Random, where: str) -> list[list[str]]:
    """The brokers, dealt out at random to so many groups."""
    count, brokers = fault.islands or 2, len(network.brokers)
    if count > brokers:
        raise ScenarioError(f"{where}.islands", f"{count} islands, but only {brokers} brokers")
    mixed = rng.sample(network.brokers, brokers)
    return [sorted(mixed[first::count]) for first in range(count)]


def _directed(fault: Timed, network: Network, where: str) -> set[Edge]:
    edges: set[Edge] = set()
    for place, (a, b) in enumerate(fault.links or ()):
        key = f"{where}.links[{place}]"
        _known(a, network, key)
        if b not in network.neighbours[a]:
            raise ScenarioError(key, f"{a} and {b} are not linked; {a} is linked to {', '.join(network.neighbours[a])}")
        edges.add((a, b))
        if not fault.one_way:
            edges.add((b, a))
    return edges


def _known(name: str, network: Network, key: str) -> None:
    if name not in network.neighbours:
        raise ScenarioError(key, f"node {name} is not in [network]")
