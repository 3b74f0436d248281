"""The traffic of stores that replace what they hold, as it falls: heard from replacements, drawn in a terminal."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

from rich.console import Console, Group
from rich.text import Text

from agents.replica_observer import Traffic
from agents.replicas import ReplicasSystem
from runtime.progress import Seen
from runtime.scenario import Scenario

BARS = " ▁▂▃▄▅▆▇█"
WIDTH, HEIGHT = 72, 8


@dataclass
class Falling:
    """The traffic as somebody sees it who hears of every replacement."""

    scenario: Scenario
    console: Console
    now: float = 0.0
    replacements: int = 0
    messages: int = 0
    levels: list[tuple[float, float]] = field(default_factory=list)
    told_at: float = 0.0

    def __post_init__(self) -> None:
        system = self.scenario.system
        assert isinstance(system, ReplicasSystem)
        self.problem, self.hops = system.problem, system.settings.access_hops
        self.traffic = Traffic(self.problem, self.scenario.network.graph())
        for store, items in self.problem.placement.items():
            self.traffic.put(store, items)
        self._note(0.0)

    def _note(self, time: float) -> None:
        self.levels.append((time, self.traffic.total(self.problem.rates_at(time), self.hops)))

    def hear(self, seen: Seen) -> None:
        self.now, self.messages = seen.now, seen.messages
        for row in sorted(seen.news, key=lambda row: row["time"]):
            self.traffic.take(row["node"], filter(None, row["items_out"].split(",")))
            self.traffic.put(row["node"], filter(None, row["items_in"].split(",")))
            self.replacements += 1
            self._note(row["time"])

    def line(self) -> str:
        return (
            f"virtual time {self.now:,.0f} s, {self.replacements:,} replacements, {self.messages:,} messages, "
            f"traffic {self.levels[-1][1]:,.0f} ({self.levels[-1][1] / self.levels[0][1] - 1:+.0%})"
        )

    def plot(self) -> Group:
        """The traffic against virtual time, in characters."""
        end = max(self.now, 1.0)
        columns: list[float] = []
        place = 0
        for column in range(WIDTH):
            while place + 1 < len(self.levels) and self.levels[place + 1][0] <= end * (column + 1) / WIDTH:
                place += 1
            columns.append(self.levels[place][1])
        low, high = min(columns), max(columns)
        span = (high - low) or 1.0
        heights = [1 + (value - low) / span * (HEIGHT * 8 - 1) for value in columns]
        rows = []
        for row in range(HEIGHT - 1, -1, -1):
            bars = "".join(BARS[max(0, min(8, math.ceil(height - 8 * row)))] for height in heights)
            label = f"{high:>9,.0f}" if row == HEIGHT - 1 else f"{low:>9,.0f}" if row == 0 else " " * 9
            rows.append(Text(f"{label} {bars}", style="cyan"))
        return Group(*rows, Text(f"{'':9} 0 s{'':{WIDTH - 12}}{end:>8,.0f} s", style="dim"), Text(self.line()))
