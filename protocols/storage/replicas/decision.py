"""Steps 1 to 6 of the storage management algorithms (replicas, IV.A and IV.B): what should this store replace?

Holistic and myopic differ only in what a gain and a loss are. Gains and losses of different items do not depend
on each other, because the traffic is a sum over items; so they are computed once and hold for all six steps.

Decided where the paper is silent: of equal gains or losses the item that comes first by name is taken; free space
counts, so what must leave is the new item's size minus what is free; if everything that may leave does not make
enough room, nothing is replaced; what step 4 has removed may come back in step 6. An improvement within the
rounding error of a sum is none.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from protocols.storage.replicas.knapsack import best_fit
from protocols.storage.replicas.view import View

Amounts = NDArray[np.float64]
Chosen = NDArray[np.bool_]

ROUNDING = 1e-9
ROOM = 1e-6
"""Sizes are sums of fractions: what is over by less than this fits."""


@dataclass(frozen=True)
class Policy:
    """What the paper leaves open; as it is, the paper's own rule."""

    replacement_cost: float = 0.0
    """What fetching an item costs: this many times its size times the hops it travels (VI)."""

    search: Literal["paper", "knapsack"] = "paper"
    """The one candidate of step 3, or the best content of the storage there is."""

    guarded: bool = False
    """An item leaves only if a store with a smaller name is known to hold it: then it can never be lost."""

    load_weight: float = 0.0
    """How many hops of traffic the storage load is worth (VI); above 0, `load.py` decides."""


@dataclass(frozen=True)
class Worth:
    """What each item is worth to a store: the loss of those that it holds, the gain of the others."""

    held: Chosen
    may_leave: Chosen
    """Of those held: another replica exists (step 1)."""

    can_come: Chosen
    """Of the others: there is a replica to fetch."""

    value: Amounts
    fetching: Amounts
    """The cost of bringing each item here; zero unless the policy counts it."""


def holistic(view: View, store: int, weights: Amounts) -> Amounts:
    """Losses and gains of the whole network's traffic (steps 1 and 2). `weights` is size times rate, item by store."""
    towards = view.distances[store]
    hops = np.maximum(view.nearest - towards, 0)
    rows = np.flatnonzero(view.holders[:, store])
    nearest = view.nearest[rows]
    hops[rows] = np.where(nearest == towards, view.second[rows] - nearest, 0)
    value: Amounts = np.einsum("mv,mv->m", weights, hops)
    return value


def myopic(view: View, store: int, weights: Amounts) -> Amounts:
    """Losses and gains of the store's own clients only (4). `weights` is size times its own rate, item by item."""
    return weights * np.where(view.holders[:, store], view.second[:, store], view.nearest[:, store])


def worth(view: View, store: int, value: Amounts, sizes: Amounts, policy: Policy) -> Worth:
    held = view.holders[:, store]
    # Members are in the order of their names: those before this column are the smaller ones.
    safe = view.holders[:, :store].any(axis=1) if policy.guarded else view.replicas >= 2
    fetching = policy.replacement_cost * sizes * view.nearest[:, store]
    return Worth(held, held & safe, ~held & (view.replicas >= 1), value, fetching)


def choose(worth: Worth, sizes: Amounts, capacity: float, search: str = "paper") -> Chosen | None:
    """What the store should hold instead of what it holds, or None if nothing better is found."""
    return _best_content(worth, sizes, capacity) if search == "knapsack" else _steps(worth, sizes, capacity)


def _steps(worth: Worth, sizes: Amounts, capacity: float) -> Chosen | None:
    gain = worth.value - worth.fetching
    held = worth.held.copy()
    free = capacity - float(sizes[held].sum()) + ROOM
    # Step 3. Only the item of largest gain is a candidate.
    new = largest(gain, worth.can_come & (sizes <= capacity + ROOM))
    if new is None:
        return None
    # Step 4. Items leave in order of smallest loss until it fits.
    loss = 0.0
    leaving = worth.may_leave.copy()
    while free < sizes[new]:
        least = largest(-worth.value, leaving)
        if least is None:
            return None
        leaving[least] = held[least] = False
        loss += float(worth.value[least])
        free += float(sizes[least])
    # Step 5.
    if not gain[new] > loss + ROUNDING * max(abs(loss), abs(gain[new])):
        return None
    held[new] = True
    free -= float(sizes[new])
    # Step 6. Fill what is left; what has just left has its loss to gain and need not be fetched.
    gain = np.where(worth.held, worth.value, gain)
    able = (worth.can_come | worth.held) & (gain >= 0)
    while (filler := largest(gain, able & ~held & (sizes <= free))) is not None:
        held[filler] = True
        free -= float(sizes[filler])
    return held


def _best_content(worth: Worth, sizes: Amounts, capacity: float) -> Chosen | None:
    """The best content given what all the others hold: a knapsack, solved exactly."""
    value = np.where(worth.held, worth.value, worth.value - worth.fetching)
    best = worth.held & ~worth.may_leave
    places = np.flatnonzero((worth.may_leave | worth.can_come) & (value > 0))
    room = capacity - float(sizes[best].sum()) + ROOM
    best[places[best_fit(value[places].tolist(), sizes[places].tolist(), room)]] = True
    now, then = float(value[worth.held].sum()), float(value[best].sum())
    return best if then > now + ROUNDING * abs(now) else None


def largest(amounts: Amounts, among: Chosen) -> int | None:
    """The place of the largest amount; of those that are equal but for rounding, the first."""
    places = np.flatnonzero(among)
    if not places.size:
        return None
    offered = amounts[places]
    best = offered.max()
    return int(places[np.argmax(offered >= best - ROUNDING * abs(best))])
