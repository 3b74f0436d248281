"""The paper's algorithms written down as it gives them, pair by pair and tree by tree: slow and obvious.

Only the misprints are put right (see protocols/overlay). They say what the fast ones must find.
"""

from __future__ import annotations

import heapq
import math

import networkx
import numpy as np

from protocols.overlay.content import Floats, Instance, Places
from protocols.overlay.packing import SLACK


def greedy_packing(instance: Instance) -> list[int]:
    """Algorithm 1."""
    load = [0.0] * instance.brokers
    conns = []
    for i in range(instance.users):
        least, index = math.inf, -1
        for j in range(instance.brokers):
            fits = load[j] + instance.demand[i] <= instance.capacity[j] * (1 + SLACK)
            if fits and instance.access[i, j] < least:
                least, index = instance.access[i, j], j
        load[index] += instance.demand[i]
        conns.append(index)
    return conns


def two_stage_clustering(instance: Instance) -> list[int]:
    """Algorithm 2: all pairs for every broker, then the traffic with each user of each broker."""
    sent = instance.traffic()
    b = sent + sent.T
    c = instance.access
    free = list(range(instance.users))
    clusters: list[list[int]] = [[] for _ in range(instance.brokers)]

    def load(broker: int, user: int) -> bool:
        total = sum(instance.demand[member] for member in clusters[broker]) + instance.demand[user]
        return bool(total <= instance.capacity[broker] * (1 + SLACK))

    for broker, cluster in enumerate(clusters):
        pairs = [(i, j) for i in free for j in free if i < j]
        if not pairs:
            pair = list(free)
        else:
            pair = list(max(pairs, key=lambda ij: b[ij] / (c[ij[0], broker] + c[ij[1], broker])))
        for user in pair:
            if load(broker, user):
                cluster.append(user)
                free.remove(user)
    for user in free:
        possible = [broker for broker in range(instance.brokers) if load(broker, user)]
        ratio = {broker: sum(b[user, member] for member in clusters[broker]) / c[user, broker] for broker in possible}
        clusters[max(possible, key=ratio.__getitem__)].append(user)
    where = {user: broker for broker, cluster in enumerate(clusters) for user in cluster}
    return [where[user] for user in range(instance.users)]


def link_weights(instance: Instance) -> Floats:
    """Phase 1 of mixing: Algorithm 3 for every publisher and every channel."""
    weights = np.zeros((instance.users, instance.brokers))
    for channel in range(instance.rates.shape[1]):
        for s in range(instance.users):
            rate = instance.rates[s, channel]
            others = [u for u in range(instance.users) if instance.interests[u, channel] and u != s]
            if rate > 0 and others:
                for user, broker in steiner_tree(instance, s, others).items():
                    weights[user, broker] += rate
    return weights


def steiner_tree(instance: Instance, s: int, others: list[int]) -> dict[int, int]:
    """Algorithm 3: the broker of each user in the tree that connects the publisher with the others."""
    c, core = instance.access, instance.core
    brokers = range(instance.brokers)
    parent = {}
    dist = dict.fromkeys(others, math.inf)
    via = dict.fromkeys(others, -1)

    def relax(queue: list[tuple[float, int]], broker: int) -> None:
        for v in others:
            if v in parent:
                continue
            for end in brokers:
                if core[broker, end] + c[v, end] < dist[v]:
                    dist[v], via[v] = core[broker, end] + c[v, end], end
                    heapq.heappush(queue, (dist[v], v))

    first = min(brokers, key=lambda b: c[s, b] + min(core[b, e] + c[v, e] for v in others for e in brokers))
    parent[s] = first
    queue: list[tuple[float, int]] = []
    relax(queue, first)
    while queue:
        distance, v = heapq.heappop(queue)
        if v not in parent and distance == dist[v]:
            parent[v] = via[v]
            relax(queue, parent[v])
    return parent


def total_cost(instance: Instance, assignment: Places) -> float:
    """C1 + C2, publication by publication: for every user and channel a tree of its own, found by networkx."""
    total = 0.0
    for user in range(instance.users):
        for channel in range(instance.rates.shape[1]):
            rate = instance.rates[user, channel]
            wanted = [u for u in range(instance.users) if instance.interests[u, channel] and u != user]
            links = [instance.access[user, assignment[user]]] + [instance.access[u, assignment[u]] for u in wanted]
            graph = networkx.Graph()
            involved = sorted({int(assignment[user]), *(int(assignment[u]) for u in wanted)})
            graph.add_weighted_edges_from((a, b, instance.core[a, b]) for a in involved for b in involved if a < b)
            tree = networkx.minimum_spanning_edges(graph, data=True)
            total += rate * (sum(links) + sum(edge[2]["weight"] for edge in tree))
    return total
