"""Smaller scenarios: what can be left out of one, or be made simpler, whatever its protocol is.

Most of what is yielded is no scenario any more, or shows nothing: whoever asks tries one after the other.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import pairwise
from math import ceil, isfinite
from typing import Any

Data = dict[str, Any]
Place = tuple[Any, ...]
UNTOUCHED = {"protocol", "links", "limits", "edges", "kind", "seed"}
"""Keys whose values stay, or are made smaller in a way of their own."""

SEEDS = range(10)
WORTHWHILE_S = 0.05


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


def without_a_broker(data: Data) -> Iterator[Data]:
    """A broker is not there, nor anything that names it."""
    edges = data["network"].get("edges", ())
    names = dict.fromkeys(name for edge in edges for name in edge[:2])
    for gone in reversed(names):
        left = [edge for edge in edges if gone not in edge]
        if left:
            rest = {key: _without(value, gone) for key, value in data.items() if key != "network"}
            yield {**rest, "network": {**data["network"], "edges": left}}


def _without(value: Any, name: str) -> Any:
    """Entries that are called so, or in which it stands, are left out; but a table in a table stays."""
    if isinstance(value, dict):
        return {key: _without(below, name) for key, below in value.items() if key != name and not _is(below, name)}
    if isinstance(value, list | tuple):
        return [_without(below, name) for below in value if not _is(below, name) and not _names(below, name)]
    return value


def _is(value: Any, name: str) -> bool:
    """Is it the name, or a table that is about what has it?"""
    return bool(value == name) or (isinstance(value, dict) and name in value.values())


def _names(value: Any, name: str) -> bool:
    """Does the name stand anywhere in a list of lists?"""
    return isinstance(value, list | tuple) and any(below == name or _names(below, name) for below in value)


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
        elif place and place[0] != "faults":  # a fault that lacks something is another fault: one that never ends
            for key in value:
                yield _with(data, place, {other: below for other, below in value.items() if other != key})


def without_faults(data: Data) -> Iterator[Data]:
    """Links that lose nothing need no repair."""
    if data.get("faults"):
        yield {**data, "faults": [], "links": "raw"}
        yield {**data, "faults": []}
    elif data.get("links") == "reliable":
        yield {**data, "links": "raw"}


def with_fewer(data: Data) -> Iterator[Data]:
    """Whole numbers, which mostly say how many there are, become smaller."""
    for place, value in _leaves(data):
        if isinstance(value, int) and not isinstance(value, bool):
            for simple in _simpler(value):
                yield _with(data, place, simple)


def sooner(data: Data, more: Iterable[float] = ()) -> Iterator[tuple[Data, Callable[[float], float]]]:
    """Whatever happens late happens earlier, and what comes after it as well; with how far each time moves.

    Which numbers are times, nobody says: all that have a decimal point move, if they are as late. `more` are times
    that are not in the data.
    """
    leaves = [(place, value) for place, value in _leaves(data) if isinstance(value, float) and place[0] != "network"]
    times = sorted({value for _, value in leaves} | {time for time in more if time})
    for before, time in pairwise([0.0, *times]):
        for earlier in (before, before + 1.0, round((before + time) / 2, 1)):
            if before <= earlier <= time - WORTHWHILE_S:
                yield _moved(data, leaves, time, time - earlier)


def _moved(
    data: Data, leaves: list[tuple[Place, float]], since: float, by: float
) -> tuple[Data, Callable[[float], float]]:
    def moved(time: float) -> float:
        return round(time - by, 6) if time >= since else time

    for place, value in leaves:
        if value >= since:
            data = _with(data, place, moved(value))
    return data, moved


def with_small_seed(data: Data) -> Iterator[Data]:
    for seed in SEEDS:
        if seed < data.get("seed", 0):
            yield {**data, "seed": seed}


def simplified(data: Data) -> Iterator[Data]:
    """Numbers come nearer to 0 and have fewer digits, what varies becomes constant, what is on goes off."""
    for key, nothing in (("faults", []), ("links", "raw")):
        if data.get(key) == nothing:
            yield {other: value for other, value in data.items() if other != key}
    for place, value in _leaves(data):
        for simple in _simpler(value):
            yield _with(data, place, simple)


def _simpler(value: Any) -> Iterator[Any]:
    if isinstance(value, bool):
        if value:
            yield False
    elif isinstance(value, int):
        yield from dict.fromkeys(low for low in (0, 1, 2, value // 2, value - 1) if abs(low) < abs(value))
    elif isinstance(value, float) and isfinite(value):
        for simple in (0.0, 1.0, float(round(value)), float(ceil(value)), round(value, 1), round(value, 2)):
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
