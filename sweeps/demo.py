"""brokerlab demo: what brokerlab does, on this machine, in three steps, with one page at the end."""

from __future__ import annotations

import html
import math
import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from time import perf_counter
from typing import Any

import click
from rich.console import Console, Group
from rich.live import Live
from rich.text import Text

from agents.replica_observer import Traffic
from agents.replicas import ReplicasSystem
from runtime.errors import OutputError
from runtime.interrupt import interruptible
from runtime.onray import RayOptions, run_on_ray
from runtime.progress import Seen
from runtime.run import Outcome, simulate
from runtime.rundir import claim, save
from runtime.scenario import Scenario, load
from runtime.show import say
from sweeps.api import Asked, perform

BARS = " ▁▂▃▄▅▆▇█"
WIDTH, HEIGHT = 72, 8
PLAIN_S = 3.0


@click.command("demo")
@click.option("--out", type=click.Path(path_type=Path), default=Path("runs/demo"), metavar="DIR", show_default=True,
              help="Where the runs, the sweep and the page are kept.")  # fmt: skip
def demo(out: Path) -> int:
    """Show what brokerlab does, in about two minutes: stores on Ray, a publisher that moves, a sweep, one page.

    \b
    1. 120 stores, as Ray actors, replace what they hold until the traffic is least: watch it fall.
    2. A publisher moves to where its subscribers are, and nothing is lost on the way.
    3. Sixty runs are swept over the cores by Ray, and aggregated by Spark.
    """
    started = perf_counter()
    console = Console(stderr=True, markup=False, highlight=False, soft_wrap=True)
    with interruptible() as stop_if_asked:
        stores = _stores(out / "stores", console, stop_if_asked)
        relocation = _relocation(out / "relocation", console)
    swept = _sweep(out / "sweep", console)
    page = out / "index.html"
    try:
        page.write_text(_page([stores, relocation, swept], perf_counter() - started), "utf-8")
    except OSError as problem:
        raise OutputError(f"{page}: {problem.strerror}") from None
    say(f"\n{perf_counter() - started:.0f} s. All of it on one page: {page.resolve()}\n")
    return 0


@dataclass(frozen=True)
class Shown:
    """One step of the demo: what it was, what it showed, and where more of it is."""

    title: str
    told: str
    links: dict[str, Path]
    again: str


# 1. Stores on Ray


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


def _stores(folder: Path, console: Console, stop_if_asked: Any) -> Shown:
    scenario = load("many-stores")
    claim(folder, scenario, force=True)
    console.print("1. 120 stores manage 20 items, as Ray actors. After an hour their clients ask for other things.")
    falling = Falling(scenario, console)
    if console.is_terminal:
        with Live(falling.plot(), console=console, refresh_per_second=8) as live:
            outcome = _on_ray(scenario, falling, lambda: live.update(falling.plot()), stop_if_asked)
            live.update(falling.plot())
    else:
        outcome = _on_ray(scenario, falling, lambda: _plainly(falling), stop_if_asked)
    save(outcome, folder, "brokerlab run many-stores --on ray")
    first, last = falling.levels[0][1], outcome.results["ont"]
    told = (
        f"{outcome.verdict}: {outcome.tally.messages:,} messages between {len(scenario.network.neighbours)} stores, "
        f"{falling.replacements:,} replacements; the traffic was {first:,.0f} and is {last:,.0f}."
    )
    console.print(f"   {told}")
    return Shown("Stores that manage their storage, on Ray", told, _kept(folder), "brokerlab run many-stores --on ray")


def _on_ray(scenario: Scenario, falling: Falling, draw: Any, stop_if_asked: Any) -> Outcome:
    def progress(seen: Seen) -> None:
        stop_if_asked()
        falling.hear(seen)
        draw()

    outcome = run_on_ray(scenario, RayOptions(), progress, watch="replacement")
    if outcome.interrupted:
        raise KeyboardInterrupt
    return outcome


def _plainly(falling: Falling) -> None:
    if perf_counter() - falling.told_at > PLAIN_S:
        falling.told_at = perf_counter()
        falling.console.print(f"   {falling.line()}")


# 2. A publisher that moves


def _relocation(folder: Path, console: Console) -> Shown:
    scenario = load("relocation")
    claim(folder, scenario, force=True)
    console.print("2. A publisher at B1; most of its subscribers are behind B6. POP traces where they are.")
    outcome = simulate(scenario, trace=True)
    save(outcome, folder, "brokerlab run relocation --trace")
    for time, line in sorted(_happened(outcome)):
        console.print(f"   {time:6.2f} s  {line}")
    (name, moved), *_ = outcome.results["publishers"].items()
    told = (
        f"{outcome.verdict}: {name} moved from {moved['from']} to {moved['now at']} while it published; "
        f"{outcome.results['delivered']} deliveries, nothing lost, nothing twice."
    )
    console.print(f"   {told}")
    return Shown("A publisher that moves to its subscribers", told, _kept(folder), "brokerlab run relocation")


def _happened(outcome: Outcome) -> Iterator[tuple[float, str]]:
    for row in outcome.tally.events.rows("selected"):
        yield row["time"], f"{row['publisher']} is best at {row['target']}, says {row['node']}"
    for row in outcome.tally.events.rows("migrated"):
        yield row["time"], f"{row['node']} is at {row['to']}, after a pause of {row['wait_s']:.2f} s"


# 3. A sweep


def _sweep(folder: Path, console: Console) -> Shown:
    console.print("3. Coverage on networks of several sizes, sixty runs: Ray runs them, Spark aggregates them.")
    swept = perform(Asked("coverage", quick=True, out=folder))
    assert swept.results is not None
    held = sum(claim.row()["verdict"] == "holds" for claim in swept.results.claims)
    facts, claims = swept.results.facts, len(swept.results.claims)
    told = f"{facts['finished']} runs, {facts['verdicts'].get('valid', 0)} valid; {held} of {claims} claims hold."
    console.print(f"   {told}")
    links = {"the sweep's report": folder / "report.html"}
    return Shown("A sweep on Ray, aggregated by Spark", told, links, "brokerlab sweep coverage --quick")


# The page


def _kept(folder: Path) -> dict[str, Path]:
    names = {"the run's report": "report.html", "how it was made": "README.md", "its summary": "summary.json"}
    return {title: folder / name for title, name in names.items() if (folder / name).exists()}


def _page(steps: list[Shown], took_s: float) -> str:
    parts = []
    for number, step in enumerate(steps, start=1):
        links = " · ".join(
            f'<a href="{html.escape(os.path.relpath(path, path.parent.parent))}">{html.escape(title)}</a>'
            for title, path in step.links.items()
        )
        parts.append(
            f"<section><h2>{number}. {html.escape(step.title)}</h2><p>{html.escape(step.told)}</p>"
            f"<p>{links}</p><p>Again: <code>{html.escape(step.again)}</code></p></section>"
        )
    return PAGE.format(steps="\n".join(parts), took=f"{took_s:.0f}")


PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>brokerlab demo</title>
<meta name="viewport" content="width=device-width, initial-scale=1">
<style>
:root {{ color-scheme: light dark; }}
body {{ font: 16px/1.5 system-ui, sans-serif; max-width: 46rem; margin: 2rem auto; padding: 0 1rem; }}
section {{ border: 1px solid #8884; border-radius: 8px; padding: 0 1.2rem; margin: 1rem 0; }}
h1 {{ font-size: 1.6rem; }} h2 {{ font-size: 1.15rem; }} code {{ background: #8882; padding: .1em .3em; }}
</style></head><body>
<h1>brokerlab demo</h1>
<p>Three things that were run on this machine, in {took} s.</p>
{steps}
<p>What else there is: <code>brokerlab list</code>. Your own protocol: the README, <code>docs/guide</code>.</p>
</body></html>
"""
