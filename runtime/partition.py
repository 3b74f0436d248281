"""Cutting a network into shares for several actors so that few links cross them."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Mapping, Sequence

SLACK = 1.02
"""How much larger than its due a share may become while links are saved."""


def partition(neighbours: Mapping[str, Sequence[str]], shares: int, passes: int = 4) -> list[list[str]]:
    """Breadth-first blocks of about equal size, then every node moves to where most of its neighbours are.

    The same network and number of shares always give the same cut. There are never more shares than nodes.
    """
    shares = max(1, min(shares, len(neighbours)))
    order = breadth_first(neighbours)
    owner = {name: place * shares // len(order) for place, name in enumerate(order)}
    sizes = Counter(owner.values())
    most = max(int(SLACK * len(order) / shares), max(sizes.values()))
    for _ in range(passes if shares > 1 else 0):
        if not _improve(neighbours, order, owner, sizes, most):
            break
    found: list[list[str]] = [[] for _ in range(shares)]
    for name in sorted(neighbours):
        found[owner[name]].append(name)
    return found


def crossing(neighbours: Mapping[str, Sequence[str]], shares: Sequence[Sequence[str]]) -> int:
    """How many links have their ends in two shares."""
    owner = {name: number for number, share in enumerate(shares) for name in share}
    return sum(owner[a] != owner[b] for a, peers in neighbours.items() for b in peers if a < b)


def breadth_first(neighbours: Mapping[str, Sequence[str]]) -> list[str]:
    seen: set[str] = set()
    order: list[str] = []
    for start in neighbours:
        if start in seen:
            continue
        seen.add(start)
        queue = deque([start])
        while queue:
            name = queue.popleft()
            order.append(name)
            for peer in neighbours[name]:
                if peer not in seen:
                    seen.add(peer)
                    queue.append(peer)
    return order


def _improve(
    neighbours: Mapping[str, Sequence[str]], order: Sequence[str], owner: dict[str, int], sizes: Counter[int], most: int
) -> int:
    """One pass over all nodes; how many moved."""
    moved = 0
    for name in order:
        here = owner[name]
        near = Counter(owner[peer] for peer in neighbours[name])
        best = min(near, key=lambda share: (-near[share], share), default=here)
        if near[best] > near[here] and sizes[best] < most and sizes[here] > 1:
            owner[name] = best
            sizes[best] += 1
            sizes[here] -= 1
            moved += 1
    return moved
