"""Cases for coverage: a small description drawn by Hypothesis, grown into a scenario by its seed."""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import Any, Literal

from hypothesis import strategies as st

from protocols.storage.coverage import Coverage
from runtime.scenario import check
from runtime.schedule import at_random, by_priority, steer
from runtime.simulator import Simulator
from runtime.system import World
from tests.protocols.fault_cases import crash, losses, partition

DELAYS = (1.0, "uniform(0.1, 5)", "exponential(0.1, 2)")


@dataclass(frozen=True)
class Case:
    """So many brokers and stores, what happens to them, and the seed that decides the rest."""

    brokers: int
    stores: int
    seed: int
    orders: int = 0
    crashes: int = 0
    deaths: int = 0
    lossy: bool = False
    partitions: int = 0
    reliable: bool = False
    schedule: Literal["timed", "random", "priority"] = "timed"

    def scenario(self) -> dict[str, Any]:
        rng = random.Random(self.seed)
        names = [f"n{number}" for number in range(1, self.brokers + 1)]
        stores = {
            f"s{number}": {"broker": rng.choice(names), "topics": rng.sample(["a", "b"], rng.randint(1, 2))}
            for number in range(1, self.stores + 1)
        }
        everybody = [*names, *stores]
        fewest = 2 * (self.brokers - 1) / self.brokers
        return {
            "protocol": "coverage",
            "seed": self.seed,
            "links": "reliable" if self.reliable else "raw",
            "network": {
                "kind": "random-graph",
                "nodes": self.brokers,
                "degree": max(fewest, rng.uniform(fewest, min(self.brokers - 1, 4))),
                "delay": rng.choice(DELAYS),
            },
            "storage": {"stores": stores, "events": [self._order(rng, list(stores)) for _ in range(self.orders)]},
            "faults": [
                *(crash(rng, everybody, 40, 20) for _ in range(self.crashes)),
                *(crash(rng, everybody, 40) for _ in range(self.deaths)),
                *(losses(rng, 0.5) if self.lossy else []),
                *(
                    partition(rng, names, 40, [1, 10, 100, 5000]) | {"one_way": rng.random() < 0.3}
                    for _ in range(self.partitions if self.brokers > 1 else 0)
                ),
            ],
        }

    @staticmethod
    def _order(rng: random.Random, stores: list[str]) -> dict[str, Any]:
        what = rng.choice(["withdraw", "advertise", "fail", "recover"])
        return {"at": rng.uniform(0, 40), "store": rng.choice(stores), "do": what}

    def problems(self, limit: int = 300_000) -> list[str]:
        """Run it to the end and name everything that is not as breadth-first search says."""
        scenario = check(self.scenario())
        sim = Simulator(scenario.network, scenario.system.agent, scenario.seed, scenario.plan)
        rng = random.Random(self.seed)
        if self.schedule == "timed":
            quiet = sim.run(max_events=limit)
        else:
            choose = at_random(rng) if self.schedule == "random" else by_priority(rng)
            quiet = steer(sim, choose, max_events=limit)
        if not quiet:
            return ["it never became quiet"]
        world = World(sim.alive(), scenario.network, scenario.plan.cut_at(sim.now))
        farthest = max((c.farthest_hops for c in world.protocols(Coverage).values()), default=0)
        too_far = [f"{farthest} hops among {self.brokers} brokers"] if farthest >= self.brokers > 0 else []
        return scenario.system.violations(world) + too_far


def cases(most_brokers: int = 60, **fixed: Any) -> st.SearchStrategy[Case]:
    few = st.integers(0, 3)
    drawn = {
        "brokers": st.integers(1, most_brokers),
        "stores": st.integers(1, 6),
        "seed": st.integers(0, 2**32),
        "orders": st.integers(0, 8),
        "schedule": st.sampled_from(["timed", "random", "priority"]),
    }
    drawn |= {name: few for name in ("crashes", "deaths", "partitions") if fixed.get(name) == "some"}
    drawn |= {name: st.just(value) for name, value in fixed.items() if value != "some"}
    return st.builds(Case, **drawn)
