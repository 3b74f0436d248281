"""Which user should go where: what a move changes in the total cost (overlay, IV.C).

A broker knows of the others what they have told: the channels their users want, the rates at which their users
publish, their load and their links. With that and what its own users told it, the change is exact.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from protocols.overlay.content import Floats, Instance, Places
from protocols.overlay.cost import Aggregates, Mask, SpanningTrees, loads
from protocols.overlay.packing import SLACK

LEAST_GAIN = 1e-9
"""A move must save more than this part of the user's own traffic cost: less may be rounding."""


@dataclass(frozen=True)
class Candidate:
    """A user as its broker knows it."""

    rates: Floats
    interests: Floats
    access: Floats
    demand: float


@dataclass(frozen=True)
class Move:
    foreign: int
    gain: float


@dataclass
class View:
    """The brokers as one of them knows them. `subscribers` holds counts for its own users, 1 or 0 for others'."""

    sums: Aggregates
    load: Floats
    capacity: Floats
    trees: SpanningTrees

    def best_move(self, home: int, user: Candidate, closed: Iterable[int] = ()) -> Move | None:
        """The broker with room where this user saves most, if it saves anything or its home has too much to bear."""
        change = self.changes(home, user)
        room = self.load + user.demand <= self.capacity * (1 + SLACK)
        room[home] = False
        room[list(closed)] = False
        if not room.any():
            return None
        change[~room] = np.inf
        foreign = int(change.argmin())
        gain = -float(change[foreign])
        relief = self.load[home] > self.capacity[home] * (1 + SLACK) and user.demand > 0
        return Move(foreign, gain) if relief or gain > LEAST_GAIN * max(user.demand, 1e-12) else None

    def changes(self, home: int, user: Candidate) -> Floats:
        """By how much the total cost changes if this user goes from its home to each broker."""
        after = user.demand * user.access
        for channel in np.flatnonzero((user.rates > 0) | (user.interests > 0)).tolist():
            after = after + self._channel(home, user, channel)
        change: Floats = after - after[home]
        return change

    def _channel(self, home: int, user: Candidate, channel: int) -> Floats:
        """What the channel costs between brokers if the user were at each of them."""
        rate, wants = float(user.rates[channel]), bool(user.interests[channel])
        rates = self.sums.rates[:, channel].copy()
        rates[home] -= rate
        if rates[home] < 1e-12:
            rates[home] = 0.0
        others = self.sums.subscribers[:, channel].copy()
        others[home] -= wants
        members = others > 0.5
        costs = np.zeros(len(rates))
        if not wants:
            if rate and members.any():
                costs += [rate * self.trees.weight(_with(members, broker)) for broker in range(len(rates))]
            return costs
        among_them: float | None = None
        for broker in range(len(rates)):
            if not members[broker]:
                joined = _with(members, broker)
                costs[broker] = self._carry(joined, rates) + rate * self.trees.weight(joined)
            else:
                if among_them is None:
                    among_them = self._carry(members, rates) + rate * self.trees.weight(members)
                costs[broker] = among_them
        return costs

    def _carry(self, members: Mask, rates: Floats) -> float:
        total = float(rates[members].sum()) * self.trees.weight(members)
        for broker in np.flatnonzero(~members & (rates > 0)).tolist():
            total += float(rates[broker]) * self.trees.weight(_with(members, broker))
        return total


def _with(members: Mask, broker: int) -> Mask:
    if members[broker]:
        return members
    more = members.copy()
    more[broker] = True
    return more


def descend(instance: Instance, assignment: Places) -> tuple[Places, int]:
    """What one mover at a time comes to when nothing else changes, without the messages: assignment and moves.

    The brokers take turns; each moves its busiest user that saves anything, until all in a row find none.
    """
    assignment = assignment.copy()
    trees = SpanningTrees(instance.core)
    sums = Aggregates.of(instance, assignment)
    load = loads(instance, assignment)
    moves = quiet = turn = 0
    while quiet < instance.brokers:
        home, turn = turn, (turn + 1) % instance.brokers
        quiet += 1
        view = View(sums, load, instance.capacity, trees)
        for user in busiest_first(instance.demand, np.flatnonzero(assignment == home)):
            candidate = Candidate(
                instance.rates[user], instance.interests[user], instance.access[user], float(instance.demand[user])
            )
            move = view.best_move(home, candidate)
            if move is not None:
                assignment[user] = move.foreign
                for table, part in ((sums.rates, candidate.rates), (sums.subscribers, candidate.interests)):
                    table[home] -= part
                    table[move.foreign] += part
                load[home] -= candidate.demand
                load[move.foreign] += candidate.demand
                moves, quiet = moves + 1, 0
                break
    return assignment, moves


def busiest_first(demand: Floats, users: Places) -> list[int]:
    return [int(user) for user in users[np.lexsort((users, -demand[users]))]]
