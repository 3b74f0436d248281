"""Steiner-tree mixing: a tree for each publisher and channel, mixed into one overlay (overlay, IV.B, Algorithm 3).

Phase 1 connects, for each publisher and channel, the publisher and the subscribers by a tree over the brokers, as
Prim's algorithm does with shortest paths instead of edges: a user that is not connected yet joins over the cheapest
way from a broker of the tree, and the broker at the end of that way is the user's broker in this tree. The first way
is the cheapest one from the publisher to any subscriber; the first broker on it is the publisher's. Phase 2 gives
each user one broker, drawn with the traffic of the user's links in all trees as weights; we draw among the brokers
that have room, which the paper leaves open, and a user without traffic takes its cheapest link.

There are users x channels trees, but most of them are the same: after its first broker, the tree of a publisher does
not depend on who it is, unless the publisher itself subscribes and would have opened a new broker.
"""

from __future__ import annotations

from dataclasses import dataclass
from random import Random

import numpy as np

from protocols.overlay.content import Floats, Instance, Places
from protocols.overlay.packing import Room


def steiner_mixing(instance: Instance, rng: Random) -> Places:
    return draw_brokers(instance, link_weights(instance), rng)


def draw_brokers(instance: Instance, weights: Floats, rng: Random) -> Places:
    """Phase 2: one broker for each user, by chance and weight, within the capacities."""
    room = Room(instance)
    assignment = np.empty(instance.users, dtype=np.int64)
    for user in range(instance.users):
        brokers = room.brokers_for(user)
        chances = np.cumsum(weights[user, brokers])
        dice = rng.random() * chances[-1]
        if chances[-1] > 0:
            broker = int(brokers[np.searchsorted(chances, dice, side="right")])
        else:
            broker = int(brokers[instance.access[user, brokers].argmin()])
        room.take(user, broker)
        assignment[user] = broker
    return assignment


def link_weights(instance: Instance) -> Floats:
    """Phase 1: for each user and broker, the traffic that passes between them in all trees."""
    ways = Ways.of(instance)
    weights = np.zeros((instance.users, instance.brokers))
    for channel in range(instance.rates.shape[1]):
        _add_channel(weights, instance, ways, channel)
    return weights


@dataclass(frozen=True)
class Ways:
    """From each broker to each user: the cost of the cheapest way, and the broker at its end.

    With the triangle inequality between brokers it has at most one link between them.
    """

    cost: Floats
    over: Places

    @classmethod
    def of(cls, instance: Instance) -> Ways:
        over = np.empty((instance.brokers, instance.users), dtype=np.int64)
        cost = np.empty((instance.brokers, instance.users))
        users = np.arange(instance.users)
        for broker, links in enumerate(instance.core):
            whole = instance.access + links
            over[broker] = whole.argmin(axis=1)
            cost[broker] = whole[users, over[broker]]
        return cls(cost, over)

    def to(self, users: Places) -> Ways:
        return Ways(np.ascontiguousarray(self.cost[:, users]), np.ascontiguousarray(self.over[:, users]))


def _add_channel(weights: Floats, instance: Instance, ways: Ways, channel: int) -> None:
    subscribers = np.flatnonzero(instance.interests[:, channel])
    publishers = np.flatnonzero(instance.rates[:, channel])
    if len(subscribers) == 1:
        publishers = publishers[publishers != subscribers[0]]
    if not len(subscribers) or not len(publishers):
        return
    near = ways.to(subscribers)
    rates = instance.rates[:, channel]
    starts = first_brokers(instance.access[publishers], publishers, subscribers, near)
    weights[publishers, starts] += rates[publishers]
    place = np.full(instance.users, -1)
    place[subscribers] = np.arange(len(subscribers))
    for start in np.unique(starts).tolist():
        here = publishers[starts == start]
        joined, opened = grow(near, start)
        # A publisher is no subscriber of its own: where it opened a broker, its tree is another one.
        apart = [user for user in here.tolist() if place[user] in opened]
        for user in apart:
            others = np.delete(np.arange(len(subscribers)), place[user])
            its_own, _ = grow(near.to(others), start)
            weights[subscribers[others], its_own] += rates[user]
        together = np.setdiff1d(here, apart)
        passing = np.full(len(subscribers), rates[together].sum())
        own = together[place[together] >= 0]
        passing[place[own]] -= rates[own]
        weights[subscribers, joined] += np.maximum(passing, 0.0)


def first_brokers(access: Floats, publishers: Places, subscribers: Places, near: Ways) -> Places:
    """Each publisher's first broker: the one on its cheapest way to any subscriber but itself."""
    nearest = near.cost.argmin(axis=1)
    least = near.cost.min(axis=1)
    whole = access + least
    if len(subscribers) > 1:
        second = np.partition(near.cost, 1, axis=1)[:, 1]
        its_own = subscribers[nearest] == publishers[:, None]
        whole = np.where(its_own, access + second, whole)
    return np.asarray(whole.argmin(axis=1))


def grow(near: Ways, start: int) -> tuple[Places, set[int]]:
    """The tree from this broker to all these users: each one's broker, and which users opened a new broker.

    Between two openings nothing changes but who has joined, so all who join meanwhile are dealt with at once.
    """
    distance = near.cost[start].copy()
    broker = near.over[start].copy()
    in_tree = np.zeros(len(near.cost), dtype=bool)
    in_tree[start] = True
    waiting = np.ones(len(distance), dtype=bool)
    opened: set[int] = set()
    while True:
        opening = np.where(in_tree[broker], np.inf, distance)
        user = int(opening.argmin())
        reached = opening[user]
        if reached == np.inf:
            return broker, opened
        opened.add(user)
        newest = int(broker[user])
        in_tree[newest] = True
        # Who is not farther than this user has joined before it; others may now be nearer than those were.
        waiting &= distance > reached
        closer = near.cost[newest] < distance
        closer &= waiting
        np.copyto(distance, near.cost[newest], where=closer)
        np.copyto(broker, near.over[newest], where=closer)
