"""Planning: the vectorised modified greedy algorithm beside the rule written as plain loops, and whole plans."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

import networkx
from rich.table import Table

from protocols.storage.assignment import Planner
from protocols.storage.planning import Floats, hop_distances, possible_stores
from protocols.storage.workload import zipf_demand
from runtime.run import simulate
from runtime.scenario import check

T = TypeVar("T")

BROKERS, TOPICS, STORES = 100, 10, 20
LARGE = 2_000
DEGREE = 4


@dataclass(frozen=True)
class PlanningCost:
    """Seconds for the same work, and for plans as they are made."""

    loops_s: float
    vectorised_s: float
    plan_s: float
    large_brokers: int
    large_s: float
    requests_per_s: float

    @property
    def ratio(self) -> float:
        return self.loops_s / self.vectorised_s


def planning_cost(quick: bool) -> PlanningCost:
    distance = _tree(BROKERS)
    demand = zipf_demand(distance, list(range(TOPICS)), 25.0, 1.0, 0.5)
    by_hand, loops_s = _timed(lambda: _loops(distance.tolist(), demand[0].tolist(), DEGREE))
    vectors, vectorised_s = _timed(lambda: possible_stores(distance, demand[:1], [DEGREE]))
    assert by_hand == vectors[0].tolist()
    _, plan_s = _timed(lambda: Planner(distance, 5, "wrr", STORES).plan(demand))
    large = BROKERS * 5 if quick else LARGE
    far = _tree(large)
    uniform = zipf_demand(far, [0] * TOPICS, 25.0, 1.0, 0.0)
    _, large_s = _timed(lambda: Planner(far, 5, "wrr", STORES).plan(uniform))
    outcome = simulate(check(_scenario()))
    return PlanningCost(
        loops_s, vectorised_s, plan_s, large, large_s, outcome.summary()["requests_sent"] / outcome.wall_s
    )


def planning_table(cost: PlanningCost) -> Table:
    table = Table(title="Storage planning", title_justify="left", show_header=False)
    table.add_column()
    table.add_column(justify="right")
    one = f"one topic, {BROKERS} brokers as target, {DEGREE} stores each"
    table.add_row(f"{one}: plain loops", f"{cost.loops_s:.2f} s")
    table.add_row(f"{one}: vectorised", f"{cost.vectorised_s:.4f} s")
    table.add_row("the vectorised one is", f"{cost.ratio:,.0f} x")
    table.add_row(f"a plan: {BROKERS} brokers, {TOPICS} topics, {STORES} stores", f"{cost.plan_s:.3f} s")
    table.add_row(f"a plan: {cost.large_brokers:,} brokers, all topics requested alike", f"{cost.large_s:.1f} s")
    table.add_row(f"requests served in {BROKERS} brokers, of real time", f"{cost.requests_per_s:,.0f} /s")
    return table


def _tree(size: int) -> Floats:
    tree = networkx.random_labeled_tree(size, seed=1)
    return hop_distances([sorted(tree[node]) for node in range(size)])


def _scenario() -> dict[str, object]:
    return {
        "protocol": "planning",
        "network": {"kind": "random-tree", "nodes": BROKERS, "delay": "uniform(0.0005, 0.0015)"},
        "planning": {"topics": TOPICS, "stores": STORES, "popularity": 1.0, "begin": 0.2, "until": 2.2},
    }


def _timed(work: Callable[[], T]) -> tuple[T, float]:
    started = time.perf_counter()
    return work(), time.perf_counter() - started


def _loops(distance: list[list[float]], demand: list[float], k: int) -> list[float]:
    """The rule as it is written, one target, one round and one node at a time."""
    counts = [0.0] * len(distance)
    for target in range(len(distance)):
        nearest = list(distance[target])
        for _ in range(k):
            gains = [
                sum(rate * (near - hops) for rate, near, hops in zip(demand, nearest, row, strict=True) if hops < near)
                for row in distance
            ]
            best = max(gains)
            chosen = next(node for node, gain in enumerate(gains) if gain >= best * (1 - 1e-9))
            counts[chosen] += 1
            nearest = [min(pair) for pair in zip(nearest, distance[chosen], strict=True)]
    return counts
