"""The overlay system: what its scenario asks for, what its run shows, and what it costs, message by message."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from agents.overlay import OverlaySystem
from protocols.overlay.content import Instance
from protocols.overlay.cost import total_cost
from protocols.overlay.messages import Deliver, Forward, Publish
from protocols.overlay.moves import descend
from protocols.overlay.user import Using
from runtime.cluster import cluster
from runtime.errors import ScenarioError
from runtime.onray import RayOptions, run_on_ray
from runtime.run import Outcome, simulate
from runtime.scenario import check, load
from runtime.simulator import Simulator
from runtime.system import World
from tests.runtime.command import brokerlab


def data(nodes: int = 4, seed: int = 1, **overlay: Any) -> dict[str, Any]:
    return {
        "protocol": "overlay",
        "seed": seed,
        "network": {"kind": "plane", "nodes": nodes, "connect": "complete", "delay": "uniform(0.5, 1.5)"},
        "overlay": {"users": 20, **overlay},
    }


# The cost, message by message


@pytest.mark.parametrize("dimensions", [1, 2])
@pytest.mark.parametrize("costs", ["uniform", "plane"])
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_the_cost_function_is_what_the_messages_cost(seed: int, costs: str, dimensions: int) -> None:
    """Counted from outside: every crossing of a link by a publication, at the link's cost."""
    scenario = check(
        data(seed=seed, access_costs=costs, intervals=4, dimensions=dimensions, publish_since=30.0, publish_until=60.0)
    )
    system = scenario.system
    assert isinstance(system, OverlaySystem)
    drawn, brokers = system.drawn, system.brokers
    paid = 0.0
    made = np.zeros_like(drawn.instance.rates)

    def crossing(entry: Any) -> None:
        nonlocal paid
        _, _, link, message = entry
        if isinstance(message, Publish):
            paid += drawn.instance.access[system.place[link.source], brokers.index(link.peer)]
            made[system.place[link.source], drawn.space.channel(message.content)] += 1
        elif isinstance(message, Deliver):
            paid += drawn.instance.access[system.place[link.peer], brokers.index(link.source)]
        elif isinstance(message, Forward):
            paid += drawn.instance.core[brokers.index(link.source), brokers.index(link.peer)]

    sim = Simulator(scenario.network, system.agent, scenario.seed, scenario.plan)
    sim.observer = crossing
    assert sim.run()
    assert made.sum() > 20
    whole = drawn.instance
    published = Instance(made, whole.interests, whole.access, whole.core, whole.capacity)
    assert paid == pytest.approx(total_cost(published, system.assignment))
    results = system.results(World(sim.alive(), scenario.network))
    assert results["access_paid"] + results["core_paid"] == pytest.approx(paid)


# The distributed algorithm


def moves_of(outcome: Outcome) -> list[dict[str, Any]]:
    return outcome.tally.events.table("move").to_pylist() if "move" in outcome.tally.events.counts() else []


@pytest.mark.parametrize("costs", ["uniform", "plane"])
@pytest.mark.parametrize("seed", range(1, 6))
def test_with_one_mover_the_cost_falls_with_every_move_by_what_it_promised(seed: int, costs: str) -> None:
    scenario = check(data(seed=seed, movers="one", access_costs=costs, access_to_core=0.5))
    outcome = simulate(scenario)
    system = scenario.system
    assert isinstance(system, OverlaySystem)
    assignment, trees = system.assignment.copy(), None
    cost = total_cost(system.drawn.instance, assignment, trees)
    rows = moves_of(outcome)
    for row in rows:
        assignment[system.place[row["user"]]] = system.brokers.index(row["foreign"])
        after = total_cost(system.drawn.instance, assignment)
        assert after < cost and cost - after == pytest.approx(row["gain"]) and after == pytest.approx(row["cost"])
        cost = after
    assert rows and outcome.results["rises"] == 0
    assert outcome.verdict == "valid" and outcome.results["cost"] == pytest.approx(cost)


@pytest.mark.parametrize(("nodes", "users"), [(4, 20), (6, 3)], ids=["all brokers have users", "most have none"])
@pytest.mark.parametrize("seed", range(1, 6))
def test_one_mover_ends_where_descent_without_messages_ends(seed: int, nodes: int, users: int) -> None:
    scenario = check(data(nodes, seed, users=users, movers="one", access_to_core=0.3, capacity_factor=10.0))
    outcome = simulate(scenario)
    system = scenario.system
    assert isinstance(system, OverlaySystem)
    assignment, moves = descend(system.drawn.instance, system.assignment)
    homes = {
        name: using.durable.home for name, using in World(outcome.agents, scenario.network).protocols(Using).items()
    }
    assert homes == {name: system.brokers[assignment[place]] for name, place in system.place.items()}
    assert outcome.results["moves"] == moves


@pytest.mark.parametrize("seed", [27, 37, 50, 72])
def test_a_broker_that_refused_is_asked_again_when_anything_has_changed(seed: int) -> None:
    """What a user publishes counts twice while it is handed over: elsewhere a hand-over ends, and here is room."""
    full = {"width": 1.0, "capacity_factor": 5 / 3, "access_costs": "plane", "access_to_core": 10.0, "patience": 4}
    assert simulate(check(data(5, seed, users=6, movers="many", **full))).violations == []


def test_changes_wake_the_brokers_up_again() -> None:
    calm = simulate(check(data(movers="one")))
    churn = {"joins": 3, "leaves": 3, "interests": 3, "rates": 3, "between": [400.0, 450.0]}
    busy = simulate(check(data(movers="one", churn=churn, capacity_factor=4.0)))
    late = [row for row in moves_of(busy) if row["time"] > 400]
    assert calm.tally.now < 400 and late and busy.verdict == "valid"
    assert busy.results["users"] == 20


def test_users_accept_or_decline_by_their_policy() -> None:
    stubborn = simulate(check(data(movers="one", unwilling=1.0)))
    assert stubborn.results["moves"] == 0 and stubborn.results["declined"] > 0 and stubborn.verdict == "valid"
    patient = simulate(check(data(movers="many", patience=1)))
    assert 0 < patient.results["moves"] <= 20


def test_an_overloaded_broker_is_relieved_even_if_it_costs_more() -> None:
    overlay = {"movers": "one", "capacity_factor": 1.6, "churn": {"rates": 15, "between": [60.0, 90.0]}}
    for seed in range(1, 6):
        assert simulate(check(data(seed=seed, **overlay))).violations == []


def test_a_user_that_finds_all_brokers_full_is_told_of() -> None:
    events = [{"at": 50.0, "user": "late", "do": "join"}]
    outcome = simulate(check(data(nodes=2, users=2, capacity=1.2, seed=2, events=events)))
    assert outcome.violations == ["one-broker-each: late has no broker: all of them are full"]


@pytest.mark.parametrize("then", [{"user": "u1", "do": "leave"}, {"user": "late", "do": "interests"}])
def test_a_user_that_was_turned_away_is_let_in_when_there_is_room(then: dict[str, str]) -> None:
    events = [{"at": 50.0, "user": "late", "do": "join"}, {"at": 80.0, **then}]
    outcome = simulate(check(data(nodes=2, users=2, capacity=1.5, seed=9, events=events)))
    rows = [row for row in outcome.tally.events.table("home").to_pylist() if row["node"] == "late"]
    homes = [(row["time"] >= 80, row["broker"] != "") for row in rows]
    assert (False, False) in homes and homes[-1] == (True, True) and outcome.verdict == "valid"


# On Ray


ON_RAY = pytest.mark.xdist_group("overlay on ray")


@pytest.fixture(scope="module")
def on_one_ray() -> Iterator[None]:
    with cluster():
        yield


NOISY = ("links=reliable", 'faults=[{kind="drop",probability=0.1},{kind="crash",nodes=["n2"],at=40,recover_after=20}]')


@ON_RAY
@pytest.mark.parametrize("overrides", [(), NOISY])
def test_lock_step_on_ray_shows_what_the_simulator_shows(on_one_ray: None, overrides: tuple[str, ...]) -> None:
    short = ("overlay.users=10", "overlay.publish_until=60", *overrides)
    expected = simulate(load("overlay", short)).summary()
    assert run_on_ray(load("overlay", short), RayOptions(agents_per_actor=8)).summary() == expected
    assert expected["verdict"] == "valid"


@ON_RAY
def test_a_free_run_on_ray_loses_and_doubles_nothing(on_one_ray: None) -> None:
    options = RayOptions(clock="free", agents_per_actor=8, time_scale=0.002)
    outcome = run_on_ray(load("overlay", ("overlay.users=10", "overlay.movers=many")), options)
    assert (outcome.verdict, outcome.violations) == ("valid", []) and outcome.results["moves"] > 0


# Scenarios


@pytest.mark.parametrize("assignment", ["random", "packing", "clustering", "mixing", "descent"])
def test_every_algorithm_at_once_without_users_as_agents(assignment: str) -> None:
    outcome = simulate(check(data(nodes=10, users=300, assignment=assignment)))
    assert outcome.verdict == "valid" and outcome.summary()["nodes"] == 10
    assert sum(row["users"] for row in outcome.results["by_broker"].values()) == 300
    assert outcome.results["cost"] == outcome.results["assigned_cost"] >= outcome.results["least_cost"]


def test_all_algorithms_get_the_same_instance() -> None:
    first, second = (check(data(assignment=name)).system for name in ("packing", "mixing"))
    assert isinstance(first, OverlaySystem) and isinstance(second, OverlaySystem)
    assert (first.drawn.instance.access == second.drawn.instance.access).all()
    assert (first.at_random == second.at_random).all()


WRONG = {
    "overlay: write either users or users_per_broker": {"users_per_broker": 3},
    "overlay.users: 0 is too small; write a number of 1 or more": {"users": 0},
    "overlay.assignment: 'best' is not one of": {"assignment": "best"},
    "overlay.capacity_factor: all users together need": {"capacity_factor": 0.5},
    "overlay.capacity: no broker has room for user": {"users": 2, "capacity": 0.04},
    "overlay.assignment: 4 brokers are too many": None,
    "more than 10,000 channels": {"intervals": 200, "dimensions": 2},
    "overlay.events[0].user: u77 is not there at 1; users are u1 to u20": {
        "events": [{"at": 1.0, "user": "u77", "do": "leave"}]
    },
    "overlay.events[0].user: u2 is there already": {"events": [{"at": 1.0, "user": "u2", "do": "join"}]},
    "overlay.events[1].user: u2 has left at 1": {
        "events": [{"at": 1.0, "user": "u2", "do": "leave"}, {"at": 2.0, "user": "u2", "do": "rates"}]
    },
    "overlay.churn: between = [9.0, 2.0]: write the earlier time first": {"churn": {"between": [9.0, 2.0]}},
}


@pytest.mark.parametrize(("told", "overlay"), WRONG.items())
def test_what_is_wrong_is_said(told: str, overlay: dict[str, Any] | None, monkeypatch: pytest.MonkeyPatch) -> None:
    if overlay is None:
        monkeypatch.setattr("protocols.overlay.optimum.MOST_BROKERS", 3)
        overlay = {"assignment": "optimum"}
    with pytest.raises(ScenarioError) as caught:
        check(data(**overlay))
    assert told in str(caught.value)


@pytest.mark.parametrize(
    "network", [{"kind": "complete", "nodes": 4}, {"kind": "ring", "nodes": 5}, {"kind": "line", "nodes": 4}]
)
def test_brokers_without_a_link_speak_over_those_in_between(network: dict[str, Any]) -> None:
    overlay: dict[str, Any] = {"movers": "one", "publish_since": 20.0, "publish_until": 60.0, "access_costs": "uniform"}
    outcome = simulate(check(data(**overlay) | {"network": network}))
    assert outcome.verdict == "valid" and outcome.results["moves"] > 0 and outcome.results["delivered"] > 0
    assert ("Carried" in outcome.tally.sent) == (network["kind"] != "complete")


def test_ways_cost_the_hops_between_brokers() -> None:
    system = check(data() | {"network": {"kind": "line", "nodes": 4}}).system
    assert isinstance(system, OverlaySystem)
    core = system.drawn.instance.core
    assert core[0] / core[0, 1] == pytest.approx([0, 1, 2, 3])
    assert core.sum() == pytest.approx(12)


def test_one_broker_and_one_user_are_enough() -> None:
    outcome = simulate(check(data(nodes=1, users=1, movers="one", publish_until=50.0)))
    assert outcome.verdict == "valid" and outcome.results["core_cost"] == 0


def test_the_command_prints_a_table_of_brokers() -> None:
    ran = brokerlab("run", "overlay")
    assert ran.exit_code == 0 and "by broker" in ran.stdout and "moves" in ran.stdout
