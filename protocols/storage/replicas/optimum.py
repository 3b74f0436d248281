"""The least traffic there can be: problem (3) of the paper (replicas, III), exactly or from below.

    x[m,v] = 1    store v holds item m
    z[m,y,k] = 1  from store y there is no replica of item m within k hops
    z[m,y,k] >= z[m,y,k-1] - sum of x[m,v] over the stores v at exactly k hops from y,  with z[m,y,-1] = 1
    sum over m of s[m] x[m,v] <= C[v]
    least sum of s[m] r[m,y] z[m,y,k]

A request that finds its nearest replica d hops away is counted at the d levels 0 to d - 1. There is no z for the
farthest level: within so many hops there must be a replica, so every item has one. Added up, the rows of y say that
z[m,y,k] is at least 1 minus the replicas within k hops; the form above says the same with far fewer entries.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import Bounds, LinearConstraint, linprog, milp
from scipy.sparse import csr_array, eye_array, hstack, kron, vstack

from protocols.storage.replicas.decision import ROOM, Amounts
from protocols.storage.replicas.view import Holders

EXACT_CELLS = 160
"""So many stores times items the exact optimum is meant for: 20 stores and 8 items take seconds, rarely a minute."""

BOUND_ENTRIES = 500_000
"""So many stores times stores times items the bound is meant for: 120 stores and 20 items take 5 to 20 seconds."""

TIME_LIMIT_S = 120.0


@dataclass(frozen=True)
class Instance:
    """Problem (3) for one network in which every store reaches every other."""

    hops: NDArray[np.int64]
    weights: Amounts
    """Size times rate, item by store."""

    sizes: Amounts
    capacities: Amounts

    @cached_property
    def levels(self) -> int:
        """How far the two farthest stores are from each other."""
        return int(self.hops.max())

    @cached_property
    def costs(self) -> Amounts:
        return np.concatenate([np.zeros(self.weights.size), np.repeat(self.weights.ravel(), self.levels)])

    @cached_property
    def rows(self) -> tuple[Any, Amounts]:
        """A and b of A (x, z) <= b: the levels of every item and store, then the capacities."""
        items, stores = self.weights.shape
        levels = self.levels
        first = np.arange(stores)[:, np.newaxis] * (levels + 1)  # the row of each store's level 0
        rows = (first + self.hops).ravel()
        ring = _entries(-1.0, rows, np.tile(np.arange(stores), stores), (stores * (levels + 1), stores))
        level = np.arange(stores * levels).reshape(stores, levels)
        own = _entries(
            -1.0, (first + np.arange(levels)).ravel(), level.ravel(), (len(first) * (levels + 1), level.size)
        )
        next_one = _entries(1.0, (first + np.arange(1, levels + 1)).ravel(), level.ravel(), own.shape)
        each = eye_array(items)
        matrix = hstack([kron(each, ring), kron(each, own + next_one)])
        room = hstack([kron(self.sizes[np.newaxis, :], eye_array(stores)), csr_array((stores, items * level.size))])
        reached = np.zeros((items, stores, levels + 1))
        reached[:, :, 0] = -1.0
        return vstack([matrix, room]).tocsr(), np.concatenate([reached.ravel(), self.capacities + ROOM])

    @cached_property
    def most(self) -> Amounts:
        """An item that is larger than a store is never there; all else lies between 0 and 1."""
        fits = self.sizes[:, np.newaxis] <= self.capacities + ROOM
        return np.concatenate([fits.ravel().astype(float), np.ones(self.weights.size * self.levels)])

    def traffic(self, holders: Holders) -> float:
        """T(H) by equation (2), for holders item by store."""
        nearest = [self.hops[held].min(axis=0) for held in holders]
        return float((self.weights * np.array(nearest)).sum())


def optimum(instance: Instance, time_limit_s: float = TIME_LIMIT_S) -> Holders | None:
    """An optimal configuration, item by store; None if none was proven optimal within the time, or none exists.

    z need not be asked to be whole: as soon as x is, the least z is.
    """
    matrix, limits = instance.rows
    cells = instance.weights.size
    whole = np.zeros(len(instance.costs))
    whole[:cells] = 1
    found = milp(
        instance.costs,
        constraints=LinearConstraint(matrix, ub=limits),
        bounds=Bounds(0.0, instance.most),
        integrality=whole,
        options={"time_limit": time_limit_s, "mip_rel_gap": 0.0},
    )
    if found.status != 0:
        return None
    holders: Holders = found.x[:cells].reshape(instance.weights.shape) > 0.5
    return holders


def lower_bound(instance: Instance) -> float:
    """No configuration has less traffic than this: the optimum when replicas may be divided (linear relaxation).

    Valid whatever the solver does: for any prices p >= 0 of the rows and any feasible (x, z), the costs c (x, z) are
    at least c (x, z) + p (A (x, z) - b), and that is at least its minimum over the box of 0 to `most`, which is what
    is returned. The solver's only part is to find prices for which this is large.
    """
    matrix, limits = instance.rows
    bounds = np.column_stack([np.zeros(len(instance.most)), instance.most])
    found = linprog(instance.costs, A_ub=matrix, b_ub=limits, bounds=bounds, method="highs-ipm")
    marginals = found.ineqlin.marginals
    prices = np.maximum(-marginals, 0.0) if marginals is not None else np.zeros(len(limits))
    reduced = instance.costs + matrix.T @ prices
    return max(0.0, float(np.minimum(reduced * instance.most, 0.0).sum() - prices @ limits))


def _entries(value: float, rows: NDArray[Any], columns: NDArray[Any], shape: tuple[int, int]) -> Any:
    return csr_array((np.full(len(rows), value), (rows, columns)), shape=shape)
