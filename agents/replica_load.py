"""Somebody who sees the load of all stores at once, and J(H), the traffic with the load (replicas, VI).

Written from the definitions in `protocols.storage.replicas.load`, without what the stores themselves compute with.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping

import networkx
import numpy as np

from agents.replica_observer import Replaced, hop_distances
from agents.replica_problem import Problem
from protocols.storage.replicas.decision import ROOM, Amounts, Policy

Holders = tuple[frozenset[int], ...]
"""For each item, the places of the stores that hold it."""

CLOSE = 1e-9
"""Sums in another order differ in the last digits, relative to J."""


class Balance:
    """J(H) of the stores of one connected network, in the order of their names."""

    def __init__(self, problem: Problem, graph: networkx.Graph, rates: Amounts, load_weight: float) -> None:
        self.stores = sorted(graph)
        self.items = problem.catalogue.items
        self.hops = hop_distances(graph, self.stores)
        rows = [problem.stores.index(name) for name in self.stores]
        self.weights = rates[rows].T * problem.catalogue.sizes[:, np.newaxis]
        self.load_weight = load_weight
        self._known: dict[tuple[int, frozenset[int]], tuple[float, Amounts]] = {}

    def holders(self, placement: Mapping[str, Collection[str]]) -> Holders:
        sets = [set(placement[name]) for name in self.stores]
        return tuple(frozenset(place for place, held in enumerate(sets) if item in held) for item in self.items)

    def loads(self, holders: Holders) -> Amounts:
        """Size times rate of what each store answers."""
        loads = np.zeros(len(self.stores))
        for item, held in enumerate(holders):
            loads += self._item(item, held)[1]
        return loads

    def objective(self, holders: Holders) -> float:
        traffic = sum(self._item(item, held)[0] for item, held in enumerate(holders))
        mean = self.weights.sum() / len(self.stores)
        penalty = (self.loads(holders) ** 2).sum() / mean if mean > 0 else 0.0
        return float(traffic + self.load_weight / 2 * penalty)

    def _item(self, item: int, held: frozenset[int]) -> tuple[float, Amounts]:
        """The traffic of one item, and what each store answers of it; nothing if nobody has it."""
        key = item, held
        if key not in self._known:
            traffic, loads = 0.0, np.zeros(len(self.stores))
            if held:
                places = sorted(held)
                towards = self.hops[places]
                traffic = float((self.weights[item] * towards.min(axis=0)).sum())
                servers = towards.argmin(axis=0)  # the first of those that are equally near
                for rank, place in enumerate(places):
                    loads[place] = self.weights[item, servers == rank].sum()
            self._known[key] = traffic, loads
        return self._known[key]


def peak_load(
    problem: Problem, graph: networkx.Graph, placement: Mapping[str, Collection[str]], rates: Amounts
) -> float | None:
    """The largest load of a store, in terms of the mean; None if nothing is asked for."""
    loads: list[float] = []
    for part in _parts(graph):
        balance = Balance(problem, part, rates, 0.0)
        loads += balance.loads(balance.holders(placement)).tolist()
    mean = sum(loads) / len(loads) if loads else 0.0
    return max(loads) / mean if mean > 0 else None


def objectives(
    problem: Problem, graph: networkx.Graph, made: Iterable[Replaced], load_weight: float
) -> Iterator[tuple[float, float, float]]:
    """For every replacement its time, and J before and after it, as if all were up all the time."""
    placement: dict[str, set[str]] = {name: set(items) for name, items in problem.placement.items()}
    balances = [(since, Balance(problem, graph, rates, load_weight)) for since, rates in problem.rates_since]
    for change in made:
        balance = [balance for since, balance in balances if since <= change.time][-1]
        before = balance.objective(balance.holders(placement))
        placement[change.store] = placement[change.store].difference(change.out).union(change.came)
        yield change.time, before, balance.objective(balance.holders(placement))


def unbalanced(
    problem: Problem,
    graph: networkx.Graph,
    placement: Mapping[str, Collection[str]],
    rates: Amounts,
    policy: Policy,
) -> Iterator[str]:
    """Replacements by steps 1 to 5 that would still make J fall, told in words; J is computed anew each time."""
    for part in _parts(graph):
        balance = Balance(problem, part, rates, policy.load_weight)
        for me in range(len(balance.stores)):
            if found := _replacement(balance, balance.holders(placement), me, problem, policy):
                yield found


def _replacement(balance: Balance, holders: Holders, me: int, problem: Problem, policy: Policy) -> str:
    sizes, name = problem.catalogue.sizes, balance.stores[me]
    capacity = problem.capacities[name]
    now = balance.objective(holders)

    def fetching(item: int) -> float:
        return policy.replacement_cost * float(sizes[item] * balance.hops[me, sorted(holders[item])].min())

    def best(tried: dict[int, float]) -> int:
        """The first of those after which J, with the cost of fetching, is least."""
        return min(item for item, level in tried.items() if level <= min(tried.values()) + CLOSE * now)

    absent = [i for i, held in enumerate(holders) if held and me not in held and sizes[i] <= capacity + ROOM]
    if not absent:
        return ""
    new = best({item: balance.objective(_with(holders, item, me)) + fetching(item) for item in absent})
    after, out = _with(holders, new, me), []
    leaving = [
        item
        for item, held in enumerate(holders)
        if me in held and (min(held) < me if policy.guarded else len(held) > 1)
    ]
    free = capacity - sum(sizes[item] for item, held in enumerate(holders) if me in held) + ROOM
    while free < sizes[new]:
        if not leaving:
            return ""
        least = best({item: balance.objective(_with(after, item, me)) for item in leaving})
        leaving.remove(least)
        after, free = _with(after, least, me), free + sizes[least]
        out.append(balance.items[least])
    then = balance.objective(after) + fetching(new)
    if then >= now * (1 - 10 * CLOSE):
        return ""
    return f"{name} should replace {', '.join(out) or 'nothing'} with {balance.items[new]}: {now:g} falls to {then:g}"


def _with(holders: Holders, item: int, me: int) -> Holders:
    """The item comes where it was not, or leaves where it was."""
    return (*holders[:item], holders[item] ^ {me}, *holders[item + 1 :])


def _parts(graph: networkx.Graph) -> list[networkx.Graph]:
    return [graph.subgraph(part) for part in networkx.connected_components(graph)]
