"""What the report page of a run costs beside the run itself."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from time import process_time

from rich.table import Table

from runtime.report.page import page, report_of
from runtime.run import simulate
from runtime.scenario import load

RUNS = {
    "many-stores": ("many-stores", ()),
    "coverage on 3,000 brokers": (
        "coverage",
        (
            'network={kind="random-graph", nodes=3000, degree=3.0, delay="uniform(0.5, 1.5)"}',
            'storage={random_stores={count=20, topics=["a", "b", "c", "d"], each=2}}',
        ),
    ),
}


@dataclass(frozen=True)
class PageCost:
    run: str
    nodes: int
    events: int
    run_s: float
    page_s: float
    page_bytes: int


def page_cost() -> list[PageCost]:
    return [_cost(run, name, changes) for run, (name, changes) in RUNS.items()]


def _cost(run: str, name: str, changes: Sequence[str]) -> PageCost:
    scenario = load(name, changes)
    started = process_time()
    outcome = simulate(scenario)
    ran = process_time()
    report, _ = report_of(outcome)
    text = page(outcome, report, outcome.summary(), "brokerlab run", ())
    made = process_time()
    return PageCost(
        run, len(scenario.network.neighbours), outcome.tally.handled, ran - started, made - ran, len(text.encode())
    )


def page_table(costs: Sequence[PageCost]) -> Table:
    table = Table(title="The report of a run: seconds of one core", title_justify="left")
    for column in ("run", "nodes", "events", "run, s", "page, s", "page, MB"):
        table.add_column(column, justify="left" if column == "run" else "right")
    for cost in costs:
        size = f"{cost.page_bytes / 1e6:.2f}"
        table.add_row(cost.run, f"{cost.nodes:,}", f"{cost.events:,}", f"{cost.run_s:.2f}", f"{cost.page_s:.2f}", size)
    return table
