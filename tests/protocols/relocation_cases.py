"""Cases for relocation: a small description drawn by Hypothesis, grown into a scenario by its seed."""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import Any, Literal

from hypothesis import strategies as st

from protocols.channel import Data
from protocols.relocation.clients import Publishing, Subscribing
from protocols.routing.content import ContentRouting, Publication
from protocols.routing.filters import matches
from runtime.scenario import Scenario, check
from runtime.schedule import at_random, by_priority, steer
from runtime.simulator import Simulator
from runtime.system import World

SETTLED = 2000.0
"""By then every advertisement and first subscription has arrived; what is tested happens afterwards."""

CONDITIONS = [[], [["x", ">", 3]], [["x", ">", 6]], [["x", "<=", 6]], [["x", "<", 4]], [["x", "=", 5]]]
CONDITIONS += [[["x", ">", 3], ["x", "<", 7]], [["y", "=", "a"]], [["y", "prefix", "a"], ["x", ">=", 5]]]


@dataclass(frozen=True)
class Case:
    """So many brokers, publishers and subscribers, how often they move, come and go, and the seed for the rest."""

    brokers: int
    publishers: int
    subscribers: int
    seed: int
    moves: int = 0
    churn: int = 0
    leaving: int = 0
    covering: bool = False
    flooding: bool = False
    algorithm: Literal["none", "pop", "grape"] = "none"
    schedule: Literal["timed", "random", "priority"] = "timed"
    lossy: bool = False
    follow_after: int | None = None

    def scenario(self) -> dict[str, Any]:
        rng = random.Random(self.seed)
        names = [f"n{number}" for number in range(1, self.brokers + 1)]
        publishers = {
            f"p{number}": self._publisher(rng, names, leaves=number <= self.leaving)
            for number in range(1, self.publishers + 1)
        }
        subscribers = {
            f"s{number}": {"broker": rng.choice(names), "where": rng.choice(CONDITIONS)}
            for number in range(1, self.subscribers + 1)
        }
        for number in range(1, self.churn + 1):
            since = SETTLED + rng.uniform(0, 20)
            until = {"until": since + rng.uniform(0.1, 20)} if rng.random() < 0.6 else {}
            since = rng.choice([0.0, since])
            subscribers[f"t{number}"] = {
                "broker": rng.choice(names), "where": rng.choice(CONDITIONS), "since": since, **until,
            }  # fmt: skip
        moves = [
            {"at": SETTLED + rng.uniform(0, 20), "publisher": rng.choice(sorted(publishers)), "to": rng.choice(names)}
            for _ in range(self.moves)
        ]
        return {
            "protocol": "relocation",
            "seed": self.seed,
            "links": "reliable" if self.lossy else "raw",
            "network": {
                "kind": "random-tree",
                "nodes": self.brokers,
                "delay": rng.choice([1.0, "uniform(0.1, 5)", "exponential(0.1, 2)"]),
                "underlay_delay": rng.choice([0.1, 1.0, "uniform(0.1, 8)"]),
            },
            "relocation": {
                "algorithm": self.algorithm,
                "covering": self.covering,
                "routing": "flooding" if self.flooding else "advertisements",
                "publishers": publishers,
                "subscribers": subscribers,
                "moves": moves,
                "threshold": rng.randint(1, 6),
                "pop": {"window": 10.0},
                "grape": {
                    "priority": rng.choice(["load", "delay"]),
                    "weight": rng.choice([0.0, 1.0, 50.0, 100.0]),
                },
                **({"follow_after": self.follow_after} if self.follow_after else {}),
                "matching": {"base": rng.choice([0.0, 0.05])},
            },
            "faults": [
                {"kind": kind, "probability": rng.uniform(0, 0.4)}
                for kind in (("drop", "duplicate", "reorder") if self.lossy else ())
            ],
        }

    def _publisher(self, rng: random.Random, names: list[str], leaves: bool) -> dict[str, Any]:
        low, high = sorted((rng.randint(0, 10), rng.randint(0, 10)))
        return {
            "broker": rng.choice(names),
            "where": [["x", ">=", low], ["x", "<=", high]],
            "contents": [
                {"x": rng.randint(low, high), "y": rng.choice(["a", "ab", "b"])} for _ in range(rng.randint(1, 8))
            ],
            "count": rng.randint(1, 30),
            "every": rng.choice([0.2, 1.0, 3.0]),
            "start": SETTLED + rng.uniform(0, 10),
            "leaves": leaves,
        }

    def run(self, limit: int = 200_000) -> tuple[Scenario, World, Promises] | None:
        """Let the tables settle in time, then let the schedule decide; None if it never becomes quiet."""
        scenario = check(self.scenario())
        sim = Simulator(scenario.network, scenario.system.agent, scenario.seed, scenario.plan)
        promises = Promises(sim)
        sim.run(until=SETTLED)
        rng = random.Random(self.seed)
        if self.schedule == "timed":
            quiet = sim.run(max_events=limit)
        else:
            # Over links that are repaired, timers that come too often would repeat everything for ever.
            patience = 10 if self.lossy else rng.choice([1, 3])
            choose = at_random(rng, patience) if self.schedule == "random" else by_priority(rng)
            quiet = steer(sim, choose, max_events=limit)
        return (scenario, World(sim.alive(), scenario.network), promises) if quiet else None

    def problems(self, limit: int = 200_000) -> list[str]:
        """Everything that is not as it should be when all is quiet."""
        ran = self.run(limit)
        if ran is None:
            return ["it never became quiet"]
        scenario, world, promises = ran
        # Over a channel, what the observer sees is not yet what the broker handles.
        broken = [] if self.covering or self.lossy else promises.broken(world)
        return scenario.system.violations(world) + incomplete(world) + unfinished(world) + broken


class Promises:
    """What the table of a publication's first broker promised as it came in: without covering, who will get it."""

    def __init__(self, sim: Simulator) -> None:
        self.sim = sim
        self.made: list[tuple[str, int, str]] = []
        sim.observer = self.observe

    def observe(self, entry: Any) -> None:
        _, _, link, word = entry
        word = word.payload if isinstance(word, Data) else word
        if isinstance(word, Publication) and not word.broker:
            routing = link.target.agent.find(ContentRouting)
            found = routing.index.matching(word.content)
            self.made += [(word.publisher, word.number, name.rpartition("/")[0]) for name in found]

    def broken(self, world: World) -> list[str]:
        readers = world.protocols(Subscribing)
        return [
            f"{name} does not have number {number} of {publisher}, though it was known there"
            for publisher, number, name in dict.fromkeys(self.made)
            if readers[name].wishes[0].until_s is None
            and (publisher not in readers[name].received or number not in readers[name].received[publisher].numbers)
        ]


def incomplete(world: World) -> list[str]:
    """Whoever subscribed from the beginning to the end has everything that matches, from everybody."""
    found = []
    for name, reading in world.protocols(Subscribing).items():
        (wish,) = reading.wishes
        if wish.since_s or wish.until_s is not None:
            continue
        for publisher, sent in world.protocols(Publishing).items():
            contents = sent.program.contents
            due = [n + 1 for n in range(sent.numbered) if matches(wish.conditions, contents[n % len(contents)])]
            seen = reading.received[publisher].numbers if publisher in reading.received else []
            if seen != due:
                found.append(f"{name} has {seen} from {publisher}, not {due}")
    return found


def unfinished(world: World) -> list[str]:
    """Nobody is still paused, and everything was published."""
    return [
        f"{name} is paused={sent.paused_at}, {sent.numbered} of {sent.program.count}, buffer {len(sent.buffer)}"
        for name, sent in world.protocols(Publishing).items()
        if sent.paused_at is not None or sent.numbered != sent.program.count or sent.buffer or sent.ordered
    ]


def cases(most_brokers: int = 12, **fixed: Any) -> st.SearchStrategy[Case]:
    drawn: dict[str, Any] = {
        "brokers": st.integers(1, most_brokers),
        "publishers": st.integers(1, 4),
        "subscribers": st.integers(0, 10),
        "seed": st.integers(0, 2**32),
        "moves": st.integers(0, 8),
        "churn": st.integers(0, 6),
        "leaving": st.integers(0, 2),
        "covering": st.booleans(),
        "flooding": st.booleans(),
        "schedule": st.sampled_from(["timed", "random", "priority"]),
    }
    drawn |= {name: st.just(value) for name, value in fixed.items()}
    return st.builds(Case, **drawn)
