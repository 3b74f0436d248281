"""Storage management: one decision beside plain loops and beside measuring anew, and a large network to equilibrium."""

from __future__ import annotations

import resource
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from rich.table import Table

from agents.replicas import ReplicasSystem
from protocols.storage.replicas.decision import Policy, choose, holistic, worth
from protocols.storage.replicas.topology import Topology
from protocols.storage.replicas.view import View
from runtime.run import simulate
from runtime.scenario import Scenario, check

LARGE, MANY = 1_000, 200
SMALL, FEW = 120, 20


@dataclass(frozen=True)
class ReplicasCost:
    """A decision (steps 1 to 6) in three ways at one size, and a whole run."""

    stores: int
    items: int
    loops_ms: float
    anew_ms: float
    kept_ms: float
    run_stores: int
    run_items: int
    run_s: float
    messages: int
    replacements: float
    peak_mb: int

    @property
    def against_loops(self) -> float:
        return self.loops_ms / self.kept_ms

    @property
    def against_anew(self) -> float:
        return self.anew_ms / self.kept_ms


def replicas_cost(quick: bool) -> ReplicasCost:
    scenario = _scenario(LARGE, MANY)
    loops, anew, kept = _decisions(scenario)
    run_stores, run_items = (SMALL, FEW) if quick else (LARGE, MANY)
    outcome = simulate(_scenario(run_stores, run_items))
    assert outcome.verdict == "valid"
    return ReplicasCost(
        LARGE,
        MANY,
        loops,
        anew,
        kept,
        run_stores,
        run_items,
        outcome.wall_s,
        outcome.tally.messages,
        outcome.results["replacements"]["mean"],
        resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024,
    )


def _scenario(stores: int, items: int) -> Scenario:
    data: dict[str, Any] = {
        "protocol": "holistic",
        "seed": 1,
        "limits": {"events": 1_000_000_000},
        "network": {"kind": "random-graph", "nodes": stores, "degree": 3.0, "delay": "uniform(0.5, 1.5)"},
        "storage": {"capacity": 50, "items": {"count": items, "ratio": 10.0}, "popularity": 0.7, "spread": "random"},
    }
    return check(data)


def _decisions(scenario: Scenario) -> tuple[float, float, float]:
    """Milliseconds of one decision of the same store: plain loops, distances measured anew, distances kept."""
    assert isinstance(scenario.system, ReplicasSystem)
    problem = scenario.system.problem
    graph = scenario.network.graph()
    topology = Topology({name: list(graph[name]) for name in graph})
    sizes, store = problem.catalogue.sizes, 17
    held = [[item in problem.placement[name] for name in topology.members] for item in problem.catalogue.items]
    holders = np.array(held)
    weights = np.ascontiguousarray(problem.rates_at(0.0).T) * sizes[:, np.newaxis]
    hops = topology.distances
    view = View.of(hops, holders)

    def decide(view: View) -> Any:
        return choose(worth(view, store, holistic(view, store, weights), sizes, Policy()), sizes, 50.0)

    plain = [row.tolist() for row in (hops, weights)]
    by_hand, loops = _timed(lambda: _values(plain[0], held, plain[1], store), 1)
    assert np.allclose([by_hand[item] for item in sorted(by_hand)], holistic(view, store, weights)[sorted(by_hand)])
    _, anew = _timed(lambda: decide(View.of(hops, holders)), 3)
    _, kept = _timed(lambda: decide(view), 50)
    return loops, anew, kept


def _values(hops: list[list[int]], held: list[list[bool]], weights: list[list[float]], store: int) -> dict[int, float]:
    """Gains and losses (steps 1 and 2) as the paper defines them, item by item and client by client."""
    values = {}
    for item, row in enumerate(held):
        others = [place for place, has in enumerate(row) if has and place != store]
        if others:
            far = [min(hops[y][place] for place in others) for y in range(len(hops))]
            values[item] = sum(
                weight * (distance - min(distance, hops[y][store]))
                for y, (weight, distance) in enumerate(zip(weights[item], far, strict=True))
            )
    return values


def _timed(work: Callable[[], Any], times: int) -> tuple[Any, float]:
    started = time.perf_counter()
    for _ in range(times):
        found = work()
    return found, (time.perf_counter() - started) / times * 1000


def replicas_table(cost: ReplicasCost) -> Table:
    table = Table(title="Storage management (holistic)", title_justify="left", show_header=False)
    size = f"{cost.stores:,} stores, {cost.items} items"
    rows = [
        (f"a decision with distances kept up to date, {size}", f"{cost.kept_ms:.3f} ms"),
        ("the same, distances measured anew in numpy", f"{cost.anew_ms:.1f} ms: {cost.against_anew:,.0f} x"),
        ("the same in plain loops", f"{cost.loops_ms:,.0f} ms: {cost.against_loops:,.0f} x"),
        (f"{cost.run_stores:,} stores, {cost.run_items} items to equilibrium", f"{cost.run_s:.1f} s"),
        ("messages; replacements per store", f"{cost.messages:,}; {cost.replacements:.2f}"),
        ("peak memory of the process", f"{cost.peak_mb:,} MB"),
    ]
    for row in rows:
        table.add_row(*row)
    return table


if __name__ == "__main__":
    from rich.console import Console

    Console(width=96).print(replicas_table(replicas_cost(quick=False)))
