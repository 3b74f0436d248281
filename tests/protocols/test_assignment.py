"""Which store holds what: seq, wrr, the baselines, the exact optimum (planning, 5.3 step 4, 5.4, 5.5)."""

from __future__ import annotations

import itertools
import random
from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from protocols.storage import assignment
from protocols.storage.assignment import (
    ALGORITHMS,
    Planner,
    assign,
    assign_at_random,
    gain,
    relative_weights,
    traffic,
    wrr_rounds,
)
from protocols.storage.assignment_optimum import best_assignment
from protocols.storage.planning import Unsatisfiable, possible_stores, weights
from protocols.storage.workload import zipf_demand
from tests.protocols.test_planning import RATES, S_T, distances, random_tree

# The worked example


@pytest.mark.parametrize("algorithm", ["seq", "wrr"])
def test_the_assignment_of_the_worked_example(algorithm: str) -> None:
    stores = [2, 4, 1]  # the paper's nodes 3, 5, 2
    holders = assign(S_T, weights(RATES), [2, 2, 2], stores, 2, algorithm)  # type: ignore[arg-type]
    a, b, c = ([place + 1 for place in places] for places in holders)
    assert (b, a, c) == ([3, 5], [2, 3], [2, 5])


def test_the_wrr_rounds_of_the_worked_example() -> None:
    relative = relative_weights(weights(RATES))
    assert relative == [3, 5, 1]
    assert wrr_rounds(relative, [6, 6, 6]) == [[3, 5, 1], [3, 1, 1], [0, 0, 4]]


def test_the_relative_weights_of_the_text() -> None:
    assert relative_weights(np.array([0.375, 0.125, 0.25, 0.25])) == [3, 1, 2, 2]


# Capacity and degree


@st.composite
def tables(draw: st.DrawFn) -> tuple[np.ndarray, np.ndarray, list[int], int, int]:
    """Vectors, weights, degrees, stores and a capacity that can be kept, often only just."""
    topics, stores, capacity = draw(st.integers(1, 6)), draw(st.integers(1, 7)), draw(st.integers(1, 4))
    left, degrees = stores * capacity, []
    for place in range(topics):
        most = min(stores, left - (topics - place - 1))
        degrees.append(draw(st.integers(min(1, most), most)) if most > 0 else 0)
        left -= degrees[-1]
    vectors = draw(
        st.lists(st.lists(st.integers(0, 4), min_size=stores, max_size=stores), min_size=topics, max_size=topics)
    )
    weight = draw(st.lists(st.integers(1, 9), min_size=topics, max_size=topics))
    return np.array(vectors, dtype=float), np.array(weight) / sum(weight), degrees, stores, capacity


@settings(max_examples=400)
@given(tables(), st.sampled_from(["seq", "wrr", "rnd"]), st.integers(0, 99))
def test_capacity_and_degree_are_always_kept(table, algorithm: str, seed: int) -> None:  # type: ignore[no-untyped-def]
    vectors, weight, degrees, stores, capacity = table
    if algorithm == "rnd":
        holders = assign_at_random(degrees, range(stores), capacity, random.Random(seed))
    else:
        holders = assign(vectors, weight, degrees, range(stores), capacity, algorithm)  # type: ignore[arg-type]
    assert [len(held) for held in holders] == degrees
    assert all(len(set(held)) == len(held) for held in holders)
    assert max(Counter(itertools.chain(*holders)).values(), default=0) <= capacity


def test_without_making_room_a_topic_would_stay_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """A test of the test: the cases include those in which all stores with room hold the topic already."""
    table = (np.array([[3.0, 2.0], [3.0, 2.0], [3.0, 2.0]]), np.array([0.5, 0.3, 0.2]), [1, 1, 2], 2, 2)
    test_capacity_and_degree_are_always_kept.hypothesis.inner_test(table, "seq", 0)  # type: ignore[attr-defined]
    monkeypatch.setattr(assignment.Shelves, "make_room", lambda self, topic, without: without[0])
    with pytest.raises(AssertionError):
        test_capacity_and_degree_are_always_kept.hypothesis.inner_test(table, "seq", 0)  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("degrees", "told"), [([3, 1], "needs as many stores; there are 2"), ([2, 2, 2], "6 replicas do not fit")]
)
def test_what_cannot_be_kept_is_refused(degrees: list[int], told: str) -> None:
    with pytest.raises(Unsatisfiable, match=told):
        assign(np.ones((len(degrees), 2)), np.ones(len(degrees)), degrees, [0, 1], 2)


def test_the_heaviest_topic_chooses_first() -> None:
    vectors = np.array([[5.0, 1.0], [5.0, 1.0]])
    assert assign(vectors, np.array([0.4, 0.6]), [1, 1], [0, 1], 1) == ((1,), (0,))


def test_wrr_lets_lighter_topics_choose_before_the_heavy_one_has_all() -> None:
    # One place on each of four stores; all topics like store 0 best, then 1, then 2, then 3.
    vectors, weight = np.array([[4.0, 3.0, 2.0, 1.0]] * 2), np.array([0.5, 0.5])
    assert assign(vectors, weight, [2, 2], range(4), 1, "seq") == ((0, 1), (2, 3))
    assert assign(vectors, weight, [2, 2], range(4), 1, "wrr") == ((0, 2), (1, 3))


# Whole plans


def planner(algorithm: str, size: int = 40, seed: int = 1, **more: int) -> Planner:
    return Planner(distances(random_tree(size, seed)), 4, algorithm, **more)  # type: ignore[arg-type]


PLANS = {"stores": {"stores": 8}, "degrees": {"min_degree": 2}}


@settings(max_examples=60)
@given(
    st.sampled_from(ALGORITHMS),
    st.sampled_from(list(PLANS)),
    st.integers(0, 99),
    st.floats(-1.5, 1.5),
    st.floats(-1.5, 1.5),
)
def test_plans_keep_their_constraints(algorithm: str, given_: str, seed: int, popularity: float, local: float) -> None:
    maker = planner(algorithm, 40, seed, **PLANS[given_])
    demand = zipf_demand(maker.distance, [seed % 40] * 5, 25.0, popularity, local)
    try:
        plan = maker.plan(demand, random.Random(seed))
    except Unsatisfiable:
        assert given_ == "degrees"  # a topic that is asked for forty times as often needs all brokers
        return
    assert [len(held) for held in plan.holders] == list(plan.degrees)
    assert {store for held in plan.holders for store in held} <= {*plan.stores}
    if algorithm == "grd_opt":
        assert {store for held in plan.holders for store in held} == {*plan.stores}
        return
    assert max(Counter(itertools.chain(*plan.holders)).values()) <= 4
    assert len(plan.stores) == len(set(plan.stores)) == (8 if given_ == "stores" else maker.sizes(demand)[1])


def test_grd_opt_takes_the_stores_of_step_1_whatever_they_can_hold() -> None:
    maker = planner("grd_opt", stores=8)
    demand = zipf_demand(maker.distance, list(range(7)), 25.0, 0.5, 0.5)
    plan = maker.plan(demand)
    vectors = possible_stores(maker.distance, demand, plan.degrees)
    for vector, held in zip(vectors, plan.holders, strict=True):
        assert min(vector[list(held)]) >= max(np.delete(vector, list(held)))


def test_rnd_does_not_tell_topics_apart() -> None:
    maker = planner("rnd", stores=8)
    demand = zipf_demand(maker.distance, list(range(7)), 25.0, 0.5, 0.5)
    plans = [maker.plan(demand, random.Random(seed)) for seed in range(5)]
    together = zipf_demand(maker.distance, list(range(7)), 25.0, 0.5, 0.5).sum(axis=0, keepdims=True)
    assert len({plan.stores for plan in plans}) == 1 and len({plan.holders for plan in plans}) > 1
    assert {*plans[0].stores} == {*maker.plan(together, random.Random(0)).stores}


def test_reassignment_keeps_the_stores_and_follows_the_demand() -> None:
    maker = planner("wrr", stores=8)
    before, after = (zipf_demand(maker.distance, list(range(10)), 25.0, s, 0.0) for s in (-1.0, 1.0))
    old = maker.plan(before)
    new = maker.reassign(after, old.stores)
    assert new.stores == old.stores
    assert list(old.degrees) == sorted(old.degrees) and list(new.degrees) == sorted(new.degrees, reverse=True)
    assert maker.mean_hops(after, new.holders) < maker.mean_hops(after, old.holders)
    with pytest.raises(Unsatisfiable, match="rnd has no reassignment"):
        planner("rnd", stores=8).reassign(after, old.stores)


# The cost model


@given(st.integers(0, 99), st.integers(1, 4))
def test_the_traffic_is_that_of_everybody_asking_the_nearest(seed: int, topics: int) -> None:
    dice = np.random.default_rng(seed)
    distance, demand = distances(random_tree(12, seed)), dice.uniform(0, 5, (topics, 12))
    holders = [dice.choice(12, size=3, replace=False).tolist() for _ in range(topics)]
    expected = sum(
        demand[t, client] * min(distance[client, store] for store in holders[t])
        for t in range(topics)
        for client in range(12)
    )
    assert np.isclose(traffic(distance, demand, holders), expected)


def test_what_nobody_holds_cannot_be_had_and_what_nobody_asks_for_costs_nothing() -> None:
    distance = distances(random_tree(3, 1))
    assert traffic(distance, np.array([[1.0, 0, 0]]), [[]]) == np.inf
    assert traffic(distance, np.zeros((1, 3)), [[]]) == 0
    assert (gain(2.0, 1.0), gain(0.0, 1.0), gain(1.0, 1.0)) == (0.5, 0.0, 0.0)


# The exact optimum


def brute_force(maker: Planner, demand: np.ndarray, degrees: list[int], stores: list[int]) -> float:
    choices = [itertools.combinations(stores, k) for k in degrees]
    return min(
        traffic(maker.distance, demand, holders)
        for holders in itertools.product(*choices)
        if max(Counter(itertools.chain(*holders)).values()) <= maker.capacity
    )


@settings(max_examples=25)
@given(st.integers(0, 999), st.sampled_from(["seq", "wrr"]))
def test_the_optimum_is_that_of_brute_force_and_no_assignment_is_better(seed: int, algorithm: str) -> None:
    maker = Planner(distances(random_tree(10, seed)), 2, algorithm, stores=4)  # type: ignore[arg-type]
    demand = np.random.default_rng(seed).integers(0, 6, (3, 10)).astype(float)
    plan = maker.plan(demand)
    best = best_assignment(maker.distance, demand, plan.degrees, plan.stores, 2)
    assert [len(held) for held in best] == list(plan.degrees)
    assert max(Counter(itertools.chain(*best)).values()) <= 2
    least = brute_force(maker, demand, list(plan.degrees), list(plan.stores))
    assert np.isclose(traffic(maker.distance, demand, best), least)
    assert traffic(maker.distance, demand, plan.holders) >= least - 1e-9


def test_the_optimum_of_a_large_instance_is_refused() -> None:
    with pytest.raises(ValueError, match="too many for the exact optimum"):
        best_assignment(np.zeros((2000, 2000)), np.ones((5, 2000)), [1] * 5, range(10), 5)
