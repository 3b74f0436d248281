"""The most valuable set of things that fits: a knapsack, solved exactly by branch and bound."""

from __future__ import annotations

from collections.abc import Sequence

CLOSE = 1e-9
"""A branch that promises no more than this beyond the best known, relatively, is not followed."""


def best_fit(values: Sequence[float], sizes: Sequence[float], room: float) -> list[int]:
    """Places of the things to take; all values and sizes are above 0. Of equally good sets, the one found first.

    Things are tried in the order of value by size. What a branch can still reach is at most the value that it would
    have if the first thing that no longer fits could be cut.
    """
    order = sorted(range(len(values)), key=lambda place: (-values[place] / sizes[place], place))
    best: list[int] = []
    best_value = 0.0
    taken: list[int] = []

    def promise(depth: int, left: float) -> float:
        value = 0.0
        for place in order[depth:]:
            if sizes[place] > left:
                return value + values[place] * left / sizes[place]
            left -= sizes[place]
            value += values[place]
        return value

    # Each entry: how deep, what room and value were there; a thing to leave out again, or -1.
    stack = [(0, room, 0.0, -1)]
    while stack:
        depth, left, value, undo = stack.pop()
        if undo >= 0:
            taken.pop()
        if value > best_value * (1 + CLOSE):
            best, best_value = taken.copy(), value
        if depth == len(order) or value + promise(depth, left) <= best_value * (1 + CLOSE):
            continue
        place = order[depth]
        if sizes[place] <= left:
            # First with it; when that branch is done, without it.
            stack.append((depth + 1, left, value, place))
            stack.append((depth + 1, left - sizes[place], value + values[place], -1))
            taken.append(place)
        else:
            stack.append((depth + 1, left, value, -1))
    return sorted(best)
