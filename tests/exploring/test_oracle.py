"""Exploring finds exactly what trying every order finds, whatever is left out on the way."""

from __future__ import annotations

from typing import Any

import pytest

from runtime.exploring.rules import Budget, Rules
from runtime.exploring.search import explore
from runtime.scenario import check
from tests.exploring.naive import FOLDER, by_brute_force, noted, scenario

LINE = ["n1 n2", "n2 n3"]
PAIR = ["n1 n2"]
EACH = ["none", "sleep", "persistent"]


def explored(data: dict[str, Any], reduction: Any, rules: Rules) -> tuple[set[str], set[str], set[str]]:
    noted()
    report = explore(check(data, FOLDER), rules, reduction)
    assert report.complete or report.problem is not None
    return (*noted(), set() if report.problem is None else {report.problem[0]})


def links(edges: list[str]) -> list[list[str]]:
    return [ends for edge in edges for ends in (edge.split(), edge.split()[::-1])]


def strikes(kind: str, edges: list[str], most: int) -> list[list[dict[str, Any]]]:
    """No fault, or one of this kind at any message of any link."""
    one = {"kind": kind, "one_way": True}
    return [[], *([one | {"links": [ends], "nth": [nth]}] for ends in links(edges) for nth in range(1, most + 1))]


def crashes(names: list[str]) -> list[list[dict[str, Any]]]:
    return [[], *([{"kind": "crash", "nodes": [name], "at": 0.0, "recover_after": 1e-6}] for name in names)]


CASES = {
    "a chain": (scenario("Chain", LINE), [[]], Rules()),
    "a flood": (scenario("Flood", LINE), [[]], Rules()),
    "links without order": (scenario("Words", PAIR), [[]], Rules(fifo=False)),
    "timers": (scenario("Clocks", PAIR), [[]], Rules()),
    "dice": (scenario("Dice", LINE), [[]], Rules()),
    "a loss": (scenario("Words", PAIR), strikes("drop", PAIR, 2), Rules(budget=Budget(losses=1))),
    "a loss in a flood": (scenario("Flood", LINE), strikes("drop", LINE, 2), Rules(budget=Budget(losses=1))),
    "a duplicate": (scenario("Words", PAIR), strikes("duplicate", PAIR, 2), Rules(budget=Budget(duplicates=1))),
    "a crash": (scenario("Forgetful", PAIR), crashes(["n1", "n2"]), Rules(budget=Budget(crashes=1))),
    "a crash in a flood": (scenario("Flood", PAIR), crashes(["n1", "n2"]), Rules(budget=Budget(crashes=1))),
}


@pytest.mark.parametrize("name", CASES)
def test_every_state_and_every_end_is_found(name: str) -> None:
    data, plans, rules = CASES[name]
    states, ends, violated = by_brute_force(data, plans, rules.fifo)
    assert len(ends) >= 1 and not violated
    for reduction in EACH:
        seen, seen_ends, _ = explored(data, reduction, rules)
        assert seen_ends == ends, reduction
        if reduction != "persistent":
            assert seen == states, reduction


@pytest.mark.parametrize("reduction", EACH)
def test_a_handler_that_fails_in_some_order_is_found(reduction: str) -> None:
    data = scenario("Fragile", LINE)
    *_, violated = by_brute_force(data)
    assert violated == {"runs-without-error"}
    assert explored(data, reduction, Rules())[2] == violated


def test_more_may_be_left_out_where_links_keep_their_order() -> None:
    report = [explore(check(scenario("Chain", LINE), FOLDER), Rules(), r) for r in ("none", "sleep", "persistent")]
    none, sleep, persistent = report
    assert sleep.transitions < none.transitions
    assert persistent.states < none.states
    assert sleep.ends == none.ends == persistent.ends
