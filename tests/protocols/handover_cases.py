"""Cases for the hand-over: a small description drawn by Hypothesis, grown into a scenario by its seed."""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import Any, Literal

from hypothesis import strategies as st

from runtime.scenario import Scenario, check
from runtime.schedule import at_random, by_priority, steer
from runtime.simulator import Simulator
from runtime.system import World

DELAYS = (1.0, "uniform(0.1, 5)", "exponential(0.1, 2)")


@dataclass(frozen=True)
class Handover:
    """So many brokers and users that publish while some move, join, leave and change; the seed decides the rest."""

    brokers: int
    users: int
    seed: int
    movers: Literal["one", "many"] = "many"
    churn: int = 0
    lossy: bool = False
    partitions: int = 0
    crashes: int = 0
    schedule: Literal["timed", "random", "priority"] = "timed"

    def data(self) -> dict[str, Any]:
        rng = random.Random(self.seed)
        names = [f"n{number}" for number in range(1, self.brokers + 1)]
        everybody = names + [f"u{number}" for number in range(1, self.users + 1)]
        repaired = self.lossy or self.partitions or self.crashes
        scenario: dict[str, Any] = {
            "protocol": "overlay",
            "seed": self.seed,
            "links": "reliable" if repaired else "raw",
            "network": {
                "kind": "plane",
                "nodes": self.brokers,
                "connect": "complete",
                "delay": rng.choice(DELAYS),
            },
            "overlay": {
                "users": self.users,
                "intervals": rng.randint(1, 4),
                "dimensions": rng.randint(1, 2),
                "access_costs": rng.choice(["uniform", "plane"]),
                "access_to_core": rng.choice([0.1, 1.0, 10.0]),
                "capacity": 1e9,  # room is for other tests
                "movers": self.movers,
                "begin": rng.uniform(0, 15),
                "period": rng.choice([0.1, 1.0]),
                "patience": 4,
                "publish_until": 60.0,
                "publish_scale": rng.choice([0.2, 2.0]),
            },
            "faults": [
                *(_loss(rng) if self.lossy else []),
                *(_partition(rng, names) for _ in range(self.partitions if self.brokers > 1 else 0)),
                *(_crash(rng, everybody) for _ in range(self.crashes)),
            ],
        }
        if self.churn:
            few = {do: rng.randint(0, self.churn) for do in ("joins", "leaves", "interests", "rates")}
            scenario["overlay"]["churn"] = {**few, "between": [0.0, 50.0]}
        return scenario

    def run(self, limit: int = 200_000) -> tuple[Scenario, Simulator, bool]:
        scenario = check(self.data())
        sim = Simulator(scenario.network, scenario.system.agent, scenario.seed, scenario.plan)
        rng = random.Random(self.seed)
        if self.schedule == "timed":
            return scenario, sim, sim.run(max_events=limit)
        choose = at_random(rng) if self.schedule == "random" else by_priority(rng)
        return scenario, sim, steer(sim, choose, max_events=limit)

    def problems(self, limit: int = 200_000) -> list[str]:
        """Run it to the end and name everything that should hold and does not."""
        scenario, sim, quiet = self.run(limit)
        if not quiet:
            return ["it never became quiet"]
        return scenario.system.violations(World(sim.alive(), scenario.network))


def _loss(rng: random.Random) -> list[dict[str, Any]]:
    return [{"kind": kind, "probability": rng.uniform(0, 0.3)} for kind in ("drop", "duplicate", "reorder")]


def _partition(rng: random.Random, names: list[str]) -> dict[str, Any]:
    names = rng.sample(names, len(names))
    cut, since = rng.randint(1, len(names) - 1), rng.uniform(0, 50)
    until = since + rng.choice([1, 10, 60])
    return {"kind": "partition", "groups": [names[:cut], names[cut:]], "since": since, "until": until}


def _crash(rng: random.Random, everybody: list[str]) -> dict[str, Any]:
    who, at = rng.choice(everybody), rng.uniform(0, 60)
    return {"kind": "crash", "nodes": [who], "at": at, "recover_after": rng.uniform(0.1, 20)}


def handovers(**fixed: Any) -> st.SearchStrategy[Handover]:
    drawn: dict[str, Any] = {
        "brokers": st.integers(1, 5),
        "users": st.integers(1, 10),
        "seed": st.integers(0, 2**32),
        "movers": st.sampled_from(["one", "many"]),
        "churn": st.integers(0, 3),
        "schedule": st.sampled_from(["timed", "random", "priority"]),
    }
    some = {name: st.integers(0, 3) for name in ("crashes", "partitions") if fixed.get(name) == "some"}
    return st.builds(Handover, **drawn | some | {k: st.just(v) for k, v in fixed.items() if v != "some"})
