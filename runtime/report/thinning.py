"""Less of what is too much: a page must open at once, however long the run was."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

V = TypeVar("V")

LOGGED = 30_000
"""Rows of the log on the page."""

CHANGES = 60_000
STATES = 1_000
POINTS = 1_200


def shares(counts: Mapping[str, int], most: int) -> dict[str, int]:
    """How many rows of each kind are kept: rare ones whole, the others as far as there is room."""
    kept: dict[str, int] = {}
    room = most
    for left, (kind, count) in zip(range(len(counts), 0, -1), sorted(counts.items(), key=lambda c: c[1]), strict=True):
        kept[kind] = min(count, room // left)
        room -= kept[kind]
    return {kind: kept[kind] for kind in counts}


def few_states(rows: list[tuple[float, int, V]]) -> list[tuple[float, int, V]]:
    """Of too many changes, for each node the last one in every so-and-so-many-th part of the time.

    So what each node is at the end of a part is right, and what it is at the end of the run.
    """
    if len(rows) <= CHANGES:
        return rows
    span = (rows[-1][0] - rows[0][0]) or 1.0
    last: dict[tuple[int, int], int] = {}
    for place, (time, node, _) in enumerate(rows):
        last[int((time - rows[0][0]) / span * STATES), node] = place
    return [rows[place] for place in sorted(last.values())]


def few_points(points: list[tuple[float, Any]]) -> list[tuple[float, Any]]:
    """Of too many points, in each part of the time the first, the last, the lowest and the highest."""
    if len(points) <= POINTS:
        return points
    parts = POINTS // 4
    begin, span = points[0][0], (points[-1][0] - points[0][0]) or 1.0
    kept: set[int] = set()
    by_part: dict[int, list[int]] = {}
    for place, (time, value) in enumerate(points):
        part = by_part.setdefault(min(parts - 1, int((time - begin) / span * parts)), [place, place, -1, -1])
        part[1] = place
        if value is not None:
            if part[2] < 0 or value < points[part[2]][1]:
                part[2] = place
            if part[3] < 0 or value > points[part[3]][1]:
                part[3] = place
    for part in by_part.values():
        kept.update(place for place in part if place >= 0)
    return [points[place] for place in sorted(kept)]
