"""Cases for replicas: a small description drawn by Hypothesis, grown into a scenario by its seed."""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import Any, Literal

from hypothesis import strategies as st

from runtime.scenario import Scenario, check
from runtime.schedule import at_random, by_priority, steer
from runtime.simulator import Simulator
from runtime.system import World
from tests.protocols.fault_cases import crash, losses, partition

DELAYS = (1.0, "uniform(0.1, 5)", "exponential(0.1, 2)")


@dataclass(frozen=True)
class Case:
    """So many stores and items, what happens to them, and the seed that decides the rest."""

    stores: int
    items: int
    seed: int
    protocol: Literal["holistic", "myopic"] = "holistic"
    writers: int = 1
    search: Literal["paper", "knapsack"] = "paper"
    load_weight: float = 0.0
    crashes: int = 0
    deaths: int = 0
    lossy: bool = False
    partitions: int = 0
    rate_changes: int = 0
    slow: bool = False
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
                "patience": rng.uniform(30, 200) if self._troubled else "never",
                "thinking": {rng.choice(names): rng.uniform(100, 1000)} if self.slow else {},
                "changes": [
                    {"at": rng.uniform(1, 300), "rates": self._rates(rng, rng.sample(names, 1), items)}
                    for _ in range(self.rate_changes)
                ],
            },
            "faults": [
                *(crash(rng, names, 150, 100) for _ in range(self.crashes)),
                *(crash(rng, names, 150) for _ in range(self.deaths)),
                *(losses(rng, 0.4) if self.lossy else []),
                *(
                    partition(rng, names, 150, [10, 100, 5000])
                    for _ in range(self.partitions if self.stores > 1 else 0)
                ),
            ],
        }

    @property
    def _troubled(self) -> bool:
        return bool(self.crashes or self.deaths or self.lossy or self.partitions or self.slow)

    @staticmethod
    def _rates(rng: random.Random, names: list[str], items: list[str]) -> dict[str, dict[str, float]]:
        return {name: {item: rng.choice([0, 1, 2, rng.uniform(0, 5)]) for item in items} for name in names}

    @property
    def _unfair(self) -> bool:
        """Can time-outs outrun the network for ever? Then it need not come to rest, only stay out of danger."""
        if self.schedule != "timed":
            return self._troubled or self.reliable
        return self.lossy and not self.reliable

    def run(self) -> tuple[Scenario, World, bool]:
        limit = 10_000 if self._unfair else 300_000
        scenario = check(self.scenario())
        sim = Simulator(scenario.network, scenario.system.agent, scenario.seed, scenario.plan)
        rng = random.Random(self.seed)
        if self.schedule == "timed":
            quiet = sim.run(scenario.time_limit, max_events=limit)
        else:
            choose = at_random(rng) if self.schedule == "random" else by_priority(rng)
            quiet = steer(sim, choose, max_events=limit)
        cut = scenario.plan.cut_at(sim.now)
        return scenario, World(sim.alive(), scenario.network, cut, sim.events, sim.now, sim.dead()), quiet

    def problems(self) -> list[str]:
        """Run it to the end and name everything that is not as it should be."""
        scenario, world, quiet = self.run()
        if quiet:
            return scenario.system.violations(world)
        never = [] if self._unfair else ["it never became quiet"]
        return never + scenario.system.violations(world, "always")


def cases(most_stores: int = 12, **fixed: Any) -> st.SearchStrategy[Case]:
    few = st.integers(0, 2)
    drawn: dict[str, Any] = {
        "stores": st.integers(1, most_stores),
        "items": st.integers(1, 6),
        "seed": st.integers(0, 2**32),
        "protocol": st.sampled_from(["holistic", "myopic"]),
        "schedule": st.sampled_from(["timed", "random", "priority"]),
    }
    drawn |= {name: few for name in ("crashes", "deaths", "partitions", "rate_changes") if fixed.get(name) == "some"}
    drawn |= {name: st.just(value) for name, value in fixed.items() if value != "some"}
    return st.builds(Case, **drawn)
