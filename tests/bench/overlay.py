"""The task that every contestant gets: a random overlay, its sources, and the distances to be found."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from runtime.network import Network
from runtime.topology import RandomGraph, build

SEED = 1
DEGREE = 4.0
SOURCES = 5
SHORTEST_DELAY = 0.5
LONGEST_DELAY = 1.5
FAR = 1_000_000
"""More hops than any overlay here has: the distance to a source that was never heard of."""

Distances = list[list[int]]
"""For each node, in name order, the hops to each source."""


@dataclass(frozen=True)
class Overlay:
    """Nodes have names for the kernel and numbers, their places among the sorted names, for the others."""

    network: Network

    @cached_property
    def names(self) -> list[str]:
        return list(self.network.neighbours)

    @cached_property
    def neighbours(self) -> list[list[int]]:
        numbers = {name: number for number, name in enumerate(self.names)}
        return [[numbers[peer] for peer in peers] for peers in self.network.neighbours.values()]

    @cached_property
    def sources(self) -> list[int]:
        return [place * len(self.names) // SOURCES for place in range(SOURCES)]

    @cached_property
    def source_names(self) -> list[str]:
        return [self.names[source] for source in self.sources]

    @cached_property
    def distances(self) -> Distances:
        """The truth, by breadth-first search from each source."""
        return [list(row) for row in zip(*map(self._hops_from, self.sources), strict=True)]

    def _hops_from(self, source: int) -> list[int]:
        hops = [FAR] * len(self.names)
        hops[source] = 0
        waiting = deque([source])
        while waiting:
            node = waiting.popleft()
            for peer in self.neighbours[node]:
                if hops[peer] == FAR:
                    hops[peer] = hops[node] + 1
                    waiting.append(peer)
        return hops


def random_overlay(nodes: int) -> Overlay:
    """A random connected graph; the same for every contestant and in every run."""
    delay = f"uniform({SHORTEST_DELAY}, {LONGEST_DELAY})"
    settings = RandomGraph(kind="random-graph", nodes=nodes, degree=DEGREE, delay=delay)
    return Overlay(build(settings, SEED, Path()))
