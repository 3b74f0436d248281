"""Cells that fail are shown, kept and left alone; workers that crash get another chance."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from sweeps.grid import Cell, cells_of
from sweeps.load import find_sweep
from sweeps.runner import run_cells
from sweeps.store import Store
from tests.runtime.command import brokerlab
from tests.sweeps.conftest import EXAMPLE

TOML = """
name = "mishaps"
title = "Mishaps"
runs = {runs}
[base]
protocol = "{protocol}:Spread"
[base.network]
kind = "line"
nodes = 3
[base.settings]
{settings}
[parameters.fanout]
key = "settings.fanout"
values = [1, 2]
[measures.messages]
path = "messages"
"""


def mishaps(folder: Path, settings: str, runs: int = 1) -> tuple[list[Cell], Store]:
    file = folder / "mishaps.toml"
    file.write_text(TOML.format(protocol=EXAMPLE / "rumour.py", settings=settings, runs=runs))
    store = Store(folder / "out")
    store.open()
    return cells_of(find_sweep(str(file))), store


def test_a_failing_cell_is_shown_at_once_with_the_command_that_repeats_it(
    ray: object, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    cells, store = mishaps(tmp_path, "wrong = true")
    ran = run_cells(cells, store)
    told = capsys.readouterr().err
    assert (ran.computed, len(ran.failed)) == (0, 2)
    assert "no such rumour" in told
    command = next(line.partition("to repeat it: ")[2] for line in told.splitlines() if "to repeat it: " in line)
    repeated = brokerlab(*shlex.split(command)[1:])
    assert repeated.exit_code == 1
    assert "no such rumour" in repeated.stderr
    kept = [json.loads(path.read_text()) for path in store.failed.glob("*.json")]
    assert len(kept) == 2
    assert all("no such rumour" in each["error"] and "rumour.py" in "".join(each["traceback"]) for each in kept)


def test_what_failed_before_is_tried_again_only_when_asked(
    ray: object, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    cells, store = mishaps(tmp_path, "wrong = true")
    run_cells(cells, store)
    before = {path: path.stat().st_mtime_ns for path in store.failed.iterdir()}
    capsys.readouterr()
    assert len(run_cells(cells, store).failed) == 2
    assert "--retry-failed" in capsys.readouterr().err
    assert {path: path.stat().st_mtime_ns for path in store.failed.iterdir()} == before
    run_cells(cells, store, retry_failed=True)
    assert {path: path.stat().st_mtime_ns for path in store.failed.iterdir()} != before


def test_a_failing_cell_does_not_stop_the_others(ray: object, spark: SparkSession, tmp_path: Path) -> None:
    cells, store = mishaps(tmp_path, "")
    broken = Cell("0" * 20, {"protocol": "nothing"}, ".", "a few", 1, {"fanout": 7})
    ran = run_cells([broken, *cells], store)
    assert (ran.computed, list(ran.failed)) == (2, [broken.name])


def test_a_crashed_worker_gets_another_chance(ray: object, tmp_path: Path) -> None:
    crashed = tmp_path / "crashed"
    cells, store = mishaps(tmp_path, f'crash_once = "{crashed}"')
    ran = run_cells(cells, store)
    assert crashed.exists()
    assert (ran.computed, ran.failed) == (2, {})


def test_a_cell_that_crashes_for_ever_fails_alone(ray: object, tmp_path: Path) -> None:
    cells, store = mishaps(tmp_path, 'crash_once = "/no/such/folder/mark"')
    ran = run_cells(cells, store)
    assert ran.computed == 0
    assert all("FileNotFoundError" in why["error"] for why in ran.failed.values())


def test_what_is_finished_is_not_computed_again(ray: object, tmp_path: Path) -> None:
    cells, store = mishaps(tmp_path, "")
    assert run_cells(cells, store).computed == 2
    assert run_cells(cells, store).computed == 0
    more, _ = mishaps(tmp_path, "", runs=3)
    ran = run_cells(more, store)
    assert (ran.reused, ran.computed) == (2, 4)
