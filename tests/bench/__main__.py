"""Runs every benchmark and prints its tables. A report, not a test: an aim that is not met fails nothing."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path

import click
from rich.console import Console

from tests.bench.checks import check_cost, check_table
from tests.bench.exploring import exploring_race, exploring_table
from tests.bench.flooding import race
from tests.bench.million import crowd
from tests.bench.on_ray import ray_aims_table, ray_as_json, ray_race, ray_table
from tests.bench.overlays import overlay_race, overlay_table
from tests.bench.pages import frame_cost, frame_table, page_cost, page_table
from tests.bench.parquet import log_cost
from tests.bench.planning import planning_cost, planning_table
from tests.bench.plans import plan_race, plan_table
from tests.bench.replicas import replicas_cost, replicas_table
from tests.bench.report import aims_table, as_json, crowd_table, flooding_table, log_table
from tests.bench.routing import content_as_json, content_race, content_table
from tests.bench.sweeping import EVENTS, QUICK_EVENTS, log_read, log_read_table, sweep_cost, sweep_table

SIZES = (120, 1_000, 10_000)
QUICK_SIZES = (120, 1_000)
CROWD = 1_000_000
QUICK_CROWD = 100_000
WIDTH = 96  # also where the output goes into a file


@click.command()
@click.option("--quick", is_flag=True, help="Leave out 10 000 nodes, and 100 000 instead of a million.")
@click.option("--json", "file", type=click.Path(dir_okay=False, path_type=Path), help="Also write a JSON file.")
def main(quick: bool, file: Path | None) -> None:
    """Measure the kernel beside hand-written loops and SimPy, sweeps beside a process pool, and Spark."""
    console = Console(width=WIDTH)
    scores = [score for nodes in (QUICK_SIZES if quick else SIZES) for score in race(nodes)]
    console.print(flooding_table(scores))
    many = crowd(QUICK_CROWD if quick else CROWD)
    console.print(crowd_table(many))
    cost = log_cost()
    console.print(log_table(cost))
    console.print(aims_table(scores))
    pages = page_cost()
    console.print(page_table(pages))
    frames = frame_cost()
    console.print(frame_table(frames))
    sweep, read = sweep_cost(), log_read(QUICK_EVENTS if quick else EVENTS)
    console.print(sweep_table(sweep))
    console.print(log_read_table(read))
    routing, matching = content_race(quick)
    console.print(content_table(routing, matching))
    overlays = overlay_race(quick)
    console.print(overlay_table(overlays))
    plans = plan_race(quick)
    console.print(plan_table(plans))
    ray_scores, ray_aims = ray_race(quick)
    console.print(ray_table(ray_scores))
    console.print(ray_aims_table(ray_aims))
    planning = planning_cost(quick)
    console.print(planning_table(planning))
    replicas = replicas_cost(quick)
    console.print(replicas_table(replicas))
    exploring = exploring_race(quick)
    console.print(exploring_table(exploring))
    checks = check_cost(quick)
    console.print(check_table(checks))
    if file is not None:
        file.write_text(
            json.dumps(
                as_json(scores, many, cost)
                | {"sweep": asdict(sweep), "spark": asdict(read)}
                | content_as_json(routing, matching)
                | ray_as_json(ray_scores, ray_aims)
                | {"planning": asdict(planning), "replicas": asdict(replicas)}
                | {"pages": [asdict(cost) for cost in pages], "frames_ms": frames}
                | {"checks": [asdict(cost) | {"cases_per_s": cost.cases_per_s} for cost in checks]}
                | {"overlays": [asdict(score) for score in overlays]}
                | {"plans": [asdict(score) for score in plans]}
                | {"exploring": [asdict(score) | {"states_per_s": score.states_per_s} for score in exploring]},
                indent=2,
            )
            + "\n"
        )


if __name__ == "__main__":  # the processes of a pool import this file too
    main()
