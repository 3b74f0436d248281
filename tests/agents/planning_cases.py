"""Cases for planning in operation: a small description drawn by Hypothesis, grown into a scenario by its seed."""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import Any, Literal

from hypothesis import strategies as st

from runtime.run import Outcome, simulate
from runtime.scenario import check
from runtime.schedule import at_random, by_priority, steer
from runtime.simulator import Simulator
from runtime.system import World


@dataclass(frozen=True)
class Case:
    """So many brokers and topics, a change of demand, what else happens, and the seed that decides the rest."""

    brokers: int
    topics: int
    seed: int
    react: Literal["leave", "reassign", "replan", "either"] = "reassign"
    failures: int = 0
    crashes: int = 0
    publishing: bool = True

    def scenario(self) -> dict[str, Any]:
        rng = random.Random(self.seed)
        stores = rng.randint(1, min(4, self.brokers))
        began = 8.0  # subscriptions must be there before the first publication
        capacity = rng.randint(-(-self.topics // stores), self.topics)
        return {
            "protocol": "planning",
            "seed": self.seed,
            "network": {
                "kind": "random-tree",
                "nodes": self.brokers,
                "delay": rng.choice([0.05, "uniform(0.01, 0.3)", "exponential(0.01, 0.1)"]),
            },
            "planning": {
                "topics": self.topics,
                "algorithm": rng.choice(["seq", "wrr"]),
                "capacity": capacity,
                "stores": stores,
                "rate": 3.0,
                "popularity": rng.uniform(-2, 2),
                "locality": rng.uniform(-2, 2),
                "publications": 2,
                **({"publish_every": 2.0} if self.publishing else {}),
                "begin": began,
                "until": began + 12,
                "retry_after": 30.0,
                "patience": 60.0,
                "react": self.react,
                "threshold": 0.0,
                "report_every": 1.5,
                "decide_every": 1.0,
                "changes": {
                    "first": {"at": began + 3, "popularity": rng.uniform(-2, 2)},
                    "second": {"at": began + 7, "locality": rng.uniform(-2, 2), "popularity": rng.uniform(-2, 2)},
                },
                "failures": {
                    f"failure{number}": {
                        "at": began + rng.uniform(1, 10),
                        "count": rng.randint(0, stores),
                        "recover_after": rng.uniform(0.5, 4),
                    }
                    for number in range(self.failures)
                },
            },
            "faults": [
                {"kind": "crash", "count": 1, "at": began + rng.uniform(1, 10), "recover_after": rng.uniform(0.1, 3)}
                for _ in range(self.crashes)
            ],
        }

    def outcome(self) -> Outcome:
        return simulate(check(self.scenario()))

    def problems_when(self, schedule: Literal["random", "priority"]) -> list[str]:
        """The same with messages in any order that keeps each link's, from the first request on."""
        scenario = check(self.scenario())
        sim = Simulator(scenario.network, scenario.system.agent, scenario.seed, scenario.plan)
        sim.run(scenario.system.settings.begin)
        rng = random.Random(self.seed)
        if not steer(sim, at_random(rng) if schedule == "random" else by_priority(rng), max_events=400_000):
            return ["it never became quiet"]
        world = World(sim.alive(), scenario.network)
        incomplete = scenario.system.results(world)["requests_incomplete"]
        return scenario.system.violations(world) + ([f"{incomplete} requests are incomplete"] if incomplete else [])


def cases(**fixed: Any) -> st.SearchStrategy[Case]:
    drawn = {
        "brokers": st.integers(1, 14),
        "topics": st.integers(1, 5),
        "seed": st.integers(0, 2**32 - 1),
        "react": st.sampled_from(["reassign", "replan", "either"]),
    }
    return st.builds(Case, **drawn | {name: st.just(value) for name, value in fixed.items()})
