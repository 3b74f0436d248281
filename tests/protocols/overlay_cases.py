"""Small instances of the overlay problem: a description drawn by Hypothesis, grown by its seed."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random
from typing import Literal

import numpy as np
from hypothesis import strategies as st

from protocols.overlay.content import ContentSpace, Floats, Instance, draw_boxes, draw_quadratics, equal_capacities


@dataclass(frozen=True)
class Small:
    """So many users and brokers, a content space, link costs, and the seed that decides the rest."""

    users: int
    brokers: int
    seed: int
    intervals: int = 4
    dimensions: int = 1
    costs: Literal["uniform", "plane"] = "uniform"
    ratio: float = 1.0
    factor: float = 2.0

    def instance(self) -> Instance:
        rng = Random(self.seed)
        space = ContentSpace(self.intervals, self.dimensions)
        rates = space.histogram(draw_quadratics(self.users, self.dimensions, rng))
        interests = space.encode(draw_boxes(self.users, self.dimensions, rng))
        brokers, users = _points(self.brokers, rng), _points(self.users, rng)
        access = _apart(users, brokers)
        if self.costs == "uniform":
            access = np.array([rng.random() for _ in range(access.size)]).reshape(access.shape)
        capacity = equal_capacities(rates, interests, self.brokers, self.factor)
        return Instance(rates, interests, self.ratio * access, _apart(brokers, brokers), capacity)


def _points(count: int, rng: Random) -> Floats:
    return np.array([rng.random() for _ in range(2 * count)]).reshape(count, 2)


def _apart(a: Floats, b: Floats) -> Floats:
    distance: Floats = np.sqrt(((a[:, None] - b) ** 2).sum(axis=2))
    return distance


def instances(most_users: int = 20, most_brokers: int = 5, factor: float = 2.0) -> st.SearchStrategy[Small]:
    return st.builds(
        Small,
        users=st.integers(1, most_users),
        brokers=st.integers(1, most_brokers),
        seed=st.integers(0, 2**32),
        intervals=st.integers(1, 5),
        dimensions=st.integers(1, 2),
        costs=st.sampled_from(["uniform", "plane"]),
        ratio=st.sampled_from([0.1, 1.0, 10.0]),
        factor=st.just(factor),
    )
