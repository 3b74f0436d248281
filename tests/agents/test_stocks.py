"""The stock-quote workload is what the paper says it is (relocation, 5.1)."""

from __future__ import annotations

from collections import Counter

import pytest

from agents.stocks import HIGH, LOW, MEDIUM, Part, Stocks, draw, quote, wish
from protocols.routing.filters import matches
from runtime.errors import ScenarioError
from runtime.network import Network
from runtime.scenario import check
from runtime.streams import stream

TREE = {"kind": "balanced-tree", "branching": 2, "height": 5}


def network() -> Network:
    publisher = {"broker": "n1", "contents": [{"x": 1}], "count": 0}
    data = {"protocol": "relocation", "network": TREE, "relocation": {"publishers": {"p": publisher}}}
    return check(data).network


@pytest.mark.parametrize(("kind", "share"), [(LOW, 0.10), (MEDIUM, 0.50), (HIGH, 1.00)])
def test_subscriptions_sink_about_10_50_and_100_percent(kind: str, share: float) -> None:
    rng = stream(1, "quotes")
    quotes = [quote("YHOO", rng) for _ in range(5000)]
    sunk = sum(matches(wish(kind, "YHOO"), content) for content in quotes) / len(quotes)
    assert sunk == pytest.approx(share, abs=0.03)


def test_quotes_are_possible() -> None:
    rng = stream(2, "quotes")
    for content in (dict(quote("YHOO", rng)) for _ in range(2000)):
        assert content["low"] <= content["open"] <= content["close"] <= content["high"]  # type: ignore[operator]
        assert content["openClose%Diff"] <= content["highLow%Diff"]  # type: ignore[operator]


def by_kind(parts: dict[str, Part], symbol: str) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for name, part in parts.items():
        if name.startswith(f"{symbol}-"):
            found.setdefault(name.partition("-")[2].rstrip("0123456789"), []).append(part.broker)
    return found


def test_random_has_70_25_and_5_percent_on_x_brokers() -> None:
    parts = draw(Stocks(workload="random", subscribers=80, on_brokers=8, publishers=3), network(), 1)
    kinds = by_kind(parts, "stock2")
    assert {kind: len(homes) for kind, homes in kinds.items()} == {LOW: 56, MEDIUM: 20, HIGH: 4}
    assert len({home for homes in kinds.values() for home in homes}) == 8


def test_clustered_has_the_high_rated_on_one_broker_and_the_low_rated_elsewhere() -> None:
    parts = draw(Stocks(workload="clustered", subscribers=80, on_brokers=8, publishers=3), network(), 1)
    kinds = by_kind(parts, "stock1")
    assert {kind: len(homes) for kind, homes in kinds.items()} == {LOW: 76, HIGH: 4}
    assert len(set(kinds[HIGH])) == 1 and not {*kinds[HIGH]} & {*kinds[LOW]}


def test_with_one_broker_all_are_there() -> None:
    parts = draw(Stocks(workload="clustered", on_brokers=1, publishers=1), network(), 1)
    assert len({part.broker for name, part in parts.items() if "-" in name}) == 1


def test_publishers_are_where_they_are_whatever_x_is() -> None:
    few, many = (draw(Stocks(on_brokers=x), network(), 5) for x in (1, 63))
    assert [few[f"stock{n}"].broker for n in range(1, 11)] == [many[f"stock{n}"].broker for n in range(1, 11)]
    assert Counter(part.program is not None for part in few.values()) == {True: 10, False: 800}


def test_more_brokers_than_there_are_is_an_error() -> None:
    data = {"protocol": "relocation", "network": TREE, "relocation": {"stocks": {"on_brokers": 64}}}
    with pytest.raises(ScenarioError, match=r"relocation.stocks.on_brokers: 64 is too large: there are 63 brokers"):
        check(data)
