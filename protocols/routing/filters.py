"""Filters: conjunctions of conditions on the attributes of a publication; which covers and which meets which."""

from __future__ import annotations

import operator
from collections.abc import Callable
from functools import lru_cache
from typing import Any

from protocols.routing.regions import Region, region_of
from runtime.message import Scalar

Content = tuple[tuple[str, Scalar], ...]
"""The attributes of a publication."""

Condition = tuple[str, str, Scalar]
"""(attribute, operator, value): `("price", ">", 10)`. For `present` the value is ignored."""

Filter = tuple[Condition, ...]


def _starts_with(value: Any, prefix: Any) -> bool:
    return isinstance(value, str) and isinstance(prefix, str) and value.startswith(prefix)


OPERATORS: dict[str, Callable[[Any, Any], bool]] = {
    "=": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "prefix": _starts_with,
    "present": lambda value, ignored: True,
}


def matches(conditions: Filter, content: Content) -> bool:
    """Does the content have every attribute that is asked for, with a value that fits?

    Values of different kinds (a number and a text) are unequal and in no order.
    """
    attributes = dict(content)
    return all(name in attributes and _holds(attributes[name], relation, value) for name, relation, value in conditions)


def _holds(value: Scalar, relation: str, wanted: Scalar) -> bool:
    try:
        return OPERATORS[relation](value, wanted)
    except TypeError:
        return False


@lru_cache(maxsize=1 << 16)
def covers(wide: Filter, narrow: Filter) -> bool:
    """Does `wide` match every content that `narrow` matches? (What matches nothing is covered by all.)"""
    narrow_regions, wide_regions = regions(narrow), regions(wide)
    if any(region.empty for region in narrow_regions.values()):
        return True
    return all(name in narrow_regions and narrow_regions[name].within(wide_regions[name]) for name in wide_regions)


@lru_cache(maxsize=1 << 16)
def intersects(one: Filter, other: Filter) -> bool:
    """Is there a content that both match?"""
    here, there = regions(one), regions(other)
    if any(region.empty for region in (*here.values(), *there.values())):
        return False
    return not any((here[name] & there[name]).empty for name in here if name in there)


@lru_cache(maxsize=1 << 14)
def regions(conditions: Filter) -> dict[str, Region]:
    """What the filter asks of each attribute that it names."""
    asked: dict[str, list[tuple[str, Scalar]]] = {}
    for name, relation, value in conditions:
        asked.setdefault(name, []).append((relation, value))
    return {name: region_of(conditions) for name, conditions in asked.items()}
