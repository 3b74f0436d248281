"""Stores that are planned, used and moved while requests go on (planning, 5 and 6)."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings

from protocols.storage.following import Following
from protocols.storage.manager import Managing, Metering
from runtime.agent import Node
from runtime.errors import ScenarioError
from runtime.run import simulate
from runtime.scenario import check, load
from tests.agents.planning_cases import Case, cases
from tests.checking.standing import stands

FEW = settings(max_examples=40)


def tree(seed: int = 1, nodes: int = 20, **planning: Any) -> dict[str, Any]:
    return {
        "protocol": "planning",
        "seed": seed,
        "network": {"kind": "random-tree", "nodes": nodes, "delay": "uniform(0.001, 0.003)"},
        "planning": {"topics": 4, "stores": 5, "capacity": 2, "begin": 0.5, "until": 1.5, "rate": 10.0, **planning},
    }


# The shipped scenario


def test_the_shipped_scenario_moves_topics_and_loses_nothing() -> None:
    summary = simulate(load("planning")).summary()
    assert summary["verdict"] == "valid" and summary["moves"] >= 1
    assert summary["requests_answered"] == summary["requests_sent"] > 1000
    assert summary["requests_incomplete"] == 0
    # In the second phase topics move, so no single assignment stands for it.
    assert [name for name, phase in summary["phases"].items() if not phase["within"]] == ["inverted"]


# What is measured is what the cost model says


def test_the_measured_hop_distance_is_that_of_the_cost_model() -> None:
    """The analytic value lies in the 95 % interval about 95 times in a hundred, for every algorithm."""
    algorithms = ("seq", "wrr", "grd_opt", "rnd")
    runs = [
        simulate(check(tree(seed, algorithm=algorithms[seed % 4], popularity=0.8, locality=0.5))).summary()
        for seed in range(60)
    ]
    assert all(run["verdict"] == "valid" for run in runs)
    assert sum(run["phases"]["planned"]["within"] for run in runs) >= 51  # below it: once in 100 000 test runs
    # ... and there is no bias: the deviations, in units of their errors, have mean 0.
    scaled = [1.96 * (run["mean_hop_distance"] - run["analytic"]) / run["half_width"] for run in runs]
    assert abs(np.mean(scaled)) < 4 / math.sqrt(len(scaled))


def test_the_traffic_is_what_crossed_the_links() -> None:
    """ONT from the responses' distances equals what is counted on the links between brokers."""
    summary = simulate(check(tree(7))).summary()
    # A request also crosses the links from its client and to the store.
    crossed = summary["by_type"]["Request"]["messages"] - 2 * summary["requests_sent"]
    assert crossed == pytest.approx(summary["ont"] * 1.0)
    assert summary["by_type"]["Response"]["messages"] == summary["by_type"]["Request"]["messages"]


def test_clients_ask_at_the_rates_that_are_set() -> None:
    summary = simulate(check(tree(3, rates={"n1": {"t1": 300.0, "t3": 700.0}}, until=2.5))).summary()
    assert summary["requests_sent"] == pytest.approx(2000, abs=5 * math.sqrt(2000))


def test_publishers_leave_and_what_they_published_is_found() -> None:
    outcome = simulate(check(tree(5, publications=3)))
    summary = outcome.summary()
    assert summary["requests_incomplete"] == 0
    assert summary["by_type"]["Response"]["messages"] == 3 * summary["by_type"]["Request"]["messages"]
    for name, agent in outcome.agents.items():
        if (store := agent.find(Following)) is not None:
            assert {len(kept) for kept in store.durable.stored.values()} <= {3}, name


# Moving topics while requests go on


@FEW
@given(cases())
@example(Case(brokers=9, topics=4, seed=8, react="either"))
def test_no_request_is_lost_and_none_is_sent_again_while_topics_move(case: Case) -> None:
    outcome = case.outcome()
    assert outcome.quiescent and outcome.violations == []
    summary = outcome.summary()
    assert summary["requests_answered"] == summary["requests_sent"]
    assert (summary["requests_repeated"], summary["requests_incomplete"]) == (0, 0)


@FEW
@given(cases())
@example(Case(brokers=9, topics=4, seed=8, react="either"))
def test_nothing_is_lost_in_any_fifo_order(case: Case) -> None:
    """Also what is published while topics move: the fetch travels behind the subscription."""
    assert case.problems_when("random") == []


@settings(max_examples=15)
@given(cases())
@example(Case(brokers=7, topics=1, seed=20, react="either"))
@example(Case(brokers=14, topics=4, seed=945, react="replan"))
def test_nothing_is_lost_however_unfair_the_schedule(case: Case) -> None:
    assert case.problems_when("priority") == []


def test_stores_fail_and_return_while_topics_move() -> None:
    storm = {"at": 10.0, "count": 1, "recover_after": 2.0}
    report = stands("planning", 40, ways=["timed", "delays"], failures={"storm": storm})
    assert "a-topic-moves" in report.sometimes


def test_brokers_crash_and_return() -> None:
    stands("planning", 40, ["crash"])


def test_a_store_that_is_told_to_recover_twice_goes_on_serving() -> None:
    """Otherwise it and its broker would send a request to and fro for ever."""
    case = Case(brokers=12, topics=1, seed=25, react="replan", failures=2, crashes=2, publishing=False)
    assert case.problems_when("random") == []


def test_the_same_over_lossy_links_with_a_channel() -> None:
    stands("planning", 20, ["drop", "duplicate", "reorder"])


# A planted bug in each rule is found


def fetch_before_subscribing(self: Following, node: Node, topic: str, attempt: int = 1) -> None:
    from protocols.storage.retrieval import FetchTopic

    node.send(self.home, FetchTopic(topic, self.durable.number + 1, ()))
    self.durable.acquiring[topic] = self.subscribe(node, topic)


def forget_what_was_late(self: Managing, node: Node, holders: Any) -> None:
    assert self.durable.final is not None
    self.durable.stores, self.durable.holders, self.durable.final = self.durable.final.stores, holders, None
    self.durable.waiting = set()
    self.publish(node, holders)


@pytest.mark.parametrize(
    ("kind", "rule", "bug"),
    [
        (Following, "acquire", fetch_before_subscribing),
        (Following, "fetched", lambda self, node, sender, fetch: None),
        (Managing, "settle", forget_what_was_late),
        (Metering, "report", lambda self, node, sender, now: None),
    ],
)
def test_a_planted_bug_is_caught(monkeypatch: pytest.MonkeyPatch, kind: type, rule: str, bug: Any) -> None:
    monkeypatch.setattr(kind, rule, bug)
    assert any(goes_wrong(seed, no_moves=kind is Metering) for seed in range(120))


def goes_wrong(seed: int, no_moves: bool) -> bool:
    case = Case(brokers=2 + seed % 12, topics=1 + seed % 5, seed=seed, react="replan", failures=seed % 3 // 2)
    outcome = case.outcome()
    summary = outcome.summary()
    lost = summary["requests_incomplete"] or (summary["requests_repeated"] and not case.failures)
    if outcome.violations or lost or (no_moves and not summary["decisions"]):
        return True
    return case.problems_when("priority" if seed % 2 else "random") != []


# Deciding


INVERTED = {"changes": {"inverted": {"at": 4.0, "popularity": 2.0}}, "popularity": -2.0, "until": 12.0, "rate": 40.0}
REPORTS = {"report_every": 1.0, "decide_every": 0.5}


@pytest.mark.parametrize(("react", "did"), [("reassign", "reassign"), ("replan", "replan")])
def test_a_change_of_the_demand_moves_topics(react: str, did: str) -> None:
    scenario = tree(2, react=react, settle=4.0, **INVERTED, **REPORTS)
    summary = simulate(check(scenario)).summary()
    left = simulate(check(tree(2, settle=4.0, **INVERTED))).summary()
    assert did in {row["by"] for row in summary["moved"].values()}
    assert summary["phases"]["inverted"]["mean_hop_distance"] < 0.9 * left["phases"]["inverted"]["mean_hop_distance"]


def test_what_would_win_too_little_is_left_as_it_is() -> None:
    summary = simulate(check(tree(2, react="either", threshold=0.95, **INVERTED, **REPORTS))).summary()
    assert summary["decisions"] > 3 and summary["moves"] == 0


def test_new_stores_must_win_as_much_again_as_new_topics() -> None:
    free = simulate(check(tree(2, react="either", threshold=0.0, **INVERTED, **REPORTS))).summary()
    strict = simulate(check(tree(2, react="either", threshold=0.15, **INVERTED, **REPORTS))).summary()
    assert "replan" in {row["by"] for row in free["moved"].values()}
    assert "reassign" in {row["by"] for row in strict["moved"].values()}


def test_the_manager_learns_the_rates_from_reports() -> None:
    scenario = tree(4, react="reassign", threshold=0.9, rate=200.0, until=6.0, **REPORTS) | {"limits": {"time": 5.0}}
    manager = simulate(check(scenario)).agents["manager"].find(Managing)
    assert manager is not None and manager.decisions
    assert manager.rates.sum() == pytest.approx(200 * 20, rel=0.05)
    assert manager.rates.sum(axis=1) == pytest.approx([50 * 20] * 4, rel=0.1)


# Failures


def test_requests_go_to_the_nearest_store_that_is_up() -> None:
    failing = {"failures": {"storm": {"at": 1.0, "count": 1, "recover_after": 1.0}}, "until": 3.0, "settle": 0.1}
    summary = simulate(check(tree(6, retry_after=0.2, min_degree=2, **failing))).summary()
    assert summary["verdict"] == "valid" and summary["requests_answered"] == summary["requests_sent"]
    planned, storm, over = (summary["phases"][name]["analytic"] for name in ("planned", "storm", "storm over"))
    assert planned == over < storm


# The exact optimum


def test_the_gap_to_the_optimum_is_told() -> None:
    summary = simulate(check(tree(1, optimum=True))).summary()
    assert summary["gap_percent"] >= 0
    assert summary["planned_hop_distance"] == pytest.approx(summary["analytic"])
    assert summary["planned_hop_distance"] >= summary["optimum_hop_distance"] > 0


# Errors say what to write


@pytest.mark.parametrize(
    ("planning", "told"),
    [
        ({"stores": 1}, "planning: 4 topics with at least 1 replicas each do not fit on 1 stores of 2 topics"),
        ({"stores": 50}, "planning: 50 stores are needed, more than there are brokers (20)"),
        ({"stores": 0, "popularity": 6.0}, "planning: 4096 stores are needed, more than there are brokers (20)"),
        ({"degrees": {"t1": 1}}, "planning.degrees: write a degree for every topic; t2 has none"),
        ({"degrees": {"x": 1}}, "planning.degrees.x: x is not in planning.topics"),
        ({"rates": {"n99": {"t1": 1.0}}}, "planning.rates.n99: broker n99 is not in [network]"),
        ({"rates": {"n1": {"x": 1.0}}}, "planning.rates.n1.x: x is not in planning.topics"),
        ({"rates": {}}, "planning.rates: nothing is requested in the phase planned"),
        ({"until": 0.4}, "planning.until: 0.4 is not after begin = 0.5"),
        ({"changes": {"c": {"at": 9.0}}}, "planning.changes.c.at: 9 is not between begin = 0.5 and until = 1.5"),
        ({"changes": {"planned": {"at": 1.0}}}, "changes and failures need different names, and not planned"),
        ({"algorithm": "rnd", "react": "replan"}, "planning.react: 'replan' goes with algorithm seq or wrr, not rnd"),
        ({"algorithm": "wr"}, "planning.algorithm: 'wr' is not one of: seq, wrr, grd_opt, rnd; did you mean 'wrr'?"),
        ({"topics": ["a", "a"]}, "planning.topics: a is there twice"),
        ({"topics": 0}, "planning.topics: no topics; write a number of 1 or more, or a list of names"),
        ({"topics": ["$a"]}, "planning.topics: '$a' is no name for a topic"),
        ({"failures": {"f": {"at": 1.0, "count": 9}}}, "9 stores are to fail, but there are only 5"),
        ({"failures": {"f": {"at": 1.0, "brokers": ["n99"]}}}, "no store at n99; there are n"),
        ({"publishing": {"n1": 0.0}}, "planning.publishing: at least one broker needs a number above 0"),
        ({"react": "reassign", "manager": "x"}, "planning.manager: broker x is not in [network]"),
        ({"capacity": 0}, "planning.capacity: 0 is too small; write a number of 1 or more"),
    ],
)
def test_what_is_wrong_in_a_scenario_is_told(planning: dict[str, Any], told: str) -> None:
    with pytest.raises(ScenarioError) as caught:
        check(tree(**planning))
    assert told in str(caught.value)


def test_a_single_broker_is_a_network_too() -> None:
    summary = simulate(check(tree(1, nodes=1, stores=1, capacity=4, react="either", optimum=True))).summary()
    assert summary["verdict"] == "valid" and summary["mean_hop_distance"] == 0.0


def test_a_demand_that_cannot_be_planned_for_leaves_things_as_they_are() -> None:
    """By the minimum degree, 500 times as many requests want 500 times as many replicas."""
    few = {"n1": {"t1": 500.0, "t2": 500.0}}
    odd = {"n1": {"t1": 500.0, "t2": 1.0}}
    changed = {"changes": {"odd": {"at": 3.0, "rates": odd}}, "until": 8.0}
    scenario = tree(1, topics=2, stores=0, rates=few, react="replan", threshold=0.0, **changed, **REPORTS)
    summary = simulate(check(scenario)).summary()
    assert summary["verdict"] == "valid" and summary["decisions"] > 4
