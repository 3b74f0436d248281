"""At quiescence every advertisement table is the one that breadth-first search gives (planning, 4.1)."""

from __future__ import annotations

import math
from collections.abc import Iterator

import pytest
from hypothesis import example, given, settings

from protocols.storage.coverage import Coverage, Routes, Withdraw
from runtime.errors import BrokerlabError
from runtime.run import simulate
from runtime.scenario import check
from tests.protocols.coverage_cases import Case, cases

MANY = settings(max_examples=500, deadline=None)
FEWER = settings(max_examples=200, deadline=None)
FULL = settings(max_examples=5000, deadline=None)


@MANY
@given(cases())
def test_tables_are_right_whatever_stores_do_in_any_fifo_order(case: Case) -> None:
    assert case.problems() == []


@MANY
@given(cases(most_brokers=30, crashes="some"))
@example(Case(brokers=3, stores=2, seed=396, orders=5, crashes=2, schedule="random"))
def test_tables_are_right_after_brokers_and_stores_crash_and_recover(case: Case) -> None:
    assert case.problems() == []


@FEWER
@given(cases(most_brokers=20, reliable=True, lossy=True, crashes="some", partitions="some", schedule="timed"))
def test_tables_are_right_over_channel_with_losses_crashes_and_healed_partitions(case: Case) -> None:
    assert case.problems() == []


@FEWER
@given(cases(most_brokers=12, reliable=True, lossy=True, crashes="some", schedule="random"))
def test_tables_are_right_over_channel_in_any_order(case: Case) -> None:
    assert case.problems() == []


@FEWER
@given(cases(most_brokers=20, reliable=True, lossy=True, deaths="some", crashes="some", schedule="timed"))
def test_the_living_route_around_the_dead_over_channel(case: Case) -> None:
    assert case.problems() == []


@pytest.mark.full
@FULL
@given(cases(crashes="some"))
def test_many_more_cases_on_raw_links(case: Case) -> None:
    assert case.problems() == []


@pytest.mark.full
@FULL
@given(
    cases(
        most_brokers=30, reliable=True, lossy=True, deaths="some", crashes="some", partitions="some", schedule="timed"
    )
)
def test_many_more_cases_over_channel(case: Case) -> None:
    assert case.problems() == []


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


# A planted bug in each rule is found


def forward_on_equal(self, node, sender, ad):  # type: ignore[no-untyped-def]
    self.routes[ad.topic].hops[sender] = ad
    self.announce(node, ad.topic)


def keep_stale_entries(self, node, sender, ad):  # type: ignore[no-untyped-def]
    old = self.routes.get(ad.topic)
    self.routes[ad.topic] = Routes({**(old.hops if old else {}), sender: ad}, sender)
    self.announce(node, ad.topic)


def believe_anything(self, *ignored):  # type: ignore[no-untyped-def]
    return False


def do_nothing(self, *ignored, **more):  # type: ignore[no-untyped-def]
    return None


def drop_silently(self, node, peer):  # type: ignore[no-untyped-def]
    for topic, routes in list(self.routes.items()):
        routes.hops.pop(peer, None)
        if not routes.hops:
            del self.routes[topic]


def forget_but_do_not_spread(self, node, gone, skip=None):  # type: ignore[no-untyped-def]
    self.durable.withdrawn[gone.topic, gone.store] = gone.number


@pytest.mark.parametrize(
    ("rule", "bug"),
    [
        ("replace", keep_stale_entries),
        ("is_withdrawn", believe_anything),
        ("is_loop", believe_anything),
        ("forget", do_nothing),
        ("keep_word", do_nothing),
        ("asked", do_nothing),
        ("spread", forget_but_do_not_spread),
        ("neighbour_down", drop_silently),
        ("introduce", do_nothing),
    ],
)
def test_a_planted_bug_is_caught(monkeypatch: pytest.MonkeyPatch, rule: str, bug: object) -> None:
    monkeypatch.setattr(Coverage, rule, bug)
    assert any(goes_wrong(case) for case in hunt())


def hunt() -> Iterator[Case]:
    schedules = ("timed", "random", "priority")
    for seed in range(1000):
        size = {"brokers": 2 + seed % 9, "stores": 1 + seed % 4, "seed": seed, "orders": seed % 8, "crashes": seed % 3}
        yield Case(**size, schedule=schedules[seed % 3])
        yield Case(**size, deaths=1 + seed % 2, reliable=True)


def goes_wrong(case: Case) -> bool:
    try:
        return case.problems(limit=20_000) != []
    except BrokerlabError:
        return True


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
