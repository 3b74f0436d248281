"""What scripts and notebooks call gives what the command line gives."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from runtime.api import run_scenario
from runtime.errors import ScenarioError
from tests.runtime.command import EXAMPLES, brokerlab


def test_a_call_gives_the_summary_of_the_command() -> None:
    told = json.loads(brokerlab("run", "coverage", "--seed", 3, "--set", "network.delay=2.0", "--json").stdout)
    run = run_scenario("coverage", seed=3, change={"network.delay": 2.0})
    assert json.loads(json.dumps(run.summary)) == told
    assert run.verdict == told["verdict"] and run.violations == []


def test_events_and_messages_come_as_arrow_tables() -> None:
    run = run_scenario("holistic")
    sent = {row["type"]: row["messages"] for row in run.tables["messages"].to_pylist() if row["way"] == "overlay"}
    assert sent == {tag: row["messages"] for tag, row in run.summary["by_type"].items()}
    assert {name: table.num_rows for name, table in run.tables.items() if name != "messages"} == run.summary["logged"]


def test_the_graph_has_everybody_with_their_home() -> None:
    run = run_scenario("coverage")
    homes = run.outcome.scenario.network.homes
    assert homes and all(run.graph.nodes[name]["home"] == home for name, home in homes.items())
    assert all(run.graph.has_edge(name, home) for name, home in homes.items())
    assert run.graph.number_of_nodes() == run.summary["nodes"]


def test_a_dict_is_a_scenario_and_stays_as_it_is() -> None:
    data = {"protocol": str(EXAMPLES / "my_flood.py") + ":MyFlood", "network": {"kind": "ring", "nodes": 4}}
    data["settings"] = {"source": "n1"}
    run = run_scenario(data, change={"network.nodes": 6})
    assert run.graph.number_of_nodes() == 6
    assert data["network"] == {"kind": "ring", "nodes": 4}


def test_a_run_can_be_kept(tmp_path: Path) -> None:
    run_scenario("coverage", out=tmp_path / "kept", trace=True)
    assert brokerlab("replay", tmp_path / "kept").exit_code == 0


def test_what_is_wrong_is_named() -> None:
    with pytest.raises(ScenarioError, match=r"network\.nodez"):
        run_scenario("coverage", change={"network.nodez": 3})
    with pytest.raises(ScenarioError, match="seed is not a table"):
        run_scenario("coverage", change={"seed.of": 3})
