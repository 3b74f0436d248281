"""Where stores go: greedy against brute force, weights and degrees by the paper's rules (planning, 5.1 to 5.3, 6.1)."""

from __future__ import annotations

import itertools

import networkx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from protocols.storage.planning import (
    NOBODY,
    Unsatisfiable,
    degrees_from_minimum,
    degrees_from_stores,
    greedy,
    hop_distances,
    possible_stores,
    storage_brokers,
    stores_needed,
    weights,
)
from protocols.storage.workload import localities, popularities, zipf_demand


def random_tree(size: int, seed: int) -> networkx.Graph:
    return networkx.random_labeled_tree(size, seed=seed)


def distances(graph: networkx.Graph) -> np.ndarray:
    return hop_distances([sorted(graph[node]) for node in sorted(graph)])


TREES = st.builds(random_tree, st.integers(1, 12), st.integers(0, 2**32 - 1))


@given(TREES)
def test_distances_are_those_of_breadth_first_search(tree: networkx.Graph) -> None:
    found = distances(tree)
    for node, hops in networkx.all_pairs_shortest_path_length(tree):
        assert {other: found[node, other] for other in tree} == hops


# Greedy


def obvious_traffic(distance: np.ndarray, demand: np.ndarray, places: list[int]) -> float:
    return sum(rate * min(distance[client, place] for place in places) for client, rate in enumerate(demand))


def obvious_greedy(distance: np.ndarray, demand: np.ndarray, k: int, target: int) -> list[int]:
    """The rule word for word: one node at a time, each time the one that leaves the least traffic."""
    chosen: list[int] = []
    for _ in range(k):
        now = obvious_traffic(distance, demand, [target, *chosen])
        gains = [now - obvious_traffic(distance, demand, [target, *chosen, node]) for node in range(len(distance))]
        best = max(gains)
        if best <= 1e-9:
            break
        chosen.append(next(node for node, gain in enumerate(gains) if gain >= best - 1e-9 * max(1, best)))
    return chosen


@settings(max_examples=150)
@given(TREES, st.integers(1, 6), st.data())
def test_greedy_chooses_what_the_rule_says_for_every_target(tree: networkx.Graph, k: int, data: st.DataObject) -> None:
    distance = distances(tree)
    rates = data.draw(st.lists(st.integers(0, 20), min_size=len(tree), max_size=len(tree)))
    demand = np.array(rates, dtype=float)
    chosen = greedy(distance, demand, k)
    for target in tree:
        picks = [int(node) for node in chosen[target] if node != NOBODY]
        assert picks == obvious_greedy(distance, demand, k, target)


@settings(max_examples=60)
@given(TREES, st.integers(1, 4), st.integers(0, 2**32 - 1))
def test_greedy_is_near_brute_force_on_small_trees(tree: networkx.Graph, k: int, seed: int) -> None:
    """What k stores take away is at least 1 - 1/e of what the best k would (the gain is submodular)."""
    distance, demand = distances(tree), np.random.default_rng(seed).uniform(0, 10, len(tree))
    target = seed % len(tree)
    without = obvious_traffic(distance, demand, [target])
    picks = [int(node) for node in greedy(distance, demand, k, [target])[0] if node != NOBODY]
    won = without - obvious_traffic(distance, demand, [target, *picks])
    most = max(
        without - obvious_traffic(distance, demand, [target, *places])
        for places in itertools.combinations(range(len(tree)), min(k, len(tree)))
    )
    assert won >= (1 - 1 / np.e) * most - 1e-9
    assert won <= most + 1e-9


@given(TREES, st.integers(1, 5), st.integers(0, 2**32 - 1))
def test_the_choices_for_a_smaller_k_are_the_first_of_those_for_a_larger(
    tree: networkx.Graph, k: int, seed: int
) -> None:
    distance, demand = distances(tree), np.random.default_rng(seed).uniform(0, 10, len(tree))
    assert (greedy(distance, demand, k + 2)[:, :k] == greedy(distance, demand, k)).all()


def test_a_node_never_gains_from_being_the_target_itself() -> None:
    distance, demand = distances(random_tree(10, 1)), np.ones(10)
    chosen = greedy(distance, demand, 9)
    assert all(target not in chosen[target] for target in range(10))


def test_a_vector_counts_how_often_each_node_is_chosen() -> None:
    distance, demand = distances(random_tree(9, 4)), np.random.default_rng(4).uniform(0, 5, (2, 9))
    vectors = possible_stores(distance, demand, [2, 3])
    for topic, k in enumerate((2, 3)):
        counted = np.zeros(9)
        for target in range(9):
            counted[obvious_greedy(distance, demand[topic], k, target)] += 1
        assert (vectors[topic] == counted).all()
        assert vectors[topic].sum() == 9 * k


def test_where_publications_occur_weighs_the_targets() -> None:
    distance, demand = distances(random_tree(9, 4)), np.random.default_rng(4).uniform(0, 5, (1, 9))
    certain = np.eye(9)[5]
    (vector,) = possible_stores(distance, demand, [3], certain)
    assert sorted(np.flatnonzero(vector)) == sorted(obvious_greedy(distance, demand[0], 3, 5))
    assert (possible_stores(distance, demand, [3], np.ones(9)) == possible_stores(distance, demand, [3])).all()


def test_topics_that_are_asked_for_alike_have_the_same_vector() -> None:
    distance = distances(random_tree(30, 2))
    demand = zipf_demand(distance, [0] * 4, 25.0, 1.0, 0.0)
    vectors = possible_stores(distance, demand, [5, 5, 5, 5])
    alone = [possible_stores(distance, row[None], [5])[0] for row in demand]
    assert all((vector == vectors[0]).all() for vector in [*vectors, *alone])


# The worked example, from step 2 on (the topology of Fig. 3 is a picture)

S_T = np.array([[0, 3, 5, 0, 2, 2], [0, 2, 5, 0, 5, 0], [0, 2, 5, 0, 5, 0]], dtype=float)
RATES = np.array([[17.0], [27.0], [6.0]])


def test_the_weights_of_the_worked_example() -> None:
    assert weights(RATES).tolist() == [0.34, 0.54, 0.12]


def test_the_weighted_vectors_of_the_worked_example() -> None:
    weighted = weights(RATES)[:, None] * S_T
    assert weighted.round(2).tolist() == [
        [0, 1.02, 1.7, 0, 0.68, 0.68],
        [0, 1.08, 2.7, 0, 2.7, 0],
        [0, 0.24, 0.6, 0, 0.6, 0],
    ]
    assert weighted.sum(axis=0).round(2).tolist() == [0, 2.34, 5, 0, 3.98, 0.68]


def test_the_storage_brokers_of_the_worked_example() -> None:
    assert [place + 1 for place in storage_brokers(S_T, weights(RATES), 3)] == [3, 5, 2]


# Degrees


def test_degrees_from_a_minimum() -> None:
    # Zipf with exponent 1: the first of ten topics is ten times as popular as the last.
    degrees = degrees_from_minimum(popularities(10, 1.0), 2)
    assert degrees == [20, 10, 7, 5, 4, 4, 3, 3, 3, 2]
    assert stores_needed(degrees, 5) == 20
    assert stores_needed(degrees, 2) == 31


WEIGHTS = st.lists(st.floats(0, 100), min_size=1, max_size=12).map(lambda rates: weights(np.array(rates)[:, None]))


@given(WEIGHTS, st.integers(1, 30), st.integers(1, 8), st.integers(1, 3))
def test_degrees_for_given_stores_keep_the_constraints(
    weight: np.ndarray, stores: int, capacity: int, least: int
) -> None:
    topics = len(weight)
    if least > stores or topics * least > capacity * stores:
        with pytest.raises(Unsatisfiable, match="do not fit"):
            degrees_from_stores(weight, stores, capacity, least)
        return
    degrees = degrees_from_stores(weight, stores, capacity, least)
    assert all(least <= k <= stores for k in degrees)
    assert sum(degrees) == min(capacity, topics) * stores  # the constraint (4), and no place is wasted
    heavier = sorted(range(topics), key=lambda t: weight[t])
    assert all(degrees[a] <= degrees[b] + 1 for a, b in itertools.pairwise(heavier))


def test_degrees_are_in_proportion_where_nothing_stands_against_it() -> None:
    assert degrees_from_stores(np.array([0.5, 0.3, 0.2]), 10, 1) == [5, 3, 2]
    assert degrees_from_stores(np.array([0.9, 0.06, 0.04]), 4, 2) == [4, 2, 2]


# The workload


def test_popularity_and_locality_are_zipf() -> None:
    assert popularities(10, 0.0).tolist() == [0.1] * 10
    assert popularities(4, -1.0).tolist() == [0.1, 0.2, 0.3, 0.4]
    assert localities(4, 1.0).tolist() == [1, 1 / 2, 1 / 3, 1 / 4]
    assert localities(4, -1.0).tolist() == [1 / 4, 1 / 2, 3 / 4, 1]


@given(st.integers(0, 1000), st.floats(-2, 2), st.floats(-2, 2))
def test_a_topic_is_requested_around_its_centre(seed: int, popularity: float, locality: float) -> None:
    distance = distances(random_tree(40, seed))
    centre = seed % 40
    demand = zipf_demand(distance, [centre] * 5, 25.0, popularity, locality)
    for row, share, popular in zip(demand, localities(5, locality), popularities(5, popularity), strict=True):
        asking = np.flatnonzero(row)
        assert len(asking) in (np.ceil(share * 40), np.ceil(share * 40 - 1e-6))
        assert np.allclose(row[asking], 25 * popular)
        inside, outside = distance[centre, asking], np.delete(distance[centre], asking)
        assert len(outside) == 0 or inside.max() <= outside.min()
