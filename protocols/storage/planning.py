"""Storage planning: on which brokers are stores to be installed (planning, 5.1 to 5.3, steps 1 to 3)?

Brokers and topics are positions here. `distance[i, j]` is the number of hops between two brokers, `demand[t, i]` the
rate at which clients of broker i request topic t (the paper's r_i^t).

The greedy algorithm chooses for a target server, one at a time, the node that takes away most of the traffic
sum over l of r_l * d(l, nearest of the chosen nodes and the target). Publishers leave after publishing, so there is no
such server: the modified algorithm tries every broker in its place and counts how often each node is chosen. All
targets are computed side by side. What a node gains can only fall when others are chosen before it, so in each
round only those are computed again whose last gain could still be the best.

Decided here: of nodes with equal gain the first is chosen; a node that gains nothing is not chosen at all.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.sparse.csgraph import shortest_path

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

TIE = 1e-9  # gains that differ by less, relatively, are equal: sums of fractions depend on the machine
NOBODY = -1
IN_CACHE = 32_768  # numbers


class Unsatisfiable(ValueError):
    """There is no plan that keeps capacity and degrees."""


def hop_distances(neighbours: Sequence[Sequence[int]]) -> Floats:
    """Hops between all pairs of brokers; each broker is given with its neighbours."""
    ends = [(i, j) for i, others in enumerate(neighbours) for j in others]
    rows, columns = zip(*ends, strict=True) if ends else ((), ())
    links = csr_array((np.ones(len(ends)), (rows, columns)), shape=(len(neighbours),) * 2)
    return np.asarray(shortest_path(links, unweighted=True), dtype=np.float64)


# The greedy algorithm


def greedy(distance: Floats, demand: Floats, k: int, targets: Sequence[int] | None = None) -> Integers:
    """The first k choices for each target server (5.1); NOBODY where no node gains anything any more.

    The choices for a smaller k are the first of these.
    """
    servers = np.arange(len(distance)) if targets is None else np.asarray(targets, dtype=np.int64)
    asking = np.flatnonzero(demand)
    rates, hops = demand[asking], np.ascontiguousarray(distance[:, asking])
    nearest = hops[servers]  # of the target and the nodes chosen for it
    bound = _first_gains(hops, nearest, rates)
    fresh = np.ones_like(bound, dtype=bool)
    chosen = np.full((len(servers), k), NOBODY, dtype=np.int64)
    for turn in range(k):
        best = _best(hops, nearest, rates, bound, fresh)
        gaining = np.flatnonzero(best != NOBODY)
        if not len(gaining):
            break
        winners = best[gaining]
        chosen[gaining, turn] = winners
        nearest[gaining] = np.minimum(nearest[gaining], hops[winners])
        bound[gaining, winners] = 0.0
        fresh[:] = False
    return chosen


def _first_gains(hops: Floats, nearest: Floats, rates: Floats) -> Floats:
    gains = np.empty((len(nearest), len(hops)))
    rows = max(1, IN_CACHE // max(1, len(rates)))
    for start in range(0, len(hops), rows):
        block = hops[start : start + rows]
        saved = np.empty_like(block)
        for target, reach in enumerate(nearest):
            np.subtract(reach, block, out=saved)
            np.maximum(saved, 0.0, out=saved)
            gains[target, start : start + rows] = _summed(saved, rates)
    return gains


def _summed(saved: Floats, rates: Floats) -> Floats:
    """A product of a matrix and a vector, always summed in the same order: not that of a threaded library."""
    return np.asarray(np.einsum("ij,j->i", saved, rates))


def _best(hops: Floats, nearest: Floats, rates: Floats, bound: Floats, fresh: NDArray[np.bool_]) -> Integers:
    """For each target the node with the largest gain; bounds are brought up to date as far as needed."""
    best = np.full(len(nearest), NOBODY, dtype=np.int64)
    rows = np.arange(len(nearest))
    while len(rows):
        bounds = bound[rows]
        top = bounds.max(axis=1)
        first = np.argmax(bounds >= (top * (1 - TIE))[:, None], axis=1)
        settled = fresh[rows, first] | (top <= 0.0)
        done = rows[settled & (top > 0.0)]
        best[done] = first[settled & (top > 0.0)]
        rows, first = rows[~settled], first[~settled]
        bound[rows, first] = _summed(np.maximum(nearest[rows] - hops[first], 0.0), rates)
        fresh[rows, first] = True
    return best


def possible_stores(
    distance: Floats, demand: Floats, degrees: Sequence[int], publishing: Floats | None = None
) -> Floats:
    """The vector s_t of each topic (5.2, step 1): how often each node is among the k_t choices, over all targets.

    `publishing` is the probability that a publication occurs at each broker; it weighs the targets.
    """
    size = len(distance)
    importance = np.ones(size) if publishing is None else publishing / publishing.sum() * size
    vectors = np.zeros((len(demand), size))
    for topics in _alike(demand):
        chosen = greedy(distance, demand[topics[0]], max(degrees[t] for t in topics))
        for t in topics:
            picks = chosen[:, : degrees[t]]
            weight = np.broadcast_to(importance[:, None], picks.shape)
            taken = picks != NOBODY
            vectors[t] = np.bincount(picks[taken], weight[taken], minlength=size)
    return vectors


def _alike(demand: Floats) -> list[list[int]]:
    """Topics that are requested in the same proportions everywhere: greedy chooses the same for them."""
    groups: dict[bytes, list[int]] = {}
    for t, rates in enumerate(demand):
        shape = np.round(rates / rates.max(), 12) if rates.any() else rates
        groups.setdefault(shape.tobytes(), []).append(t)
    return list(groups.values())


# Weights, degrees, storage brokers


def weights(demand: Floats) -> Floats:
    """w_t: the share of each topic in all requests (step 2)."""
    total = demand.sum()
    return demand.sum(axis=1) / total if total > 0 else np.full(len(demand), 1 / len(demand))


def storage_brokers(vectors: Floats, weight: Floats, stores: int) -> list[int]:
    """The storage brokers vector S: the nodes with the largest weighted sums (step 3), the largest first."""
    return largest(weight @ vectors, stores)


def largest(vector: Floats, count: int) -> list[int]:
    """The places of the largest entries; of equal ones (but for rounding) the first."""
    scale = max(float(np.abs(vector).max(initial=0.0)), 1.0)
    return [int(place) for place in np.argsort(-np.round(vector / scale, 12), kind="stable")[:count]]


def degrees_from_minimum(weight: Floats, minimum: int) -> list[int]:
    """k_t = ceil(w_t / w_min * min_k): the least requested topic has the minimum (6.1.1)."""
    least = weight[weight > 0].min(initial=np.inf)
    ratio = np.where(weight > 0, weight, least) / least if np.isfinite(least) else np.ones_like(weight)
    return [int(k) for k in np.ceil(ratio * minimum * (1 - TIE))]


def stores_needed(degrees: Sequence[int], capacity: int) -> int:
    """M: enough for the largest degree and for all replicas."""
    return max(max(degrees), -(-sum(degrees) // capacity))


def degrees_from_stores(weight: Floats, stores: int, capacity: int, minimum: int = 1) -> list[int]:
    """k_t in proportion to w_t, within minimum <= k_t <= M and sum k_t <= L*M, largest remainders first (6.1.2).

    What a topic cannot use, because more replicas than stores make no sense, goes to the others.
    """
    topics = len(weight)
    if minimum > stores or topics * minimum > capacity * stores:
        raise Unsatisfiable(
            f"{topics} topics with at least {minimum} replicas each do not fit on {stores} stores of {capacity} topics"
        )
    places = min(capacity * stores, topics * stores)
    share = _filled(weight, places, minimum, stores)
    degrees = np.floor(share + TIE).astype(np.int64)
    remainders = share - degrees
    for t in np.argsort(-np.round(remainders, 9), kind="stable"):
        if degrees.sum() < places and degrees[t] < stores:
            degrees[t] += 1
    return [int(k) for k in degrees]


def _filled(weight: Floats, places: int, minimum: int, most: int) -> Floats:
    """clip(scale * w_t, minimum, most) with the scale at which the sum is `places`."""
    positive = np.maximum(weight, 1e-12)

    def filled(scale: float) -> Floats:
        return np.asarray(np.clip(scale * positive, minimum, most))

    def total(scale: float) -> float:
        return float(filled(scale).sum())

    # Between two of these scales, at which a topic leaves its minimum or comes to the most, the sum is a straight line.
    bends = np.unique(np.concatenate([minimum / positive, most / positive]))
    after = bisect_left(bends, float(places), key=total)
    if after in (0, len(bends)):
        return filled(bends[min(after, len(bends) - 1)])
    low, high = bends[after - 1], bends[after]
    below, above = total(low), total(high)
    return filled(low + (places - below) / (above - below) * (high - low))
