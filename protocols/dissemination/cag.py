"""The content adaptation graph CAG: formats, what they cost to send, and operators between them (dissemination, 2.1).

A set of formats is an int with a bit for each: bit i is `formats[i]`.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import networkx

Matrix = tuple[tuple[float, ...], ...]


@dataclass(frozen=True)
class CAG:
    """Formats with their sizes, and the cost of each operator; an operator that is undefined costs infinity."""

    formats: tuple[str, ...]
    sizes: tuple[float, ...]
    """Of the content in each format, in MB: the transmission cost of a link."""

    conversions: Matrix
    """Seconds that the operator from one format to another takes for this content: the conversion cost."""

    @cached_property
    def places(self) -> dict[str, int]:
        return {name: place for place, name in enumerate(self.formats)}

    def set_of(self, names: Iterable[str]) -> int:
        return sum(1 << self.places[name] for name in dict.fromkeys(names))

    def names(self, formats: int) -> list[str]:
        return [self.formats[place] for place in members(formats)]

    @cached_property
    def graph(self) -> networkx.DiGraph:
        return operator_graph(self.conversions)

    def reachable(self, formats: int) -> int:
        """Every format that can be made from these, themselves included."""
        found = set(members(formats))
        for place in members(formats):
            found |= networkx.descendants(self.graph, place)
        return sum(1 << place for place in found)


def make_cag(sizes: Mapping[str, float], operators: Mapping[str, Mapping[str, float]]) -> CAG:
    """From sizes in MB and, for each source and target, the seconds that 1 MB of source data takes (figure 2)."""
    formats = tuple(sizes)

    def cost(source: str, target: str) -> float:
        if source == target:
            return 0.0
        return operators.get(source, {}).get(target, math.inf) * sizes[source]

    return CAG(formats, tuple(sizes.values()), tuple(tuple(cost(a, b) for b in formats) for a in formats))


def operator_graph(conversion: Matrix) -> networkx.DiGraph:
    """The operators that are defined, as a graph over the places of the formats."""
    graph = networkx.DiGraph()
    graph.add_nodes_from(range(len(conversion)))
    graph.add_weighted_edges_from(
        (source, target, cost)
        for source, row in enumerate(conversion)
        for target, cost in enumerate(row)
        if source != target and cost < math.inf
    )
    return graph


def members(formats: int) -> Iterator[int]:
    """The places of the formats in this set, in order."""
    while formats:
        low = formats & -formats
        yield low.bit_length() - 1
        formats ^= low


@dataclass(frozen=True)
class Rates:
    """What one link and one broker of factor 1 charge: the weights alpha and beta are in them (2.2)."""

    transmission: tuple[float, ...]
    conversion: Matrix

    @property
    def count(self) -> int:
        return len(self.transmission)

    @cached_property
    def closure(self) -> Matrix:
        """The cost of the cheapest chain of operators from each format to each other."""
        count = self.count
        cost = [list(row) for row in self.conversion]
        for over in range(count):
            for source in range(count):
                first = cost[source][over]
                if first < math.inf:
                    for target in range(count):
                        cost[source][target] = min(cost[source][target], first + cost[over][target])
        return tuple(map(tuple, cost))

    @cached_property
    def _graph(self) -> networkx.DiGraph:
        return operator_graph(self.conversion)

    @cached_property
    def sources_first(self) -> tuple[tuple[int, ...], ...]:
        """The formats in groups: operators form cycles only within a group, and lead to no group before."""
        whole = networkx.condensation(self._graph)
        groups = [tuple(sorted(whole.nodes[group]["members"])) for group in networkx.topological_sort(whole)]
        return tuple(groups)

    @cached_property
    def _chains(self) -> dict[tuple[int, int], tuple[tuple[int, int], ...]]:
        return {}

    def chain(self, source: int, target: int) -> tuple[tuple[int, int], ...]:
        """The operators of a cheapest chain."""
        if (source, target) not in self._chains:
            self._chains[source, target] = self._cheapest_chain(source, target)
        return self._chains[source, target]

    def _cheapest_chain(self, source: int, target: int) -> tuple[tuple[int, int], ...]:
        way = networkx.dijkstra_path(self._graph, source, target)
        return tuple(pairwise(way))


def weigh(cag: CAG, alpha: float = 1.0, beta: float = 1.0, normalised: bool = True) -> Rates:
    """The cost function alpha * transmission + beta * conversion.

    The paper's cost adds normalised values without saying how (2.2). Here, a unit is what sending an average format
    over one link costs, and what an average operator costs, so that alpha = beta = 1 means that the two weigh the same.
    """
    defined = [c for a, row in enumerate(cag.conversions) for b, c in enumerate(row) if a != b and c < math.inf]
    send_unit = sum(cag.sizes) / len(cag.sizes) if normalised else 1.0
    make_unit = sum(defined) / len(defined) if normalised and sum(defined) > 0 else 1.0
    return Rates(
        tuple(alpha * size / send_unit for size in cag.sizes),
        tuple(tuple(beta * c / make_unit if c < math.inf else math.inf for c in row) for row in cag.conversions),
    )
