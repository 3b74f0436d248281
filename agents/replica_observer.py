"""Somebody who sees all stores at once: the overall network traffic, and whether there is really an equilibrium.

Traffic and equilibrium are written from the paper's definitions (equations 1 to 3), without what the stores
themselves compute with.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import networkx
import numpy as np
from numpy.typing import NDArray

from agents.replica_problem import Problem
from protocols.storage.replicas.decision import ROOM, Amounts, Policy, choose, worth
from protocols.storage.replicas.decision import holistic as value_of_all
from protocols.storage.replicas.decision import myopic as value_of_own
from protocols.storage.replicas.load import balanced
from protocols.storage.replicas.topology import Topology
from protocols.storage.replicas.view import View

Hops = NDArray[np.float64]


@dataclass(frozen=True)
class Replaced:
    """One replacement: when, where, what went and what came, and the traffic afterwards."""

    time: float
    store: str
    out: tuple[str, ...]
    came: tuple[str, ...]
    before: float
    after: float

    def row(self) -> list[Any]:
        return [self.time, self.store, list(self.out), list(self.came), self.after]


class Traffic:
    """T(H) of one configuration, kept up to date as items move (equations 1 and 2)."""

    def __init__(self, problem: Problem, graph: networkx.Graph) -> None:
        self.problem = problem
        self.stores = [name for name in problem.stores if name in graph]
        self.hops = hop_distances(graph, self.stores)
        self._rows = [problem.stores.index(name) for name in self.stores]
        self._places = {name: place for place, name in enumerate(self.stores)}
        self.holders: list[set[int]] = [set() for _ in problem.catalogue.items]
        self._nearest = np.full((len(self.holders), len(self.stores)), np.inf)

    def put(self, store: str, items: Iterable[str]) -> None:
        self._move(store, items, set.add)

    def take(self, store: str, items: Iterable[str]) -> None:
        self._move(store, items, set.discard)

    def _move(self, store: str, items: Iterable[str], how: Any) -> None:
        for item in items:
            place = self.problem.catalogue.places[item]
            how(self.holders[place], self._places[store])
            held = sorted(self.holders[place])
            self._nearest[place] = self.hops[held].min(axis=0) if held else np.inf

    def each(self, rates: Amounts, access_hops: float, items: Sequence[int] | None = None) -> Amounts:
        """The traffic of each item, or of some.

        Requests that nobody can answer are left out: their items are on no store that can be reached.
        """
        rows = slice(None) if items is None else list(items)
        nearest = self._nearest[rows]
        hops = np.where(np.isfinite(nearest), nearest + access_hops, 0.0)
        traffic: Amounts = (rates[self._rows].T[rows] * hops).sum(axis=1) * self.problem.catalogue.sizes[rows]
        return traffic

    def total(self, rates: Amounts, access_hops: float) -> float:
        return float(self.each(rates, access_hops).sum())


def hop_distances(graph: networkx.Graph, stores: Sequence[str]) -> Hops:
    places = {name: place for place, name in enumerate(stores)}
    hops = np.full((len(stores), len(stores)), np.inf)
    for name, row in networkx.all_pairs_shortest_path_length(graph):
        for peer, distance in row.items():
            hops[places[name], places[peer]] = distance
    return hops


def history(problem: Problem, graph: networkx.Graph, rows: Sequence[Mapping[str, Any]]) -> Iterator[Replaced]:
    """The traffic after every replacement that was logged, as if all stores and links were up all the time."""
    traffic = Traffic(problem, graph)
    for store, items in problem.placement.items():
        traffic.put(store, items)
    access = problem.settings.access_hops
    rates = problem.rates_at(0.0)
    each = traffic.each(rates, access)
    for row in rows:
        if problem.rates_at(row["time"]) is not rates:
            rates = problem.rates_at(row["time"])
            each = traffic.each(rates, access)
        out, came = _names(row["items_out"]), _names(row["items_in"])
        before = float(each.sum())
        traffic.take(row["node"], out)
        traffic.put(row["node"], came)
        moved = [problem.catalogue.places[item] for item in (*out, *came)]
        each[moved] = traffic.each(rates, access, moved)
        yield Replaced(row["time"], row["node"], out, came, before, float(each.sum()))


def _names(joined: str) -> tuple[str, ...]:
    return tuple(joined.split(",")) if joined else ()


def sequential(problem: Problem, graph: networkx.Graph, policy: Policy, holistic: bool) -> dict[str, list[str]]:
    """Where a single writer's tour ends on a network that stays as it is, at the last rates; without any message."""
    topology = Topology({name: list(graph[name]) for name in graph})
    catalogue, rates = problem.catalogue, problem.rates_since[-1][1]
    weights = np.ascontiguousarray(rates.T) * catalogue.sizes[:, np.newaxis]
    holders = np.array([[item in problem.placement[name] for name in problem.stores] for item in catalogue.items])
    view = View.of(topology.distances, holders)
    name, sender, quiet = topology.members[0], "", 0
    while quiet < len(topology.members):
        if topology.visits(name, sender):
            me = topology.index[name]
            value = value_of_all(view, me, weights) if holistic else value_of_own(view, me, weights[:, me])
            known = worth(view, me, value, catalogue.sizes, policy)
            capacity = problem.capacities[name]
            if policy.load_weight:
                chosen = balanced(known, view, me, weights, catalogue.sizes, capacity, policy.load_weight)
            else:
                chosen = choose(known, catalogue.sizes, capacity, policy.search)
            quiet = quiet + 1 if chosen is None else 0
            if chosen is not None:
                holders = view.holders.copy()
                holders[:, me] = chosen
                view = view.changed(holders)
        name, sender = topology.next_stop(name, sender), name
    return {
        store: [item for item, held in zip(catalogue.items, view.holders[:, place], strict=True) if held]
        for place, store in enumerate(topology.members)
    }


def beneficial(
    problem: Problem,
    graph: networkx.Graph,
    placement: Mapping[str, Sequence[str]],
    rates: Amounts,
    holistic: bool,
    replacement_cost: float = 0.0,
    guarded: bool = False,
) -> Iterator[str]:
    """Replacements by the paper's steps 1 to 5 that a store could still make, told in words.

    The traffic of an item with and without a replica is computed anew for each store and item.
    """
    stores = [name for name in problem.stores if name in graph]
    hops = hop_distances(graph, stores)
    rows = [problem.stores.index(name) for name in stores]
    catalogue = problem.catalogue
    weights = rates[rows].T * catalogue.sizes[:, np.newaxis]
    sets = [set(placement[name]) for name in stores]
    holders = [[p for p, held in enumerate(sets) if item in held] for item in catalogue.items]
    nearest = [hops[held].min(axis=0) if held else np.full(len(stores), np.inf) for held in holders]
    for me, name in enumerate(stores):
        counted = weights if holistic else weights * (np.arange(len(stores)) == me)
        gains: list[tuple[float, int]] = []
        losses: list[tuple[float, int]] = []
        for item, held in enumerate(holders):
            mine = catalogue.items[item] in sets[me]
            others = [place for place in held if place != me] if mine else held
            far = (hops[others].min(axis=0) if others else np.full(len(stores), np.inf)) if mine else nearest[item]
            if not np.isfinite(far[me]):
                continue
            near = np.minimum(far, hops[me])
            reachable = np.isfinite(far)
            worth = float((counted[item] * np.where(reachable, far - np.where(reachable, near, 0), 0)).sum())
            if not mine:
                gains.append((_rounded(worth - replacement_cost * catalogue.sizes[item] * far[me]), item))
            elif not guarded or min(place for place in others if np.isfinite(hops[me, place])) < me:
                losses.append((_rounded(worth), item))
        if found := _steps(gains, sorted(losses), name, problem, placement[name]):
            yield found


def _rounded(amount: float) -> float:
    """Sums in another order differ in the last digits; then they are equal."""
    return float(f"{amount:.9g}")


def _steps(
    gains: list[tuple[float, int]],
    losses: list[tuple[float, int]],
    name: str,
    problem: Problem,
    held: Sequence[str],
) -> str:
    """Step 3 to 5; of equal gains or losses the first item by name."""
    catalogue, capacity = problem.catalogue, problem.capacities[name]
    gains = [(gain, item) for gain, item in gains if catalogue.sizes[item] <= capacity + ROOM]
    if not gains:
        return ""
    gain, new = max(gains, key=lambda pair: (pair[0], -pair[1]))
    free = capacity - sum(catalogue.sizes[catalogue.places[item]] for item in held) + ROOM
    lost, out = 0.0, []
    for loss, item in losses:
        if free >= catalogue.sizes[new]:
            break
        lost += loss
        free += catalogue.sizes[item]
        out.append(catalogue.items[item])
    if free < catalogue.sizes[new] or gain <= lost * (1 + 1e-6) + 1e-6:
        return ""
    leaving = ", ".join(out) or "nothing"
    return f"{name} should replace {leaving} with {catalogue.items[new]}: gain {gain:g}, loss {lost:g}"
