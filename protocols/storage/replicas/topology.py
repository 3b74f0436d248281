"""The network as a store knows it from link-state messages: distances, and a tour that uses only neighbour links."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.sparse.csgraph import shortest_path

from protocols.storage.replicas.shared import Shared

Distances = NDArray[np.int16]
FAR = 10_000
"""Farther than any store: nobody has it."""

_known: Shared[tuple[int, str], Topology] = Shared(limit=64)


class Topology:
    """The stores that can reach each other, with hop distances. Immutable, and shared by all who know the same."""

    def __init__(self, links: Mapping[str, Sequence[str]]) -> None:
        self.members = tuple(sorted(links))
        self.index = {name: place for place, name in enumerate(self.members)}
        self.links = {name: tuple(sorted(links[name])) for name in self.members}

    @cached_property
    def distances(self) -> Distances:
        ends = [(self.index[a], self.index[b]) for a in self.members for b in self.links[a]]
        rows, columns = zip(*ends, strict=True) if ends else ((), ())
        size = len(self.members)
        graph = csr_array((np.ones(len(ends)), (rows, columns)), shape=(size, size))
        hops: Distances = shortest_path(graph, unweighted=True).astype(np.int16)
        return hops

    @cached_property
    def _tree(self) -> dict[str, tuple[str, ...]]:
        """A breadth-first tree from the first name: for each store its parent (the root has none) and its children."""
        root = self.members[0]
        parents: dict[str, str] = {root: ""}
        children: dict[str, list[str]] = {name: [] for name in self.members}
        reached = [root]
        for name in reached:
            for peer in self.links[name]:
                if peer not in parents:
                    parents[peer] = name
                    children[name].append(peer)
                    reached.append(peer)
        return {name: (parents[name], *children[name]) for name in self.members}

    def visits(self, name: str, sender: str) -> bool:
        """Is the tour, coming from there, at this store for the first time in its lap?"""
        parent, *children = self._tree[name]
        return sender not in children or (not parent and sender == children[-1])

    def next_stop(self, name: str, sender: str) -> str:
        """Where the tour goes on: around the tree, each link once in each direction."""
        parent, *children = self._tree[name]
        rest = children[children.index(sender) + 1 :] if sender in children else children
        if rest:
            return rest[0]
        return parent or (children[0] if children else name)

    def way(self, start: str, goal: str) -> tuple[str, ...]:
        """A shortest way, over the first of equally near names."""
        row = self.distances[self.index[goal]]
        way = [start]
        while way[-1] != goal:
            way.append(min(self.links[way[-1]], key=lambda peer: (row[self.index[peer]], peer)))
        return tuple(way)


def around(centre: str, links: Mapping[str, Sequence[str]], digest: int) -> Topology:
    """The stores that the centre can reach over links that both ends call up.

    The digest stands for all the links: those who learnt the same share one computation.
    """
    known = _known.get((digest, centre))
    if known is None:
        reached = {centre: None}
        queue = [centre]
        for name in queue:
            for peer in links[name]:
                if peer not in reached and name in links.get(peer, ()):
                    reached[peer] = None
                    queue.append(peer)
        first = min(reached)
        known = _known.get((digest, first))
        if known is None:
            mutual = {name: [p for p in links[name] if p in reached and name in links[p]] for name in reached}
            known = Topology(mutual)
            _known.put((digest, first), known)
    return known
