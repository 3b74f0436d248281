"""What it costs to log: a million events with two fields, collected and written as Parquet."""

from __future__ import annotations

import random
import tempfile
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter

from runtime.events import EventLog
from tests.bench.overlay import SEED

EVENTS = 1_000_000
NODES = 1_000
TOPICS = 50


@dataclass(frozen=True)
class LogCost:
    events: int
    collect_s: float
    write_s: float
    written_bytes: int

    @property
    def collect_us_per_event(self) -> float:
        return self.collect_s / self.events * 1e6

    @property
    def bytes_per_event(self) -> float:
        return self.written_bytes / self.events


def log_cost(events: int = EVENTS) -> LogCost:
    rows = _rows(events)
    log = EventLog()
    start = perf_counter()
    for time, node, topic, hops in rows:
        log.add(time, node, "answered", {"topic": topic, "hops": hops})
    collected = perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        log.write(Path(folder))
        written = perf_counter()
        size = sum(file.stat().st_size for file in Path(folder).iterdir())
    return LogCost(events, collected - start, written - collected, size)


def _rows(count: int) -> list[tuple[float, str, str, int]]:
    """In the order in which a run logs them: by time."""
    rng = random.Random(SEED)
    nodes = [f"n{number}" for number in range(1, NODES + 1)]
    topics = [f"topic{number}" for number in range(1, TOPICS + 1)]
    times = sorted(rng.uniform(0.0, 1_000.0) for _ in range(count))
    return [(time, rng.choice(nodes), rng.choice(topics), rng.randint(1, 12)) for time in times]
