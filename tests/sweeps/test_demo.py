"""The demo runs from end to end and ends with a page whose links lead somewhere."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from rich.console import Console

from runtime.progress import Seen
from runtime.run import simulate
from runtime.scenario import load
from sweeps.falling import HEIGHT, WIDTH, Falling
from tests.runtime.command import really


def test_the_traffic_that_is_shown_is_the_one_of_the_run() -> None:
    scenario = load("holistic")
    outcome = simulate(scenario)
    falling = Falling(scenario, Console())
    rows = outcome.tally.events.rows("replacement")
    for row in rows:
        falling.hear(Seen(row["time"], 1, 1, 0, 2, (row,)))
    assert falling.replacements == len(rows) > 0
    assert falling.levels[-1][1] == pytest.approx(outcome.results["ont"])
    drawn = [str(part) for part in falling.plot().renderables]
    assert len(drawn) == HEIGHT + 2 and all(len(line) == WIDTH + 10 for line in drawn[:HEIGHT])


@pytest.mark.full
def test_the_demo_ends_with_a_page_whose_links_work(tmp_path: Path) -> None:
    done = really("demo", "--out", tmp_path / "demo")
    assert done.returncode == 0, done.stderr
    page = tmp_path / "demo" / "index.html"
    assert done.stdout.rstrip().endswith(str(page))
    links = re.findall(r'href="([^"]+)"', page.read_text())
    assert {"stores/report.html", "relocation/report.html", "sweep/report.html"} <= set(links)
    assert all((page.parent / link).exists() for link in links)
