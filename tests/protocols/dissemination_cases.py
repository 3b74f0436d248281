"""Small instances of the operator placement problem, and slow, obvious ways to solve them."""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

from hypothesis import strategies as st

from protocols.dissemination.cag import CAG, Rates, make_cag, members, weigh
from protocols.dissemination.plan import Operator, Plan, Tree, make_tree


@dataclass(frozen=True)
class Instance:
    """So many formats and brokers, and the seed that decides the rest."""

    formats: int
    brokers: int
    seed: int
    density: float = 0.5
    alpha: float = 1.0
    beta: float = 1.0

    @property
    def cag(self) -> CAG:
        """Everything can be made from the first format; otherwise operators are there or not, cycles included."""
        rng = random.Random(self.seed)
        names = [f"f{place}" for place in range(self.formats)]
        operators = {
            a: {b: rng.choice([0.5, 1.0, rng.uniform(0, 3)]) for b in names if a != b and rng.random() < self.density}
            for a in names
        }
        for name in names[1:]:
            operators[names[0]].setdefault(name, rng.uniform(2, 4))
        return make_cag({name: rng.choice([1.0, rng.uniform(0.1, 5)]) for name in names}, operators)

    @property
    def rates(self) -> Rates:
        return weigh(self.cag, self.alpha, self.beta)

    @property
    def tree(self) -> Tree:
        rng = random.Random(self.seed + 1)
        count = self.brokers
        alike = rng.random() < 0.5
        factors = [[1.0 if alike else rng.uniform(0.2, 5) for _ in range(count)] for _ in range(2)]
        return make_tree(
            [-1, *(rng.randrange(place) for place in range(1, count))],
            [rng.randrange(1 << self.formats) if rng.random() < 0.7 else 0 for _ in range(count)],
            node_factors=factors[0],
            link_factors=factors[1],
        )


def instances(most_formats: int, most_brokers: int) -> st.SearchStrategy[Instance]:
    return st.builds(
        Instance,
        formats=st.integers(1, most_formats),
        brokers=st.integers(1, most_brokers),
        seed=st.integers(0, 2**32),
        density=st.sampled_from([0.0, 0.3, 0.6, 1.0]),
        alpha=st.sampled_from([0.0, 0.1, 1.0, 10.0]),
        beta=st.sampled_from([0.0, 0.1, 1.0, 10.0]),
    )


# Every plan there is


def all_plans(tree: Tree, rates: Rates, available: int) -> Iterator[Plan]:
    """Any operators at any node and any formats on any link, as far as they make a valid plan."""
    defined = [
        (a, b) for a in range(rates.count) for b in range(rates.count) if a != b and rates.conversion[a][b] < math.inf
    ]
    choices = [chosen for size in range(len(defined) + 1) for chosen in itertools.combinations(defined, size)]
    for sent in itertools.product(range(1 << rates.count), repeat=len(tree) - 1):
        arrives = (available, *sent)
        for chosen in itertools.product(choices, repeat=len(tree)):
            plan = Plan(tree, arrives, tuple(in_order(a, c) for a, c in zip(arrives, chosen, strict=True)))
            if not plan.problems(rates):
                yield plan


def in_order(at_hand: int, operators: tuple[Operator, ...]) -> tuple[Operator, ...]:
    """The operators in an order in which each finds its source, as far as there is one."""
    done: list[Operator] = []
    waiting = list(operators)
    while ready := [operator for operator in waiting if at_hand >> operator[0] & 1]:
        done.append(ready[0])
        waiting.remove(ready[0])
        at_hand |= 1 << ready[0][1]
    return (*done, *waiting)


# The paper's recursion: all sets in, all sets out, all sets for each child


def least_cost(tree: Tree, rates: Rates, available: int) -> float:
    sets = range(1 << rates.count)

    @cache
    def made(have: int) -> dict[int, float]:
        """The cost of coming to have each larger set: Dijkstra's algorithm over sets."""
        cost = {have: 0.0}
        open_sets = {have}
        while open_sets:
            here = min(open_sets, key=lambda s: cost[s])
            open_sets.remove(here)
            for source in members(here):
                for target in range(rates.count):
                    there, price = here | 1 << target, cost[here] + rates.conversion[source][target]
                    if there != here and price < cost.get(there, math.inf):
                        cost[there] = price
                        open_sets.add(there)
        return cost

    @cache
    def best(place: int, have: int) -> float:
        options = [math.inf]
        for more, price in made(have).items():
            if tree.wanted[place] & ~more:
                continue
            total = price * tree.node_factors[place]
            for child in tree.children[place]:
                total += min(
                    best(child, sent) + tree.link_factors[child] * sum(rates.transmission[f] for f in members(sent))
                    for sent in sets
                    if sent & ~more == 0
                )
            options.append(total)
        return min(options)

    return best(0, available)
