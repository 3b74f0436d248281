"""The optimum of problem (3): the same as trying everything, never below its bound, never beaten by a run."""

from __future__ import annotations

import random
from itertools import combinations, product
from typing import Any

import networkx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog

from agents.replica_gap import gap_percent, instance_of
from protocols.storage.replicas.optimum import Instance, lower_bound, optimum
from runtime.errors import ScenarioError
from runtime.run import simulate
from runtime.scenario import check, load
from tests.protocols.replicas_cases import Case

CLOSE = 1e-6


def tiny(seed: int) -> Instance | None:
    """At most four stores and three items; None if the stores cannot hold every item once."""
    dice = random.Random(seed)
    stores, items = dice.randint(1, 4), dice.randint(1, 3)
    graph = networkx.random_labeled_tree(stores, seed=seed)
    if stores > 2 and dice.random() < 0.5:
        graph.add_edge(*dice.sample(range(stores), 2))
    far = dict(networkx.all_pairs_shortest_path_length(graph))
    sizes = np.array([dice.choice([1, 1, 2, 2.5]) for _ in range(items)])
    weights = np.array([[dice.choice([0, 1, dice.uniform(0, 5)]) for _ in range(stores)] for _ in range(items)])
    instance = Instance(
        np.array([[far[a][b] for b in range(stores)] for a in range(stores)]),
        weights * sizes[:, np.newaxis],
        sizes,
        np.array([dice.choice([0.5, 1, 2, 3.0]) for _ in range(stores)]),
    )
    return instance if least_by_trying(instance) < np.inf else None


def least_by_trying(instance: Instance) -> float:
    """Every content that fits in every store, and the traffic of all of that together."""
    items, stores = instance.weights.shape
    subsets = [held for count in range(items + 1) for held in combinations(range(items), count)]
    contents = [
        [held for held in subsets if sum(instance.sizes[item] for item in held) <= instance.capacities[store]]
        for store in range(stores)
    ]
    return min(traffic_by_hand(instance, held) for held in product(*contents))


def traffic_by_hand(instance: Instance, contents: tuple[tuple[int, ...], ...]) -> float:
    total = 0.0
    for item, weights in enumerate(instance.weights):
        holders = [store for store, held in enumerate(contents) if item in held]
        if not holders:
            return np.inf
        total += sum(weight * min(instance.hops[y][v] for v in holders) for y, weight in enumerate(weights))
    return total


@settings(max_examples=80)
@given(st.integers(0, 2**32 - 1).map(tiny).filter(lambda instance: instance is not None))
def test_the_optimum_is_what_trying_everything_finds(instance: Instance) -> None:
    least = least_by_trying(instance)
    best = optimum(instance)
    assert best is not None
    assert instance.traffic(best) == pytest.approx(least, abs=CLOSE)
    assert (best.T @ instance.sizes <= instance.capacities + CLOSE).all()
    assert 0 <= lower_bound(instance) <= least + CLOSE


def test_an_instance_without_a_configuration_has_no_optimum() -> None:
    hops = np.array([[0, 1], [1, 0]])
    assert optimum(Instance(hops, np.ones((3, 2)), np.ones(3), np.ones(2))) is None


@pytest.mark.parametrize("stores,capacity", [(3, 3.0), (1, 3.0)])
def test_where_everything_fits_everywhere_there_is_no_traffic(stores: int, capacity: float) -> None:
    hops = np.abs(np.subtract.outer(np.arange(stores), np.arange(stores)))
    instance = Instance(hops, np.ones((3, stores)), np.ones(3), np.full(stores, capacity))
    assert lower_bound(instance) == 0
    best = optimum(instance)
    assert best is not None and best.all()


@settings(max_examples=25)
@given(st.integers(2, 7), st.integers(1, 5), st.integers(0, 2**32))
def test_no_run_is_better_than_the_optimum(stores: int, items: int, seed: int) -> None:
    for options in ({"protocol": "holistic"}, {"protocol": "myopic"}, {"search": "knapsack"}):
        data = Case(stores, items, seed, **options).scenario()  # type: ignore[arg-type]
        data["storage"]["optimum"] = "exact"
        results = simulate(check(data)).results
        assert results["optimum"] <= results["ont"] + CLOSE
        assert results["gap_percent"] is None or results["gap_percent"] >= -CLOSE
    data["storage"]["optimum"] = "bound"
    assert simulate(check(data)).results["optimum"] <= results["optimum"] + CLOSE


def test_the_bound_is_what_the_dense_rows_give() -> None:
    """The rows written out level by level ("nothing within k hops") have the same relaxation."""
    scenario = check(Case(7, 4, 5).scenario())
    problem = scenario.system.problem  # type: ignore[attr-defined]
    instance = instance_of(problem, scenario.network.graph(), problem.rates_at(0.0))
    items, stores = instance.weights.shape
    levels = instance.levels
    rows, limits = [], []
    for item, y, k in product(range(items), range(stores), range(levels + 1)):
        row = np.zeros(items * stores * (1 + levels))
        row[item * stores : (item + 1) * stores] = np.where(instance.hops[y] <= k, -1.0, 0.0)
        if k < levels:
            row[items * stores + (item * stores + y) * levels + k] = -1
        rows.append(row)
        limits.append(-1.0)
    for store in range(stores):
        row = np.zeros(items * stores * (1 + levels))
        row[store : items * stores : stores] = instance.sizes
        rows.append(row)
        limits.append(instance.capacities[store])
    bounds = [(0, most) for most in instance.most]
    dense = linprog(instance.costs, A_ub=np.array(rows), b_ub=limits, bounds=bounds)
    assert lower_bound(instance) == pytest.approx(dense.fun, rel=1e-5)


# In a scenario


def paper_example(**storage: Any) -> dict[str, Any]:
    data = load("holistic").data | {}
    return data | {"storage": data["storage"] | storage}


def test_the_equilibrium_of_the_paper_s_example_is_the_optimum() -> None:
    results = simulate(check(paper_example(optimum="exact"))).results
    assert results["ont"] == pytest.approx(5.2)
    assert results["optimum"] == pytest.approx(5.2)
    assert results["gap_percent"] == pytest.approx(0)
    results = simulate(check(paper_example(optimum="bound"))).results
    assert 0 < results["optimum"] <= 5.2 + CLOSE


def test_nobody_asks_nothing_is_computed() -> None:
    results = simulate(check(paper_example())).results
    assert results["optimum"] is None and results["gap_percent"] is None


def test_what_is_down_at_the_end_leaves_no_optimum() -> None:
    data = paper_example(optimum="exact", patience=30) | {"faults": [{"kind": "crash", "nodes": ["n3"], "at": 60}]}
    assert simulate(check(data)).results["optimum"] is None


def large(how: str, stores: int, items: int) -> dict[str, Any]:
    return {
        "protocol": "holistic",
        "network": {"kind": "random-tree", "nodes": stores},
        "storage": {"capacity": 50, "items": {"count": items}, "popularity": "zipf(0.7)", "optimum": how},
    }


@pytest.mark.parametrize("how,stores,items,instead", [("exact", 17, 10, "bound"), ("bound", 200, 20, "none")])
def test_what_is_too_large_is_refused_before_the_run(how: str, stores: int, items: int, instead: str) -> None:
    with pytest.raises(ScenarioError) as caught:
        check(large(how, stores, items))
    assert caught.value.key == "storage.optimum"
    assert caught.value.problem.startswith(f"there are {stores} stores and {items} items: too many")
    assert caught.value.problem.endswith(f'write "{instead}"')


@pytest.mark.full
def test_a_bound_for_the_paper_s_size() -> None:
    results = simulate(check(large("bound", 120, 20))).results
    assert 0 < results["gap_percent"] < 15


def test_a_gap_above_nothing_is_no_percentage() -> None:
    assert gap_percent(3.0, None) is None
    assert gap_percent(3.0, 0.0) is None
    assert gap_percent(0.0, 0.0) == 0
    assert gap_percent(3.0, 2.0) == 50
