"""Draws docs/pictures/replicas.png: the traffic of 120 stores as it falls, with one writer, several, and none."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt

from agents.replica_observer import Traffic
from agents.replicas import ReplicasSystem
from runtime.run import simulate
from runtime.scenario import check

STORES = 120
RUNS: tuple[tuple[str, str, dict[str, Any]], ...] = (
    ("holistic, one writer", "#1b9e77", {}),
    ("myopic, one writer", "#d95f02", {"protocol": "myopic"}),
    ("holistic, 8 writers", "#7570b3", {"writers": 8}),
    ("holistic, every store on its own clock", "#e7298a", {"writers": 0, "period": 30.0}),
)


def scenario(protocol: str = "holistic", **storage: Any) -> dict[str, Any]:
    return {
        "protocol": protocol,
        "seed": 1,
        "network": {"kind": "random-graph", "nodes": STORES, "degree": 3.0, "delay": "uniform(0.5, 1.5)"},
        "storage": {"capacity": 50, "items": {"ratio": 2.5}, "popularity": 0.7, **storage},
    }


def main() -> None:
    figure, (levels, counts) = plt.subplots(1, 2, figsize=(11, 4.2))
    for label, colour, keys in RUNS:
        read = check(scenario(**keys))
        system = read.system
        assert isinstance(system, ReplicasSystem)
        traffic = Traffic(system.problem, read.network.graph())
        for store, items in system.problem.placement.items():
            traffic.put(store, items)
        first = traffic.total(system.problem.rates_at(0.0), 1.0)
        history = simulate(read).results["history"]
        times = [0.0, *(row[0] for row in history)]
        levels.step(times, [first, *(row[4] for row in history)], where="post", color=colour, label=label)
        counts.step(times, range(len(times)), where="post", color=colour, label=label)
    for panel, label in ((levels, "overall network traffic (req·hops/s)"), (counts, "replacements so far")):
        panel.set_xscale("symlog", linthresh=100)
        panel.set_xlabel("virtual time (s)")
        panel.set_ylabel(label)
        panel.grid(alpha=0.3)
    levels.legend(fontsize=8)
    figure.tight_layout()
    figure.savefig(Path(__file__).parent / "replicas.png", dpi=110)


if __name__ == "__main__":
    main()
