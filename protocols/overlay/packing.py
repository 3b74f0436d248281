"""Random assignment, and the first stage of two-stage greedy packing (overlay, III.A, Algorithm 1).

The second stage is the same for all algorithms: traffic between brokers takes the trees of `cost`. In Algorithm 1
the sets U and B are swapped by a misprint: users are assigned to brokers.
"""

from __future__ import annotations

from random import Random

import numpy as np

from protocols.overlay.content import Floats, Instance, Places

SLACK = 1e-9
"""Sums of floats: a load may be above the capacity by this part of it."""


class NoRoom(Exception):
    """No broker can take this user."""

    def __init__(self, user: int, demand: float) -> None:
        super().__init__(user, demand)
        self.user = user
        self.demand = demand

    def __str__(self) -> str:
        return f"no broker has room for user {self.user + 1} with its traffic of {self.demand:.4g}"


class Room:
    """What each broker still can take."""

    def __init__(self, instance: Instance) -> None:
        self.demand = instance.demand
        self.load = np.zeros(instance.brokers)
        self.most = instance.capacity * (1 + SLACK)

    def fits(self, user: int, broker: int) -> bool:
        return bool(self.load[broker] + self.demand[user] <= self.most[broker])

    def take(self, user: int, broker: int) -> None:
        self.load[broker] += self.demand[user]

    def brokers_for(self, user: int) -> Places:
        """The brokers that can take this user; NoRoom if there is none."""
        found = np.flatnonzero(self.load + self.demand[user] <= self.most)
        if not len(found):
            raise NoRoom(user, float(self.demand[user]))
        return found


def random_assignment(instance: Instance, rng: Random) -> Places:
    """Each user goes to a random broker among those that have room (overlay, VI.B)."""
    room = Room(instance)
    assignment = np.empty(instance.users, dtype=np.int64)
    for user in range(instance.users):
        broker = rng.randrange(instance.brokers)
        if not room.fits(user, broker):
            broker = int(rng.choice(room.brokers_for(user).tolist()))
        room.take(user, broker)
        assignment[user] = broker
    return assignment


def greedy_packing(instance: Instance) -> Places:
    """Each user in turn goes to the broker with the cheapest link among those that have room."""
    return assign_in_order(instance, np.argsort(instance.access, axis=1, kind="stable"))


def assign_in_order(instance: Instance, preferences: Places) -> Places:
    """Each user in turn goes to the first broker of its row that has room."""
    load = [0.0] * instance.brokers
    most = (instance.capacity * (1 + SLACK)).tolist()
    demands = instance.demand.tolist()
    assignment = np.empty(instance.users, dtype=np.int64)
    for user, demand in enumerate(demands):
        for broker in preferences[user].tolist():
            if load[broker] + demand <= most[broker]:
                load[broker] += demand
                assignment[user] = broker
                break
        else:
            raise NoRoom(user, demand)
    return assignment


def least_access_cost(instance: Instance) -> float:
    """No assignment costs less than this: every user on its cheapest link, and nothing between brokers."""
    cheapest: Floats = instance.access.min(axis=1)
    return float((instance.demand * cheapest).sum())
