"""Cases for dissemination: a small description drawn by Hypothesis, grown into a scenario by its seed."""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import Any, Literal

from hypothesis import strategies as st

from runtime.scenario import check
from runtime.schedule import at_random, by_priority, steer
from runtime.simulator import Simulator
from runtime.system import World
from tests.protocols.dissemination_cases import Instance


@dataclass(frozen=True)
class ContentCase:
    """So many brokers and publications, what happens to the brokers, and the seed that decides the rest."""

    brokers: int
    seed: int
    formats: int = 4
    publications: int = 2
    tree: Literal["discovered", "estimated"] = "discovered"
    algorithm: str = "optimal"
    threshold: float = 0.0
    joins: int = 0
    leaves: int = 0
    crashes: int = 0
    deaths: int = 0
    lossy: bool = False
    reliable: bool = False
    load: bool = False
    schedule: Literal["timed", "random", "priority"] = "timed"

    def scenario(self) -> dict[str, Any]:
        rng = random.Random(self.seed)
        names = [f"n{number}" for number in range(1, self.brokers + 1)]
        # The first broker stays, so that there is always somebody to join.
        others = rng.sample(names[1:], len(names) - 1)
        joins, others = others[: self.joins], others[self.joins :]
        leaves, others = others[: self.leaves], others[self.leaves :]
        failing = others[: min(self.crashes + self.deaths, max(0, len(others) - 1))]
        cag = Instance(self.formats, 1, self.seed).cag
        operators = {
            a: {
                b: cost / cag.sizes[i]
                for j, b in enumerate(cag.formats)
                if i != j and 0 < (cost := cag.conversions[i][j]) < 9e9
            }
            for i, a in enumerate(cag.formats)
        }
        faults: list[dict[str, Any]] = []
        for place, name in enumerate(failing):
            fault = {"kind": "crash", "nodes": [name], "at": rng.uniform(0, 900)}
            faults.append(fault | ({"recover_after": rng.uniform(1, 300)} if place < self.crashes else {}))
        if self.lossy:
            faults += [{"kind": kind, "probability": rng.uniform(0, 0.3)} for kind in ("drop", "duplicate", "reorder")]
        return {
            "protocol": "dissemination",
            "seed": self.seed,
            "links": "reliable" if self.reliable else "raw",
            "network": {
                "kind": "complete",
                "nodes": self.brokers,
                "delay": rng.choice([1.0, "uniform(0.1, 2)", "exponential(0.1, 1)"]),
            },
            "faults": faults,
            "dissemination": {
                "cag": {"formats": dict(zip(cag.formats, cag.sizes, strict=True)), "operators": operators},
                "alpha": rng.choice([0.1, 1.0, 10.0]),
                "algorithm": self.algorithm,
                "tree": self.tree,
                "threshold": self.threshold,
                "compare": ["optimal", "root", "leaves"],
                "tapestry": {
                    "base": rng.choice([2, 3, 4, 16]),
                    "digits": 7,
                    "joins": {name: rng.uniform(0, 200) for name in joins},
                    "leaves": {name: rng.uniform(0, 900) for name in leaves},
                },
                "factors": rng.choice([{}, {"nodes": [0.5, 2.0], "links": [0.2, 5.0]}]),
                "random": {
                    "matching": rng.uniform(0.1, 1),
                    "publications": self.publications,
                    "start": 400.0,
                    "every": 300.0,
                    "most_formats": 0.6,
                },
                **({"load": {"unit": 10_000.0, "node": 3.0, "link": 5.0}} if self.load else {}),
            },
        }

    def run(self, limit: int = 300_000) -> tuple[World | None, Any]:
        """The world at the end, if it became quiet, and the system."""
        scenario = check(self.scenario())
        sim = Simulator(scenario.network, scenario.system.agent, scenario.seed, scenario.plan)
        rng = random.Random(self.seed)
        if self.schedule == "timed":
            quiet = sim.run(max_events=limit)
        else:
            choose = at_random(rng) if self.schedule == "random" else by_priority(rng)
            quiet = steer(sim, choose, max_events=limit)
        world = World(sim.alive(), scenario.network, scenario.plan.cut_at(sim.now))
        return (world if quiet else None), scenario.system

    def problems(self) -> list[str]:
        world, system = self.run()
        return ["it never became quiet"] if world is None else system.violations(world)


def content_cases(most_brokers: int = 14, **fixed: Any) -> st.SearchStrategy[ContentCase]:
    drawn: dict[str, st.SearchStrategy[Any]] = {
        "brokers": st.integers(2, most_brokers),
        "seed": st.integers(0, 2**32),
        "formats": st.integers(1, 5),
        "publications": st.integers(1, 3),
        "tree": st.sampled_from(["discovered", "estimated"]),
        "algorithm": st.sampled_from(["optimal", "heuristic", "root", "leaves"]),
        "threshold": st.sampled_from([0.0, 0.5, 1e9]),
        "load": st.booleans(),
        "schedule": st.sampled_from(["timed", "random", "priority"]),
    }
    drawn |= {name: st.integers(0, 2) for name, value in fixed.items() if value == "some"}
    drawn |= {name: st.just(value) for name, value in fixed.items() if value != "some"}
    return st.builds(ContentCase, **drawn)
