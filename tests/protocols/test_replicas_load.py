"""Storage load in the decision: differences are exact, J never rises under a single writer, load evens out."""

from __future__ import annotations

import random
from dataclasses import replace
from typing import Any

import networkx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agents.replica_load import peak_load, unbalanced
from agents.replicas import ReplicasSystem
from protocols.storage.replicas.decision import Policy, holistic, worth
from protocols.storage.replicas.load import choose_balanced, exchanging, loads
from protocols.storage.replicas.topology import Topology
from protocols.storage.replicas.view import View
from runtime.errors import ScenarioError
from runtime.run import simulate
from runtime.scenario import check, load
from tests.checking.standing import stands
from tests.protocols.replicas_cases import Case, cases

WEIGHTS = (0.1, 1.0, 3.0, 20.0)


class Small:
    """A network, a configuration and rates, drawn by a seed; J by plain loops."""

    def __init__(self, seed: int) -> None:
        dice = random.Random(seed)
        self.stores, self.items = dice.randint(1, 7), dice.randint(1, 5)
        graph = networkx.random_labeled_tree(self.stores, seed=seed)
        graph.add_edges_from(dice.sample(range(self.stores), 2) for _ in range(dice.randint(0, 3 * (self.stores > 1))))
        self.distances = Topology({f"n{a}": [f"n{b}" for b in graph[a]] for a in graph}).distances
        self.load_weight = dice.choice(WEIGHTS)
        some = [[dice.random() < 0.4 for _ in range(self.stores)] for _ in range(self.items)]
        self.holders = np.array(some)
        for item in range(self.items):
            self.holders[item, dice.randrange(self.stores)] = True
        self.weights = np.array(
            [[dice.choice([0, 1, 2, dice.uniform(0, 5)]) for _ in range(self.stores)] for _ in range(self.items)]
        )
        self.sizes = np.array([dice.choice([1.0, 1.0, 2.0, 2.5]) for _ in range(self.items)])
        self.me = dice.randrange(self.stores)
        self.toggled = np.array([dice.random() < 0.5 for _ in range(self.items)])
        self.toggled &= (self.holders.sum(axis=1) > 1) | ~self.holders[:, self.me]  # the last replica never leaves

    def objective(self, holders: np.ndarray[Any, Any]) -> float:
        traffic, answered = 0.0, [0.0] * self.stores
        for item in range(self.items):
            there = [v for v in range(self.stores) if holders[item][v]]
            for y in range(self.stores):
                server = min(there, key=lambda v: (self.distances[y][v], v))
                traffic += self.weights[item][y] * self.distances[y][server]
                answered[server] += self.weights[item][y]
        mean = sum(answered) / self.stores
        return float(traffic + (self.load_weight / 2 * sum(x * x for x in answered) / mean if mean else 0))

    def after(self, toggled: np.ndarray[Any, Any]) -> float:
        holders = self.holders.copy()
        holders[:, self.me] ^= toggled
        return self.objective(holders)


smalls = st.integers(0, 2**32 - 1).map(Small)


@settings(max_examples=200)
@given(smalls)
def test_a_difference_is_what_computing_everything_anew_gives(small: Small) -> None:
    view = View.of(small.distances, small.holders)
    value = holistic(view, small.me, small.weights)
    exchange = exchanging(view, small.me, small.weights, value, small.load_weight)
    now, then = small.objective(small.holders), small.after(small.toggled)
    # A whole replacement at once ...
    assert exchange.difference(small.toggled) == pytest.approx(then - now, rel=1e-9, abs=1e-8 * (1 + now))
    # ... and one item more, or one less.
    further = exchange.further(small.toggled)
    for item in range(small.items):
        alone = small.holders[item].sum() == 1 and small.holders[item, small.me]
        if not alone:
            once = small.toggled.copy()
            once[item] ^= True
            assert further[item] == pytest.approx(small.after(once) - then, rel=1e-9, abs=1e-8 * (1 + now))
    assert loads(view, small.weights).sum() == pytest.approx(small.weights.sum())


@settings(max_examples=200)
@given(smalls, st.floats(0, 2))
def test_what_is_chosen_fits_and_makes_it_fall(small: Small, room: float) -> None:
    view = View.of(small.distances, small.holders)
    value = holistic(view, small.me, small.weights)
    exchange = exchanging(view, small.me, small.weights, value, small.load_weight)
    known = worth(view, small.me, value, small.sizes, Policy(load_weight=small.load_weight))
    capacity = float(small.sizes[small.holders[:, small.me]].sum()) + room
    chosen = choose_balanced(known, exchange, small.sizes, capacity)
    if chosen is not None:
        toggled = chosen ^ small.holders[:, small.me]
        assert small.after(toggled) < small.objective(small.holders)
        assert small.sizes[chosen].sum() <= capacity + 1e-5
        assert not (known.held & ~known.may_leave & ~chosen).any()


@settings(max_examples=40)
@given(cases(most_stores=9, protocol="holistic", schedule="timed"), st.sampled_from(WEIGHTS))
def test_a_single_writer_ends_where_nobody_can_improve_and_nothing_ever_rose(case: Case, load_weight: float) -> None:
    outcome = simulate(check(replace(case, load_weight=load_weight).scenario()))
    assert outcome.verdict == "valid", outcome.violations  # which includes both
    assert outcome.results["equilibrium"]
    assert outcome.results["wasted_replacements"] == 0


BALANCED = {"load_weight": 2.0, "search": "paper", "replacement_cost": 0.0}


def test_under_any_schedule_as_well() -> None:
    stands("holistic", 40, writers=1, **BALANCED)


def test_trouble_does_not_keep_it_from_settling() -> None:
    stands("holistic", 40, ["crash", "death", "partition"], **BALANCED)


@pytest.mark.parametrize("writers", [0, 3])
def test_several_writers_settle_or_say_that_they_do_not(writers: int) -> None:
    stands("holistic", 20, size=8, writers=writers, **BALANCED)


@settings(max_examples=15)
@given(cases(most_stores=8, protocol="holistic", schedule="timed"))
def test_a_configuration_that_is_not_at_rest_is_noticed(case: Case) -> None:
    """A test of the oracle: it sees what the first store to act sees."""
    scenario = check(replace(case, load_weight=2.0).scenario())
    outcome = simulate(scenario)
    system = scenario.system
    assert isinstance(system, ReplicasSystem)
    graph, rates = scenario.network.graph(), system.problem.rates_at(0.0)
    found = list(unbalanced(system.problem, graph, system.problem.placement, rates, system.policy))
    movers = {row[1] for row in outcome.results["history"][:1]}
    assert movers <= {line.split()[0] for line in found}
    assert bool(movers) == bool(found)


def drawn(load_weight: float, seed: int = 1) -> dict[str, Any]:
    return {
        "protocol": "holistic",
        "seed": seed,
        "network": {"kind": "random-graph", "nodes": 12, "degree": 3.0},
        "storage": {
            "capacity": 50,
            "items": {"count": 6, "ratio": 3.0},
            "popularity": "zipf(0.7)",
            "load_weight": load_weight,
        },
    }


def test_the_peak_falls_with_the_weight() -> None:
    """On the average of instances: in one of them, another weight may lead to a worse local optimum."""
    means = []
    for weight in (0.0, 1.0, 8.0):
        outcomes = [simulate(check(drawn(weight, seed))) for seed in range(1, 16)]
        assert {outcome.verdict for outcome in outcomes} == {"valid"}
        means.append(np.mean([outcome.results["peak_load"] for outcome in outcomes]))
    assert means[0] > 1.1 * means[1] and means[1] > means[2]


def test_by_default_the_load_does_not_count() -> None:
    plain = simulate(load("holistic"))
    assert plain.results["peak_load"] == pytest.approx(1.4 / 1.2)  # all who ask for a ask n2


def test_a_network_that_asks_for_nothing_has_no_peak() -> None:
    data = drawn(1.0)
    del data["storage"]["popularity"]
    data["storage"]["rates"] = {"n1": {"i1": 0}}
    outcome = simulate(check(data))
    assert outcome.verdict == "valid"
    assert outcome.results["peak_load"] is None


@pytest.mark.parametrize("wrong", [{"protocol": "myopic"}, {"search": "knapsack"}])
def test_where_the_load_cannot_count_it_is_refused(wrong: dict[str, str]) -> None:
    data = drawn(1.0)
    data["protocol"] = wrong.get("protocol", "holistic")
    data["storage"]["search"] = wrong.get("search", "paper")
    with pytest.raises(ScenarioError) as caught:
        check(data)
    assert caught.value.key == "storage.load_weight"


def test_loads_of_parts_that_cannot_reach_each_other_are_told_apart() -> None:
    scenario = check(drawn(0.0))
    problem = scenario.system.problem  # type: ignore[attr-defined]
    graph = networkx.Graph()
    graph.add_nodes_from(problem.stores)
    # Everybody alone: what each store answers is what its own clients ask for and it holds.
    held = {name: [problem.catalogue.items[0]] for name in problem.stores}
    assert peak_load(problem, graph, held, problem.rates_at(0.0)) == pytest.approx(1.0)
