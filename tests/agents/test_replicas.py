"""What a scenario of stores may say, and the words for what it may not."""

from __future__ import annotations

from typing import Any

import pytest

from agents.replica_problem import Problem
from agents.replicas import ReplicasSystem
from runtime.errors import ScenarioError
from runtime.run import simulate
from runtime.scenario import check


def scenario(**storage: Any) -> dict[str, Any]:
    given = {"capacity": 2, "sizes": {"a": 1, "b": 1}, "rates": {"n1": {"a": 1.0}}, "placement": {"n1": ["a", "b"]}}
    return {
        "protocol": "holistic",
        "seed": 1,
        "network": {"edges": [["n1", "n2"]]},
        "storage": {key: value for key, value in (given | storage).items() if value is not None},
    }


def problem(**storage: Any) -> Problem:
    system = check(scenario(**storage)).system
    assert isinstance(system, ReplicasSystem)
    return system.problem


@pytest.mark.parametrize(
    ("storage", "key", "words"),
    [
        ({"rates": {"n7": {"a": 1.0}}}, "storage.rates.n7", "node n7 is not in"),
        ({"rates": {"n1": {"z": 1.0}}}, "storage.rates.n1.z", "item z is not in"),
        ({"placement": {"n1": ["a"]}}, "storage.placement", "no store holds b"),
        ({"placement": {"n1": ["a", "a", "b"]}}, "storage.placement.n1", "twice"),
        ({"placement": {"n1": ["a", "b"]}, "capacity": 1}, "storage.placement.n1", "need 2"),
        ({"sizes": {"a": 3, "b": 1}, "placement": "random"}, "storage.sizes.a", "fits in no store"),
        ({"capacity": {"n1": 2}}, "storage.capacity", "n2 has none"),
        ({"capacity": 1, "sizes": {"a": 1, "b": 1, "c": 1}, "placement": "random"}, "storage.capacity", "too small"),
        ({"sizes": None}, "storage", "either sizes"),
        ({"popularity": 0.7}, "storage", "either rates"),
        ({"rates": None, "popularity": "pareto(1)"}, "storage.popularity", "zipf"),
        ({"changes": [{"at": 5.0}]}, "storage.changes[0]", "write rates"),
        ({"thinking": {"n9": 5.0}}, "storage.thinking.n9", "not in [network]"),
        ({"writers": -1}, "storage.writers", "0"),
    ],
)
def test_what_is_wrong_is_named(storage: dict[str, Any], key: str, words: str) -> None:
    with pytest.raises(ScenarioError) as caught:
        check(scenario(**storage))
    assert caught.value.key == key
    assert words in str(caught.value)


def test_items_by_rank_fill_the_ratio_and_a_negative_exponent_makes_the_unpopular_large() -> None:
    law = {"rates": None, "popularity": 1, "placement": "random"}
    drawn = problem(sizes=None, items={"count": 4, "sizes": -1, "ratio": 1.5}, **law)
    assert drawn.catalogue.items == ("i1", "i2", "i3", "i4")
    assert drawn.catalogue.sizes.tolist() == pytest.approx([0.3, 0.6, 0.9, 1.2])


def test_every_algorithm_gets_the_same_instance() -> None:
    keys = {"sizes": None, "items": {"count": 4, "ratio": 1.5}, "rates": None, "popularity": 0.7, "spread": "random"}
    one = problem(**keys, placement="random")
    data = scenario(**keys, placement="random") | {"protocol": "myopic"}
    other = check(data).system
    assert isinstance(other, ReplicasSystem)
    assert one.placement == other.problem.placement
    assert (one.rates_at(0.0) == other.problem.rates_at(0.0)).all()


def test_moved_ranks_make_other_items_popular() -> None:
    keys = {"sizes": None, "items": {"count": 4, "ratio": 1.0}, "rates": None, "popularity": 1, "placement": "random"}
    changed = problem(**keys, changes=[{"at": 10.0, "moved_ranks": 1}])
    assert changed.rates_at(9.9)[0].argmax() == 0
    assert changed.rates_at(10.0)[0].argmax() == 1


def test_a_single_store_settles_by_itself() -> None:
    data = scenario(placement={"n1": ["a", "b"]}, rates={"n1": {"a": 1.0}}) | {"network": {"kind": "line", "nodes": 1}}
    shown = simulate(check(data))
    assert shown.verdict == "valid"
    assert shown.results["equilibrium"] is True


def test_an_item_that_nobody_wants_may_stay_where_it_is() -> None:
    shown = simulate(check(scenario(rates={"n1": {"a": 1.0}, "n2": {"a": 0.0}})))
    assert shown.verdict == "valid"
    assert "b" in shown.results["placement"]["n1"]


def test_replacing_costs_what_it_costs() -> None:
    """Fetching over many hops does not pay when requests are few."""
    rates = {"n1": {"a": 1.0, "b": 1.0}, "n2": {"a": 1.0, "b": 1.0}}
    free = simulate(check(scenario(rates=rates)))
    dear = simulate(check(scenario(rates=rates, replacement_cost=5.0)))
    assert free.results["replacements"]["mean"] > 0
    assert dear.results["replacements"]["mean"] == 0
    assert free.verdict == dear.verdict == "valid"


def test_a_sparse_start_has_every_item_once_and_random_fills_the_rest() -> None:
    keys = {"sizes": {"a": 1, "b": 1, "c": 1}, "capacity": 3, "rates": {"n1": {"a": 1.0}}}
    sparse = [item for held in problem(**keys, placement="sparse").placement.values() for item in held]
    filled = [item for held in problem(**keys, placement="random").placement.values() for item in held]
    assert sorted(sparse) == ["a", "b", "c"]
    assert sorted(filled) == ["a", "a", "b", "b", "c", "c"]
