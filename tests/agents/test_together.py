"""Several systems on one overlay: each is what it is alone, all hold what they hold alone, and they share the links."""

from __future__ import annotations

from typing import Any

import networkx
import pytest

from agents.linked import next_hops
from agents.together import FIVE, KINDS, TogetherSystem
from protocols.storage.coverage import Coverage
from protocols.storage.replicas.knowledge import Knowledge
from runtime.api import run_scenario
from runtime.errors import LocalityError, ScenarioError
from runtime.network import from_networkx
from runtime.parts import PartedAgent
from runtime.run import Outcome, simulate
from runtime.scenario import check, find, load, read
from runtime.simulator import Simulator


def shipped(**changes: Any) -> dict[str, Any]:
    return read(find("together")) | changes


def only(*parts: str, **changes: Any) -> Outcome:
    return simulate(check(shipped(together={"parts": list(parts)}, **changes)))


@pytest.fixture(scope="module")
def together() -> Outcome:
    return simulate(load("together"))


def test_all_five_do_their_work_at_once(together: Outcome) -> None:
    seen = together.results
    assert together.verdict == "valid"
    assert seen["planning.moves"] >= 1 and seen["planning.requests_answered"] == seen["planning.requests_sent"] > 0
    assert seen["holistic.equilibrium"] and len(seen["holistic.history"]) > 5
    assert seen["relocation.migrations"] >= 2 and seen["relocation.delivered"] > 0
    assert seen["overlay.moves"] > 0 and seen["overlay.delivered"] > 0
    assert sum(seen["dissemination.served"].values()) > 0


def test_every_broker_is_one_agent_with_all_five_parts(together: Outcome) -> None:
    for name in together.scenario.network.brokers:
        agent = together.agents[name]
        assert isinstance(agent, PartedAgent)
        assert {*FIVE} <= {part.name for part in agent.parts}


def test_every_message_on_the_links_belongs_to_a_part(together: Outcome) -> None:
    summary, rows = together.summary(), together.results["by_part"].values()
    assert sum(row["messages"] for row in rows) == summary["messages"]
    assert sum(row["bytes"] for row in rows) == summary["bytes"]
    past = summary["underlay"].values()
    assert sum(row["past the overlay"] for row in rows) == sum(row["messages"] for row in past)


QUICK = read(find("together"))["network"] | {"bandwidth": 1e6}
"""Links on which what is sent again does not add to a jam."""


@pytest.mark.parametrize("changes", [{}, {"links": "reliable", "network": QUICK}], ids=["raw", "reliable"])
@pytest.mark.parametrize("part", FIVE)
def test_a_single_part_is_the_system_alone(part: str, changes: dict[str, Any]) -> None:
    others = {"together", *(kind.section for kind in KINDS.values())} - {KINDS[part].section}
    data = {key: value for key, value in shipped(protocol=part, **changes).items() if key not in others}
    alone, here = simulate(check(data)), only(part, **changes)
    assert here.tally.fingerprint() == alone.tally.fingerprint()
    assert {f"{part}.{key}": value for key, value in alone.results.items()} == {
        key: value for key, value in here.results.items() if key != "by_part"
    }


def test_the_others_traffic_delays_publications(together: Outcome) -> None:
    alone = only("relocation")
    assert together.results["relocation.delivery_delay_s"] > 1.1 * alone.results["relocation.delivery_delay_s"]


def test_where_nobody_waits_the_others_change_nothing() -> None:
    """With links and brokers that are never busy, a part that draws no dice with others sees what it sees alone."""
    network = shipped()["network"] | {"delay": 0.02}
    del network["bandwidth"]
    calm = shipped()["dissemination"] | {"busy": False, "planning": 0.0}
    relocation = {key: value for key, value in shipped()["relocation"].items() if key != "matching"}
    changes = {"network": network, "dissemination": calm, "relocation": relocation | {"algorithm": "grape"}}
    alone, beside = only("relocation", **changes), only(*FIVE, **changes)
    shown = {key: value for key, value in beside.results.items() if key.startswith("relocation.")}
    assert shown == {key: value for key, value in alone.results.items() if key != "by_part"}


def test_faults_that_all_tolerate_are_withstood() -> None:
    faults = [{"kind": fault, "probability": 0.1} for fault in ("drop", "duplicate", "reorder")]
    faults.append({"kind": "delay", "probability": 0.1, "by": "uniform(0, 0.2)"})
    outcome = simulate(check(shipped(links="reliable", faults=faults, network=QUICK)))
    assert outcome.verdict == "valid" and outcome.tally.fired["drop"] > 0
    assert set(TogetherSystem.tolerates) == {"drop", "duplicate", "reorder", "delay"}


def test_a_crash_is_announced_once_and_both_kinds_of_store_recover() -> None:
    """Planning and holistic stores both survive crashes; the broker says once that it is back, for both."""
    crash = [{"kind": "crash", "nodes": ["b7"], "at": 25.0, "recover_after": 2.0}]
    outcome = only("planning", "holistic", faults=crash)
    reborn = outcome.tally.sent["Reborn"][0]
    assert reborn == len(outcome.scenario.network.neighbours["b7"])
    assert outcome.verdict == "valid", outcome.violations
    back = outcome.agents["b7"]
    coverage, knowledge = back.find(Coverage), back.find(Knowledge)
    assert coverage is not None and coverage.routes and knowledge is not None and len(knowledge.holdings) == 14


# Who sees whom


def test_a_part_sees_only_its_own_neighbours() -> None:
    scenario = load("together")
    sim = Simulator(scenario.network, scenario.system.agent, scenario.seed)
    agent = sim.nodes["b4"].agent
    assert isinstance(agent, PartedAgent)
    seen = {part.name: part.seen(sim.nodes["b4"]) for part in agent.parts}
    assert seen["holistic"].neighbours == seen["dissemination"].neighbours == ("b2", "b5", "b6")
    assert "archive" in seen["relocation"].neighbours and "archive" not in seen["planning"].neighbours
    assert {*scenario.network.brokers} - {"b4"} <= {*seen["overlay"].neighbours}
    with pytest.raises(LocalityError, match="b4 cannot send to archive as holistic"):
        seen["holistic"].send("archive", object())


def test_ways_are_the_shortest() -> None:
    graph = networkx.convert_node_labels_to_integers(networkx.random_labeled_tree(9, seed=4))
    graph.add_edges_from([(0, 8), (2, 5)])
    network = from_networkx(networkx.relabel_nodes(graph, {n: f"n{n}" for n in graph}))
    far = dict(networkx.all_pairs_shortest_path_length(network.graph()))
    for name in network.brokers:
        hops = next_hops(network, name)
        assert hops.keys() == {*network.brokers} - {name}
        for target, hop in hops.items():
            assert far[hop][target] == far[name][target] - 1


# What is wrong with a scenario

WRONG: dict[str, dict[str, Any]] = {
    "together.parts: holistic and myopic both read [storage]": {"together": {"parts": ["holistic", "myopic"]}},
    "together.parts: overlay is there twice": {"together": {"parts": ["overlay", "overlay"]}},
    "together.parts: too short; write at least 1": {"together": {"parts": []}},
    "together.parts[0]: 'echo' is not one of: planning, coverage": {"together": {"parts": ["echo"]}},
    "together.parts: they do not go together: Subscribe is handled by Subscriptions and another protocol": {
        "together": {"parts": ["planning", "coverage"]},
        "storage": {"stores": {"s": {"broker": "b1", "topics": ["a"]}}},
    },
    "overlay: the name u1 is taken": {
        "together": {"parts": ["coverage", "overlay"]},
        "storage": {"stores": {"u1": {"broker": "b1", "topics": ["a"]}}},
    },
    "network: not a tree": {"network": {"kind": "ring", "nodes": 5}, "together": {"parts": ["relocation", "overlay"]}},
    "relocation.threshold: 0 is too small": {"relocation": {"threshold": 0}},
}


@pytest.mark.parametrize(("told", "changes"), WRONG.items())
def test_what_is_wrong_is_said(told: str, changes: dict[str, Any]) -> None:
    with pytest.raises(ScenarioError) as caught:
        check(shipped(**changes))
    assert told in str(caught.value)


def test_tables_of_parts_that_are_not_there_wait_for_another_time() -> None:
    outcome = only("holistic", planning={"nonsense": 1}, limits={"events": 10})
    assert [*outcome.results["by_part"]] == ["holistic"]


def test_lock_step_on_ray_is_the_simulator(together: Outcome) -> None:
    on_ray = run_scenario("together", on="ray", agents_per_actor=20)
    assert on_ray.summary == together.summary()
