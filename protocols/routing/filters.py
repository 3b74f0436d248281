"""Filters: conjunctions of conditions on the attributes of a publication."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

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
