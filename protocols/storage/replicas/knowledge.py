"""What a store knows of the network, learnt by flooding: links, request rates, configurations (replicas, IV.C).

A fact is kept if its number is higher than the one known, and passed on to all other neighbours; everything else
has been seen before and stops. A neighbour that comes back is told everything.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from protocols.presence import Watcher
from protocols.storage.replicas.catalogue import Catalogue
from protocols.storage.replicas.decision import Amounts
from protocols.storage.replicas.facts import Epoch, Fact, Holding, LinkState, Rates, digest, stamp
from protocols.storage.replicas.shared import Shared
from protocols.storage.replicas.topology import Topology, around
from protocols.storage.replicas.view import Holders, View
from protocols.storage.replicas.writer import Writer
from runtime.agent import Node, on

_weights: Shared[tuple[int, int, str], Amounts] = Shared(limit=16)
_views: Shared[tuple[int, int, int, str], View] = Shared(limit=48)
_latest_views: Shared[tuple[int, int, str], View] = Shared(limit=16)


@dataclass
class Numbers:
    """How many facts of each kind this store has told, in all its lives."""

    links: int = 0
    rates: int = 0
    holding: int = 0
    items: tuple[str, ...] = ()
    """What the storage holds: it survives a crash."""

    epoch: Epoch = field(default=(0, ""))


class Knowledge(Watcher):
    """The facts that one store has learnt, its own among them.

    `news` is the sum of all their numbers: as facts only ever become newer, whoever knows everything has the
    largest sum there is.
    """

    durable: Numbers

    writer: Writer

    def __init__(
        self, me: str, catalogue: Catalogue, items: tuple[str, ...], rates: Amounts, shares_rates: bool
    ) -> None:
        self.me = me
        self.catalogue = catalogue
        self.shares_rates = shares_rates
        self.own_rates = rates
        self.durable = Numbers(items=tuple(sorted(items)))
        self.links: dict[str, LinkState] = {}
        self.rates: dict[str, Rates] = {}
        self.holdings: dict[str, Holding] = {}
        self.news = 0
        self._digests = {LinkState: 0, Rates: 0, Holding: 0}
        self._tables: dict[type[Any], dict[str, Any]] = {
            LinkState: self.links,
            Rates: self.rates,
            Holding: self.holdings,
        }
        self._mentioned: set[str] = set()
        self._rewritten = False
        self._closed: bool | None = None
        self._up: list[str] = []
        self._topology: Topology | None = None
        self._complete: Epoch | None = None

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | {"_topology": None}  # it can be computed again

    # Telling

    def started(self, node: Node) -> None:
        self._up = list(node.neighbours)
        self.tell_links(node)
        if self.shares_rates:
            self.tell_rates(node, self.own_rates)

    def tell_links(self, node: Node) -> None:
        self.durable.links += 1
        up = tuple(self._up)
        self._learn(node, LinkState(node.id, self.durable.links, up, digest(node.id, up)))

    def tell_rates(self, node: Node, rates: Amounts) -> None:
        """The clients of this store ask for other things; a myopic store tells no more than that they do."""
        self.own_rates = rates
        self.durable.rates += 1
        told = tuple(rates.tolist()) if self.shares_rates else ()
        self._learn(node, Rates(node.id, self.durable.rates, told, digest(node.id, (float(self.durable.rates), *told))))

    def tell_holding(self, node: Node, items: tuple[str, ...], epoch: Epoch, token: int = 0, position: int = 0) -> None:
        """This is what my storage holds from now on, or still."""
        durable = self.durable
        durable.items = tuple(sorted(items))
        durable.epoch = epoch
        durable.holding += 1
        told = Holding(node.id, durable.holding, *epoch, token, position, durable.items, digest(node.id, durable.items))
        self._learn(node, told)

    def introduce(self, node: Node, peer: str) -> None:
        self.neighbour_up(node, peer)  # whoever asks is there
        for table in self._tables.values():
            for fact in table.values():
                node.send(peer, fact)
        self.writer.introduced(node, peer)

    def neighbour_up(self, node: Node, peer: str) -> None:
        if peer not in self._up:
            self._up = [name for name in node.neighbours if name in self._up or name == peer]
            self.tell_links(node)

    def neighbour_down(self, node: Node, peer: str) -> None:
        if peer in self._up:
            self._up.remove(peer)
            self.tell_links(node)

    # Learning

    @on(LinkState, Rates, Holding)
    def heard(self, node: Node, sender: str, fact: Fact) -> None:
        known = self._tables[fact.__class__].get(fact.origin)
        if known is not None and known.number >= fact.number:
            return
        if fact.origin == node.id:
            return  # from an earlier life: what is told from now on has higher numbers
        self._learn(node, fact, sender)

    def _learn(self, node: Node, fact: Fact, sender: str | None = None) -> None:
        kind = fact.__class__
        table = self._tables[kind]
        known = table.get(fact.origin)
        table[fact.origin] = fact
        self.news += fact.number - (known.number if known is not None else 0)
        self._digests[kind] ^= fact.digest ^ (known.digest if known is not None else 0)
        if kind is LinkState:
            self._topology = self._closed = self._complete = None
            self._mentioned.update(fact.neighbours)  # type: ignore[union-attr]
            self._rewritten |= known is not None
        elif known is None:
            self._complete = None
        node.broadcast(fact, skip=sender)
        self.writer.learnt(node, fact)

    # Knowing

    @property
    def closed(self) -> bool:
        """Has every store that somebody within reach calls its neighbour told of its links?"""
        if self._closed is None:
            mentioned = self._mentioned
            if self._rewritten:  # links have gone: who is out of reach need not tell
                mentioned = {peer for name in self.topology().members for peer in self.links[name].neighbours}
            self._closed = len(mentioned) <= len(self.links) and mentioned <= self.links.keys()
        return self._closed

    def topology(self) -> Topology:
        if self._topology is None:
            links = {name: fact.neighbours for name, fact in self.links.items()}
            self._topology = around(self.me, links, self._digests[LinkState])
        return self._topology

    def complete(self, epoch: Epoch) -> bool:
        """Is there from everyone whom I can reach all that a decision needs, promised to this epoch?"""
        if self._complete != epoch:
            if not self.closed:
                return False
            members = self.topology().members
            if self.shares_rates and any(name not in self.rates for name in members):
                return False
            holdings = self.holdings
            if any(name not in holdings or stamp(holdings[name]) != epoch for name in members):
                return False
            self._complete = epoch
        return True

    def holdings_digest(self) -> int:
        return self._digests[Holding]

    def view(self) -> View:
        """Where the replicas are. Those who learnt the same share one computation."""
        topology = self.topology()
        key = self._view_key(topology)
        view = _views.get(key)
        if view is None:
            before = _latest_views.get((self.catalogue.digest, *key[1:2], topology.members[0]))
            holders = self._holders(topology)
            view = before.changed(holders) if before is not None else View.of(topology.distances, holders)
            self._share(topology, view)
        return view

    def foresee(self, view: View, chosen: np.ndarray[Any, Any]) -> None:
        """I now hold what was chosen, and have told so: the view of everyone who has heard it."""
        topology = self.topology()
        holders = view.holders.copy()
        holders[:, topology.index[self.me]] = chosen
        self._share(topology, view.changed(holders))

    def _share(self, topology: Topology, view: View) -> None:
        key = self._view_key(topology)
        _views.put(key, view)
        _latest_views.put((self.catalogue.digest, *key[1:2], topology.members[0]), view)

    def _view_key(self, topology: Topology) -> tuple[int, int, int, str]:
        return (self.catalogue.digest, self._digests[LinkState], self._digests[Holding], topology.members[0])

    def _holders(self, topology: Topology) -> Holders:
        places = self.catalogue.places
        holders = np.zeros((len(places), len(topology.members)), dtype=np.bool_)
        for column, name in enumerate(topology.members):
            for item in self.holdings[name].items:
                holders[places[item], column] = True
        return holders

    def weights(self) -> Amounts:
        """Size times rate, item by store."""
        topology = self.topology()
        key = (self.catalogue.digest ^ self._digests[LinkState], self._digests[Rates], topology.members[0])
        weights = _weights.get(key)
        if weights is None:
            rates = np.array([self.rates[name].rates for name in topology.members])
            weights = np.ascontiguousarray(rates.T) * self.catalogue.sizes[:, np.newaxis]
            _weights.put(key, weights)
        return weights
