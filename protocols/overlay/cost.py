"""What an overlay costs: access links, and links between brokers with non-replicative traffic (overlay, II.B, IV.A).

A message crosses a link once, however many want it. So what a broker's users publish on a channel travels along a
minimum spanning tree over this broker and all brokers with subscribers of the channel, each link at its cost for
each unit of traffic. No other broker takes part: the paper's proof that none could help is not right in general
(a broker in the middle can save), but it defines where the traffic goes.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from protocols.overlay.content import Floats, Instance, Places

Mask = NDArray[np.bool_]


class SpanningTrees:
    """Minimum spanning trees over sets of brokers; each is found once."""

    def __init__(self, core: Floats) -> None:
        self.core = core
        self._weights: dict[bytes, float] = {}

    def weight(self, members: Mask) -> float:
        """What it costs to send one unit to all members."""
        key = members.tobytes()
        known = self._weights.get(key)
        if known is None:
            places = np.flatnonzero(members)
            known = self._weights[key] = sum(cost for _, _, cost in spanning_tree(self.core, places))
        return known


def spanning_tree(core: Floats, members: Places) -> list[tuple[int, int, float]]:
    """The minimum spanning tree over these brokers by Prim's algorithm, from the first: (parent, child, cost).

    Of equally near brokers the first joins first, so that all who know the same costs find the same tree.
    """
    if len(members) < 2:
        return []
    near = core[np.ix_(members, members)]
    distance = near[0].copy()
    parent = np.zeros(len(members), dtype=np.int64)
    distance[0] = np.inf
    outside = np.ones(len(members), dtype=bool)
    outside[0] = False
    tree = []
    for _ in range(len(members) - 1):
        newest = int(distance.argmin())
        tree.append((int(members[parent[newest]]), int(members[newest]), float(distance[newest])))
        outside[newest] = False
        distance[newest] = np.inf
        closer = outside & (near[newest] < distance)
        distance[closer] = near[newest][closer]
        parent[closer] = newest
    return tree


class Aggregates:
    """All that the cost between brokers depends on: by broker and channel, the rates and the subscribers."""

    def __init__(self, rates: Floats, subscribers: Floats) -> None:
        self.rates = rates
        self.subscribers = subscribers

    @classmethod
    def of(cls, instance: Instance, assignment: Places) -> Aggregates:
        channels = instance.rates.shape[1]
        sums = cls(np.zeros((instance.brokers, channels)), np.zeros((instance.brokers, channels)))
        np.add.at(sums.rates, assignment, instance.rates)
        np.add.at(sums.subscribers, assignment, instance.interests)
        return sums


def access_cost(instance: Instance, assignment: Places) -> float:
    """C1: each user's traffic over its link (overlay, II.B)."""
    return float((instance.demand * instance.access[np.arange(instance.users), assignment]).sum())


def core_cost(sums: Aggregates, trees: SpanningTrees) -> float:
    """C2: for each broker and channel, what is published there over the tree that leads to all subscribers."""
    return sum(channel_costs(sums, trees, channel) for channel in range(sums.rates.shape[1]))


def channel_costs(sums: Aggregates, trees: SpanningTrees, channel: int) -> float:
    """The part of C2 that one channel causes."""
    rates = sums.rates[:, channel]
    members = sums.subscribers[:, channel] > 0
    if not members.any():
        return 0.0
    inside = float(rates[members].sum())
    total = inside * trees.weight(members) if inside else 0.0
    for broker in np.flatnonzero(~members & (rates > 0)):
        with_source = members.copy()
        with_source[broker] = True
        total += float(rates[broker]) * trees.weight(with_source)
    return total


def total_cost(instance: Instance, assignment: Places, trees: SpanningTrees | None = None) -> float:
    """C1 + C2 (overlay, eq. 2)."""
    trees = trees or SpanningTrees(instance.core)
    return access_cost(instance, assignment) + core_cost(Aggregates.of(instance, assignment), trees)


def loads(instance: Instance, assignment: Places) -> Floats:
    """The traffic of each broker with its users."""
    return np.bincount(assignment, weights=instance.demand, minlength=instance.brokers).astype(np.float64)
