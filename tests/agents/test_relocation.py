"""The relocation system: what it shows, what it refuses, and the same on Ray."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from protocols.relocation.clients import Publishing, Subscribing
from protocols.routing.content import ContentRouting
from runtime.cluster import cluster
from runtime.errors import ScenarioError
from runtime.onray import RayOptions, run_on_ray
from runtime.run import simulate
from runtime.scenario import check, load
from runtime.system import World


def test_the_shipped_scenario_is_figure_1() -> None:
    summary = simulate(load("relocation")).summary()
    assert summary["verdict"] == "valid"
    assert summary["publishers"] == {"P": {"published": 12, "from": "B1", "now at": "B6"}}
    assert summary["delivered"] == 12 * 25 and summary["path_hops"] == 2


SMALL: dict[str, Any] = {
    "protocol": "relocation",
    "seed": 4,
    "network": {"kind": "random-tree", "nodes": 15, "delay": "uniform(0.02, 0.06)", "bandwidth": 20_000.0},
    "relocation": {
        "algorithm": "grape",
        "threshold": 10,
        "matching": {"base": 0.001, "per_subscription": 0.0001},
        "stocks": {"publishers": 3, "subscribers": 20, "on_brokers": 5, "quotes": 60},
        "steady_from": 40.0,
    },
}


def changed(**relocation: Any) -> dict[str, Any]:
    return SMALL | {"relocation": SMALL["relocation"] | relocation}


def test_moving_publishers_brings_load_and_delay_down() -> None:
    without, load = (simulate(check(changed(algorithm=name))).summary() for name in ("none", "grape"))
    delay = simulate(check(changed(grape={"priority": "delay"}))).summary()
    assert load["message_rate"] < without["message_rate"] and load["input_utilisation"] < without["input_utilisation"]
    assert delay["delivery_delay_s"] < without["delivery_delay_s"] and delay["hop_count"] < without["hop_count"]
    assert 0 < load["output_utilisation"] < 1 and load["migrations"] > 0 and load["publisher_wait_s"] > 0


def test_a_broker_that_nothing_reaches_any_more_has_no_load() -> None:
    """All subscribers on one broker: once the publisher is there, every publication is handled once."""
    data = {
        "protocol": "relocation",
        "network": {"kind": "line", "nodes": 5, "delay": 0.1},
        "relocation": {
            "algorithm": "grape",
            "threshold": 10,
            "publishers": {"p": {"broker": "n1", "contents": [{"x": 1}], "count": 100}},
            "subscribers": {"s": {"broker": "n5"}},
            "steady_from": 60.0,
        },
    }
    summary = simulate(check(data)).summary()
    assert summary["publishers"]["p"]["now at"] == "n5" and summary["hop_count"] == 0
    assert summary["message_rate"] == pytest.approx(1 / 5)


def test_decisions_are_taken_again_when_subscribers_go() -> None:
    """Those at n5 leave, those at n1 come: the publisher goes there and back."""
    data = {
        "protocol": "relocation",
        "network": {"kind": "line", "nodes": 5, "delay": 0.1},
        "relocation": {
            "algorithm": "pop",
            "threshold": 5,
            "pop": {"window": 5.0},
            "publishers": {"p": {"broker": "n3", "contents": [{"x": 1}], "count": 150}},
            "subscribers": {
                "first": {"broker": "n5", "number": 3, "until": 80.0},
                "then": {"broker": "n1", "number": 2, "since": 70.0},
            },
        },
    }
    outcome = simulate(check(data))
    visited = [row["to"] for row in outcome.tally.events.table("migrated").to_pylist()]
    assert outcome.verdict == "valid" and visited == ["n5", "n1"]


def test_subscribers_that_follow_come_nearer() -> None:
    stays, follows = (
        simulate(check(changed(grape={"priority": "delay"}, **more))).summary() for more in ({}, {"follow_after": 2})
    )
    assert follows["verdict"] == "valid" and follows["followed"] > 0
    assert follows["hop_count"] < stays["hop_count"]


# The oracle notices


def test_a_spoilt_table_and_a_lost_publication_are_violations() -> None:
    outcome = simulate(load("relocation"))
    world = World(outcome.agents, outcome.scenario.network)
    assert outcome.scenario.system.violations(world) == []
    world.protocols(Subscribing)["f1"].received["P"].numbers.remove(5)
    world.protocols(Subscribing)["f2"].received["P"].numbers.append(12)
    world.protocols(ContentRouting)["B5"].subscriptions.pop("a/1")
    world.protocols(Publishing)["P"].broker = "B5"
    problems = outcome.scenario.system.violations(world)
    assert "nothing-lost-or-doubled: f1 has from P not number 5, though it has number 1" in problems
    assert "nothing-lost-or-doubled: f2 has from P a publication twice: number 12" in problems
    assert "tables-as-if-started-here: B5: subscriptions: a/1 is from nowhere, not B1" in problems
    assert "tables-as-if-started-here: B5: advertisements: P is from B6, not P" in problems


# What is refused

P = {"broker": "n1", "contents": [{"x": 1}], "count": 1}


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"network": {"kind": "ring", "nodes": 4}}, "network: not a tree"),
        ({"relocation": {}}, "relocation: no publisher"),
        ({"relocation": {"publishers": {"p": P | {"broker": "n9"}}}}, "broker n9 is not in"),
        ({"relocation": {"publishers": {"p": P | {"contents": []}}}}, "relocation.publishers.p.contents: too short"),
        ({"relocation": {"publishers": {"p": P | {"where": [["x", ">", 3]]}}}}, "contents\\[0\\]: does not meet"),
        ({"relocation": {"publishers": {"p": P | {"where": [["x", "~", 3]]}}}}, "'~' is no operator"),
        ({"relocation": {"algorithm": "grap"}}, "'grap' is not one of: none, pop, grape; did you mean 'grape'"),
        ({"relocation": {"publishers": {"p": P}, "grape": {"weight": 101.0}}}, "write a number of 100 or less"),
        ({"relocation": {"publishers": {"p": P}, "subscribers": {"p": {"broker": "n1"}}}}, "the name p is taken"),
        (
            {"relocation": {"publishers": {"p": P}, "subscribers": {"s": {"broker": "n1", "since": 3.0, "until": 2.0}}}
             },
            "relocation.subscribers.s.until: write a time after since = 3",
        ),
        (
            {"relocation": {"publishers": {"p": P}, "moves": [{"at": 1.0, "publisher": "q", "to": "n2"}]}},
            "relocation.moves\\[0\\].publisher: there is no publisher q",
        ),
        (
            {"relocation": {"publishers": {"p": P}, "moves": [{"at": 1.0, "publisher": "p", "to": "x"}]}},
            "relocation.moves\\[0\\].to: broker x is not in",
        ),
        (
            {
                "relocation": {
                    "algorithm": "pop", "publishers": {"p": P}, "moves": [{"at": 1.0, "publisher": "p", "to": "n2"}]
                }
            },
            "relocation.moves: only with algorithm",
        ),
    ],
)  # fmt: skip
def test_what_cannot_be_is_an_error_that_names_the_key(change: dict[str, Any], problem: str) -> None:
    data = {"protocol": "relocation", "network": {"kind": "line", "nodes": 4}} | change
    with pytest.raises(ScenarioError, match=problem):
        check(data)


# On Ray


@pytest.fixture(scope="module")
def on_one_ray() -> Iterator[None]:
    with cluster():
        yield


@pytest.mark.usefixtures("on_one_ray")
@pytest.mark.parametrize("algorithm", ["pop", "grape"])
def test_the_same_on_ray_in_lock_step(algorithm: str) -> None:
    data = changed(algorithm=algorithm, follow_after=5)
    on_ray = run_on_ray(check(data), RayOptions(agents_per_actor=40))
    assert on_ray.summary() == simulate(check(data)).summary()


@pytest.mark.usefixtures("on_one_ray")
def test_properties_hold_when_running_free_on_ray() -> None:
    outcome = run_on_ray(load("relocation"), RayOptions("free", 12, None, 0.05))
    assert outcome.verdict == "valid", outcome.violations
    assert outcome.summary()["publishers"]["P"]["now at"] == "B6"
