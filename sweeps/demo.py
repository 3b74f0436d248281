"""brokerlab demo: what brokerlab does, on this machine, in three steps, with one page at the end."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from time import perf_counter
from typing import Any

import click
from rich.console import Console
from rich.live import Live

from runtime.interrupt import interruptible
from runtime.onray import RayOptions, run_on_ray
from runtime.progress import Seen
from runtime.run import Outcome, simulate
from runtime.rundir import claim, save
from runtime.scenario import Scenario, load
from runtime.show import say
from sweeps.api import Asked, perform
from sweeps.demo_page import Step, claims_in_short, kept, moved, traffic, write_page
from sweeps.falling import Falling
from sweeps.report import inline

PLAIN_S = 3.0
AGAIN = {
    "stores": "brokerlab run many-stores --on ray",
    "relocation": "brokerlab run relocation",
    "sweep": "brokerlab sweep coverage --quick",
}


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
    write_page(page, [stores, relocation, swept], perf_counter() - started)
    say(f"\n{perf_counter() - started:.0f} s. All of it on one page: {page.resolve()}\n")
    return 0


# 1. Stores on Ray


def _stores(folder: Path, console: Console, stop_if_asked: Any) -> Step:
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
    save(outcome, folder, AGAIN["stores"])
    first, last = falling.levels[0][1], outcome.results["ont"]
    told = (
        f"{outcome.verdict}: {outcome.tally.messages:,} messages between {len(scenario.network.neighbours)} stores, "
        f"{falling.replacements:,} replacements; the traffic was {first:,.0f} and is {last:,.0f}."
    )
    console.print(f"   {told}")
    return Step(
        "Stores that manage their storage, on Ray",
        "120 stores hold 20 items. Under a single-writer token each in turn replaces what it holds, if that lowers the "
        "traffic of the whole network (holistic). After an hour their clients ask for other things.",
        told,
        AGAIN["stores"],
        kept(folder),
        [traffic(falling.levels, falling.now, place=0)],
    )


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


def _relocation(folder: Path, console: Console) -> Step:
    scenario = load("relocation")
    claim(folder, scenario, force=True)
    console.print("2. A publisher at B1; most of its subscribers are behind B6. POP traces where they are.")
    outcome = simulate(scenario, trace=True)
    save(outcome, folder, AGAIN["relocation"])
    for time, line in sorted(_happened(outcome)):
        console.print(f"   {time:6.2f} s  {line}")
    (name, row), *_ = outcome.results["publishers"].items()
    told = (
        f"{outcome.verdict}: {name} moved from {row['from']} to {row['now at']} while it published; "
        f"{outcome.results['delivered']} deliveries, nothing lost, nothing twice."
    )
    console.print(f"   {told}")
    return Step(
        "A publisher that moves to its subscribers",
        "Brokers route by content. POP counts, by messages, where a publisher's subscribers are, walks to the broker "
        "in their midst, and moves the publisher there while it publishes. Numbers are subscribers.",
        told,
        AGAIN["relocation"],
        kept(folder),
        [moved(outcome, name, row["from"], row["now at"], place=1)],
    )


def _happened(outcome: Outcome) -> Iterator[tuple[float, str]]:
    for row in outcome.tally.events.rows("selected"):
        yield row["time"], f"{row['publisher']} is best at {row['target']}, says {row['node']}"
    for row in outcome.tally.events.rows("migrated"):
        yield row["time"], f"{row['node']} is at {row['to']}, after a pause of {row['wait_s']:.2f} s"


# 3. A sweep


def _sweep(folder: Path, console: Console) -> Step:
    console.print("3. Coverage on networks of several sizes, sixty runs: Ray runs them, Spark aggregates them.")
    swept = perform(Asked("coverage", quick=True, out=folder))
    assert swept.results is not None
    claims = claims_in_short(swept.results.claims)
    facts, held = swept.results.facts, sum(claim["verdict"] == "holds" for claim in claims)
    told = f"{facts['finished']} runs, {facts['verdicts'].get('valid', 0)} valid; {held} of {len(claims)} claims hold."
    console.print(f"   {told}")
    return Step(
        "A sweep on Ray, aggregated by Spark",
        "Stores advertise what they hold on networks of several sizes. Each run is a Ray task; Spark computes means, "
        "intervals and paired differences, and each claim is held against them.",
        told,
        AGAIN["sweep"],
        {"the sweep's report": f"{folder.name}/report.html"},
        [inline((folder / "figures" / "messages.svg").read_text("utf-8"), place=2)],
        claims,
    )
