"""Where brokers are drawn: computed once, from the graph alone, the same for the same graph."""

from __future__ import annotations

import math
from collections.abc import Iterable

import networkx
import numpy as np
from numpy.typing import NDArray

Places = dict[str, tuple[float, float]]
Points = NDArray[np.float64]

PIVOTS = 120
TERMS = 100_000
"""Distances that are looked at in a step: fewer pivots in a large network."""

STEPS = 60
CROWDED = 60
"""From so many nodes on, the middle is given room."""


def layout(graph: networkx.Graph, near: Places | None = None) -> Places:
    """Every broker's place in a picture as wide as it is high or wider, in [0, 1]."""
    if near and all(name in near for name in graph):
        return _as_given({name: near[name] for name in graph})
    if not len(graph):
        return {}
    parts = [_connected(graph.subgraph(part)) for part in networkx.connected_components(graph)]
    return _framed(list(graph), _side_by_side(parts))


def _connected(graph: networkx.Graph) -> Places:
    names = sorted(graph)
    if len(names) == 1:
        return {names[0]: (0.0, 0.0)}
    if graph.number_of_edges() == len(names) - 1:
        return _radial(graph, names)
    if set(dict(graph.degree).values()) == {2}:
        return _circle([name for name, _ in networkx.find_cycle(graph, names[0])])
    return _named(names, _lengthwise(_spread(_stress(graph, names))))


def _named(names: list[str], points: Points) -> Places:
    return {name: (float(x), float(y)) for name, (x, y) in zip(names, points, strict=True)}


def _side_by_side(parts: Iterable[Places]) -> Places:
    """Parts that do not hang together, one beside the other."""
    places: Places = {}
    right = 0.0
    for part in sorted(parts, key=lambda part: (-len(part), min(part))):
        left = min(x for x, _ in part.values())
        places |= {name: (x - left + right, y) for name, (x, y) in part.items()}
        right = max(x for x, _ in places.values()) + 1.5
    return places


def _circle(names: list[str]) -> Places:
    step = math.tau / len(names)
    radius = len(names) / math.tau
    return {
        name: (radius * math.cos(step * place), radius * math.sin(step * place)) for place, name in enumerate(names)
    }


def _radial(tree: networkx.Graph, names: list[str]) -> Places:
    """A tree around its centre: each branch has a sector as wide as it has leaves, so that no links cross."""
    root = _centre(tree)
    children: dict[str, list[str]] = {root: sorted(tree[root])}
    order = [root]
    for name in order:
        for child in children[name]:
            children[child] = sorted(peer for peer in tree[child] if peer != name)
            order.append(child)
    leaves: dict[str, int] = {}
    for name in reversed(order):
        leaves[name] = sum(leaves[child] for child in children[name]) or 1
    places: Places = {root: (0.0, 0.0)}
    sectors = {root: (0.0, math.tau, 0)}
    for name in order:
        begin, sector, depth = sectors[name]
        for child in children[name]:
            width = sector * leaves[child] / leaves[name]
            sectors[child] = (begin, width, depth + 1)
            angle = begin + width / 2
            places[child] = ((depth + 1) * math.cos(angle), (depth + 1) * math.sin(angle))
            begin += width
    return _named(names, _lengthwise(np.array([places[name] for name in names])))


def _centre(tree: networkx.Graph) -> str:
    """The middle of a longest path."""
    far = _farthest(tree, min(tree))[-1]
    path = _farthest(tree, far)
    return path[len(path) // 2]


def _farthest(tree: networkx.Graph, start: str) -> list[str]:
    paths = networkx.single_source_shortest_path(tree, start)
    most = max(map(len, paths.values()))
    return next(list(paths[name]) for name in sorted(paths) if len(paths[name]) == most)


def _stress(graph: networkx.Graph, names: list[str]) -> Points:
    """Distances in the picture as near as may be to hop distances, counted to neighbours and to some pivots.

    The sparse stress model of Ortmann, Klimenta and Brandes, begun with pivot scaling; with few nodes all of them are
    pivots, and it is Kamada and Kawai's.
    """
    index = {name: place for place, name in enumerate(names)}
    peers = [[index[peer] for peer in graph[name]] for name in names]
    count = min(len(names), PIVOTS, max(20, TERMS // len(names)))
    pivots, hops = _pivots(peers, count)
    points = _begin(hops)
    edges = np.array([(a, b) for a, near in enumerate(peers) for b in near], dtype=np.int64)
    weights = np.where(hops > 0, 1.0 / np.maximum(hops, 1.0) ** 2, 0.0)
    total = weights.sum(axis=0) + np.bincount(edges[:, 0], minlength=len(names))
    steps = STEPS if len(names) <= 500 else STEPS // 3
    for step in range(steps):
        away = points[np.newaxis, :, :] - points[pivots][:, np.newaxis, :]
        length = np.maximum(np.hypot(away[..., 0], away[..., 1]), 1e-9)
        wish = points[pivots][:, np.newaxis, :] + away * (hops / length)[..., np.newaxis]
        pulled = (wish * weights[..., np.newaxis]).sum(axis=0)
        apart = points[edges[:, 0]] - points[edges[:, 1]]
        near = np.maximum(np.hypot(apart[:, 0], apart[:, 1]), 1e-9)
        wish = points[edges[:, 1]] + apart / near[:, np.newaxis]
        for axis in (0, 1):
            pulled[:, axis] += np.bincount(edges[:, 0], wish[:, axis], minlength=len(names))
        share = 1.0 if step < steps // 2 else 0.6  # all move at once: smaller steps at the end, so that none swings
        points = (1 - share) * points + share * pulled / total[:, np.newaxis]
    return points


def _pivots(peers: list[list[int]], count: int) -> tuple[list[int], Points]:
    """Nodes far from each other, and everybody's hop distance from each of them."""
    chosen, rows = [0], [_hops(peers, 0)]
    nearest = rows[0].copy()
    while len(chosen) < count:
        chosen.append(int(nearest.argmax()))
        rows.append(_hops(peers, chosen[-1]))
        nearest = np.minimum(nearest, rows[-1])
    return chosen, np.array(rows)


def _hops(peers: list[list[int]], start: int) -> Points:
    hops = [-1] * len(peers)
    hops[start] = 0
    frontier = [start]
    for here in frontier:
        for peer in peers[here]:
            if hops[peer] < 0:
                hops[peer] = hops[here] + 1
                frontier.append(peer)
    return np.array(hops, dtype=np.float64)


def _begin(hops: Points) -> Points:
    """Pivot scaling (Brandes and Pich), and a little noise of a fixed kind, so that no two nodes coincide."""
    squares = hops**2
    centred = squares - squares.mean(axis=0) - squares.mean(axis=1)[:, np.newaxis] + squares.mean()
    _, vectors = np.linalg.eigh(centred @ centred.T)
    points: Points = -0.5 * centred.T @ vectors[:, ::-1][:, :2]
    if points.shape[1] < 2:
        points = np.pad(points, ((0, 0), (0, 2 - points.shape[1])))
    size = np.abs(points).max(axis=0)
    points = points / np.where(size > 0, size, 1.0) * max(hops.max() / 2, 1.0)
    return points + np.random.default_rng(1).uniform(-0.05, 0.05, points.shape)


def _spread(points: Points) -> Points:
    """Random graphs crowd in the middle: there nodes go outwards, in the order in which they are."""
    if len(points) < CROWDED:
        return points
    points = points - points.mean(axis=0)
    radius = np.hypot(points[:, 0], points[:, 1])
    rank = np.empty(len(points))
    rank[np.argsort(radius, kind="stable")] = np.arange(1, len(points) + 1)
    even = radius.max() * np.sqrt(rank / len(points))
    share = min(0.7, len(points) / 300)
    wanted = (1 - share) * radius + share * even
    spread: Points = points * (wanted / np.maximum(radius, 1e-9))[:, np.newaxis]
    return spread


def _lengthwise(points: Points) -> Points:
    """Turned so that the longer side lies across the page."""
    points = points - points.mean(axis=0)
    _, axes = np.linalg.eigh(points.T @ points)
    turned: Points = points @ axes[:, ::-1]
    return turned * np.where(turned[np.abs(turned).argmax(axis=0), [0, 1]] > 0, -1.0, 1.0)


def _framed(names: Iterable[str], places: Places) -> Places:
    xs, ys = [x for x, _ in places.values()], [y for _, y in places.values()]
    size = max(max(xs) - min(xs), max(ys) - min(ys)) or 1.0
    middle = (max(xs) + min(xs)) / 2, (max(ys) + min(ys)) / 2
    return {
        name: (
            round(0.5 + (places[name][0] - middle[0]) / size, 4),
            round(0.5 + (places[name][1] - middle[1]) / size, 4),
        )
        for name in names
    }


def _as_given(places: Places) -> Places:
    """In the scenario y grows upwards, on a page downwards."""
    return _framed(places, {name: (x, -y) for name, (x, y) in places.items()})
