"""Cases: small scenarios drawn at random, each with a schedule, for a protocol to stand or fall by.

A case is a small description (which faults, how large, a seed); the seed decides all the rest. So a case can be named
in a line, drawn by Hypothesis, and had again.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from runtime.errors import ScenarioError
from runtime.schedule import (
    STEP,
    Choose,
    Deviations,
    Held,
    Order,
    at_random,
    by_deviations,
    by_order,
    by_priority,
    delay_bounded,
)

FAULTS = ("drop", "duplicate", "reorder", "delay", "partition", "crash", "death")
"""A crashed node comes back; after a death it does not."""

LOSSY = frozenset({"drop", "duplicate", "reorder", "partition"})
"""What only links that are repaired make good."""

DELAYS = (1.0, "uniform(0.1, 5)", "exponential(0.1, 2)")

Way = Literal["timed", "random", "priority", "delays"]
WAYS: dict[str, Callable[[random.Random], Choose]] = {
    "random": at_random,
    "priority": by_priority,
    "delays": delay_bounded,
}
"""How the next event is chosen, where the network's own delays do not decide (`timed`)."""

Data = Mapping[str, Any]


@dataclass(frozen=True)
class Schedule:
    """In which order things happen: as the delays have it, by dice, by explicit deviations, or as in another run."""

    way: Way | Literal["deviations", "order"] = "timed"
    seed: int = 0
    deviations: Deviations = field(default_factory=dict)
    held: Held = ()
    order: Order = ()
    since_s: float = 0.0
    """Until then the network's own delays decide, so that a case can settle before anything is mixed up."""

    fifo: bool = True
    step_s: float = STEP
    own_clocks: bool = False
    """Time passes at a node only while it waits for its own timers."""

    def choose(self) -> Choose:
        if self.way == "deviations":
            return by_deviations(self.deviations, self.held)
        if self.way == "order":
            return by_order(self.order)
        return WAYS[self.way](random.Random(self.seed))


@dataclass(frozen=True)
class Case:
    """A scenario and the order in which its events come."""

    data: Data
    schedule: Schedule = Schedule()
    restless: bool = False
    """It need not come to rest: time-outs may outrun the network for ever. Then only `always` is asked for."""

    folder: Path = Path()
    """Where the files that the scenario names are sought."""

    max_events: int = 200_000


@dataclass(frozen=True)
class Draw:
    """What a case is to be like: the dice, at most how many brokers, which faults, whose choice the order is."""

    rng: random.Random
    size: int = 8
    faults: frozenset[str] = frozenset()
    way: Way = "timed"
    frugal: bool = False
    """Rather few of everything."""

    @property
    def seed(self) -> int:
        return self.rng.randrange(1 << 32)

    def count(self, most: int, least: int = 0) -> int:
        few = self.rng.randint(least, most)
        return self.rng.randint(least, few) if self.frugal else few

    @property
    def lossy(self) -> bool:
        return bool(self.faults & LOSSY)

    @property
    def links(self) -> str:
        """Repaired, where messages get lost."""
        return "reliable" if self.lossy else "raw"

    def names(self, least: int = 1) -> list[str]:
        """The names of some brokers."""
        return [f"n{number}" for number in range(1, self.count(max(least, self.size), least) + 1)]

    def graph(self, names: Sequence[str]) -> dict[str, Any]:
        """A network of these brokers: any density from a tree up to four links each."""
        fewest = 2 * (len(names) - 1) / len(names)
        degree = max(fewest, self.rng.uniform(fewest, min(len(names) - 1, 4)))
        return {"kind": "random-graph", "nodes": len(names), "degree": degree, "delay": self.delay()}

    def tree(self, names: Sequence[str]) -> dict[str, Any]:
        return {"kind": "random-tree", "nodes": len(names), "delay": self.delay()}

    def delay(self) -> float | str:
        return self.rng.choice(DELAYS)

    def trouble(
        self,
        names: Sequence[str],
        brokers: Sequence[str] | None = None,
        since: float = 0.0,
        until: float = 40.0,
        down: float = 20.0,
        most: float = 0.4,
    ) -> list[dict[str, Any]]:
        """The faults that are asked for, in a scenario's words: crashes of any of `names`, partitions of `brokers`.

        A node is down for at most `down`; a message is struck with a probability of at most `most`.
        """
        rng = self.rng
        found: list[dict[str, Any]] = []
        for kind in ("drop", "duplicate", "reorder"):
            if kind in self.faults:
                found.append({"kind": kind, "probability": rng.uniform(0, most)})
        if "delay" in self.faults:
            found.append({"kind": "delay", "probability": rng.uniform(0, most), "by": "uniform(0, 10)"})
        for kind, back in (("crash", True), ("death", False)):
            for _ in range(rng.randint(0, 2) if kind in self.faults else 0):
                fault = {"kind": "crash", "nodes": [rng.choice(names)], "at": rng.uniform(since, until)}
                found.append(fault | ({"recover_after": rng.uniform(0.1, down)} if back else {}))
        islands = names if brokers is None else brokers
        for _ in range(rng.randint(0, 2) if "partition" in self.faults and len(islands) > 1 else 0):
            found.append(self._partition(islands, since, until))
        return found

    def _partition(self, names: Sequence[str], since: float, until: float) -> dict[str, Any]:
        rng = self.rng
        mixed = rng.sample(names, len(names))
        cut, begins = rng.randint(1, len(names) - 1), rng.uniform(since, until)
        ends = begins + rng.choice([1, 10, 100, 5000])
        return {"kind": "partition", "groups": [mixed[:cut], mixed[cut:]], "since": begins, "until": ends}

    def case(self, data: Data, since_s: float = 0.0, restless: bool = False) -> Case:
        """This scenario, in an order of the way that is asked for."""
        fifo = self.way == "timed" or "reorder" not in self.faults
        return Case(data, Schedule(self.way, self.seed, since_s=since_s, fifo=fifo), restless)


def known_faults(names: Sequence[str]) -> frozenset[str]:
    for name in names:
        if name not in FAULTS:
            raise ScenarioError("--faults", f"{name!r} is no fault; write some of: {', '.join(FAULTS)}")
    return frozenset(names)
