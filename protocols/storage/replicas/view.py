"""Where the replicas are, as a store knows it: how far each store is from the nearest and second-nearest of each item.

With these two distances at hand a gain or a loss needs no search, and a replacement changes few rows.
"""

from __future__ import annotations

from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from protocols.storage.replicas.topology import FAR, Distances

Holders = NDArray[np.bool_]


class View:
    """One configuration H of the whole network. Immutable, and shared by all who know the same.

    `holders`, `nearest` and `second` have a row for each item and a column for each store.
    """

    def __init__(self, distances: Distances, holders: Holders, nearest: Distances, second: Distances) -> None:
        self.distances = distances
        self.holders = holders
        self.nearest = nearest
        self.second = second
        self.replicas = holders.sum(axis=1)
        """The replication frequency f of each item."""

    @classmethod
    def of(cls, distances: Distances, holders: Holders) -> View:
        """Measured from the beginning."""
        nowhere = np.full(holders.shape, FAR, dtype=np.int16)
        return cls(distances, np.zeros_like(holders), nowhere, nowhere).changed(holders)

    @cached_property
    def servers(self) -> NDArray[np.intp]:
        """Who answers a store's requests: the nearest replica, of equally near ones the first by name; nobody is -1."""
        servers = np.full(self.holders.shape, -1, dtype=np.intp)
        for item in np.flatnonzero(self.replicas):
            servers[item] = first_nearest(self.distances, np.flatnonzero(self.holders[item]))
        return servers

    def changed(self, holders: Holders) -> View:
        """The view of another configuration of the same network: only items that moved are measured again."""
        nearest, second = self.nearest.copy(), self.second.copy()
        for item in np.flatnonzero((holders != self.holders).any(axis=1)):
            gone = self.holders[item] & ~holders[item]
            come = np.flatnonzero(holders[item] & ~self.holders[item])
            if gone.any() or come.size > 2:
                nearest[item], second[item] = nearest_two(self.distances, np.flatnonzero(holders[item]))
                continue
            for place in come:
                towards = self.distances[place]
                second[item] = np.minimum(second[item], np.maximum(nearest[item], towards))
                nearest[item] = np.minimum(nearest[item], towards)
        return View(self.distances, holders, nearest, second)


def nearest_two(distances: Distances, holders: NDArray[np.intp]) -> tuple[Distances, Distances]:
    """From every store: hops to the nearest of these holders and to the next one (as near, if two are)."""
    size = len(distances)
    if holders.size < 2:
        alone = distances[holders[0]] if holders.size else np.full(size, FAR, dtype=np.int16)
        return alone, np.full(size, FAR, dtype=np.int16)
    towards = distances[holders]
    nearest = towards.min(axis=0)
    at_nearest = towards == nearest
    others = np.where(at_nearest, np.int16(FAR), towards).min(axis=0)
    return nearest, np.where(at_nearest.sum(axis=0) > 1, nearest, others)


def first_nearest(distances: Distances, holders: NDArray[np.intp]) -> NDArray[np.intp]:
    """From every store: the nearest of these holders, which are in the order of their names."""
    nearest: NDArray[np.intp] = holders[distances[holders].argmin(axis=0)]
    return nearest
