"""Coverage on every connected network of four brokers: in whatever order messages come, the tables are right."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations_with_replacement
from typing import Any

import networkx
import pytest

from runtime.exploring.rules import Rules
from runtime.exploring.search import Report, explore
from runtime.scenario import check

GRAPHS = [graph for graph in networkx.graph_atlas_g() if len(graph) == 4 and networkx.is_connected(graph)]
NAMES = {"star": 0, "line": 1, "paw": 2, "ring": 3, "diamond": 4, "complete": 5}
"""In the order of the atlas."""

QUICK = {"star", "line", "paw", "ring"}


def placements(graph: Any, stores: int) -> Iterator[tuple[int, ...]]:
    """Where the stores can be, but for symmetry."""
    seen: list[Any] = []
    for places in combinations_with_replacement(sorted(graph), stores):
        marked = graph.copy()
        for node in marked:
            marked.nodes[node]["stores"] = places.count(node)
        if not any(networkx.is_isomorphic(marked, other, lambda a, b: a == b) for other in seen):
            seen.append(marked)
            yield places


def explored(graph: Any, places: tuple[int, ...], reduction: Any = "sleep") -> Report:
    edges = [[f"n{a}", f"n{b}"] for a, b in graph.edges]
    stores = {f"s{number}": {"broker": f"n{place}", "topics": ["a"]} for number, place in enumerate(places, start=1)}
    data = {"protocol": "coverage", "network": {"edges": edges}, "storage": {"stores": stores}}
    return explore(check(data), Rules(), reduction)


def test_there_are_six_of_them() -> None:
    assert sorted(sorted(dict(graph.degree).values()) for graph in GRAPHS) == [
        [1, 1, 1, 3],
        [1, 1, 2, 2],
        [1, 2, 2, 3],
        [2, 2, 2, 2],
        [2, 2, 3, 3],
        [3, 3, 3, 3],
    ]


@pytest.mark.parametrize("name", NAMES)
def test_one_store_anywhere(name: str) -> None:
    graph = GRAPHS[NAMES[name]]
    for places in placements(graph, 1):
        report = explored(graph, places)
        assert report.verdict == "valid" and report.complete, report.problem


@pytest.mark.parametrize("name", ["star", "line"])
def test_two_stores_anywhere(name: str) -> None:
    graph = GRAPHS[NAMES[name]]
    for places in placements(graph, 2):
        report = explored(graph, places)
        assert report.verdict == "valid" and report.complete, report.problem


@pytest.mark.full
@pytest.mark.parametrize("name", ["paw", "ring", "diamond"])
def test_two_stores_anywhere_on_networks_with_cycles(name: str) -> None:
    graph = GRAPHS[NAMES[name]]
    for places in placements(graph, 2):
        report = explored(graph, places)
        assert report.verdict == "valid" and report.complete, report.problem


@pytest.mark.parametrize("name", ["star", "line", "ring"])
def test_what_is_left_out_changes_no_end(name: str) -> None:
    graph = GRAPHS[NAMES[name]]
    ends = [explored(graph, (0,), reduction).ends for reduction in ("none", "sleep", "persistent")]
    assert ends[0] == ends[1] == ends[2]
