"""What the report page of a run costs beside the run itself, and what a frame of a page takes in Chromium."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from time import process_time

from playwright.sync_api import sync_playwright
from rich.table import Table

from runtime.report.page import page, report_of
from runtime.run import simulate
from runtime.scenario import load
from runtime.spacetime.page import page as trace_page
from tests.runtime.browser import CHROMIUM, FLAGS, frame_ms
from tests.runtime.spacetime_cases import large

EVENTS = 100_000
MOVE = "diagram.move(turn % 2 ? 30 : -27, 0)"
VIEWS = {
    "all of it": "diagram.look(0, 1000)",
    "near enough for arrows": "diagram.look(400, 410)",
    "with the past of an event": "diagram.choose(50000), diagram.look(0, 1000)",
}

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


def frame_cost() -> dict[str, float]:
    """Milliseconds from a move to the next frame of a space-time diagram; 17 is as fast as a screen."""
    with TemporaryDirectory() as folder, sync_playwright() as playwright:
        file = Path(folder) / "trace.html"
        file.write_text(trace_page(large(EVENTS)), "utf-8")
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        opened = browser.new_page(viewport={"width": 1400, "height": 850})
        opened.goto(file.as_uri())
        opened.evaluate("diagram.ready")
        measured = {}
        for view, change in VIEWS.items():
            opened.evaluate(change)
            measured[view] = frame_ms(opened, MOVE)
        browser.close()
    return measured


def frame_table(measured: dict[str, float]) -> Table:
    table = Table(
        title=f"A trace of {EVENTS:,} events in Chromium: from a move to the next frame", title_justify="left"
    )
    table.add_column("what is seen")
    table.add_column("median, ms", justify="right")
    for view, took in measured.items():
        table.add_row(view, f"{took:.0f}")
    return table
