"""Two-stage clustering: users with much traffic between them go to the same broker (overlay, III.B, Algorithm 2).

Each broker first takes the pair of users with the largest bandwidth-to-cost ratio there: the traffic between them,
both ways, over the cost of the way between them over this broker. Then each user in turn goes to the broker with
room where the traffic between it and the users already there, over the cost of its link, is largest. Algorithm 2
ends with an argmin by a misprint; the text says the maximum.
"""

from __future__ import annotations

import numpy as np

from protocols.overlay.content import Instance, Places
from protocols.overlay.cost import Mask
from protocols.overlay.packing import NoRoom, Room

FIRST_LOOK = 48
"""So many users with the cheapest links to a broker are looked at first, to have a ratio that others must beat."""


def two_stage_clustering(instance: Instance) -> Places:
    assignment = np.full(instance.users, -1, dtype=np.int64)
    room = Room(instance)
    # What the users at each broker generate, and how many of them want it: the traffic of any user with them is
    # then one product, however many they are.
    rates = np.zeros((instance.brokers, instance.rates.shape[1]))
    wanted = np.zeros_like(rates)

    def take(user: int, broker: int) -> None:
        assignment[user] = broker
        room.take(user, broker)
        rates[broker] += instance.rates[user]
        wanted[broker] += instance.interests[user]

    for broker in range(instance.brokers):
        for user in best_pair(instance, broker, assignment < 0):
            if room.fits(user, broker):
                take(user, broker)
    links = np.maximum(instance.access, 1e-12)
    for user in np.flatnonzero(assignment < 0).tolist():
        ratio = (wanted @ instance.rates[user] + rates @ instance.interests[user]) / links[user]
        ratio[room.load + room.demand[user] > room.most] = -1.0
        broker = int(ratio.argmax())
        if ratio[broker] < 0:
            raise NoRoom(user, float(room.demand[user]))
        take(user, broker)
    return assignment


def best_pair(instance: Instance, broker: int, free: Mask) -> tuple[int, ...]:
    """The two free users with the largest bandwidth-to-cost ratio over this broker; exact.

    The traffic between two is at most what both generate. So a user can only be in a pair better than one already
    found if it costs little enough or generates enough, and few pairs have to be looked at.
    """
    users = np.flatnonzero(free)
    if len(users) < 2:
        return tuple(users.tolist())
    cost = instance.access[users, broker]
    generated = instance.rates[users].sum(axis=1)
    near = np.argsort(cost, kind="stable")[:FIRST_LOOK]
    _, to_beat = _best_of(instance, users[np.sort(near)], broker)
    bound = (generated + generated.max()) / np.maximum(cost + cost.min(), 1e-12)
    pair, _ = _best_of(instance, users[bound >= to_beat], broker)
    return pair


def _best_of(instance: Instance, users: Places, broker: int) -> tuple[tuple[int, int], float]:
    sent = instance.rates[users] @ instance.interests[users].T
    cost = instance.access[users, broker]
    ratio = (sent + sent.T) / np.maximum(cost[:, None] + cost, 1e-12)
    np.fill_diagonal(ratio, -1.0)
    first, second = divmod(int(ratio.argmax()), len(users))
    return (int(users[first]), int(users[second])), float(ratio[first, second])
