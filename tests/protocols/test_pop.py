"""POP: the worked example of figure 1, the walk to the centroid, the bounds on tagging (relocation, 3)."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import networkx
from hypothesis import given, settings
from hypothesis import strategies as st

from protocols.relocation.clients import Publishing
from protocols.relocation.pop import Pop, Profile
from protocols.routing.content import Publication
from runtime.run import Outcome, simulate
from runtime.scenario import check, load
from runtime.simulator import Simulator
from runtime.system import World

GOLDEN = Path(__file__).parents[1] / "golden" / "relocation.txt"


def transcript() -> str:
    """Every message of the shipped scenario from the first publication until the publisher has moved."""
    scenario = load("relocation")
    sim = Simulator(scenario.network, scenario.system.agent, scenario.seed)
    lines: list[str] = []

    def note(entry: Any) -> None:
        arrival, _, link, word = entry
        to_a_client = isinstance(word, Publication) and link.peer in scenario.network.homes
        if arrival >= 2.0 and link.source != link.peer and not to_a_client:
            if isinstance(word, Publication):
                word = f"Publication({word.number}{', traced' if word.trace else ''})"
            lines.append(f"{arrival:7.4f} {link.source:>3} -> {link.peer:<3} {word}\n")

    sim.observer = note
    assert sim.run()
    last = next(place for place, row in enumerate(lines) if "-> B1  Disconnect" in row)
    return "".join(lines[: last + 1])


def test_figure_1_message_by_message() -> None:
    assert transcript() == GOLDEN.read_text("utf-8")


def test_figure_1_profile_tables_and_choices() -> None:
    b1 = Profile()
    b1.learn(1, {"B2": 6, "B4": 3, "B5": 15}, 0.25)
    assert b1.next_closest(None, 0) == ("B5", 10)
    b5 = Profile()
    b5.learn(0, {"B6": 15}, 0.25)
    assert b5.next_closest("B1", 10) == ("B6", 10)
    b6 = Profile()
    b6.learn(4, {"B7": 6, "B8": 5}, 0.25)
    assert b6.next_closest("B5", 10)[0] is None


def test_the_running_average_gives_the_newest_a_quarter() -> None:
    profile = Profile()
    profile.learn(8, {"B2": 4}, 0.25)
    profile.learn(0, {"B3": 4}, 0.25)
    assert (profile.local, profile.behind) == (6.0, {"B2": 3.0, "B3": 1.0})


# The walk


def run(seed: int, brokers: int, subscribers: int) -> tuple[Outcome, networkx.Graph, dict[str, int]]:
    rng = random.Random(seed)
    names = [f"n{number}" for number in range(1, brokers + 1)]
    where = {f"s{number}": {"broker": rng.choice(names)} for number in range(subscribers)}
    scenario = check(
        {
            "protocol": "relocation",
            "seed": seed,
            "network": {"kind": "random-tree", "nodes": brokers},
            "relocation": {
                "algorithm": "pop",
                "threshold": 1,
                "publishers": {"p": {"broker": rng.choice(names), "contents": [{"x": 1}], "count": 1, "start": 500.0}},
                "subscribers": where,
            },
        }
    )
    outcome = simulate(scenario)
    weights = dict.fromkeys(names, 0)
    for row in where.values():
        weights[row["broker"]] += 1
    return outcome, scenario.network.graph(), weights


def centroids(tree: networkx.Graph, weights: dict[str, int]) -> set[str]:
    """The brokers from which no neighbour leads to more than half of all subscribers."""
    found = set()
    for broker in tree:
        rest = tree.copy()
        rest.remove_node(broker)
        sides = [sum(weights[name] for name in side) for side in networkx.connected_components(rest)]
        if all(2 * side <= sum(weights.values()) for side in sides):
            found.add(broker)
    return found


@given(st.integers(0, 2**32), st.integers(1, 25), st.integers(0, 30))
@settings(max_examples=200)
def test_the_walk_ends_at_the_centroid_in_as_many_hops_as_the_path(seed: int, brokers: int, subscribers: int) -> None:
    outcome, tree, weights = run(seed, brokers, subscribers)
    assert outcome.verdict == "valid"
    (publisher,) = World(outcome.agents, outcome.scenario.network).protocols(Publishing).values()
    start = outcome.scenario.system.parts["p"].broker  # type: ignore[attr-defined]
    away = networkx.single_source_shortest_path_length(tree, start)
    nearest = min(centroids(tree, weights), key=away.__getitem__)
    assert publisher.broker == nearest
    by_type = outcome.summary()["by_type"]
    for kind in ("RelocationRequest", "RelocationAnswer", "MigrationUpdate", "MigrationComplete"):
        assert by_type.get(kind, {"messages": 0})["messages"] == away[nearest]


# Tagging


def test_at_most_n_are_traced_in_a_window_and_the_first_one_always() -> None:
    data = {
        "protocol": "relocation",
        "network": {"kind": "line", "nodes": 2},
        "relocation": {
            "algorithm": "pop",
            "threshold": 10_000,
            "pop": {"traced_per_window": 5, "window": 60.0},
            "publishers": {
                "busy": {"broker": "n1", "contents": [{"x": 1}], "count": 2400, "every": 0.1, "start": 59.05},
                "slow": {"broker": "n1", "contents": [{"x": 1}], "count": 4, "every": 60.0, "start": 59.05},
            },
        },
    }
    outcome = simulate(check(data))
    pop = World(outcome.agents, outcome.scenario.network).protocols(Pop)["n1"]
    assert pop.windows["busy"].traced == 4 * 5
    assert pop.windows["slow"].traced == 4


if __name__ == "__main__":  # write the transcript anew, and read it
    GOLDEN.write_text(transcript(), "utf-8")
