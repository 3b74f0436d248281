"""Content, cost and the centralised algorithms of minimum-cost overlays, beside slow and obvious ones."""

from __future__ import annotations

from itertools import product
from random import Random

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from protocols.overlay import clustering, mixing, moves
from protocols.overlay.clustering import best_pair, two_stage_clustering
from protocols.overlay.content import ContentSpace, Instance, draw_boxes, draw_quadratics
from protocols.overlay.cost import SpanningTrees, loads, spanning_tree, total_cost
from protocols.overlay.mixing import link_weights, steiner_mixing
from protocols.overlay.moves import descend
from protocols.overlay.optimum import NoOptimum, optimal_assignment
from protocols.overlay.packing import NoRoom, greedy_packing, least_access_cost, random_assignment
from tests.protocols import overlay_by_the_letter as letter
from tests.protocols.overlay_cases import Small, instances

MANY = settings(max_examples=60)
ROOMY = 40.0  # so that capacities never decide

ALGORITHMS = {
    "random": lambda instance: random_assignment(instance, Random(1)),
    "packing": greedy_packing,
    "clustering": two_stage_clustering,
    "mixing": lambda instance: steiner_mixing(instance, Random(1)),
    "descent": lambda instance: descend(instance, random_assignment(instance, Random(1)))[0],
}


# The content space


@MANY
@given(st.integers(0, 2**32), st.integers(1, 12))
def test_a_histogram_is_the_integral_of_what_is_positive(seed: int, intervals: int) -> None:
    space = ContentSpace(intervals)
    (quadratic,) = quadratics = draw_quadratics(1, 1, Random(seed))
    a, b, c = quadratic[0]
    fine = (np.arange(intervals * 4000) + 0.5) / (intervals * 4000)
    sampled = np.maximum(a * fine**2 + b * fine + c, 0).reshape(intervals, -1).mean(axis=1) / intervals
    assert np.allclose(space.histogram(quadratics)[0], sampled, atol=1e-6)


@MANY
@given(st.integers(0, 2**32), st.integers(1, 6), st.integers(1, 3))
def test_a_point_of_a_box_lies_in_one_of_its_channels(seed: int, intervals: int, dimensions: int) -> None:
    space, rng = ContentSpace(intervals, dimensions), Random(seed)
    boxes = draw_boxes(5, dimensions, rng)
    encoded = space.encode(boxes)
    assert encoded.shape == (5, space.channels)
    for box, channels in zip(boxes, encoded, strict=True):
        point = [low + rng.random() * (high - low) for low, high in box]
        assert channels[space.channel(point)] == 1
        corners = np.array([space.corner(channel) for channel in range(space.channels)])
        meets = ((corners < box[:, 1]) & (corners + 1 / intervals > box[:, 0])).all(axis=1)
        assert (meets == channels).all()


def test_channels_and_their_corners_agree() -> None:
    space = ContentSpace(3, 2)
    assert [space.channel([x + 0.1 for x in space.corner(channel)]) for channel in range(9)] == list(range(9))
    assert space.channel([1.0, 1.0]) == 8


@MANY
@given(instances())
def test_demand_is_what_the_traffic_matrix_adds_up_to(case: Small) -> None:
    instance = case.instance()
    matrix = instance.traffic()
    assert np.allclose(instance.demand, instance.rates.sum(axis=1) + matrix.sum(axis=0))


# The cost


@MANY
@given(instances(most_users=9, factor=ROOMY))
def test_the_cost_is_that_of_each_publication_on_its_own(case: Small) -> None:
    instance = case.instance()
    assignment = random_assignment(instance, Random(case.seed))
    assert total_cost(instance, assignment) == pytest.approx(letter.total_cost(instance, assignment))


def test_a_message_crosses_a_link_once_however_many_want_it() -> None:
    one = Instance(
        rates=np.array([[2.0], [0.0], [0.0], [0.0]]),
        interests=np.array([[0.0], [1.0], [1.0], [1.0]]),
        access=np.full((4, 3), 1.0),
        core=np.array([[0.0, 1.0, 2.0], [1.0, 0.0, 1.0], [2.0, 1.0, 0.0]]),
        capacity=np.full(3, 100.0),
    )
    # Publisher at the first broker, one subscriber at the second, two at the third: 4 access links and a line of 2.
    assert total_cost(one, np.array([0, 1, 2, 2])) == 2.0 * (4 + 2)


def test_all_find_the_same_tree_where_costs_are_equal() -> None:
    assert spanning_tree(np.ones((4, 4)), np.array([1, 2, 3])) == [(1, 2, 1.0), (1, 3, 1.0)]
    assert SpanningTrees(np.ones((4, 4))).weight(np.array([True, False, True, True])) == 2.0


# The algorithms


@MANY
@given(instances())
def test_packing_is_algorithm_1(case: Small) -> None:
    instance = case.instance()
    try:
        found = greedy_packing(instance).tolist()
    except NoRoom:
        assert -1 in letter.greedy_packing(instance)
    else:
        assert found == letter.greedy_packing(instance)


@MANY
@given(instances(factor=ROOMY))
def test_clustering_is_algorithm_2(case: Small) -> None:
    instance = case.instance()
    assert two_stage_clustering(instance).tolist() == letter.two_stage_clustering(instance)


def test_the_best_pair_is_found_among_many(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(clustering, "FIRST_LOOK", 3)
    for seed in range(20):
        instance = Small(60, 2, seed).instance()
        sent = instance.traffic()
        cost = instance.access[:, 1]
        ratio = np.triu((sent + sent.T) / (cost[:, None] + cost), 1)
        assert best_pair(instance, 1, np.ones(60, dtype=bool)) == divmod(int(ratio.argmax()), 60)


@settings(max_examples=60)
@given(instances(most_users=20, most_brokers=8))
@example(Small(40, 6, 1))
@example(Small(30, 10, 2, ratio=10.0))
@example(Small(30, 10, 3, ratio=3.0, dimensions=2, intervals=2))
def test_mixing_weighs_links_as_all_trees_of_algorithm_3_do(case: Small) -> None:
    instance = case.instance()
    assert np.allclose(link_weights(instance), letter.link_weights(instance))


def test_the_publisher_is_no_subscriber_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    def shared(near: mixing.Ways, start: int) -> tuple[object, set[int]]:
        return grow(near, start)[0], set()

    grow = mixing.grow
    rare = Small(12, 3, 3379, intervals=2, ratio=3.0).instance()
    assert np.allclose(link_weights(rare), letter.link_weights(rare))
    monkeypatch.setattr(mixing, "grow", shared)
    assert not np.allclose(link_weights(rare), letter.link_weights(rare))


@pytest.mark.parametrize("name", ALGORITHMS)
@MANY
@given(case=instances(most_users=30))
def test_every_user_is_on_one_broker_within_capacity(name: str, case: Small) -> None:
    instance = case.instance()
    try:
        assignment = ALGORITHMS[name](instance)
    except NoRoom:
        return
    assert assignment.shape == (case.users,) and set(assignment.tolist()) <= set(range(case.brokers))
    assert (loads(instance, assignment) <= instance.capacity * (1 + 1e-6)).all()
    assert total_cost(instance, assignment) >= least_access_cost(instance) - 1e-9


@pytest.mark.parametrize("name", ALGORITHMS)
def test_where_no_broker_has_room_it_says_for_whom(name: str) -> None:
    instance = Small(6, 2, 3, factor=0.5).instance()
    with pytest.raises(NoRoom, match="no broker has room for user"):
        ALGORITHMS[name](instance)


@MANY
@given(instances(most_users=12, most_brokers=4, factor=ROOMY))
def test_a_move_changes_the_cost_by_what_it_promised(case: Small) -> None:
    instance = case.instance()
    assignment = random_assignment(instance, Random(case.seed))
    trees = SpanningTrees(instance.core)
    view = moves.View(moves.Aggregates.of(instance, assignment), loads(instance, assignment), instance.capacity, trees)
    before = total_cost(instance, assignment)
    for user in range(instance.users):
        about = moves.Candidate(
            instance.rates[user], instance.interests[user], instance.access[user], instance.demand[user]
        )
        changes = view.changes(int(assignment[user]), about)
        for broker in range(instance.brokers):
            moved = assignment.copy()
            moved[user] = broker
            assert total_cost(instance, moved) - before == pytest.approx(changes[broker], abs=1e-9)


# The optimum


def brute_force(instance: Instance) -> float:
    possible = map(np.array, product(range(instance.brokers), repeat=instance.users))
    fits = (a for a in possible if (loads(instance, a) <= instance.capacity * (1 + 1e-9)).all())
    trees = SpanningTrees(instance.core)
    return min((total_cost(instance, a, trees) for a in fits), default=np.inf)


@settings(max_examples=25)
@given(instances(most_users=5, most_brokers=3))
def test_the_integer_program_finds_what_brute_force_finds(case: Small) -> None:
    instance = case.instance()
    least = brute_force(instance)
    if least == np.inf:
        with pytest.raises(NoOptimum):
            optimal_assignment(instance)
    else:
        assert total_cost(instance, optimal_assignment(instance)) == pytest.approx(least, rel=1e-6, abs=1e-9)


def test_no_algorithm_beats_the_optimum() -> None:
    for seed in range(4):
        instance = Small(9, 3, seed, ratio=0.2).instance()
        least = total_cost(instance, optimal_assignment(instance))
        for algorithm in ALGORITHMS.values():
            assert total_cost(instance, algorithm(instance)) >= least - 1e-9


def test_too_many_brokers_for_the_optimum_are_refused() -> None:
    with pytest.raises(NoOptimum, match="7 brokers are too many"):
        optimal_assignment(Small(3, 7, 1).instance())
