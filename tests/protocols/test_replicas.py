"""Storage management by messages: the paper's example, the sequential algorithm, and whatever asynchrony does to it."""

from __future__ import annotations

import copy
import itertools
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agents.replicas import ReplicasSystem
from protocols.storage.replicas.decision import holistic, myopic
from protocols.storage.replicas.facts import Rates
from protocols.storage.replicas.knapsack import best_fit
from protocols.storage.replicas.knowledge import Knowledge
from protocols.storage.replicas.replacing import Replacing
from protocols.storage.replicas.view import View, nearest_two
from protocols.storage.replicas.writing import Token, Writing
from runtime.message import encode
from runtime.run import Outcome, simulate
from runtime.scenario import check, load
from runtime.simulator import Simulator
from tests.checking.standing import stands
from tests.protocols.replicas_cases import Case, cases
from tests.protocols.replicas_reference import Sequential

QUICK = settings(max_examples=60)
PROTOCOLS = ("holistic", "myopic")


def outcome(case: Case) -> Outcome:
    return simulate(check(case.scenario()))


def by_hand(case: Case) -> Sequential:
    system = check(case.scenario()).system
    assert isinstance(system, ReplicasSystem)
    problem = system.problem
    rates = {
        store: dict(zip(problem.catalogue.items, row.tolist(), strict=True))
        for store, row in zip(problem.stores, problem.rates_at(0.0), strict=True)
    }
    sizes = dict(zip(problem.catalogue.items, problem.catalogue.sizes.tolist(), strict=True))
    return Sequential(system.network.graph(), sizes, rates, problem.capacities, case.protocol == "holistic")


# The paper's example (Fig. 1)


def test_the_papers_example_gives_its_printed_traffic_and_two_iterations_per_node() -> None:
    shown = simulate(load("holistic")).results
    assert [row[1:4] for row in shown["history"]] == [
        ["n1", ["a"], ["b"]],
        ["n2", ["b"], ["a"]],
        ["n3", ["a"], ["b"]],
    ]
    assert [row[4] for row in shown["history"]] == pytest.approx([6.4, 5.5, 5.2])
    assert shown["iterations"] == {"mean": 2.0, "per_store": {"n1": 2, "n2": 2, "n3": 2}}
    assert shown["equilibrium"] is True
    assert shown["ont"] == pytest.approx(5.2)


def test_the_papers_example_gives_its_printed_gains_and_losses() -> None:
    hops = np.array([[0, 1, 1], [1, 0, 2], [1, 2, 0]], dtype=np.int16)
    weights = np.array([[0.3, 0.8, 0.3], [0.6, 0.7, 0.9]])
    printed = [
        # who holds a, who holds b, the node that decides, its (l or g of a, l or g of b), the traffic
        ([1, 0, 1], [0, 1, 0], 0, (1.1, 1.5), 6.8),
        ([0, 0, 1], [1, 1, 0], 1, (1.6, 0.7), 6.4),
        ([0, 1, 1], [1, 0, 0], 2, (0.6, 0.9), 5.5),
        ([0, 1, 0], [1, 0, 1], 0, (0.6, 1.3), 5.2),
        ([0, 1, 0], [1, 0, 1], 1, (None, 0.7), 5.2),
        ([0, 1, 0], [1, 0, 1], 2, (0.6, 0.9), 5.2),
    ]
    for a, b, node, amounts, traffic in printed:
        view = View.of(hops, np.array([a, b], dtype=bool))
        value = holistic(view, node, weights)
        for mine, theirs in zip(value, amounts, strict=True):
            assert theirs is None or mine == pytest.approx(theirs)
        assert ((view.nearest + 1) * weights).sum() == pytest.approx(traffic)  # + 1: the clients are one hop away


# The algorithm itself


@settings(QUICK, max_examples=40)
@given(cases(most_stores=9))
def test_every_change_is_the_one_that_the_sequential_algorithm_makes(case: Case) -> None:
    reference = by_hand(case)
    system = check(case.scenario()).system
    assert isinstance(system, ReplicasSystem)
    world, quiet = case.run()
    assert quiet
    changes = sorted(world.events.rows("replacement"), key=lambda row: row["position"])
    made = [
        (row["node"], *[names.split(",") if names else [] for names in (row["items_out"], row["items_in"])])
        for row in changes
    ]
    assert made == reference.run(system.problem.placement)


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_under_any_schedule_one_writer_ends_in_an_equilibrium_also_when_rates_change(protocol: str) -> None:
    assert stands(protocol, 80, writers=1).handled["Clients.change(RatesChange)"] > 0


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_the_best_content_of_each_storage_is_an_equilibrium_too(protocol: str) -> None:
    stands(protocol, 30, search="knapsack", replacement_cost=0.0, load_weight=0.0)


def test_the_knapsack_never_ends_with_a_replacement_that_the_papers_rule_would_make() -> None:
    for seed in range(10):
        case = Case(stores=8, items=6, seed=seed, search="knapsack")
        world, _ = case.run()
        paper = Case(stores=8, items=6, seed=seed)
        judge = check(paper.scenario()).system
        assert judge.violations(world) == []


@given(st.lists(st.tuples(st.integers(1, 9), st.integers(1, 9)), max_size=9), st.integers(0, 30))
@settings(max_examples=200)
def test_a_knapsack_is_packed_as_well_as_by_trying_everything(things: list[tuple[int, int]], room: int) -> None:
    values, sizes = [value for value, _ in things], [size for _, size in things]
    sets = itertools.product([False, True], repeat=len(things))
    best = max(
        sum(itertools.compress(values, chosen)) for chosen in sets if sum(itertools.compress(sizes, chosen)) <= room
    )
    found = best_fit(values, sizes, room)
    assert sum(sizes[place] for place in found) <= room
    assert sum(values[place] for place in found) == best


# Tokens, epochs, faults


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_lost_tokens_and_crashed_holders_leave_an_equilibrium(protocol: str) -> None:
    report = stands(protocol, 60, ["drop", "duplicate", "reorder", "crash", "death"])
    assert "a-new-epoch-is-claimed" in report.sometimes


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_after_partitions_too(protocol: str) -> None:
    stands(protocol, 40, ["partition", "crash"], size=8)


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_a_slow_holder_is_fenced(protocol: str) -> None:
    slow = {"writers": 1, "patience": 60.0, "thinking": {"n1": 500.0}}
    assert "an-old-token-is-fenced" in stands(protocol, 60, ways=["timed", "priority", "delays"], **slow).sometimes


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_on_raw_links_that_lose_and_double_there_is_still_one_writer_and_no_item_is_lost(protocol: str) -> None:
    report = stands(protocol, 100, ["drop", "duplicate", "reorder", "crash"])
    assert report.quiet < report.cases  # on raw links it need not come to rest


def test_a_holder_that_crashes_costs_an_epoch_and_its_token_is_fenced() -> None:
    data = Case(stores=6, items=4, seed=3, reliable=True).scenario()
    data["storage"] |= {"patience": 40.0, "thinking": {"n2": 300.0}}
    shown = simulate(check(data))
    events = shown.tally.events.counts()
    assert shown.verdict == "valid"
    assert shown.results["epochs"] > 1
    assert events["fenced"] > 0


def test_a_token_of_an_old_epoch_finds_nobody_who_takes_it() -> None:
    data = Case(stores=6, items=4, seed=3, reliable=True).scenario()
    data["storage"] |= {"patience": 40.0, "thinking": {"n2": 300.0}}
    scenario = check(data)
    sim = Simulator(scenario.network, scenario.system.agent, scenario.seed, scenario.plan)
    assert sim.run()
    for node in sim.nodes.values():
        writing = node.agent.find(Writing)
        assert writing is not None and writing.epoch[0] > 1
        before = dict(writing.held), node.agent.find(Replacing).durable.iterations
        writing.visited(node, node.neighbours[0], Token(1, "n1", 0, 1_000, 0, 0, 0, 0))
        assert (writing.held, node.agent.find(Replacing).durable.iterations) == before


def test_a_store_that_has_forgotten_everything_does_not_act_before_it_is_told_what_was_changed() -> None:
    data = Case(stores=4, items=4, seed=5).scenario()
    data["faults"] = [{"kind": "crash", "nodes": ["n2"], "at": 1_000.0, "recover_after": 1.0}]
    scenario = check(data)
    sim = Simulator(scenario.network, scenario.system.agent, scenario.seed, scenario.plan)
    sim.run(1_001.0)
    node = sim.nodes["n2"]
    writing = node.agent.find(Writing)
    assert writing is not None and writing.epoch[0] == 1
    before = node.agent.find(Replacing).durable.iterations
    writing.visited(node, node.neighbours[0], Token(1, "n1", 0, 1_000, 0, 0, 0, 0))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Knowledge, "complete", lambda self, epoch: True)  # as if all the other facts had come
        writing._proceed(node)
    assert node.agent.find(Replacing).durable.iterations == before
    assert list(writing.held) == [0]


def test_a_copy_of_a_token_is_not_a_second_token() -> None:
    data = Case(stores=5, items=4, seed=1).scenario() | {"faults": [{"kind": "duplicate", "probability": 1.0}]}
    plain = Case(stores=5, items=4, seed=1).scenario()
    doubled, once = simulate(check(data)), simulate(check(plain))
    rows = [sorted(run.results["history"], key=lambda row: row[0]) for run in (doubled, once)]
    assert [row[1:] for row in rows[0]] == [row[1:] for row in rows[1]]
    assert doubled.tally.fired["duplicate"] > 0


def test_a_token_that_overtakes_the_flood_waits_for_it() -> None:
    """On links that keep order the flood is always ahead: the token takes the same ways, and leaves later."""
    case = Case(stores=8, items=5, seed=8)
    waits = 0
    for seed in range(5):
        in_order = simulate(check(case.scenario() | {"seed": seed}))
        faults = [{"kind": "reorder", "probability": 0.3}]
        out_of_order = simulate(check(case.scenario() | {"seed": seed, "faults": faults}))
        assert in_order.results["token_waits"] == 0
        assert out_of_order.verdict == "valid"
        changes = [sorted(run.results["history"])[:] for run in (in_order, out_of_order)]
        assert [row[1:] for row in changes[0]] == [row[1:] for row in changes[1]]
        waits += out_of_order.results["token_waits"]
    assert waits > 0


# Many writers


@settings(QUICK, max_examples=25)
@given(cases(schedule="timed"))
def test_what_a_single_writer_would_reach_is_what_a_single_writer_reaches(case: Case) -> None:
    alone = outcome(case).results["ont"]
    assert outcome(replace(case, writers=2)).results["ont_single_writer"] == pytest.approx(alone)


@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize("writers", [0, 2, 3, 12])
def test_with_many_writers_no_item_is_ever_lost_and_rest_means_equilibrium(protocol: str, writers: int) -> None:
    stands(protocol, 20, writers=writers)


def test_stores_that_go_round_in_circles_say_so_and_stop() -> None:
    """Two stores that each drop what the other has, at the same time, for ever."""
    data: dict[str, Any] = {
        "protocol": "myopic",
        "seed": 5,
        "network": {"kind": "complete", "nodes": 6, "delay": 30.0},
        "storage": {
            "capacity": 1,
            "sizes": {"a": 1, "b": 1},
            "rates": {f"n{number}": {"a": 1.0, "b": 1.0} for number in range(1, 7)},
            "placement": {"n1": ["a"], "n2": ["b"], **{f"n{number}": ["a"] for number in range(3, 7)}},
            "writers": 0,
            "period": 1.0,
            "replacement_limit": 1,
        },
    }
    data["storage"]["rates"]["n3"]["b"] = 2.0
    shown = simulate(check(data))
    assert shown.quiescent
    assert shown.results["stopped"] == "livelock"
    assert shown.results["equilibrium"] is False


@pytest.mark.parametrize("guarded", [False, True])
def test_only_without_the_guard_can_many_writers_lose_an_item(guarded: bool) -> None:
    """The case that the paper's single writer excludes."""
    lost = 0
    for seed in range(40):
        data = Case(stores=8, items=6, seed=seed, writers=0).scenario()
        data["storage"] |= {"guarded": guarded, "period": 2.0}
        lost += any("the-last-replica-stays" in problem for problem in simulate(check(data)).violations)
    assert (lost > 0) == (not guarded)


# What is known and what is not


def test_a_myopic_store_is_never_told_anybody_elses_rates() -> None:
    case = Case(stores=8, items=5, seed=2, protocol="myopic", rate_changes=2)
    scenario = check(case.scenario())
    sim = Simulator(scenario.network, scenario.system.agent, scenario.seed, scenario.plan)
    assert sim.run()
    told = [fact for node in sim.nodes.values() for fact in node.agent.find(Knowledge).rates.values()]
    assert told and all(isinstance(fact, Rates) and fact.rates == () for fact in told)


@QUICK
@given(cases(protocol="myopic", schedule="timed"), st.integers(0, 2**32))
def test_a_myopic_decision_is_the_same_whatever_the_others_want(case: Case, other: int) -> None:
    """Hide the other nodes' rates: change them all, and see the first store that acts do the same."""
    data = case.scenario()
    hidden = copy.deepcopy(data)
    first = min(data["storage"]["rates"])
    rng = np.random.default_rng(other)
    for store, rates in hidden["storage"]["rates"].items():
        if store != first:
            hidden["storage"]["rates"][store] = {item: float(rng.integers(0, 9)) for item in rates}
    assert _first_change(data, first) == _first_change(hidden, first)


def _first_change(data: dict[str, Any], store: str) -> Any:
    rows = simulate(check(data)).tally.events.rows("replacement")
    return next(
        ((row["items_out"], row["items_in"]) for row in rows if row["position"] == 1 and row["node"] == store), None
    )


# Distances that are kept up to date


@given(st.integers(0, 2**32))
@settings(max_examples=60)
def test_a_view_that_is_kept_up_to_date_is_the_view_measured_anew(seed: int) -> None:
    rng = np.random.default_rng(seed)
    size, items = int(rng.integers(1, 9)), int(rng.integers(1, 5))
    points = rng.integers(0, 6, (size, 2))
    hops = np.abs(points[:, None] - points[None]).sum(axis=2).astype(np.int16)
    view = View.of(hops, rng.random((items, size)) < 0.5)
    for _ in range(6):
        holders = view.holders ^ (rng.random((items, size)) < 0.2)
        view = view.changed(holders)
        anew = View.of(hops, holders)
        assert (view.nearest == anew.nearest).all()
        assert (view.second == anew.second).all()
        for row in range(items):
            towards = np.sort(hops[holders[row]], axis=0)
            if len(towards) > 1:
                nearest, second = nearest_two(hops, np.flatnonzero(holders[row]))
                assert (nearest == towards[0]).all() and (second == towards[1]).all()


def test_the_own_column_is_all_that_a_myopic_value_depends_on() -> None:
    hops = np.array([[0, 1, 2], [1, 0, 1], [2, 1, 0]], dtype=np.int16)
    view = View.of(hops, np.array([[1, 0, 0], [0, 1, 1]], dtype=bool))
    assert myopic(view, 2, np.array([2.0, 3.0])).tolist() == [4.0, 3.0]


def test_tokens_are_small() -> None:
    """What IV.C calls a few tens of bytes."""
    assert len(encode(Token(1, "n1", 0, 240, 0, 17, 3, 900))) < 40


def test_the_writer_of_a_store_is_a_writing_unless_everyone_has_a_clock() -> None:
    assert check(Case(stores=3, items=2, seed=1).scenario()).system.agent("n1").find(Writing) is not None
    assert check(Case(stores=3, items=2, seed=1, writers=0).scenario()).system.agent("n1").find(Writing) is None


def test_stores_that_all_decide_at_the_same_moments_go_round_in_circles() -> None:
    data = Case(stores=10, items=6, seed=1, writers=0).scenario()
    stopped = set()
    for seed in range(12):
        data["storage"] |= {"clock": "regular", "period": 50.0}
        shown = simulate(check(data | {"seed": seed}))
        assert shown.quiescent and not shown.violations
        stopped.add(shown.results["stopped"])
    assert stopped - {None}
