"""Smaller scenarios: what can be left out of one, or be made simpler, whatever its protocol is.

Most of what is yielded is no scenario any more, or shows nothing: whoever asks tries one after the other.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

Data = dict[str, Any]
Place = tuple[Any, ...]
UNTOUCHED = {"protocol", "links", "limits", "edges", "kind"}
"""Keys whose values stay, or are made smaller in a way of their own."""


def contracted(data: Data) -> Iterator[Data]:
    """Two linked brokers become one: everything that was at the second is now at the first."""
    edges = data["network"].get("edges")
    for a, b in edges or ():
        for stays, goes in ((a, b), (b, a)):
            left = sorted({(min(e), max(e)) for e in _renamed(edges, goes, stays) if e[0] != e[1]})
            rest = _renamed({key: value for key, value in data.items() if key != "network"}, goes, stays)
            network = {key: value for key, value in data["network"].items() if key != "edges"}
            if left:
                yield {**rest, "network": {**network, "edges": [list(edge) for edge in left]}}
            else:
                yield {**_renamed(rest, stays, "n1"), "network": {**network, "kind": "random-tree", "nodes": 1}}


def _renamed(value: Any, old: str, new: str) -> Any:
    if isinstance(value, dict):
        kept = {key: _renamed(below, old, new) for key, below in value.items() if key != old}
        return kept if old not in value or new in value else {**kept, new: _renamed(value[old], old, new)}
    if isinstance(value, list | tuple):
        return [_renamed(below, old, new) for below in value]
    return new if value == old else value


def renamed(data: Data) -> Iterator[Data]:
    """The brokers are called n1, n2, ... again."""
    names = sorted({name for edge in data["network"].get("edges", ()) for name in edge})
    for place, old in enumerate(names, start=1):
        if old != (new := f"n{place}") and new not in names:
            edges = [sorted(edge) for edge in _renamed(data["network"]["edges"], old, new)]
            other = _renamed({key: value for key, value in data.items() if key != "network"}, old, new)
            yield {**other, "network": {**data["network"], "edges": edges}}


def with_fewer_edges(data: Data) -> Iterator[Data]:
    edges = data["network"].get("edges", ())
    for place in range(len(edges)):
        yield _with(data, ("network", "edges"), [*edges[:place], *edges[place + 1 :]])


def with_less(data: Data) -> Iterator[Data]:
    """Some entries of a list or of a table are left out, large pieces first."""
    for place, value in _inner(data):
        if isinstance(value, list):
            size = len(value)
            while size:
                for first in range(0, len(value), size):
                    yield _with(data, place, value[:first] + value[first + size :])
                size //= 2
        elif place:
            for key in value:
                yield _with(data, place, {other: below for other, below in value.items() if other != key})


def simplified(data: Data) -> Iterator[Data]:
    """Numbers come nearer to 0 and have fewer digits, what varies becomes constant, what is on goes off."""
    if data.get("links") == "reliable" and not data.get("faults"):
        yield {**data, "links": "raw"}
    for place, value in _leaves(data):
        for simple in _simpler(value):
            yield _with(data, place, simple)


def _simpler(value: Any) -> Iterator[Any]:
    if isinstance(value, bool):
        if value:
            yield False
    elif isinstance(value, int):
        yield from dict.fromkeys(low for low in (0, 1, 2, value // 2, value - 1) if abs(low) < abs(value))
    elif isinstance(value, float):
        for simple in (0.0, 1.0, float(round(value)), round(value, 1)):
            if _digits(simple) < _digits(value) or (_digits(simple) == _digits(value) and abs(simple) < abs(value)):
                yield simple
    elif isinstance(value, str) and "(" in value:
        yield 1.0


def _digits(value: float) -> int:
    return len(f"{value:g}") if value == float(f"{value:g}") else len(repr(value))


def _inner(value: Any, place: Place = ()) -> Iterator[tuple[Place, Any]]:
    """The lists and tables in the data, outermost first."""
    if isinstance(value, dict | list):
        yield place, value
        for key, below in value.items() if isinstance(value, dict) else enumerate(value):
            if key not in UNTOUCHED:
                yield from _inner(below, (*place, key))


def _leaves(data: Data) -> Iterator[tuple[Place, Any]]:
    for place, value in _inner(data):
        for key, below in value.items() if isinstance(value, dict) else enumerate(value):
            if not isinstance(below, dict | list) and key not in UNTOUCHED:
                yield (*place, key), below


def _with(value: Any, place: Place, new: Any) -> Any:
    """The data with another value at this place; what is not on the way to it is shared."""
    if not place:
        return new
    key, *rest = place
    if isinstance(value, dict):
        return {**value, key: _with(value[key], tuple(rest), new)}
    return [*value[:key], _with(value[key], tuple(rest), new), *value[key + 1 :]]
