"""Networks: every kind has the shape it promises, and the same seed gives the same network."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from itertools import combinations, pairwise
from math import dist
from pathlib import Path
from typing import Any

import networkx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from runtime.distributions import Distribution
from runtime.errors import LocalityError, ScenarioError
from runtime.network import LinkModel, Network, from_networkx
from runtime.settings import parse
from runtime.topology import NetworkSettings, build

seeds = st.integers(min_value=0, max_value=2**64 - 1)
sizes = st.integers(min_value=1, max_value=40)


def made(seed: int = 1, folder: Path = Path(), **keys: Any) -> Network:
    return build(parse(NetworkSettings, keys, "network"), seed, folder)


def refusal(make: Callable[..., Network], *arguments: Any, **keys: Any) -> str:
    with pytest.raises(ScenarioError) as caught:
        make(*arguments, **keys)
    return str(caught.value)


def links(network: Network) -> set[tuple[str, str]]:
    return {(a, b) for a, peers in network.neighbours.items() for b in peers if a < b}


@st.composite
def random_graphs(draw: st.DrawFn) -> dict[str, Any]:
    nodes = draw(st.integers(min_value=2, max_value=30))
    count = draw(st.integers(min_value=nodes - 1, max_value=nodes * (nodes - 1) // 2))
    return {"kind": "random-graph", "nodes": nodes, "degree": 2 * count / nodes}


@st.composite
def planes(draw: st.DrawFn) -> dict[str, Any]:
    nodes = draw(st.integers(min_value=2, max_value=25))
    neighbours = draw(st.integers(min_value=1, max_value=nodes - 1))
    return {"kind": "plane", "nodes": nodes, "connect": "nearest", "neighbours": neighbours}


any_kind = st.one_of(
    st.builds(
        lambda kind, nodes: {"kind": kind, "nodes": nodes},
        st.sampled_from(["line", "star", "complete", "random-tree"]),
        sizes,
    ),
    st.builds(lambda nodes: {"kind": "ring", "nodes": nodes}, st.integers(3, 40)),
    st.builds(lambda r, c: {"kind": "grid", "rows": r, "columns": c}, st.integers(1, 6), st.integers(1, 6)),
    st.builds(
        lambda b, h: {"kind": "balanced-tree", "branching": b, "height": h},
        st.integers(1, 4),
        st.integers(0, 3),
    ),
    st.builds(lambda nodes: {"kind": "plane", "nodes": nodes, "connect": "complete"}, sizes),
    random_graphs(),
    planes(),
)


# Every kind


@given(any_kind, seeds)
def test_every_network_is_connected_simple_and_sorted(keys: dict[str, Any], seed: int) -> None:
    network = made(seed, **keys)
    assert list(network.neighbours) == sorted(network.neighbours)
    assert set(network.neighbours) == {f"n{number}" for number in range(1, len(network.neighbours) + 1)}
    for name, peers in network.neighbours.items():
        assert list(peers) == sorted(set(peers) - {name})
        assert all(name in network.neighbours[peer] for peer in peers)
    assert networkx.is_connected(network.graph())


@given(any_kind, seeds)
def test_the_same_seed_gives_the_same_network(keys: dict[str, Any], seed: int) -> None:
    assert made(seed, **keys) == made(seed, **keys)


@pytest.mark.parametrize(
    "keys",
    [
        {"kind": "random-tree", "nodes": 30},
        {"kind": "random-graph", "nodes": 30, "degree": 3.0},
        {"kind": "plane", "nodes": 30, "connect": "nearest", "neighbours": 2},
    ],
)
def test_another_seed_gives_another_network(keys: dict[str, Any]) -> None:
    assert made(1, **keys) != made(2, **keys)


def test_the_hash_seed_of_python_makes_no_difference() -> None:
    program = """if True:
        from pathlib import Path
        from runtime.settings import parse
        from runtime.topology import NetworkSettings, build
        for keys in [
            dict(edges=[["c", "b"], ["b", "a"], ["d", "a"]]),
            dict(kind="random-graph", nodes=50, degree=3),
            dict(kind="plane", nodes=20, connect="nearest", neighbours=2, delay="length(3, 0.1)"),
        ]:
            print(build(parse(NetworkSettings, keys), 7, Path()))
    """
    printed = {
        subprocess.run(
            [sys.executable, "-c", program],
            env=os.environ | {"PYTHONHASHSEED": hash_seed, "PYTHONPATH": str(Path(__file__).parents[2])},
            capture_output=True,
            check=True,
            text=True,
        ).stdout
        for hash_seed in ("1", "2")
    }
    assert len(printed) == 1
    assert "n50" in printed.pop()


# Each kind


@pytest.mark.parametrize(
    ("keys", "expected"),
    [
        ({"kind": "line", "nodes": 6}, networkx.path_graph(6)),
        ({"kind": "line", "nodes": 1}, networkx.path_graph(1)),
        ({"kind": "star", "nodes": 6}, networkx.star_graph(5)),
        ({"kind": "ring", "nodes": 6}, networkx.cycle_graph(6)),
        ({"kind": "complete", "nodes": 6}, networkx.complete_graph(6)),
        ({"kind": "balanced-tree", "branching": 3, "height": 2}, networkx.balanced_tree(3, 2)),
        ({"kind": "plane", "nodes": 6, "connect": "complete"}, networkx.complete_graph(6)),
    ],
)
def test_a_regular_kind_is_the_graph_of_that_name(keys: dict[str, Any], expected: networkx.Graph) -> None:
    named = networkx.relabel_nodes(expected, {label: f"n{label + 1}" for label in expected})
    assert networkx.utils.graphs_equal(made(**keys).graph(), named)


def test_a_grid_is_numbered_row_by_row() -> None:
    grid = made(kind="grid", rows=2, columns=3)
    assert links(grid) == {
        ("n1", "n2"), ("n2", "n3"), ("n4", "n5"), ("n5", "n6"), ("n1", "n4"), ("n2", "n5"), ("n3", "n6")
    }  # fmt: skip


@given(sizes, seeds)
def test_a_random_tree_is_a_tree(nodes: int, seed: int) -> None:
    assert networkx.is_tree(made(seed, kind="random-tree", nodes=nodes).graph())


def test_every_tree_of_four_nodes_comes_up() -> None:
    trees = {frozenset(links(made(seed, kind="random-tree", nodes=4))) for seed in range(300)}
    assert len(trees) == 4 ** (4 - 2)


@given(random_graphs(), seeds)
def test_a_random_graph_has_the_degree_that_was_asked_for(keys: dict[str, Any], seed: int) -> None:
    assert len(links(made(seed, **keys))) == round(keys["nodes"] * keys["degree"] / 2)


def test_every_pair_of_a_random_graph_can_be_linked() -> None:
    seen = set().union(*(links(made(seed, kind="random-graph", nodes=6, degree=2.0)) for seed in range(60)))
    assert seen == set(combinations([f"n{number}" for number in range(1, 7)], 2))


def test_a_large_random_graph_keeps_no_object_for_each_link() -> None:
    network = made(kind="random-graph", nodes=20_000, degree=4.0)
    assert len(links(network)) == 40_000
    assert network.exceptions == {}
    assert network.link("n1", network.neighbours["n1"][0]) is network.default


@given(planes(), seeds)
def test_each_point_is_linked_to_its_nearest_and_to_the_shortest_tree(keys: dict[str, Any], seed: int) -> None:
    network = made(seed, **keys)
    points = network.positions
    expected = set()
    for name in points:
        others = sorted((other for other in points if other != name), key=lambda o: dist(points[name], points[o]))
        expected |= {tuple(sorted((name, other))) for other in others[: keys["neighbours"]]}
    whole = networkx.Graph()
    whole.add_weighted_edges_from((a, b, dist(points[a], points[b])) for a, b in combinations(points, 2))
    expected |= {tuple(sorted(ends)) for ends in networkx.minimum_spanning_edges(whole, data=False)}
    assert links(network) == expected


def test_points_lie_in_the_unit_square_in_sorted_order() -> None:
    positions = made(kind="plane", nodes=30, connect="complete").positions
    assert list(positions) == sorted(f"n{number}" for number in range(1, 31))
    assert all(0 <= x < 1 and 0 <= y < 1 for x, y in positions.values())
    assert len(set(positions.values())) == 30


def test_a_link_in_the_plane_takes_as_long_as_it_is_but_never_less_than_the_floor() -> None:
    network = made(kind="plane", nodes=12, connect="complete", delay="length(10.0, 3.0)", bandwidth=5)
    points = network.positions
    lengths = {ends: 10 * dist(points[ends[0]], points[ends[1]]) for ends in links(network)}
    assert min(lengths.values()) < 3 < max(lengths.values())
    for (a, b), length in lengths.items():
        delay, bandwidth = network.link(a, b)
        assert delay.linear
        assert delay.span == 0
        assert delay.floor == pytest.approx(max(3.0, length))
        assert bandwidth == 5
    assert network.access_delay == network.underlay_delay == Distribution(3.0)


# Written by hand


def test_edges_give_names_and_links_of_their_own() -> None:
    network = made(
        edges=[
            ["n2", "n1"],
            ["n3", "n4", {"bandwidth": 9}],
            ["n1", "n3", {"delay": 4}],
            ["n4", "n5", {"delay": 2}],
        ],
        delay=2.0,
        bandwidth=7,
        access_delay=0.5,
        underlay_delay="uniform(3, 4)",
        service="exponential(0, 1)",
    )
    assert network.neighbours == {
        "n1": ("n2", "n3"), "n2": ("n1",), "n3": ("n1", "n4"), "n4": ("n3", "n5"), "n5": ("n4",)
    }  # fmt: skip
    assert network.link("n1", "n2") == LinkModel(Distribution(2.0), 7)
    assert network.link("n1", "n3") == network.link("n3", "n1") == LinkModel(Distribution(4.0), 7)
    assert network.link("n3", "n4") == LinkModel(Distribution(2.0), 9)
    assert list(network.exceptions) == [("n1", "n3"), ("n3", "n4")]
    assert network.access_delay == Distribution(0.5)
    assert network.underlay_delay == Distribution(3.0, span=1.0)
    assert network.service == Distribution(0.0, tail=1.0)


def test_without_a_word_about_time_every_message_takes_one_second() -> None:
    network = made(kind="line", nodes=2)
    assert network.link("n1", "n2") == LinkModel(Distribution(1.0), None)
    assert network.access_delay == network.underlay_delay == Distribution(1.0)
    assert network.service is None
    assert network.positions == {}


@pytest.mark.parametrize("name", ["overlay.edges", "overlay.txt", "overlay.csv"])
def test_an_edge_list_is_read_line_by_line(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text("# an overlay\nb a\n\nb, c # near\n c\td , 2.5\n")
    network = made(folder=tmp_path, file=name)
    assert network.neighbours == {"a": ("b",), "b": ("a", "c"), "c": ("b", "d"), "d": ("c",)}
    assert network.exceptions == {("c", "d"): LinkModel(Distribution(2.5), None)}


def test_a_graphml_file_is_read_with_the_delays_of_its_links(tmp_path: Path) -> None:
    graph = networkx.Graph()
    graph.add_edge("b", "a", delay="uniform(1, 2)")
    graph.add_edge("b", "c", bandwidth=8.0)
    graph.add_edge("c", "d")
    networkx.write_graphml(graph, tmp_path / "overlay.graphml")
    network = made(folder=tmp_path, file="overlay.graphml", delay=3, service=0.1, underlay_delay=5, access_delay=6)
    assert network.neighbours == {"a": ("b",), "b": ("a", "c"), "c": ("b", "d"), "d": ("c",)}
    assert network.link("a", "b") == LinkModel(Distribution(1.0, span=1.0), None)
    assert network.link("b", "c") == LinkModel(Distribution(3.0), 8.0)
    assert network.link("c", "d") == network.default
    assert list(network.exceptions) == [("a", "b"), ("b", "c")]
    assert (network.service, network.underlay_delay, network.access_delay) == (
        Distribution(0.1), Distribution(5.0), Distribution(6.0)
    )  # fmt: skip


# Refusals

COMMON = "delay, access_delay, underlay_delay, bandwidth, service"
KINDS = "line, star, ring, grid, balanced-tree, random-tree, random-graph, complete, plane"


@pytest.mark.parametrize(
    ("keys", "words"),
    [
        ({}, "network: write exactly one of edges, file and kind; none of them is there"),
        (
            {"kind": "line", "file": "a.txt"},
            "network: write exactly one of edges, file and kind; file and kind are both there",
        ),
        ({"kind": "lien"}, f"network.kind: 'lien' is not one of: {KINDS}; did you mean 'line'?"),
        ({"kind": []}, f"network.kind: [] is not one of: {KINDS}"),
        ({"kind": "line"}, "network.nodes: missing; write e.g. nodes = 20"),
        ({"kind": "line", "nodes": 0}, "network.nodes: 0 is too small; write a number of 1 or more"),
        ({"kind": "ring", "nodes": 2}, "network.nodes: 2 is too small; write a number of 3 or more"),
        (
            {"kind": "line", "nodes": 3, "rows": 3},
            f"network.rows: unknown key; allowed: {COMMON}, seed, nodes, kind",
        ),
        ({"kind": "grid", "rows": 3}, "network.columns: missing; write e.g. columns = 5"),
        (
            {"kind": "grid", "rows": 2, "columns": 2, "nodes": 4},
            f"network.nodes: unknown key; allowed: {COMMON}, seed, kind, rows, columns",
        ),
        ({"kind": "balanced-tree", "branching": 2}, "network.height: missing; write e.g. height = 4"),
        ({"kind": "random-graph", "nodes": 10}, "network.degree: missing; write e.g. degree = 3.0"),
        (
            {"kind": "random-graph", "nodes": 10, "degree": 1.5},
            "network.degree: 1.5 is not possible with 10 nodes; write 1.8 to 9",
        ),
        (
            {"kind": "random-graph", "nodes": 10, "degree": 9.5},
            "network.degree: 9.5 is not possible with 10 nodes; write 1.8 to 9",
        ),
        (
            {"kind": "complete", "nodes": 10_000},
            "network: this network has 49,995,000 links; the most is 20,000,000",
        ),
        (
            {"kind": "balanced-tree", "branching": 10, "height": 10**6},
            "network: this network has 111,111,110 links; the most is 20,000,000",
        ),
        ({"kind": "plane", "nodes": 4}, 'network.connect: missing; write e.g. connect = "nearest"'),
        (
            {"kind": "plane", "nodes": 4, "connect": "nearest"},
            "network.neighbours: missing; write e.g. neighbours = 4",
        ),
        (
            {"kind": "plane", "nodes": 4, "connect": "complete", "neighbours": 2},
            'network.neighbours: leave it out, or write connect = "nearest"',
        ),
        (
            {"kind": "plane", "nodes": 4, "connect": "nearest", "neighbours": 4},
            "network.neighbours: 4 is not possible with 4 nodes; write 1 to 3",
        ),
        (
            {"kind": "plane", "nodes": 1, "connect": "nearest", "neighbours": 1},
            "network.neighbours: 1 is not possible with one node",
        ),
        (
            {"kind": "plane", "nodes": 4, "connect": "complete", "delay": "length(1.0, 0)"},
            "network.delay: length(1.0, 0): write length(scale, floor) with a floor above 0",
        ),
        (
            {"kind": "line", "nodes": 4, "delay": "length(1, 1)"},
            'network.delay: length is no distribution; write a number, "constant(1.0)", "uniform(0.5, 1.5)" '
            'or "exponential(0.5, 1.0)"',
        ),
        (
            {"kind": "line", "nodes": 4, "bandwidth": 0},
            "network.bandwidth: 0 is too small; write a number above 0",
        ),
        ({"edges": []}, "network.edges: too short; write at least 1, not 0"),
        (
            {"edges": [["a", "b"], ["a"]]},
            'network.edges[1]: write two names, ["n1", "n2"], or two names and a table, ["n1", "n2", { delay = 2.0 }]',
        ),
        ({"edges": [["a", 2]]}, "network.edges[0][1]: 2 is not text"),
        (
            {"edges": [["a", "b", {"dely": 2}]]},
            "network.edges[0][2].dely: unknown key; allowed: delay, bandwidth; did you mean 'delay'?",
        ),
        ({"edges": [["a", "b"], ["b", "b"]]}, "network.edges[1]: b is linked to itself"),
        (
            {"edges": [["a", "b"], ["b", "c"], ["b", "a"]]},
            "network.edges[2]: the link b-a is there already, in edges[0]",
        ),
        (
            {"edges": [["c", "d"], ["a", "b"]]},
            "network.edges: not connected: there is no path from a to c",
        ),
        (
            {"file": "x.json"},
            "network.file: x.json: the name must end in one of: .graphml, .edges, .txt, .csv",
        ),
        ({"file": "x.txt"}, "network.file: x.txt: not found; it was sought as x.txt"),
    ],
)
def test_wrong_settings_are_refused_by_key(keys: dict[str, Any], words: str) -> None:
    assert refusal(made, **keys) == words


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("a b\n\nb\n", "line 3: 'b' is no edge; write two names, and a delay where it differs"),
        ("a,,b\n", "line 1: 'a,,b' is no edge; write two names, and a delay where it differs"),
        ("a b 1 2\n", "line 1: 'a b 1 2' is no edge; write two names, and a delay where it differs"),
        ("a b soon\n", "line 1: 'soon' is not a delay; write a number above 0"),
        ("a b 0\n", "line 1: '0' is not a delay; write a number above 0"),
        ("a b\nb b\n", "line 2: b is linked to itself"),
        ("a b\n#\nb a\n", "line 3: the link b-a is there already, in line 1"),
    ],
)
def test_a_wrong_line_is_named(tmp_path: Path, text: str, words: str) -> None:
    (tmp_path / "o.txt").write_text(text)
    assert refusal(made, folder=tmp_path, file="o.txt") == f"network.file: o.txt, {words}"


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("o.txt", b"# nothing\n", "there is no edge in it"),
        ("o.txt", b"a b\nc d\n", "not connected: there is no path from a to c"),
        ("o.txt", b"\xff\xfe\x00", "not a text file in UTF-8"),
        ("o.graphml", b"a b\n", "not GraphML: syntax error: line 1, column 0"),
        ("o.graphml", b"<a/>", "not GraphML: file not successfully read as graphml"),
    ],
)
def test_a_file_that_is_no_network_is_refused(tmp_path: Path, name: str, content: bytes, words: str) -> None:
    (tmp_path / name).write_bytes(content)
    assert refusal(made, folder=tmp_path, file=name) == f"network.file: {name}: {words}"


def test_a_folder_is_no_file(tmp_path: Path) -> None:
    (tmp_path / "o.txt").mkdir()
    assert refusal(made, folder=tmp_path, file="o.txt") == "network.file: o.txt: Is a directory"


def test_a_directed_graphml_file_is_refused_by_its_name(tmp_path: Path) -> None:
    networkx.write_graphml(networkx.DiGraph([("a", "b")]), tmp_path / "o.graphml")
    assert refusal(made, folder=tmp_path, file="o.graphml").startswith("network.file: o.graphml: the graph is directed")


# Any networkx graph


@given(st.integers(2, 20), seeds)
def test_any_connected_networkx_graph_comes_back_as_it_was(nodes: int, seed: int) -> None:
    graph = networkx.connected_watts_strogatz_graph(nodes, 2, 0.5, seed=seed % 2**32)
    network = from_networkx(graph, delay="uniform(1, 2)")
    named = networkx.relabel_nodes(graph, str)
    assert networkx.utils.graphs_equal(network.graph(), named)
    assert {network.link(a, b).delay for a, b in links(network)} == {Distribution(1.0, span=1.0)}


def weighted(**attributes: Any) -> networkx.Graph:
    graph = networkx.Graph()
    graph.add_edge("a", "b", **attributes)
    return graph


@pytest.mark.parametrize(
    ("graph", "words"),
    [
        (networkx.DiGraph([(1, 2)]), "the graph is directed; links go both ways: write an undirected graph"),
        (networkx.Graph(), "the graph is empty; write at least one node"),
        (networkx.Graph([(1, "1")]), "two nodes have the same name: 1 and '1'"),
        (networkx.Graph([(1, 2), (2, 2)]), "2 is linked to itself"),
        (networkx.MultiGraph([(1, 2), (2, 1)]), "the link 1-2 is there twice"),
        (networkx.Graph([(1, 2), (3, 4)]), "not connected: there is no path from 1 to 3"),
        (weighted(delay=-1), "link a-b: -1.0 is negative; write a number of 0 or more"),
        (weighted(bandwidth=0), "link a-b: 0 is not a bandwidth; write a number of bytes per second above 0"),
        (
            weighted(bandwidth="x"),
            "link a-b: x is not a bandwidth; write a number of bytes per second above 0",
        ),
    ],
)
def test_a_graph_that_is_no_overlay_is_refused(graph: networkx.Graph, words: str) -> None:
    assert refusal(from_networkx, graph) == f"network: {words}"


# Attached agents


def test_an_attached_agent_has_one_link_to_its_broker() -> None:
    line = made(kind="line", nodes=3, delay=2.0, access_delay=0.5, underlay_delay=9, bandwidth=7)
    network = line.attach({"p2": "n2", "c1": "n2", "z": "n3"})
    assert network.homes == {"c1": "n2", "p2": "n2", "z": "n3"}
    assert network.neighbours == {
        "c1": ("n2",),
        "n1": ("n2",),
        "n2": ("c1", "n1", "n3", "p2"),
        "n3": ("n2", "z"),
        "p2": ("n2",),
        "z": ("n3",),
    }
    assert list(network.neighbours) == sorted(network.neighbours)
    assert list(network.homes) == sorted(network.homes)
    assert network.link("n2", "c1") == network.link("c1", "n2") == LinkModel(Distribution(0.5), 7)
    assert network.link("n2", "n1") == LinkModel(Distribution(2.0), 7)
    assert network.brokers == ("n1", "n2", "n3")
    assert set(network.graph().edges) == {("n1", "n2"), ("n2", "n3")}
    assert line.homes == {}
    assert line.neighbours["n2"] == ("n1", "n3")


def test_agents_can_be_attached_one_after_the_other() -> None:
    line = made(kind="line", nodes=2)
    assert line.attach({"b": "n1"}).attach({"a": "n1"}) == line.attach({"a": "n1", "b": "n1"})


def test_attaching_is_refused_to_unknown_brokers_and_under_taken_names() -> None:
    line = made(kind="line", nodes=2).attach({"c1": "n1"})
    assert refusal(line.attach, {"c2": "n9"}) == "homes.c2: broker n9 is not in [network]"
    assert refusal(line.attach, {"c2": "c1"}) == "homes.c2: broker c1 is not in [network]"
    assert refusal(line.attach, {"c1": "n2"}, key="clients") == "clients.c1: the name c1 is taken"
    assert refusal(line.attach, {"n2": "n1"}) == "homes.n2: the name n2 is taken"


def test_only_links_that_are_there_have_a_model() -> None:
    line = made(kind="line", nodes=3)
    for a, b in [("n1", "n3"), ("n1", "n1"), ("n9", "n1"), ("n1", "n9")]:
        with pytest.raises(LocalityError, match=f"{a} and {b} are not linked"):
            line.link(a, b)


def test_the_shortest_delay_is_the_smallest_floor_of_what_is_used() -> None:
    edges: list[list[Any]] = [["a", "b"], ["b", "c", {"delay": "uniform(1.5, 9)"}]]
    network = made(edges=edges, delay=2, access_delay=0.5, underlay_delay=3)
    assert network.shortest_delay == 1.5
    assert network.attach({"x": "a"}).shortest_delay == 0.5
    assert made(edges=edges, delay=1, underlay_delay=3).shortest_delay == 1
    assert made(edges=edges[1:], delay=1, underlay_delay=3).shortest_delay == 1.5
    assert made(edges=edges, delay=2, underlay_delay=0.25).shortest_delay == 0.25
    assert made(kind="line", nodes=1, delay=1, underlay_delay=3).shortest_delay == 3


def test_a_line_of_numbered_nodes_is_sorted_by_name_not_by_number() -> None:
    network = made(kind="line", nodes=11)
    assert list(network.neighbours)[:3] == ["n1", "n10", "n11"]
    assert network.neighbours["n10"] == ("n11", "n9")
    assert all(network.link(f"n{a}", f"n{b}") for a, b in pairwise(range(1, 12)))


def test_a_network_with_a_seed_of_its_own_is_the_same_in_every_run() -> None:
    def links(run: int, **own: int) -> Any:
        keys = {"kind": "random-graph", "nodes": 20, "degree": 3.0, **own}
        return build(parse(NetworkSettings, keys), run, Path()).neighbours

    assert links(1) != links(2)
    assert links(1, seed=5) == links(2, seed=5) != links(1, seed=6)
