"""Covering, intersection and the index against brute force over a space that has all that tells filters apart."""

from __future__ import annotations

from itertools import product

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from protocols.routing.filters import OPERATORS, Content, Filter, covers, intersects, matches
from protocols.routing.index import Index
from runtime.message import Scalar

NAN = float("nan")
BOUNDS: list[Scalar] = [1, 2, 2.0, 3, True, "", "a", "a\0", "ab", "b", None, NAN, float("inf")]
"""What conditions compare with."""

# Between any two bounds there is a number; after any text there is the next one.
VALUES: list[Scalar] = [-1, 0.5, 1, 1.5, 2, 2.5, 3, 4, float("inf"), float("-inf"), None, NAN]
VALUES += [
    "",
    "\0",
    "\0\0",
    "a",
    "a\0",
    "a\0\0",
    "a\0\0\0",
    "aa",
    "ab",
    "ab\0",
    "ab\0\0",
    "abc",
    "b",
    "b\0",
    "b\0\0",
    "c",
]

conditions = st.tuples(st.sampled_from("xy"), st.sampled_from(sorted(OPERATORS)), st.sampled_from(BOUNDS))
filters = st.lists(conditions, max_size=4).map(tuple)
SPACE: list[Content] = [
    tuple((name, value) for name, value in zip("xy", pair, strict=True) if value is not Ellipsis)
    for pair in product([*VALUES, ...], repeat=2)
]
MANY = settings(max_examples=500)


@MANY
@given(filters, filters)
@example((("x", ">", 2),), (("x", ">=", 2), ("x", "!=", 2)))
@example((("x", "<", "a\0"), ("x", "!=", "a")), (("x", "<", "a"),))
@example((("x", ">", "a"), ("x", "<", "a\0\0"), ("x", "!=", "a\0")), ())
def test_covering_and_intersection_equal_brute_force(one: Filter, other: Filter) -> None:
    here = [matches(one, content) for content in SPACE]
    there = [matches(other, content) for content in SPACE]
    assert covers(one, other) == all(a for a, b in zip(here, there, strict=True) if b)
    assert intersects(one, other) == any(a and b for a, b in zip(here, there, strict=True))


@MANY
@given(st.lists(filters, max_size=12), st.data())
def test_the_index_finds_what_a_scan_finds_after_any_removals(known: list[Filter], data: st.DataObject) -> None:
    index = Index()
    for number, conditions in enumerate(known):
        index.add(str(number), conditions)
    gone = data.draw(st.sets(st.sampled_from(range(len(known) or 1))))
    for number in gone:
        index.remove(str(number))
    left = {str(number): conditions for number, conditions in enumerate(known) if number not in gone}
    for content in data.draw(st.lists(st.sampled_from(SPACE), min_size=1, max_size=40)):
        found = index.matching(content)
        assert sorted(found) == sorted(name for name, conditions in left.items() if matches(conditions, content))
    for name in left:
        index.remove(name)
    assert index.clusters == {} and len(index) == 0


def test_a_filter_that_is_added_again_replaces_the_first() -> None:
    index = Index()
    index.add("s", (("price", ">", 10),))
    index.add("s", (("price", "<", 5),))
    assert index.matching((("price", 3),)) == ["s"] and index.matching((("price", 11),)) == []


def test_the_index_tests_only_what_its_bounds_leave(monkeypatch: pytest.MonkeyPatch) -> None:
    index = Index()
    for number in range(1000):
        index.add(f"s{number}", (("symbol", "=", f"c{number % 10}"), ("price", ">", number), ("volume", ">", 5)))
    tested = []
    monkeypatch.setattr(
        "protocols.routing.index.matches", lambda rest, content: bool(tested.append(rest)) or matches(rest, content)
    )
    assert index.matching((("price", 31), ("symbol", "c0"), ("volume", 9))) == ["s0", "s10", "s20", "s30"]
    assert len(tested) == 4
