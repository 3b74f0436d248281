"""The content space: generating functions, subscriptions, and the channels that stand for both (overlay, II and IV.A).

A message's content is a point of the unit cube. A user's generating function says how many messages it makes where;
its subscription is a box. Cut into equal channels, a function becomes a histogram (the paper writes g_i in {0, 1}, but
means the value of each interval, as its figure 6 shows) and a subscription the fewest channels that hold its box.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from random import Random

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Places = NDArray[np.int64]
Box = tuple[tuple[float, float], ...]


@dataclass(frozen=True)
class ContentSpace:
    """The unit cube in so many dimensions, each cut into so many equal intervals: a channel is one of the cells."""

    intervals: int = 10
    dimensions: int = 1

    @property
    def channels(self) -> int:
        return int(self.intervals**self.dimensions)

    @cached_property
    def borders(self) -> Floats:
        return np.linspace(0.0, 1.0, self.intervals + 1)

    def channel(self, point: Sequence[float]) -> int:
        """The channel that this content belongs to."""
        number = 0
        for x in point:
            number = number * self.intervals + min(int(x * self.intervals), self.intervals - 1)
        return number

    def corner(self, channel: int) -> tuple[float, ...]:
        """The lowest corner of this channel."""
        places = []
        for _ in range(self.dimensions):
            channel, place = divmod(channel, self.intervals)
            places.append(place / self.intervals)
        return tuple(reversed(places))

    def histogram(self, quadratics: Floats) -> Floats:
        """How much each user generates in each channel, from quadratics of shape (users, dimensions, 3).

        A user's function is the product of one quadratic for each dimension, their negative parts cut.
        """
        return self._cells([_positive_integrals(q, self.borders) for q in np.moveaxis(quadratics, 1, 0)])

    def encode(self, boxes: Floats) -> Floats:
        """1 for each channel that a user's box meets, from boxes of shape (users, dimensions, 2)."""
        low, high = boxes[..., :1], boxes[..., 1:]
        meets = (low < self.borders[1:]) & (high > self.borders[:-1])
        return self._cells(list(np.moveaxis(meets.astype(np.float64), 1, 0)))

    def _cells(self, along: list[Floats]) -> Floats:
        """The product over the dimensions of what was found along each."""
        cells = along[0]
        for further in along[1:]:
            cells = (cells[:, :, None] * further[:, None, :]).reshape(len(cells), -1)
        return cells


def _positive_integrals(quadratics: Floats, borders: Floats) -> Floats:
    """The integral of max(0, a x^2 + b x + c) over each interval, exactly: the roots cut an interval into pieces."""
    a, b, c = (column[:, None] for column in quadratics.T)
    root = np.sqrt(np.maximum(b * b - 4 * a * c, 0.0))
    first, second = np.sort(np.stack([(-b - root) / (2 * a), (-b + root) / (2 * a)]), axis=0)
    low = np.broadcast_to(borders[:-1], (len(quadratics), len(borders) - 1))
    high = np.broadcast_to(borders[1:], low.shape)
    cuts = [low, np.clip(first, low, high), np.clip(second, low, high), high]
    total = np.zeros_like(low)
    for start, end in pairwise(cuts):
        middle = (start + end) / 2
        piece = a * (end**3 - start**3) / 3 + b * (end**2 - start**2) / 2 + c * (end - start)
        total += np.where(a * middle**2 + b * middle + c > 0, piece, 0.0)
    return np.maximum(total, 0.0)


def draw_quadratics(users: int, dimensions: int, rng: Random) -> Floats:
    """Random quadratics (overlay, VI.A): coefficients are uniform in (-1, 1), which the paper leaves open.

    One that is negative everywhere makes a user that only subscribes.
    """
    numbers = [2 * rng.random() - 1 for _ in range(users * dimensions * 3)]
    quadratics = np.array(numbers).reshape(users, dimensions, 3)
    # With a = 0 it would be no quadratic, and its roots nowhere.
    quadratics[..., 0] = np.where(np.abs(quadratics[..., 0]) < 1e-9, 1e-9, quadratics[..., 0])
    return quadratics


def draw_boxes(users: int, dimensions: int, rng: Random, width: float | None = None) -> Floats:
    """Random subscriptions: in each dimension the interval between two uniform points, or one of this width."""
    ends = np.array([rng.random() for _ in range(users * dimensions * 2)]).reshape(users, dimensions, 2)
    if width is not None:
        low = ends[..., :1] * (1 - width)
        return np.concatenate([low, low + width], axis=2)
    return np.sort(ends, axis=2)


@dataclass(frozen=True)
class Instance:
    """What the algorithms are given: who generates and wants what, and what links cost.

    Rows are users, columns channels or brokers. `capacity` holds the most traffic that a broker may have with its
    users (overlay, eq. 5; what it passes on for other brokers does not count).
    """

    rates: Floats
    interests: Floats
    access: Floats
    core: Floats
    capacity: Floats

    @property
    def users(self) -> int:
        return len(self.access)

    @property
    def brokers(self) -> int:
        return len(self.core)

    @cached_property
    def demand(self) -> Floats:
        """b_i(out) + b_i(in): what a user sends, and what others send that it wants (overlay, II.B)."""
        others = self.rates.sum(axis=0) - self.rates
        demand: Floats = self.rates.sum(axis=1) + (self.interests * others).sum(axis=1)
        return demand

    def traffic(self) -> Floats:
        """The traffic matrix: what goes from each user to each other."""
        matrix: Floats = self.rates @ self.interests.T
        np.fill_diagonal(matrix, 0.0)
        return matrix


def equal_capacities(rates: Floats, interests: Floats, brokers: int, factor: float) -> Floats:
    """All brokers alike; together they can bear `factor` times the users' demand (overlay, VI.A: twice)."""
    demand = Instance(rates, interests, np.zeros((len(rates), brokers)), np.zeros((0, 0)), np.zeros(0)).demand
    return np.full(brokers, factor * demand.sum() / brokers)
