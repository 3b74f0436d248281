"""At quiescence every advertisement table is the one that breadth-first search gives (planning, 4.1)."""

from __future__ import annotations

import math

import pytest

from protocols.storage.coverage import Coverage, Withdraw
from runtime.run import simulate
from runtime.scenario import check
from tests.checking.standing import stands


def test_tables_are_right_whatever_stores_do_in_any_fifo_order() -> None:
    stands("coverage", 200, size=60)


def test_tables_are_right_after_brokers_and_stores_crash_and_recover() -> None:
    stands("coverage", 200, ["crash"], size=30)


def test_tables_are_right_over_channel_with_losses_crashes_and_healed_partitions() -> None:
    stands("coverage", 100, ["drop", "duplicate", "reorder", "crash", "partition"], size=20)


def test_the_living_route_around_the_dead_over_channel() -> None:
    stands("coverage", 100, ["drop", "duplicate", "reorder", "crash", "death"], size=20)


# The rules one by one


def ring(size: int, **storage: object) -> dict[str, object]:
    return {
        "protocol": "coverage",
        "network": {"kind": "ring", "nodes": size, "delay": 1.0},
        "storage": {"stores": {"s": {"broker": "n1", "topics": ["a"]}}, **storage},
    }


def test_equally_near_news_is_kept_and_stops() -> None:
    # On a ring of 4 the far broker hears of the store from both sides at once. The store tells its broker, that
    # one tells two, each of these tells the far one, which passes on only what it heard first: 1 + 2 + 2 + 1.
    summary = simulate(check(ring(4))).summary()
    assert summary["at"]["n3"] == {"a": [("n2", "s", 2), ("n4", "s", 2)]}
    assert summary["by_type"]["Advertise"]["messages"] == 6


def test_farther_news_is_dropped() -> None:
    scenario = ring(6)
    scenario["storage"]["stores"]["t"] = {"broker": "n4", "topics": ["a"]}  # type: ignore[index]
    table = simulate(check(scenario)).summary()["at"]
    assert table["n2"] == {"a": [("n1", "s", 1)]}
    assert table["n4"] == {"a": [("t", "t", 0)]}


def test_a_withdrawn_topic_is_forgotten_everywhere() -> None:
    summary = simulate(check(ring(5, events=[{"at": 20, "store": "s", "do": "withdraw"}]))).summary()
    assert all(table == {} for table in summary["at"].values())


def forward_on_equal(self, node, sender, ad):  # type: ignore[no-untyped-def]
    self.routes[ad.topic].hops[sender] = ad
    self.announce(node, ad.topic)


def test_forwarding_on_equal_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Coverage, "add", forward_on_equal)
    with pytest.raises(AssertionError):
        test_equally_near_news_is_kept_and_stops()


def test_a_broker_knows_nothing_at_first() -> None:
    coverage = Coverage()
    assert coverage.nearest("a") == math.inf
    assert coverage.next_hops("a") == []
    assert coverage.table() == {}
    assert Withdraw("a", "s", 1) == Withdraw("a", "s", 1)
