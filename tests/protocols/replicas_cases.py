"""Cases for replicas: a small description drawn by Hypothesis, grown into a scenario by its seed."""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import Any, Literal

from hypothesis import strategies as st

from runtime.scenario import check
from runtime.schedule import at_random, by_priority, steer
from runtime.simulator import Simulator
from runtime.system import World

DELAYS = (1.0, "uniform(0.1, 5)", "exponential(0.1, 2)")


@dataclass(frozen=True)
class Case:
    """So many stores and items, and the seed that decides the rest; nothing fails."""

    stores: int
    items: int
    seed: int
    protocol: Literal["holistic", "myopic"] = "holistic"
    writers: int = 1
    search: Literal["paper", "knapsack"] = "paper"
    load_weight: float = 0.0
    rate_changes: int = 0
    reliable: bool = False
    schedule: Literal["timed", "random", "priority"] = "timed"

    def scenario(self) -> dict[str, Any]:
        rng = random.Random(self.seed)
        names = [f"n{number}" for number in range(1, self.stores + 1)]
        items = [f"i{number}" for number in range(1, self.items + 1)]
        sizes = {item: rng.choice([1, 1, 2, 3]) for item in items}
        fewest = 2 * (self.stores - 1) / self.stores
        room = max(max(sizes.values()), -(-sum(sizes.values()) // self.stores) + 3)
        return {
            "protocol": self.protocol,
            "seed": self.seed,
            "links": "reliable" if self.reliable else "raw",
            "limits": {"time": 100_000.0},
            "network": {
                "kind": "random-graph",
                "nodes": self.stores,
                "degree": max(fewest, rng.uniform(fewest, min(self.stores - 1, 4))),
                "delay": rng.choice(DELAYS),
            },
            "storage": {
                "capacity": {name: rng.randint(room, room + 2) for name in names},
                "sizes": sizes,
                "rates": self._rates(rng, names, items),
                "writers": self.writers,
                "period": rng.choice([0.5, 10.0]),
                "search": self.search,
                "load_weight": self.load_weight,
                "patience": "never",
                "changes": [
                    {"at": rng.uniform(1, 300), "rates": self._rates(rng, rng.sample(names, 1), items)}
                    for _ in range(self.rate_changes)
                ],
            },
        }

    @staticmethod
    def _rates(rng: random.Random, names: list[str], items: list[str]) -> dict[str, dict[str, float]]:
        return {name: {item: rng.choice([0, 1, 2, rng.uniform(0, 5)]) for item in items} for name in names}

    def run(self) -> tuple[World, bool]:
        """The world at the end, and whether all has come to rest."""
        scenario = check(self.scenario())
        sim = Simulator(scenario.network, scenario.system.agent, scenario.seed, scenario.plan)
        rng = random.Random(self.seed)
        if self.schedule == "timed":
            quiet = sim.run(scenario.time_limit, max_events=300_000)
        else:
            quiet = steer(sim, (at_random if self.schedule == "random" else by_priority)(rng), max_events=300_000)
        return World(sim.alive(), scenario.network, events=sim.events, now=sim.now), quiet


def cases(most_stores: int = 12, **fixed: Any) -> st.SearchStrategy[Case]:
    drawn: dict[str, Any] = {
        "stores": st.integers(1, most_stores),
        "items": st.integers(1, 6),
        "seed": st.integers(0, 2**32),
        "protocol": st.sampled_from(["holistic", "myopic"]),
        "schedule": st.sampled_from(["timed", "random", "priority"]),
    }
    drawn |= {name: st.just(value) for name, value in fixed.items()}
    return st.builds(Case, **drawn)
