"""A filter matches when every condition holds."""

from __future__ import annotations

import pytest

from protocols.routing.filters import matches

CONTENT = (("name", "acorn"), ("price", 12), ("sold", False))


@pytest.mark.parametrize(
    ("condition", "holds"),
    [
        (("price", "=", 12), True),
        (("price", "=", 12.0), True),
        (("price", "!=", 12), False),
        (("price", "<", 12), False),
        (("price", "<=", 12), True),
        (("price", ">", 11.5), True),
        (("price", ">=", 13), False),
        (("name", "prefix", "ac"), True),
        (("name", "prefix", "co"), False),
        (("price", "prefix", "1"), False),
        (("name", "present", None), True),
        (("colour", "present", None), False),
        (("colour", "!=", "red"), False),
        (("name", "<", 5), False),
        (("name", "!=", 5), True),
    ],
)
def test_one_condition(condition: tuple[str, str, object], holds: bool) -> None:
    assert matches((condition,), CONTENT) is holds  # type: ignore[arg-type]


def test_all_conditions_must_hold() -> None:
    assert matches((("price", ">", 10), ("name", "=", "acorn")), CONTENT)
    assert not matches((("price", ">", 10), ("name", "=", "ash")), CONTENT)


def test_no_condition_matches_everything() -> None:
    assert matches((), CONTENT)
    assert matches((), ())
