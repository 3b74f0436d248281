"""Cases for the hand-over: a small description drawn by Hypothesis, grown into a scenario by its seed."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from hypothesis import strategies as st

from runtime.scenario import Scenario, check
from runtime.schedule import Choose, at_random, by_priority, steer
from runtime.simnode import Entry
from runtime.simulator import Simulator
from runtime.system import World

DELAYS = (1.0, "uniform(0.1, 5)", "exponential(0.05, 4)", "exponential(0.05, 4)")


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
    schedule: Literal["timed", "random", "priority", "slow"] = "timed"

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
                "access_delay": rng.choice([0.1, 1.0]),
            },
            "overlay": {
                "users": self.users,
                "intervals": rng.randint(1, 4),
                "dimensions": rng.randint(1, 2),
                "access_costs": rng.choice(["uniform", "plane"]),
                "access_to_core": rng.choice([0.1, 1.0, 10.0]),
                "capacity": 1e9,  # room is for other tests
                "movers": self.movers,
                "begin": rng.uniform(0, 5),
                "period": rng.choice([0.1, 1.0]),
                "patience": 4,
                # By choices the clock goes from timer to timer: more of them, or it is soon over.
                "publish_until": 50.0,
                "publish_scale": rng.choice([0.5, 3.0]) * (1 if self.schedule == "timed" else 5),
            },
            "faults": [
                *(_loss(rng) if self.lossy else []),
                *(_partition(rng, names) for _ in range(self.partitions if self.brokers > 1 else 0)),
                *(_crash(rng, everybody) for _ in range(self.crashes)),
            ],
        }
        if self.churn:
            few = {do: rng.randint(0, self.churn) for do in ("joins", "leaves", "interests", "rates")}
            scenario["overlay"]["churn"] = {**few, "between": [0.0, 45.0]}
        return scenario

    def run(self, limit: int = 200_000) -> tuple[Scenario, Simulator, bool]:
        scenario = check(self.data())
        sim = Simulator(scenario.network, scenario.system.agent, scenario.seed, scenario.plan)
        rng = random.Random(self.seed)
        if self.schedule == "timed":
            return scenario, sim, sim.run(max_events=limit)
        orders = {"random": at_random, "priority": by_priority, "slow": with_slow_links}
        return scenario, sim, steer(sim, orders[self.schedule](rng), max_events=limit)

    def problems(self, limit: int = 200_000) -> list[str]:
        """Run it to the end and name everything that should hold and does not."""
        scenario, sim, quiet = self.run(limit)
        if not quiet:
            return ["it never became quiet"]
        return scenario.system.violations(World(sim.alive(), scenario.network))


def with_slow_links(rng: random.Random) -> Choose:
    """Any event next, timers too, but some links between brokers are far slower than the rest of the network.

    What was routed over them arrives when everybody has long acknowledged that its subscriber is elsewhere.
    """
    slow: dict[tuple[str, str], bool] = {}

    def is_slow(entry: Entry) -> bool:
        ends = (entry[2].source, entry[2].peer)
        if ends not in slow:
            slow[ends] = all(name.startswith("n") for name in ends) and ends[0] != ends[1] and rng.random() < 0.4
        return slow[ends]

    def choose(pending: Sequence[Entry]) -> int:
        for _ in range(60):
            choice = rng.randrange(len(pending))
            if not is_slow(pending[choice]) or rng.random() < 0.02:
                return choice
        return choice

    return choose


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
        "brokers": st.integers(1, 6),
        "users": st.integers(1, 10),
        "seed": st.integers(0, 2**32),
        "movers": st.sampled_from(["one", "many"]),
        "churn": st.integers(0, 3),
        "schedule": st.sampled_from(["timed", "timed", "random", "priority", "slow"]),
    }
    some = {name: st.integers(0, 3) for name in ("crashes", "partitions") if fixed.get(name) == "some"}
    return st.builds(Handover, **drawn | some | {k: st.just(v) for k, v in fixed.items() if v != "some"})
