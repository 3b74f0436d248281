"""Tapestry: tables built by messages are those of full knowledge, and every route ends at the same root."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from protocols.dissemination.identifiers import DIGITS, distance, full_tables, in_digits, nearest, shared, slot_of
from protocols.dissemination.tapestry import Tapestry
from runtime.run import Outcome, simulate
from runtime.scenario import check
from tests.checking.planted import nothing
from tests.checking.standing import stands

# Identifiers


def test_digits_and_prefixes() -> None:
    assert in_digits(255, 16, 4) == "00ff"
    assert in_digits(5, 2, 2) == "01"  # the last digits only
    assert shared("4227", "42a2") == 2
    assert slot_of("4227", "42a2") == (2, 10)


def test_a_key_without_a_node_goes_to_the_next_higher_digit() -> None:
    # As in Zhao et al., figure 3: where no node has the digit, the next one that some node has is taken, cyclically.
    nodes = ["4227", "42a2", "44af", "6f43"]
    assert nearest("4228", nodes, 16) == "4227"  # 8 is not there; after f comes 0, ..., 7
    assert nearest("4300", nodes, 16) == "44af"  # 3 is not there, 4 is
    assert nearest("5000", nodes, 16) == "6f43"
    assert nearest("7fff", nodes, 16) == "4227"


@settings(max_examples=200)
@given(st.integers(2, 16), st.integers(0, 2**32), st.integers(1, 40))
def test_routes_by_full_tables_end_at_the_nearest_node(base: int, seed: int, count: int) -> None:
    rng = random.Random(seed)
    identifiers = [in_digits(number, base, 6) for number in rng.sample(range(base**6), count)]
    tables = full_tables(identifiers, base)
    mesh = {own: Tapestry(own, base, [(other, other) for other in tables[own].values()]) for own in identifiers}
    for _ in range(5):
        key = "".join(rng.choice(DIGITS[:base]) for _ in range(6))
        assert {end_of_route(mesh, own, key) for own in mesh} == {nearest(key, identifiers, base)}


@settings(max_examples=200)
@given(st.integers(2, 4), st.integers(0, 2**32), st.integers(2, 40))
def test_who_has_left_sends_on_to_the_next_root(base: int, seed: int, count: int) -> None:
    rng = random.Random(seed)
    identifiers = [in_digits(number, base, 6) for number in rng.sample(range(base**6), count)]
    tables = full_tables(identifiers, base)
    mesh = {own: Tapestry(own, base, [(other, other) for other in tables[own].values()]) for own in identifiers}
    key, leaver = "".join(rng.choice(DIGITS[:base]) for _ in range(6)), rng.choice(identifiers)
    mesh[leaver].durable.left = True
    hop, level = mesh[leaver].next_hop(key, 0)
    assert hop is not None
    rest = full_tables([own for own in identifiers if own != leaver], base)
    mesh = {own: Tapestry(own, base, [(other, other) for other in rest[own].values()]) for own in rest}
    assert end_of_route(mesh, hop.name, key, level) == nearest(key, rest, base)


def end_of_route(mesh: dict[str, Tapestry], here: str, key: str, level: int = 0) -> str:
    hop, level = mesh[here].next_hop(key, level)
    while hop is not None:
        here = hop.name
        hop, level = mesh[here].next_hop(key, level)
    return here


@settings(max_examples=100)
@given(st.sets(st.text("0123", min_size=4, max_size=4), min_size=1, max_size=30))
def test_a_slot_holds_the_nearest_of_all_that_fit(identifiers: set[str]) -> None:
    tables = full_tables(identifiers, 4)
    for owner in identifiers:
        for level in range(4):
            for digit in range(4):
                prefix = owner[:level] + DIGITS[digit]
                fitting = [i for i in sorted(identifiers) if i.startswith(prefix) and i[level] != owner[level]]
                expected = min(fitting, key=lambda i: distance(owner, i, 4), default=None)
                assert tables[owner].get((level, digit)) == expected


# Joining


def test_tables_built_by_messages_are_those_of_full_knowledge() -> None:
    stands("dissemination", 100, size=20)


def test_a_larger_mesh_grows_from_one_node() -> None:
    content = {
        "cag": {"formats": {"a": 1.0}},
        "tapestry": {"joins": {f"n{place}": 1.0 for place in range(2, 51)}},
        "publications": [{"at": 1000.0, "broker": "n1", "topic": "news", "format": "a"}],
    }
    network = {"kind": "complete", "nodes": 50, "delay": "uniform(0.1, 5)"}
    outcome = simulate(check({"protocol": "dissemination", "seed": 3, "network": network, "dissemination": content}))
    assert outcome.quiescent and outcome.violations == []


def test_tables_are_right_while_nodes_join_leave_crash_and_recover() -> None:
    stands("dissemination", 100, ["crash", "death"], size=20)


def test_tables_are_right_when_a_channel_finds_the_failures() -> None:
    stands("dissemination", 40, ["drop", "crash", "death"])


# What is lost with a life


def at_rest(edges: list[list[str]], leaves: dict[str, float], faults: list[dict[str, Any]]) -> Outcome:
    """Over links that lose everything for a while; the mesh itself talks over the underlay, which loses nothing."""
    content = {
        "cag": {"formats": {"a": 1.0}},
        "tapestry": {"leaves": leaves},
        "publications": [{"at": 0.0, "broker": "n1", "topic": "news", "format": "a"}],
    }
    data = {"protocol": "dissemination", "seed": 3, "links": "reliable", "dissemination": content, "faults": faults}
    return simulate(check(data | {"network": {"edges": edges}}))


CRASH = {"kind": "crash", "nodes": ["n2"], "at": 100.0, "recover_after": 5.0}


def n1_leaves() -> Outcome:
    """n2 is back in the mesh; n1 takes its leave, but over the link, which still leads to n2's last life."""
    return at_rest([["n1", "n2"]], {"n1": 130.0}, [CRASH, {"kind": "drop", "since": 99.0, "until": 150.0}])


def n3_dies() -> Outcome:
    """Only n1 knows n3 by name and sees that it is dead; it says so to n2's last life."""
    death = {"kind": "crash", "nodes": ["n3"], "at": 130.0}
    loss = {"kind": "drop", "links": [["n1", "n2"]], "since": 99.0, "until": 1000.0}
    return at_rest([["n1", "n2"], ["n1", "n3"]], {}, [CRASH, death, loss])


@pytest.mark.parametrize("ends", [n1_leaves, n3_dies])
def test_a_new_life_hears_who_is_gone_though_its_acquaintances_knew_nothing_of_it(ends: Callable[[], Outcome]) -> None:
    outcome = ends()
    assert outcome.quiescent and outcome.violations == []


@pytest.mark.parametrize("ends", [n1_leaves, n3_dies])
def test_the_property_catches_who_says_to_no_new_life_who_is_gone(
    ends: Callable[[], Outcome], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A planted bug; by chance it takes tens of thousands of cases to see it."""
    monkeypatch.setattr(Tapestry, "neighbour_up", nothing)
    assert ends().violations[0].startswith("tables-are-full: n2 has ")


def test_who_crashes_while_it_takes_its_leave_takes_it_again() -> None:
    loss = {"kind": "drop", "until": 120.0}
    outcome = at_rest([["n1", "n2"]], {"n2": 90.0}, [CRASH, loss])
    assert outcome.quiescent and outcome.violations == []
