"""The report of a run: what is in it, what it leaves out, and what becomes of mistakes."""

from __future__ import annotations

import json
import random
import re
from itertools import combinations
from pathlib import Path
from typing import Any

import networkx
import pytest

from runtime.errors import AgentError
from runtime.events import EventLog
from runtime.pulse import MOST, Pulse
from runtime.report import Report, apart, join
from runtime.report.layout import layout
from runtime.report.thinning import CHANGES, POINTS, STATES, few_points, few_states, shares
from runtime.run import simulate
from runtime.rundir import save
from runtime.scenario import load
from runtime.simulator import Simulator
from tests.runtime.command import EXAMPLES, TICKS, brokerlab, scenario
from tests.runtime.reported import kept, shown

QUIET = "from runtime.agent import Protocol\nclass Quiet(Protocol):\n    pass\n"
FAULTY = ["--set", 'faults=[{kind="drop", probability=0.3}]', "--seed", "3"]


# What every page has


def test_every_run_directory_has_one(tmp_path: Path) -> None:
    done = brokerlab("run", "coverage", "--out", tmp_path / "run")
    page = tmp_path / "run" / "report.html"
    assert done.stdout.endswith(f"to look at: {page}\n")
    text = page.read_text("utf-8")
    summary = json.loads((tmp_path / "run" / "summary.json").read_text())
    assert summary["fingerprint"] in text
    assert '<code id="command">brokerlab run coverage --seed 7</code>' in text
    for tag, row in summary["by_type"].items():
        assert re.search(rf">{tag}</th><td class=\"number\">{row['messages']:,}</td>.*>{row['bytes']:,}</td>", text)
    assert not re.search(r"(src|href)=\"(?!data:)", text), "it needs something from elsewhere"


def test_a_violation_is_shown(tmp_path: Path) -> None:
    assert brokerlab("run", EXAMPLES / "my_flood.toml", *FAULTY, "--out", tmp_path).exit_code == 1
    text = (tmp_path / "report.html").read_text()
    violations = json.loads((tmp_path / "summary.json").read_text())["violations"]
    assert violations
    for problem in violations:
        assert f"<li>{problem}</li>" in text
    assert '<span class="judged violated">violated</span> <b>counts-the-fewest-hops</b>' in text


def test_a_run_that_was_stopped_is_not_judged(tmp_path: Path) -> None:
    assert brokerlab("run", "coverage", "--set", "limits.time=20", "--out", tmp_path).exit_code == 3
    text = (tmp_path / "report.html").read_text()
    assert '<span class="verdict undecided">undecided</span>' in text
    assert "stopped by a limit after" in text
    assert '<span class="judged not-judged">not judged</span> <b>tables-are-right</b>' in text


def test_an_interrupted_run_has_one(tmp_path: Path) -> None:
    def stop(sim: Simulator) -> None:
        if sim.now > 30:
            raise KeyboardInterrupt

    save(simulate(load("coverage"), stop), tmp_path)
    text = (tmp_path / "report.html").read_text()
    assert "interrupted after" in text and '<span class="verdict undecided">' in text
    assert 30 < kept(tmp_path / "report.html").data["end"] <= 50


def test_a_network_that_is_too_large_is_not_drawn(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("runtime.report.data.DRAWN", 10)
    brokerlab("run", "coverage", "--out", tmp_path)
    page = kept(tmp_path / "report.html")
    assert page.data["nodes"] == [] and page.data["held"]["t"] == []
    assert page.data["log"][0]["n"][0].startswith("client")
    text = (tmp_path / "report.html").read_text()
    assert "15 nodes are too many to draw; the log and the curves are of all of them." in text
    assert 'id="map"' not in text


def test_a_run_in_which_nothing_happens(tmp_path: Path) -> None:
    path = scenario(tmp_path, "quiet.py:Quiet", QUIET)
    assert brokerlab("run", path, "--out", tmp_path / "run").exit_code == 0
    page = kept(tmp_path / "run" / "report.html")
    assert page.data["end"] == 0
    assert page.data["log"] == page.data["curves"] == []
    assert "None was sent." in (tmp_path / "run" / "report.html").read_text()


def test_crashes_and_cuts_are_known(tmp_path: Path) -> None:
    faults = """faults=[{kind="crash", nodes=["b3"], at=53.0, recover_after=15.0},
        {kind="partition", groups=[["b1", "b2"], ["b3", "b4"]], since=10.0, until=20.0}]"""
    changes = ["links=reliable", " ".join(faults.split())]
    data = shown(simulate(load("coverage", changes))).data
    assert [data["nodes"][node] for node, since, until in data["down"] if (since, until) == (53.0, 68.0)] == ["b3"]
    assert [53.0, "b3 crashes"] in data["moments"] and [68.0, "b3 is back"] in data["moments"]
    assert data["cuts"] and all(cut[2:] == [10.0, 20.0] for cut in data["cuts"])
    assert data["spans"] == [[10.0, 20.0, "partition"]]


def test_a_report_changes_nothing_in_the_run(tmp_path: Path) -> None:
    alone = json.loads(brokerlab("run", "overlay", "--json").stdout)
    assert json.loads(brokerlab("run", "overlay", "--json", "--out", tmp_path).stdout) == alone


# What a protocol adds


def own(tmp_path: Path, report: str, code: str = TICKS) -> Any:
    code += f"\n    @staticmethod\n    def report(world, report):\n        {report}\n"
    path = scenario(tmp_path, "ticks.py:Ticks", code, "limits.time = 5.5")
    return brokerlab("run", path, "--out", tmp_path / "run")


def test_a_protocol_of_ones_own_adds_panels(tmp_path: Path) -> None:
    said = """report.table("Mine", ("name", "count"), [("<b>", 3)], about="why & how")
        report.bars("Bars", {"a": 1, "b": 4})
        report.svg("Drawn", "<svg xmlns='http://www.w3.org/2000/svg'/>")
        report.curve("Curve", {"x": [(3.0, 2.0), (1.0, 1.0)]})"""
    assert own(tmp_path, said).exit_code == 3
    text = (tmp_path / "run" / "report.html").read_text()
    assert "<td>&lt;b&gt;</td><td class=number>3</td>" in text and "why &amp; how" in text
    assert '<i style="width: 25.0%">' in text
    assert 'src="data:image/svg+xml;base64,' in text
    assert kept(tmp_path / "run" / "report.html").line("Curve", "x") == [(1.0, 1.0), (3.0, 2.0)]


def test_a_handler_may_be_called_report(tmp_path: Path) -> None:
    path = scenario(tmp_path, "ticks.py:Ticks", TICKS.replace("def ticked", "def report"), "limits.time = 5.5")
    assert brokerlab("run", path, "--out", tmp_path / "run").exit_code == 3


@pytest.mark.parametrize(("said", "told"), [
    ("1 / 0", "the protocol's own part of the report: ZeroDivisionError: division by zero"),
    ("report.hold(0.0, 'nobody', ['a'])", "the report speaks of 'nobody', which is no node of the network"),
    ("report.hold(0.0, 'n1', 'abc')", "write a list of items, not text"),
    ("report.table('T', ['a'], [[1, 2]])", "report.table('T'): 1 columns, but a row of 2: [1, 2]"),
])  # fmt: skip
def test_a_mistake_in_it_is_told_and_nothing_is_lost(said: str, told: str, tmp_path: Path) -> None:
    result = own(tmp_path, said)
    assert result.exit_code == 1
    assert told in result.stderr and 'ticks.py", line' in result.stderr
    run = tmp_path / "run"
    files = {path.name for path in run.iterdir()}
    assert files == {"README.md", "events", "report.html", "scenario.toml", "summary.json", "ticks.py"}
    assert "What is missing: " in (run / "report.html").read_text()
    assert kept(run / "report.html").data["log"][0]["event"] == "tick"


# Less of what is too much


def test_rare_events_are_kept_whole() -> None:
    assert shares({"a": 10, "b": 100_000, "c": 5_000}, 1_000) == {"a": 10, "b": 495, "c": 495}
    assert shares({"a": 10, "b": 20}, 1_000) == {"a": 10, "b": 20}


def test_a_sample_of_the_log_is_in_order_and_has_the_ends() -> None:
    log = EventLog()
    for place in random.Random(1).sample(range(10_000), 10_000):
        log.add(float(place), f"n{place % 7}", "e", {"place": place})
    columns = log.sample("e", 100)
    assert len(columns["time"]) == 100
    assert columns["time"] == sorted(columns["time"])
    assert (columns["place"][0], columns["place"][-1]) == (0, 9_999)
    assert all(name == f"n{place % 7}" for name, place in zip(columns["node"], columns["place"], strict=True))
    assert log.sample("e", 10_000) == {name: log.table("e")[name].to_pylist() for name in ("time", "node", "place")}


def test_thinned_states_are_right_at_the_end_of_each_part() -> None:
    rng = random.Random(1)
    rows = sorted((rng.uniform(0, 100), rng.randrange(20), value) for value in range(CHANGES * 2))
    thin = few_states(rows)
    assert len(thin) <= 20 * (STATES + 1) < len(rows)
    begin, span = rows[0][0], rows[-1][0] - rows[0][0]
    for part in (1, STATES // 3, STATES):
        time = begin + span * part / STATES
        for all_rows in (rows, thin):
            assert {n: v for t, n, v in rows if t < time} == {n: v for t, n, v in all_rows if t < time}
    assert few_states(rows[:CHANGES]) == rows[:CHANGES]


def test_thinned_curves_keep_their_extremes() -> None:
    points: list[tuple[float, Any]] = [(float(t), (t * 7919) % 1000) for t in range(50_000)]
    points[33_333] = (33_333.0, 10_000)
    thin = few_points(points)
    assert len(thin) <= POINTS
    assert (33_333.0, 10_000) in thin and thin[0] == points[0] and thin[-1] == points[-1]
    assert thin == sorted(thin)


def test_a_long_log_is_thinned_and_the_page_says_so(tmp_path: Path) -> None:
    path = scenario(tmp_path, "ticks.py:Ticks", TICKS, "limits.time = 15000")
    brokerlab("run", path, "--out", tmp_path / "run")
    (log,) = kept(tmp_path / "run" / "report.html").data["log"]
    assert log["count"] == 45_000 and len(log["t"]) == 30_000
    text = (tmp_path / "run" / "report.html").read_text()
    assert "Of 45,000 rows of tick 30,000 are here, evenly spread; all are in events/tick.parquet." in text


def test_a_pulse_stays_small() -> None:
    pulse = Pulse()
    for place in range(100_000):
        if pulse.is_due():
            pulse.add(float(place), place)
    assert MOST / 2 <= len(pulse.points) <= MOST
    assert pulse.points == sorted(pulse.points) and pulse.points[-1][0] > 99_900


# Where nodes are drawn


GRAPHS: dict[str, Any] = {
    "one": networkx.empty_graph(1),
    "two": networkx.path_graph(2),
    "line": networkx.path_graph(7),
    "ring": networkx.cycle_graph(9),
    "star": networkx.star_graph(20),
    "grid": networkx.grid_2d_graph(6, 4),
    "complete": networkx.complete_graph(12),
    "tree": networkx.random_labeled_tree(80, seed=3),
    "random": networkx.connected_watts_strogatz_graph(120, 4, 0.4, seed=2),
    "parts": networkx.disjoint_union(networkx.cycle_graph(5), networkx.path_graph(3)),
    "large": networkx.connected_watts_strogatz_graph(1500, 4, 0.4, seed=2),
}


@pytest.mark.parametrize("name", GRAPHS)
def test_nodes_are_apart_and_in_the_picture(name: str) -> None:
    graph = networkx.relabel_nodes(GRAPHS[name], str)
    places = layout(graph)
    assert places.keys() == set(graph) and places == layout(graph)
    assert all(0 <= x <= 1 and 0 <= y <= 1 for x, y in places.values())
    assert len(set(places.values())) >= 0.99 * len(graph)


@pytest.mark.parametrize("name", ["line", "star", "tree"])
def test_links_of_a_tree_do_not_cross(name: str) -> None:
    graph = networkx.relabel_nodes(GRAPHS[name], str)
    places = layout(graph)
    for (a, b), (c, d) in combinations(graph.edges, 2):
        if len({a, b, c, d}) == 4:
            assert not crosses(places[a], places[b], places[c], places[d]), (a, b, c, d)


def crosses(a: Any, b: Any, c: Any, d: Any) -> bool:
    def side(p: Any, q: Any, r: Any) -> float:
        return float((q[0] - p[0]) * (r[1] - p[1]) - (q[1] - p[1]) * (r[0] - p[0]))

    return side(a, b, c) * side(a, b, d) < -1e-9 and side(c, d, a) * side(c, d, b) < -1e-9


def test_near_in_the_network_is_near_in_the_picture() -> None:
    graph = networkx.relabel_nodes(networkx.grid_2d_graph(9, 6), str)
    places = layout(graph)

    def far(a: str, b: str) -> float:
        return float(((places[a][0] - places[b][0]) ** 2 + (places[a][1] - places[b][1]) ** 2) ** 0.5)

    hops = dict(networkx.all_pairs_shortest_path_length(graph))
    longest_link = max(far(a, b) for a, b in graph.edges)
    assert all(far(a, b) > longest_link for a, b in combinations(graph, 2) if hops[a][b] >= 4)


def test_given_places_are_kept() -> None:
    graph = networkx.relabel_nodes(networkx.complete_graph(3), str)
    assert layout(graph, {"0": (0.0, 0.0), "1": (4.0, 0.0), "2": (0.0, 2.0)}) == {
        "0": (0.0, 0.75),
        "1": (1.0, 0.75),
        "2": (0.0, 0.25),
    }


def test_what_is_said_must_make_sense() -> None:
    with pytest.raises(AgentError, match="not text"):
        Report().hold(1.0, "n1", "abc")


def test_the_panel_of_ones_own_in_the_docs_works(tmp_path: Path) -> None:
    code = (EXAMPLES / "my_rumour.py").read_text("utf-8")
    assert f"```python\n{code}```" in (EXAMPLES.parent / "report.md").read_text("utf-8")
    assert brokerlab("run", EXAMPLES / "my_rumour.toml", "--out", tmp_path).exit_code == 0
    page = kept(tmp_path / "report.html")
    log = page.data["log"][0]
    hops = dict(zip(log["n"], log["f"][0], strict=True))
    heard = page.held(page.data["end"])
    assert heard == {name: [f"hop {hops[place]}"] for place, name in enumerate(page.data["nodes"])}
    assert page.held(0.0)["n1"] == ["hop 0"] and page.held(0.0)["n2"] == []
    assert page.line("who knows it", "nodes")[-1][1] == 40
    assert "Over how many hops" in (tmp_path / "report.html").read_text()


# Several systems on one network


def test_parts_are_told_apart_and_their_items_are_held_side_by_side() -> None:
    first, second, whole = Report(), Report(), Report()
    first.items = ["x", "y"]
    first.hold(0, "a", ["x"])
    first.hold(4, "a", ["y"])
    second.hold(2, "a", ["x", "z"])
    second.hold(3, "b", ["z"])
    first.curve("cost", {"total": [(0, 1.0)]})
    second.curve("cost", {"total": [(0, 2.0)]})
    second.text(1, "a", "busy")
    second.kind("a", "store")
    second.kind("c", "client")
    join(whole, {"one": first, "two": second}, guests={"c"})
    assert whole.held == [
        (0, "a", ("one x",)),
        (2, "a", ("one x", "two x", "z")),
        (3, "b", ("z",)),
        (4, "a", ("y", "two x", "z")),
    ]
    assert whole.items == ["one x", "y"]
    assert [curve.title for curve in whole.curves] == ["one: cost", "two: cost"]
    assert whole.texts == [(1, "a", "two: busy")]
    assert whole.kinds == {"c": "client"}


def test_a_part_sees_its_own_results_only() -> None:
    whole = Report(results={"one.cost": 1, "two.cost": 2, "by_part": {}})
    assert apart(whole, "two.").results == {"cost": 2}
