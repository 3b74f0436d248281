"""The manager: sees what is requested where, and decides when topics are to move (planning, 6.2).

Brokers count the requests of their own clients and publish the counts; the manager subscribes to them. It compares
the traffic (3) of the assignment in force with that of a new one, both for the demand that it was told of, and
moves topics when the new one takes away at least a given share. (The paper: a storage provider can use the relative
gain as a benchmark; under 10 % it could skip the reassignment.)

A move takes two plans, so that no topic is ever without a holder: by the first, stores hold what they had and what
they are to have; when all are ready, the second takes away what is no longer wanted. In between a store may hold more
topics than its capacity. The overlay's topology is known to the manager, as it is to whoever plans a network.

Plans, and what stores say to them, are publications: one that passes a broker which has forgotten its subscriptions,
or is in the hands of one that crashes, is lost. So brokers retain the last plan, and what each store last said to it,
for subscriptions that come later, and the manager says its plan again when its way to the network was lost and is made
anew. Time plays no part in that: however long somebody is away, whoever finds him back tells him.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from protocols.routing.topics import Publish, Subscriptions
from protocols.storage.assignment import Plan, Planner, gain
from protocols.storage.coverage import Coverage
from protocols.storage.following import PLAN, READY
from protocols.storage.planning import Floats, Unsatisfiable
from protocols.storage.retrieval import FetchTopic, Request, Retrieval
from protocols.storage.store import Held, Storing
from runtime.agent import Node, on
from runtime.message import message

DEMAND = "$demand"
"""Brokers publish here what their clients requested: for each topic how often, and in how many seconds."""

SECONDS = "$seconds"

React = Literal["leave", "reassign", "replan", "either"]
Did = Literal["leave", "reassign", "replan"]
Holders = tuple[tuple[int, ...], ...]


@message
class ReportDemandNow:
    """A timer: time to say what was requested."""


@message
class DecidePlanNow:
    """A timer: time to look at the reports."""


@message
class PlanOverdue:
    """A timer: are all stores ready that the first plan of a move, the one with this number, gives something?"""

    plan: int


@dataclass
class Said:
    """How many reports a broker has published; a crash must not make it use a number again."""

    reports: int = 0


class Metering(Retrieval):
    """Retrieval at a broker that also counts the requests of its own clients and reports them.

    It reports at intervals for as long as there is something to count; the last report says that nothing came.
    """

    durable: Said

    def __init__(self, coverage: Coverage, subscriptions: Subscriptions, report_every_s: float) -> None:
        super().__init__(coverage)
        self.subscriptions = subscriptions
        self.report_every_s = report_every_s
        self.counts: dict[str, int] = {}
        self.reporting = False
        self.durable = Said()

    def requested(self, node: Node, sender: str, request: Request | FetchTopic) -> None:
        if not request.path and isinstance(request, Request) and not request.topic.startswith("$"):
            self.counts[request.topic] = self.counts.get(request.topic, 0) + 1
            if not self.reporting:
                self.reporting = True
                node.after(self.report_every_s, ReportDemandNow())
        super().requested(node, sender, request)

    @on(ReportDemandNow)
    def report(self, node: Node, sender: str, now: ReportDemandNow) -> None:
        self.durable.reports += 1
        content = (*sorted(self.counts.items()), (SECONDS, self.report_every_s))
        self.subscriptions.published(node, node.id, Publish(DEMAND, node.id, self.durable.reports, content))
        self.reporting = bool(self.counts)
        if self.reporting:
            node.after(self.report_every_s, ReportDemandNow())
        self.counts = {}


@dataclass
class Office(Held):
    """What the manager keeps on disk."""

    stores: tuple[int, ...] = ()
    """The storage brokers vector S."""

    holders: Holders = ()
    """By topic: the stores that hold it, or are about to."""

    final: Plan | None = None
    """What a move under way leads to."""

    plan: int = 0
    waiting: set[str] = field(default_factory=set)
    """Stores that have not said yet that they hold all that they are to hold."""

    unconfirmed: set[str] = field(default_factory=set)
    """Stores for which plans changed something, and that have not said since that they are ready."""

    goal: Holders | None = None
    """The last move ended before all stores were ready: what is left of it, for when they are."""


@dataclass
class Decision:
    """What the manager thought, for observers."""

    at: float
    gain: float
    did: Did
    done_at: float | None = None


@dataclass(frozen=True)
class Names:
    """The manager plans with positions, and speaks of brokers, topics and stores by name."""

    brokers: tuple[str, ...]
    topics: tuple[str, ...]
    stores: tuple[str, ...]
    """The store at each broker, installed or not."""


class Managing(Storing):
    """The manager: a store of reports and plans, which it also makes."""

    durable: Office

    def __init__(
        self,
        home: str,
        planner: Planner,
        names: Names,
        first: Plan,
        react: React = "reassign",
        threshold: float = 0.1,
        decide_every_s: float = 1.0,
        patience_s: float = 10.0,
    ) -> None:
        super().__init__(home, (DEMAND, PLAN, READY))
        self.planner = planner
        self.names = names
        self.react = react
        self.threshold = threshold
        self.decide_every_s = decide_every_s
        self.patience_s = patience_s
        self.durable = Office(stores=first.stores, holders=first.holders)
        self.rates: Floats = np.zeros((len(names.topics), len(names.brokers)))
        self.heard: set[int] = set()
        self.seen = 0.0
        self.awake = False
        self.decisions: list[Decision] = []

    def advertise(self, node: Node, topics: Iterable[str]) -> None:
        """Where the way to the manager was lost, what stores said was, too: ask them again, behind the new way."""
        wanted = sorted(topics)
        super().advertise(node, wanted)
        if READY in wanted:
            self.say_again(node)

    @on(Publish)
    def published(self, node: Node, sender: str, publication: Publish) -> None:
        if publication.topic == DEMAND:
            self.told_demand(node, publication)
        elif publication.topic == READY:
            self.told_ready(node, publication)

    def told_demand(self, node: Node, report: Publish) -> None:
        content = dict(report.content)
        seconds = float(content.pop(SECONDS))  # type: ignore[arg-type]
        place = self.names.brokers.index(report.publisher)
        told = np.array([float(content.get(topic, 0)) / seconds for topic in self.names.topics])  # type: ignore[arg-type]
        # Half old and half new: single reports count few requests, and chance alone would move topics.
        self.rates[:, place] = (self.rates[:, place] + told) / 2 if place in self.heard else told
        self.heard.add(place)
        if not self.awake:
            self.awake = True
            node.after(self.decide_every_s, DecidePlanNow())

    # Deciding

    @on(DecidePlanNow)
    def decide(self, node: Node, sender: str, now: DecidePlanNow) -> None:
        self.awake = False
        seen, self.seen = self.seen, float(self.rates.sum())
        # Half of the requests gone at once is the end of something, not a new pattern: look again.
        if self.durable.final is None and self.seen > 0 and self.seen >= seen / 2:
            self.weigh(node)

    def weigh(self, node: Node) -> None:
        """Move topics if that takes away enough of the traffic (6.2)."""
        now = self.planner.mean_hops(self.rates, self.durable.holders)
        did: Did = "leave"
        plan, won = None, 0.0
        for name, option in self.options():
            wins = gain(now, self.planner.mean_hops(self.rates, option.holders))
            # New stores are worth it only if they take away as much again as new topics on the old ones.
            if plan is None or wins - won >= self.threshold:
                did, plan, won = name, option, wins
        if plan is None or won <= 0.0 or won < self.threshold:
            did, plan = "leave", None
        self.decisions.append(Decision(node.now, won, did))
        node.log("decision", gain=won, did=did)
        if plan is not None:
            self.move(node, plan)

    def options(self) -> Iterator[tuple[Did, Plan]]:
        if self.react in ("reassign", "either"):
            yield "reassign", self.planner.reassign(self.rates, self.durable.stores)
        if self.react in ("replan", "either"):
            try:
                anew = self.planner.plan(self.rates)
            except Unsatisfiable:  # next to a topic that hardly anybody asks for, others need too many replicas
                return
            yield "replan", anew

    # Moving

    def move(self, node: Node, plan: Plan) -> None:
        """The first plan: everybody holds what it had and what it is to have."""
        before = self.by_store(self.durable.holders)
        both = tuple(tuple(sorted({*a, *b})) for a, b in zip(self.durable.holders, plan.holders, strict=True))
        after = self.by_store(both)
        self.durable.final, self.durable.goal = plan, None
        self.durable.waiting |= {store for store, topics in after.items() if {*topics} - {*before.get(store, ())}}
        self.durable.waiting &= after.keys()
        self.publish(node, both)
        if not self.durable.waiting:
            self.settle(node, plan.holders)

    def told_ready(self, node: Node, news: Publish) -> None:
        if dict(news.content).get("plan") == self.durable.plan:
            self.durable.unconfirmed.discard(news.publisher)
            self.durable.waiting.discard(news.publisher)
            if self.durable.waiting:
                return
            if self.durable.final is not None:
                self.settle(node, self.durable.final.holders)
            elif self.durable.goal is not None:
                goal, self.durable.goal = self.durable.goal, None
                self.publish(node, goal)

    @on(PlanOverdue)
    def overdue(self, node: Node, sender: str, late: PlanOverdue) -> None:
        if late.plan == self.durable.plan and self.durable.final is not None:
            self.go_on(node, self.durable.final)

    def go_on(self, node: Node, plan: Plan) -> None:
        """Some stores are not ready, perhaps because they failed: move the topics for which another one is."""
        late_ones = {self.names.stores.index(store) for store in self.durable.waiting}
        holders = tuple(
            new if {*new} - late_ones else both for new, both in zip(plan.holders, self.durable.holders, strict=True)
        )
        self.settle(node, holders)

    def settle(self, node: Node, holders: Holders) -> None:
        """The second plan: what is no longer wanted goes."""
        assert self.durable.final is not None
        self.durable.stores = self.durable.final.stores
        self.durable.goal = self.durable.final.holders if holders != self.durable.final.holders else None
        self.durable.final = None
        self.durable.waiting &= self.by_store(holders).keys()
        self.publish(node, holders)
        if self.decisions:
            self.decisions[-1].done_at = node.now
        node.log("settled", plan=self.durable.plan)

    def say_again(self, node: Node) -> None:
        """Some stores have not heard of the last plan, perhaps, or were not heard."""
        if self.durable.unconfirmed:
            self.publish(node, self.durable.holders)

    def publish(self, node: Node, holders: Holders) -> None:
        """Under a new number each time: brokers pass on no publication twice."""
        before, after = self.by_store(self.durable.holders), self.by_store(holders)
        self.durable.unconfirmed |= {store for store in before | after if before.get(store) != after.get(store)}
        self.durable.holders = holders
        self.durable.plan += 1
        content = tuple((store, " ".join(topics)) for store, topics in sorted(after.items()))
        plan = Publish(PLAN, node.id, self.durable.plan, content)
        self.durable.stored[PLAN] = {(node.id, self.durable.plan): plan}  # only the last one counts
        node.send(self.home, plan)
        if self.durable.final is not None:
            node.after(self.patience_s, PlanOverdue(self.durable.plan))

    def by_store(self, holders: Sequence[Sequence[int]]) -> dict[str, list[str]]:
        found: dict[str, list[str]] = {}
        for topic, brokers in zip(self.names.topics, holders, strict=True):
            for broker in brokers:
                found.setdefault(self.names.stores[broker], []).append(topic)
        return found
