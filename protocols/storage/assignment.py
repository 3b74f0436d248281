"""Replica assignment: which topics does each installed store hold (planning, 5.3 step 4, and 5.5)?

Topics choose in the order of their weight, and each prefers the stores that stand highest in its own vector s_t.
`seq` lets a topic take all its k_t stores at once; `wrr` goes round, and in each round a topic takes as many as its
relative weight says. (The paper's formula min(xi_t * k_t, ...) is a misprint: its example follows min(xi_t, ...).)

The paper does not say what happens when the stores that still have room all hold the topic already. Then a store of
the topic's choice gives its lightest topic to one of them. That is always possible while sum k_t <= L*M and k_t <= M.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Literal, get_args

import numpy as np

from protocols.storage.planning import (
    TIE,
    Floats,
    Unsatisfiable,
    degrees_from_minimum,
    degrees_from_stores,
    largest,
    possible_stores,
    storage_brokers,
    stores_needed,
    weights,
)

Algorithm = Literal["seq", "wrr", "grd_opt", "rnd"]
ALGORITHMS: tuple[str, ...] = get_args(Algorithm)


@dataclass(frozen=True)
class Plan:
    """Where the stores are, how many replicas each topic is to have, and which stores hold it."""

    stores: tuple[int, ...]
    degrees: tuple[int, ...]
    holders: tuple[tuple[int, ...], ...]


@dataclass
class Shelves:
    """What each store holds so far; `wishes` are each topic's stores, the best first."""

    capacity: int
    wishes: Sequence[Sequence[int]]
    weight: Floats
    held: dict[int, list[int]] = field(default_factory=dict)

    def topics_at(self, store: int) -> list[int]:
        return self.held.setdefault(store, [])

    def has_room(self, store: int) -> bool:
        return len(self.topics_at(store)) < self.capacity

    def put(self, topic: int) -> None:
        """One more replica of the topic, on the best store that has room."""
        without = [store for store in self.wishes[topic] if topic not in self.topics_at(store)]
        chosen = next((store for store in without if self.has_room(store)), None)
        if chosen is None:
            chosen = self.make_room(topic, without)
        self.topics_at(chosen).append(topic)

    def make_room(self, topic: int, without: Sequence[int]) -> int:
        """All stores with room hold the topic: another one gives them its lightest topic."""
        free = next((store for store in self.wishes[topic] if self.has_room(store)), None)
        if free is None or not without:
            raise Unsatisfiable(f"no store has room for another replica of topic {topic}")
        given = [u for u in self.topics_at(without[0]) if u not in self.topics_at(free)]
        lightest = min(given, key=lambda u: (self.weight[u], u))
        self.topics_at(without[0]).remove(lightest)
        self.topics_at(free).append(lightest)
        return without[0]

    def holders(self, topics: int) -> tuple[tuple[int, ...], ...]:
        return tuple(tuple(sorted(s for s, held in self.held.items() if t in held)) for t in range(topics))


def by_weight(weight: Floats) -> list[int]:
    """Topics, the most significant first; equal ones in their own order."""
    return largest(weight, len(weight))


def relative_weights(weight: Floats) -> list[int]:
    """xi_t = ceil(rate_t / smallest rate) (5.5)."""
    return degrees_from_minimum(weight, 1)


def wrr_rounds(relative: Sequence[int], degrees: Sequence[int]) -> list[list[int]]:
    """How many stores each topic gets in each round; a topic that is alone takes the rest at once, as in 5.5."""
    left, rounds = list(degrees), []
    while any(left):
        alone = sum(k > 0 for k in left) == 1
        taken = left if alone else [min(xi, k) for xi, k in zip(relative, left, strict=True)]
        left = [k - now for k, now in zip(left, taken, strict=True)]
        rounds.append(taken)
    return rounds


def assign(
    vectors: Floats,
    weight: Floats,
    degrees: Sequence[int],
    stores: Sequence[int],
    capacity: int,
    algorithm: Literal["seq", "wrr"] = "seq",
) -> tuple[tuple[int, ...], ...]:
    """Step 4: the stores of each topic, k_t different ones, no store with more than `capacity` topics."""
    check_fits(degrees, len(stores), capacity)
    wishes = [[stores[place] for place in largest(vector[list(stores)], len(stores))] for vector in vectors]
    shelves = Shelves(capacity, wishes, weight)
    rounds = [list(degrees)] if algorithm == "seq" else wrr_rounds(relative_weights(weight), degrees)
    for shares in rounds:
        for topic in by_weight(weight):
            for _ in range(shares[topic]):
                shelves.put(topic)
    return shelves.holders(len(degrees))


def assign_at_random(
    degrees: Sequence[int], stores: Sequence[int], capacity: int, rng: random.Random
) -> tuple[tuple[int, ...], ...]:
    """The baseline `rnd`: k_t stores for each topic, drawn at random among those with room (6)."""
    check_fits(degrees, len(stores), capacity)
    order = rng.sample(range(len(degrees)), len(degrees))
    wishes = [rng.sample(list(stores), len(stores)) for _ in degrees]
    shelves = Shelves(capacity, wishes, np.zeros(len(degrees)))
    for topic in order:
        for _ in range(degrees[topic]):
            shelves.put(topic)
    return shelves.holders(len(degrees))


def check_fits(degrees: Iterable[int], stores: int, capacity: int) -> None:
    """The constraints (4)."""
    wanted = list(degrees)
    if wanted and max(wanted) > stores:
        raise Unsatisfiable(f"a topic with {max(wanted)} replicas needs as many stores; there are {stores}")
    if sum(wanted) > capacity * stores:
        raise Unsatisfiable(f"{sum(wanted)} replicas do not fit on {stores} stores of {capacity} topics")


def traffic(distance: Floats, demand: Floats, holders: Sequence[Sequence[int]]) -> float:
    """The overall traffic cost C (3), in requests x hops per second: everybody asks the nearest holder."""
    total = 0.0
    for rates, stores in zip(demand, holders, strict=True):
        if rates.any():
            total += float(rates @ distance[:, list(stores)].min(axis=1)) if stores else np.inf
    return total


@dataclass(frozen=True, eq=False)
class Planner:
    """What a storage provider plans with; the rule for k_t depends on what is given.

    `degrees` are k_t itself; otherwise `stores` is M and k_t follows from it (6.1.2); otherwise k_t follows from
    `min_degree` and M from k_t (6.1.1).
    """

    distance: Floats
    capacity: int
    algorithm: Algorithm = "wrr"
    stores: int = 0
    min_degree: int = 1
    degrees: tuple[int, ...] = ()
    publishing: Floats | None = None

    def sizes(self, demand: Floats) -> tuple[list[int], int]:
        """k_t and M."""
        weight = weights(demand)
        if self.degrees:
            degrees = list(self.degrees)
        elif self.stores:
            degrees = degrees_from_stores(weight, self.stores, self.capacity, self.min_degree)
        else:
            degrees = degrees_from_minimum(weight, self.min_degree)
        stores = self.stores or stores_needed(degrees, self.capacity)
        if max(stores, *degrees) > len(self.distance):
            raise Unsatisfiable(f"{stores} stores are needed, more than there are brokers ({len(self.distance)})")
        if self.algorithm != "grd_opt":
            check_fits(degrees, stores, self.capacity)
        return degrees, stores

    def plan(self, demand: Floats, rng: random.Random | None = None) -> Plan:
        """Planning and assignment, steps 1 to 4; `rnd` needs dice."""
        degrees, count = self.sizes(demand)
        if self.algorithm == "rnd":
            assert rng is not None
            everything = demand.sum(axis=0, keepdims=True)
            stores = largest(possible_stores(self.distance, everything, [count], self.publishing)[0], count)
            return Plan(tuple(stores), tuple(degrees), assign_at_random(degrees, stores, self.capacity, rng))
        vectors, weight = possible_stores(self.distance, demand, degrees, self.publishing), weights(demand)
        if self.algorithm == "grd_opt":
            holders = tuple(tuple(sorted(largest(s, k))) for s, k in zip(vectors, degrees, strict=True))
            return Plan(tuple(sorted({store for held in holders for store in held})), tuple(degrees), holders)
        stores = storage_brokers(vectors, weight, count)
        return Plan(
            tuple(stores), tuple(degrees), assign(vectors, weight, degrees, stores, self.capacity, self.algorithm)
        )

    def reassign(self, demand: Floats, stores: Sequence[int]) -> Plan:
        """Step 4 again, for another demand, on the stores that are there (6.2)."""
        if self.algorithm not in ("seq", "wrr"):
            raise Unsatisfiable(f"{self.algorithm} has no reassignment")
        weight = weights(demand)
        degrees = self.degrees_on(weight, len(stores))
        vectors = possible_stores(self.distance, demand, degrees, self.publishing)
        return Plan(
            tuple(stores), tuple(degrees), assign(vectors, weight, degrees, stores, self.capacity, self.algorithm)
        )

    def degrees_on(self, weight: Floats, stores: int) -> list[int]:
        """k_t for so many stores: by the planner's own rule, as far as they have room."""
        degrees = list(self.degrees) or degrees_from_minimum(weight, self.min_degree)
        if not self.degrees and (self.stores or stores_needed(degrees, self.capacity) > stores):
            degrees = degrees_from_stores(weight, stores, self.capacity, self.min_degree)
        return degrees

    def mean_hops(self, demand: Floats, holders: Sequence[Sequence[int]]) -> float:
        """The mean hop distance that the cost (3) stands for."""
        rate = float(demand.sum())
        return traffic(self.distance, demand, holders) / rate if rate > 0 else 0.0


def gain(before: float, after: float) -> float:
    """The share of the traffic that a change takes away."""
    return 0.0 if before <= 0 or abs(before - after) <= TIE * before else 1 - after / before
