"""GRAPE: estimates and choices equal brute force; traces equal what was delivered (relocation, 4)."""

from __future__ import annotations

import random
from itertools import pairwise
from typing import Any

import networkx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from protocols.relocation.clients import Publishing, Subscribing
from protocols.relocation.estimate import BrokerStatistics, Estimate, cheapest, shortlist
from protocols.relocation.grape import Grape, statistics
from runtime.run import simulate
from runtime.scenario import check
from runtime.testing.cases import Case
from tests.checking.standing import drawn, ran

MANY = settings(max_examples=200)


def trace(seed: int, brokers: int, publications: int) -> tuple[networkx.Graph, dict[str, BrokerStatistics]]:
    """A random tree and what a session could have shown at its brokers."""
    rng = random.Random(seed)
    tree = networkx.relabel_nodes(networkx.random_labeled_tree(brokers, seed=seed), lambda number: f"n{number}")
    known = {}
    for name in tree:
        bits = sum((rng.random() < 0.3) << place for place in range(publications))
        known[name] = BrokerStatistics(
            # One of the neighbours named may be outside of the trace: it got nothing.
            (*sorted(tree[name]), "elsewhere"),
            bits,
            bits.bit_count() * rng.randint(1, 4),
            rng.random(),
            rng.random(),
            {peer: rng.random() for peer in (*tree[name], name)},
        )
    return tree, known


def rate_by_hand(tree: networkx.Graph, known: dict[str, BrokerStatistics], root: str, publications: int) -> int:
    """For each publication, the brokers on the ways from the root to those that deliver it."""
    total = 0
    for place in range(publications):
        targets = [name for name in tree if known[name].bits >> place & 1]
        total += len({broker for target in targets for broker in networkx.shortest_path(tree, root, target)})
    return total


def delay_by_hand(tree: networkx.Graph, known: dict[str, BrokerStatistics], root: str, ping_s: float) -> float:
    total_s, deliveries = 0.0, 0
    for name in tree:
        path = networkx.shortest_path(tree, root, name)
        delay_s = ping_s + sum(known[a].delay_to(b) for a, b in pairwise(path))
        total_s += known[name].deliveries * (delay_s + known[name].delay_to(name))
        deliveries += known[name].deliveries
    return total_s / deliveries if deliveries else ping_s


@MANY
@given(st.integers(0, 2**32), st.integers(1, 20), st.integers(1, 12))
def test_estimates_equal_what_is_counted_by_hand(seed: int, brokers: int, publications: int) -> None:
    tree, known = trace(seed, brokers, publications)
    estimate = Estimate(known)
    for name in tree:
        assert estimate.message_rate(name) == rate_by_hand(tree, known, name, publications)
        assert estimate.average_delay(name, 0.25) == pytest.approx(delay_by_hand(tree, known, name, 0.25))
        assert list(estimate.path("n0", name)) == networkx.shortest_path(tree, "n0", name)


@MANY
@given(
    st.integers(0, 2**32),
    st.integers(1, 12),
    st.sampled_from(["load", "delay"]),
    st.floats(0, 100, exclude_min=True, exclude_max=True),
)
def test_the_choice_equals_brute_force_for_any_weight(seed: int, brokers: int, priority: str, weight: float) -> None:
    tree, known = trace(seed, brokers, 8)
    estimate = Estimate(known)
    rng = random.Random(seed)
    pings = {name: rng.random() for name in tree}
    costs = {
        "load": {name: float(estimate.message_rate(name)) for name in tree},
        "delay": {name: estimate.average_delay(name, pings[name]) for name in tree},
    }
    other = "delay" if priority == "load" else "load"
    kept = shortlist(costs[priority], weight)
    chosen = cheapest({name: costs[other][name] for name in kept}, "n0")
    best = None
    for name in sorted(tree):
        dearer = sum(cost < costs[priority][name] for cost in costs[priority].values())
        scale = max(costs[priority].values()) - min(costs[priority].values())
        normalised = 100 * (costs[priority][name] - min(costs[priority].values())) / scale if dearer else 0.0
        if abs(normalised - (100 - weight)) < 1e-9:
            return  # rounding decides
        if normalised <= 100 - weight and (best is None or costs[other][name] < costs[other][best]):
            best = name
    assert best is not None and costs[other][chosen] == costs[other][best]
    assert chosen == best or chosen == "n0"


def test_the_extremes_are_pure() -> None:
    costs = {"a": 3.0, "b": 1.0, "c": 2.0}
    assert shortlist(costs, 100) == ["b"]
    assert shortlist(costs, 50) == ["b", "c"]
    assert shortlist(costs, 0) == ["a", "b", "c"]
    assert shortlist(dict.fromkeys(costs, 7.0), 100) == ["a", "b", "c"]
    assert cheapest({"a": 1.0, "b": 1.0, "c": 1.0}, "b") == "b"


# In a running network


def test_bit_vectors_and_counts_equal_what_was_delivered() -> None:
    stay = {"algorithm": "grape", "moves": [], "follow_after": None}
    assert sum(compared_sessions(case) for case in drawn("relocation", 60, ways=["timed"], **stay)) > 60


def compared_sessions(case: Case) -> int:
    sessions: list[tuple[str, int, Any]] = []
    genuine = Grape.select

    def select(self: Grape, node: Any, publisher: str, traces: Any) -> None:
        sessions.append((publisher, self.managed[publisher].session, traces))
        genuine(self, node, publisher, traces)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Grape, "select", select)
        shown, world = ran(case)
    homes = shown.scenario.network.homes
    threshold = case.data["relocation"]["threshold"]
    for publisher, session, traces in sessions:
        for seen in traces:
            delivered = [
                number - session
                for name, reading in world.protocols(Subscribing).items()
                if homes[name] == seen.broker and publisher in reading.received
                for number in reading.received[publisher].numbers
                if session <= number < session + threshold
            ]
            known = statistics(seen)
            assert known.deliveries == len(delivered)
            assert known.bits == sum(1 << place for place in set(delivered))
    return len(sessions)


def publisher_ends_at(**grape: Any) -> tuple[str, dict[str, Any]]:
    """Many who want little at n1, one who wants everything at n9; in between a line of brokers."""
    contents = [{"x": number} for number in range(10)]
    data = {
        "protocol": "relocation",
        "seed": 3,
        "network": {"kind": "line", "nodes": 9, "underlay_delay": 0.1, "access_delay": 0.1},
        "relocation": {
            "algorithm": "grape",
            "threshold": 20,
            "grape": grape,
            "matching": {"base": 0.1},
            "publishers": {"p": {"broker": "n5", "contents": contents, "count": 100, "start": 60.0, "every": 2.0}},
            "subscribers": {
                "few": {"broker": "n1", "where": [["x", "=", 3]], "number": 30},
                "all": {"broker": "n9"},
            },
        },
    }
    outcome = simulate(check(data))
    assert outcome.verdict == "valid"
    summary = outcome.summary()
    return summary["publishers"]["p"]["now at"], summary


def test_load_goes_to_the_traffic_and_delay_to_the_crowd() -> None:
    assert publisher_ends_at(priority="load", weight=100.0)[0] == "n9"
    assert publisher_ends_at(priority="delay", weight=100.0)[0] == "n1"


def test_one_percent_only_rules_out_the_worst() -> None:
    # "load1" is nearly "delay100": of all brokers only that with the most load, n1, is not allowed; and vice versa.
    assert publisher_ends_at(priority="load", weight=1.0)[0] == "n2"
    assert publisher_ends_at(priority="delay", weight=1.0)[0] == "n8"


def test_only_open_sessions_are_kept() -> None:
    for case in drawn("relocation", 40, algorithm="grape", moves=[]):
        _, world = ran(case)
        brokers = world.protocols(Grape)
        managed = {
            (name, brokers[sent.broker].managed[name].session)
            for name, sent in world.protocols(Publishing).items()
            if name in brokers[sent.broker].managed
        }
        assert {key for grape in brokers.values() for key in grape.sessions} <= managed


def test_pings_are_asked_for_only_when_they_can_matter() -> None:
    _, load = publisher_ends_at(priority="load", weight=100.0)
    _, delay = publisher_ends_at(priority="delay", weight=100.0)
    assert "PublisherPing" not in load["underlay"]
    assert delay["underlay"]["PublisherPing"]["messages"] >= 8
