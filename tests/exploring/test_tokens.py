"""Three stores and their token: whatever order messages come in, whatever is lost, nobody writes with another."""

from __future__ import annotations

from typing import Any

import pytest

from runtime.exploring.rules import Budget, Rules
from runtime.exploring.search import Report, explore
from runtime.scenario import check, load

TRAVELS = frozenset({"Token", "Fetch", "Content", "Equilibrium", "Claim"})
"""What the token's holders say. Facts travel once over each link: on links that lose them nobody is ever sure."""


def explored(protocol: str, **rules: Any) -> Report:
    data = load("holistic").data | {"protocol": protocol}
    return explore(check(data), Rules("due", **rules))


@pytest.mark.parametrize("protocol", ["holistic", "myopic"])
def test_three_stores_in_any_order(protocol: str) -> None:
    report = explored(protocol)
    assert report.verdict == "valid" and report.complete
    assert "a-replica-is-replaced" in report.sometimes


@pytest.mark.parametrize("protocol", ["holistic", "myopic"])
def test_the_token_is_lost_once(protocol: str) -> None:
    report = explored(protocol, budget=Budget(losses=1), only=frozenset({"Token"}))
    assert report.verdict == "valid" and report.complete
    assert "a-new-epoch-is-claimed" in report.sometimes


@pytest.mark.parametrize("protocol", ["holistic", "myopic"])
def test_anything_that_holders_say_is_lost_or_doubled_once(protocol: str) -> None:
    report = explored(protocol, budget=Budget(losses=1, duplicates=1), only=TRAVELS)
    assert report.verdict == "valid" and report.complete


def test_a_store_crashes_and_is_back_before_any_time_out() -> None:
    report = explored("myopic", budget=Budget(crashes=1), at=frozenset({"n3"}), back="soon")
    assert report.verdict == "valid" and report.complete


@pytest.mark.full
@pytest.mark.parametrize("protocol", ["holistic", "myopic"])
@pytest.mark.parametrize("losses", [0, 1])
def test_a_store_crashes_and_the_token_is_lost(protocol: str, losses: int) -> None:
    faults = Budget(losses=losses, crashes=1)
    report = explored(protocol, budget=faults, only=frozenset({"Token"}), at=frozenset({"n3"}), back="soon")
    assert report.verdict == "valid" and report.complete
