"""Storage load in the decision (replicas, VI: left open there, so this is our own).

The stores minimise

    J(H) = T(H) + load_weight / 2 * sum over v of L_v^2 / Lbar

where L_v is the traffic (size times rate) of all the requests that store v answers, its own clients' among them: each
request goes to the nearest replica, of equally near ones to the first by name. Lbar is the mean of L_v, whatever the
configuration; so the weight counts hops: a request that moves from a store of load 2 Lbar to one of load Lbar saves
about `load_weight` hops.

Loads add up over items, so gains and losses are no longer independent of each other. But what an item of this store
moves from one server to another does not depend on its other items: with these shifts at hand, the difference of J
for any replacement is exact and cheap. Steps 3 to 6 therefore take each item by what it changes on top of what was
taken before, and step 5 judges the whole replacement. J falls strictly with every replacement and there are finitely
many configurations: a single writer comes to an end, as without the load.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from protocols.storage.replicas.decision import ROOM, ROUNDING, Amounts, Chosen, Worth, largest
from protocols.storage.replicas.view import View, first_nearest


@dataclass(frozen=True)
class Exchange:
    """What changes when this store takes in an item that it does not hold, or lets one go that it holds."""

    traffic: Amounts
    """By how much T rises, item by item."""

    shifts: Amounts
    """By how much the load of each store rises, item by store."""

    loads: Amounts
    """L_v as it is."""

    scale: float
    """load_weight / Lbar."""

    def difference(self, exchanged: Chosen) -> float:
        """By how much J rises if these items are exchanged."""
        shift = self.shifts[exchanged].sum(axis=0)
        return float(self.traffic[exchanged].sum() + self.scale * (shift @ self.loads + shift @ shift / 2))

    def falls(self, exchanged: Chosen, cost: float) -> bool:
        """Does J fall by more than the cost, and by more than the rounding error of the sums?"""
        shift = np.abs(self.shifts[exchanged]).sum(axis=0)
        summed = np.abs(self.traffic[exchanged]).sum() + self.scale * (shift @ self.loads + shift @ shift / 2)
        return self.difference(exchanged) + cost < -ROUNDING * float(summed + cost)

    def further(self, exchanged: Chosen) -> Amounts:
        """By how much J rises if one item more is exchanged (or one of these is not), item by item."""
        loads = self.loads + self.shifts[exchanged].sum(axis=0)
        sign = np.where(exchanged, -1.0, 1.0)
        squares = np.einsum("mv,mv->m", self.shifts, self.shifts)
        rise: Amounts = sign * self.traffic + self.scale * (sign * (self.shifts @ loads) + squares / 2)
        return rise


def exchanging(view: View, store: int, weights: Amounts, value: Amounts, load_weight: float) -> Exchange:
    """`value` is what each item is worth to the whole network's traffic (steps 1 and 2), `weights` size times rate."""
    held = view.holders[:, store]
    stores = len(view.distances)
    shifts = np.zeros(weights.shape)
    for item in np.flatnonzero(held & (view.replicas >= 2)):
        mine = np.flatnonzero(view.servers[item] == store)
        others = np.flatnonzero(view.holders[item])
        taking_over = first_nearest(view.distances[:, mine], others[others != store])
        shifts[item] = np.bincount(taking_over, weights[item, mine], stores)
        shifts[item, store] -= weights[item, mine].sum()
    towards = view.distances[store]
    for item in np.flatnonzero(~held & (view.replicas >= 1)):
        nearest, servers = view.nearest[item], view.servers[item]
        mine = np.flatnonzero((towards < nearest) | ((towards == nearest) & (store < servers)))
        shifts[item] = -np.bincount(servers[mine], weights[item, mine], stores)
        shifts[item, store] += weights[item, mine].sum()
    mean = float(weights.sum()) / stores
    scale = load_weight / mean if mean > 0 else 0.0
    return Exchange(np.where(held, value, -value), shifts, loads(view, weights), scale)


def loads(view: View, weights: Amounts) -> Amounts:
    """L_v of every store."""
    answered = view.servers >= 0
    return np.bincount(view.servers[answered], weights[answered], len(view.distances)).astype(np.float64)


def balanced(
    worth: Worth, view: View, store: int, weights: Amounts, sizes: Amounts, capacity: float, load_weight: float
) -> Chosen | None:
    """What the store should hold instead of what it holds, or None if nothing better is found."""
    return choose_balanced(worth, exchanging(view, store, weights, worth.value, load_weight), sizes, capacity)


def choose_balanced(worth: Worth, exchange: Exchange, sizes: Amounts, capacity: float) -> Chosen | None:
    """Steps 3 to 6 with J for T."""
    exchanged = np.zeros_like(worth.held)
    free = capacity - float(sizes[worth.held].sum()) + ROOM
    # Step 3. Only the item of largest gain is a candidate.
    gain = -exchange.further(exchanged) - worth.fetching
    new = largest(gain, worth.can_come & (sizes <= capacity + ROOM))
    if new is None:
        return None
    # Step 4. Items leave in order of smallest loss until it fits; the loss is on top of what has changed so far.
    exchanged[new] = True
    while free < sizes[new]:
        least = largest(-exchange.further(exchanged), worth.may_leave & ~exchanged)
        if least is None:
            return None
        exchanged[least] = True
        free += float(sizes[least])
    # Step 5. The whole replacement, exactly.
    if not exchange.falls(exchanged, float(worth.fetching[new])):
        return None
    free -= float(sizes[new])
    # Step 6. Fill what is left, as long as J falls further; what has just left need not be fetched.
    fetching = np.where(worth.held, 0.0, worth.fetching)
    while True:
        gain = -exchange.further(exchanged) - fetching
        absent = (worth.held & exchanged) | (worth.can_come & ~exchanged)
        filler = largest(gain, absent & (sizes <= free) & (gain > 0))
        if filler is None:
            break
        exchanged[filler] = ~exchanged[filler]
        free -= float(sizes[filler])
    held: Chosen = worth.held ^ exchanged
    return held
