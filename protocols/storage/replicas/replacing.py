"""A store that replaces items: it runs the six steps, fetches what is to come, and tells what it holds from then on.

A replacement is announced only when its items have arrived (step 5): until then the replicas they come from are
needed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass

from protocols.storage.replicas.decision import Chosen, Policy, Worth, choose, holistic, myopic, worth
from protocols.storage.replicas.facts import Epoch
from protocols.storage.replicas.knowledge import Knowledge
from protocols.storage.replicas.load import balanced
from runtime.agent import Node, Protocol, on
from runtime.message import message, replace

Finished = Callable[[Node, bool], None]


@message
class Fetch:
    """The subscription of step 5: send me this item, back the way I came."""

    errand: int
    item: str
    way: tuple[str, ...]
    place: int


@message
class Content:
    """The item itself, or word that it is no longer here."""

    errand: int
    item: str
    size: float
    found: bool
    way: tuple[str, ...]
    place: int


@dataclass
class Counts:
    """What this store has done in all its lives."""

    iterations: int = 0
    replacements: int = 0
    fetched: int = 0


@dataclass
class Errand:
    """A replacement under way: what is to be held, what has not come yet, and who wants to know the end."""

    number: int
    chosen: Chosen
    awaited: set[str]
    finished: Finished
    stale: bool = False


@dataclass
class Limits:
    """When a store concludes that this does not converge."""

    same_decision: int = 20
    """So many times the same replacement in the same configuration of the whole network: a cycle."""

    replacements: int = 100
    """So many replacements of one store since the rates last changed: a livelock."""


class Replacing(Protocol):
    """Decides and replaces (replicas, IV.A steps 1 to 6); when it is its turn, a writer says."""

    durable: Counts

    def __init__(self, knowledge: Knowledge, policy: Policy, capacity: float, limits: Limits) -> None:
        self.knowledge = knowledge
        self.policy = policy
        self.capacity = capacity
        self.limits = limits
        self.durable = Counts()
        self.errand: Errand | None = None
        self.errands = 0
        self._since_rates_changed = 0
        self._made: Counter[tuple[int, bytes]] = Counter()

    def plan(self) -> Chosen | None:
        """Steps 1 to 6, on what this store knows."""
        knowledge, now, sizes = self.knowledge, self._worth(), self.knowledge.catalogue.sizes
        if not self.policy.load_weight:
            return choose(now, sizes, self.capacity, self.policy.search)
        me = knowledge.topology().index[knowledge.me]
        return balanced(now, knowledge.view(), me, knowledge.weights(), sizes, self.capacity, self.policy.load_weight)

    def _worth(self) -> Worth:
        knowledge = self.knowledge
        view = knowledge.view()
        me = knowledge.topology().index[knowledge.me]
        sizes = knowledge.catalogue.sizes
        if knowledge.shares_rates:
            value = holistic(view, me, knowledge.weights())
        else:
            value = myopic(view, me, knowledge.own_rates * sizes)
        return worth(view, me, value, sizes, self.policy)

    def may_commit(self) -> bool:
        """May everything that is to leave still leave? Other writers may have been busy."""
        assert self.errand is not None
        now = self._worth()
        return not (now.held & ~self.errand.chosen & ~now.may_leave).any()

    def start(self, node: Node, chosen: Chosen, finished: Finished) -> None:
        """Fetch what is to come; `finished` hears whether everything arrived."""
        knowledge = self.knowledge
        items = knowledge.catalogue.items
        coming = [items[place] for place in chosen.nonzero()[0] if items[place] not in knowledge.durable.items]
        self.errands += 1
        self.errand = Errand(self.errands, chosen, set(coming), finished)
        topology = knowledge.topology()
        towards = topology.distances[topology.index[node.id]]
        for item in coming:
            closest = min(
                (name for name in topology.members if item in knowledge.holdings[name].items),
                key=lambda name: (towards[topology.index[name]], name),
            )
            way = topology.way(node.id, closest)
            node.log("fetch", item=item, hops=len(way) - 1, size=self._size(item))
            node.send(way[1], Fetch(self.errands, item, way, 1))
        if not coming:
            self._end(node, True)

    def abandon(self) -> None:
        """Whatever is on its way is no longer wanted."""
        self.errand = None

    @on(Fetch)
    def wanted(self, node: Node, sender: str, fetch: Fetch) -> None:
        if fetch.way[fetch.place] != fetch.way[-1]:
            node.send(fetch.way[fetch.place + 1], replace(fetch, place=fetch.place + 1))
            return
        found = fetch.item in self.knowledge.durable.items
        self._return(node, Content(fetch.errand, fetch.item, self._size(fetch.item), found, fetch.way, fetch.place))

    @on(Content)
    def came(self, node: Node, sender: str, content: Content) -> None:
        if content.place > 0:
            self._return(node, content)
            return
        errand = self.errand
        if errand is None or errand.number != content.errand or content.item not in errand.awaited:
            return
        errand.awaited.discard(content.item)
        self.durable.fetched += content.found
        errand.stale |= not content.found
        if not errand.awaited:
            self._end(node, not errand.stale)

    def _return(self, node: Node, content: Content) -> None:
        node.send(content.way[content.place - 1], replace(content, place=content.place - 1))

    def _end(self, node: Node, arrived: bool) -> None:
        assert self.errand is not None
        self.errand.finished(node, arrived)

    def commit(self, node: Node, epoch: Epoch, token: int = 0, position: int = 0) -> str:
        """The replacement happens and is told. Returns why this cannot go on for ever, if it seems so."""
        assert self.errand is not None
        chosen, self.errand = self.errand.chosen, None
        knowledge = self.knowledge
        view = knowledge.view()
        before, items = knowledge.durable.items, knowledge.catalogue.items
        after = tuple(items[place] for place in chosen.nonzero()[0])
        made = (knowledge.holdings_digest(), chosen.tobytes())
        self._made[made] += 1
        self._since_rates_changed += 1
        self.durable.replacements += 1
        node.log(
            "replacement",
            epoch=epoch[0],
            claimer=epoch[1],
            token=token,
            position=position,
            items_out=",".join(item for item in before if item not in after),
            items_in=",".join(item for item in after if item not in before),
        )
        knowledge.tell_holding(node, after, epoch, token, position)
        knowledge.foresee(view, chosen)
        if self._made[made] >= self.limits.same_decision:
            return "cycle"
        return "livelock" if self._since_rates_changed >= self.limits.replacements else ""

    def rates_changed(self) -> None:
        """Another problem: what was decided before says nothing about it."""
        self._made.clear()
        self._since_rates_changed = 0

    def _size(self, item: str) -> float:
        catalogue = self.knowledge.catalogue
        return float(catalogue.sizes[catalogue.places[item]])
