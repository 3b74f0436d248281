"""Spark's numbers are those of an independent computation on the same cells."""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession
from scipy import stats

from sweeps import figures
from sweeps.aggregate import described
from tests.sweeps.conftest import EXAMPLE, Finished, sweep_command
from tests.sweeps.example.sweep import SWEEP

ROOT = EXAMPLE.parent.parent.parent
SEVERAL = ("--spark-master", "local-cluster[2,1,1024]")
Key = tuple[int, str]


def rows_of(finished: Finished, table: str) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = pq.read_table(finished.folder / "tables" / f"{table}.parquet").to_pylist()
    return rows


def summaries(finished: Finished) -> dict[tuple[int, str, int], dict[str, Any]]:
    """What the cells' own files say, by (nodes, algorithm, instance)."""
    found = {}
    for path in finished.store.cells.glob("*.parquet"):
        row = pq.read_table(path).to_pylist()[0]
        scenario = json.loads(row["scenario"])
        algorithm = "all" if scenario["settings"]["fanout"] == 99 else "a few"
        found[scenario["network"]["nodes"], algorithm, scenario["seed"]] = json.loads(row["summary"]) | row
    return found


def by_point(finished: Finished, path: str) -> dict[Key, np.ndarray[Any, Any]]:
    points = defaultdict(list)
    for (nodes, algorithm, _), summary in sorted(summaries(finished).items()):
        points[nodes, algorithm].append(summary[path])
    return {key: np.array(values, float) for key, values in points.items()}


def half_width(values: np.ndarray[Any, Any]) -> float:
    return float(stats.sem(values) * stats.t.ppf(0.975, len(values) - 1))


@pytest.mark.parametrize(("measure", "path"), [("messages", "messages"), ("quiet_after", "virtual_time")])
def test_means_deviations_intervals_and_quantiles(finished: Finished, measure: str, path: str) -> None:
    wanted = by_point(finished, path)
    rows = [row for row in rows_of(finished, "means") if row["measure"] == measure]
    assert len(rows) == 4
    for row in rows:
        values = wanted[row["nodes"], row["algorithm"]]
        assert row["n"] == len(values) == 6
        assert row["mean"] == pytest.approx(values.mean(), rel=1e-12)
        assert row["stddev"] == pytest.approx(values.std(ddof=1), rel=1e-9, abs=1e-12)
        assert row["half_width"] == pytest.approx(half_width(values), rel=1e-9, abs=1e-12)
        assert row["low"] == pytest.approx(values.mean() - half_width(values), rel=1e-9)
        assert (row["min"], row["max"]) == (values.min(), values.max())
        for name, share in {"q05": 0.05, "q25": 0.25, "median": 0.5, "q75": 0.75, "q95": 0.95}.items():
            assert row[name] == pytest.approx(np.quantile(values, share), rel=1e-12)


def test_a_figure_shows_several_measures_each_at_its_place(finished: Finished, spark: SparkSession) -> None:
    means = spark.read.parquet(str(finished.folder / "tables" / "means.parquet"))
    drawn = figures.rows_of(SWEEP, "both", SWEEP.figures["both"], {"means": means})
    places = {"messages": 1.0, "quiet_after": 2.5}
    wanted = [(places[r["measure"]], r["mean"]) for r in rows_of(finished, "means") if r["measure"] in places]
    assert sorted((row["x"], row["y"]) for row in drawn) == sorted(wanted) and len(wanted) == 8


def test_formulas_and_truths_are_measures_and_what_is_missing_counts_nowhere(finished: Finished) -> None:
    rows = {(row["nodes"], row["algorithm"], row["measure"]): row for row in rows_of(finished, "means")}
    for (nodes, algorithm), messages in by_point(finished, "messages").items():
        assert rows[nodes, algorithm, "per_node"]["mean"] == pytest.approx((messages / nodes).mean())
        assert rows[nodes, algorithm, "quiescent"]["mean"] == 1.0
        assert (rows[nodes, algorithm, "nothing"]["n"], rows[nodes, algorithm, "nothing"]["mean"]) == (0, None)


def test_differences_are_paired_by_instance(finished: Finished) -> None:
    values = by_point(finished, "messages")
    for row in rows_of(finished, "differences"):
        if row["measure"] != "messages":
            continue
        few, every = values[row["nodes"], "a few"], values[row["nodes"], "all"]
        assert (row["algorithm"], row["baseline"]) == ("all", "a few")
        assert row["mean"] == pytest.approx((every - few).mean())
        assert row["half_width"] == pytest.approx(half_width(every - few))
        percent = 100 * (every - few) / few
        assert row["percent_mean"] == pytest.approx(percent.mean())
        assert row["percent_half_width"] == pytest.approx(half_width(percent))


def events(finished: Finished, kind: str) -> dict[tuple[int, str, int], list[dict[str, Any]]]:
    folder = finished.store.events(kind)
    return {
        key: pq.read_table(folder / f"{row['cell']}.parquet").to_pylist() for key, row in summaries(finished).items()
    }


def level_at(rows: list[dict[str, Any]], moment: float, curve: str, axis: str = "time") -> float:
    """The level by definition: look at every row up to the moment."""
    seen = [row for row in rows if row[axis] <= moment]
    match curve:
        case "sent":
            return float(seen[-1]["messages"]) if seen else 0.0
        case "knowing":
            return float(len(seen))
        case _:  # each node learns once, so that both kinds of gain are the sum
            return float(sum(row["gain"] for row in seen))


@pytest.mark.parametrize(
    ("curve", "kind"), [("sent", "traffic"), ("knowing", "learned"), ("gain", "learned"), ("known_gain", "learned")]
)
def test_curves_keep_the_last_level(finished: Finished, curve: str, kind: str) -> None:
    runs = events(finished, kind)
    rows = [row for row in rows_of(finished, "curves") if row["curve"] == curve]
    assert len(rows) == 4 * 13
    for row in rows:
        chosen = [run for key, run in runs.items() if key[:2] == (row["nodes"], row["algorithm"])]
        levels = np.array([level_at(run, row["time"], curve) for run in chosen])
        assert row["n"] == 6
        assert row["mean"] == pytest.approx(levels.mean(), abs=1e-9)
        assert row["half_width"] == pytest.approx(half_width(levels) if levels.std() else 0.0, abs=1e-9)


def test_curves_by_iteration(finished: Finished) -> None:
    runs = events(finished, "learned")
    rows = [row for row in rows_of(finished, "curves_by_iteration") if row["curve"] == "knowing"]
    assert {row["iteration"] for row in rows} >= {0.0, 1.0, 2.0}
    for row in rows:
        chosen = [run for key, run in runs.items() if key[:2] == (row["nodes"], row["algorithm"])]
        levels = [level_at(run, row["iteration"], "knowing", "round") for run in chosen]
        assert row["mean"] == pytest.approx(statistics.fmean(levels))


def converged_at(run: list[dict[str, Any]], tolerance: float) -> float:
    levels = list(np.cumsum([row["gain"] for row in run]))
    near = [abs(level - levels[-1]) <= tolerance * abs(levels[-1]) for level in levels]
    first = max((place + 1 for place, there in enumerate(near) if not there), default=0)
    return float(run[first]["time"])


def test_time_to_convergence(finished: Finished) -> None:
    runs = events(finished, "learned")
    rows = [row for row in rows_of(finished, "convergence") if (row["curve"], row["until"]) == ("gain", "time")]
    assert len(rows) == 4
    for row in rows:
        times = [converged_at(run, 0.1) for key, run in runs.items() if key[:2] == (row["nodes"], row["algorithm"])]
        assert (row["n"], row["mean"]) == (6, pytest.approx(statistics.fmean(times)))


def test_intervals_cover_the_truth_nineteen_times_in_twenty(spark: SparkSession) -> None:
    groups, n, truth = 4_000, 5, 3.0
    drawn = np.random.default_rng(4).normal(truth, 2.0, groups * n)
    rows = pa.table({"group": np.repeat(range(groups), n), "instance": np.tile(range(n), groups), "value": drawn})
    table = described(spark.createDataFrame(rows), ["group"], n).toArrow().to_pylist()
    covered = sum(row["low"] <= truth <= row["high"] for row in table) / groups
    assert len(table) == groups
    assert covered == pytest.approx(0.95, abs=3 * (0.95 * 0.05 / groups) ** 0.5)


@pytest.mark.full
def test_several_executors_give_the_same_bytes(copy_of_finished: Finished) -> None:
    wanted = copy_of_finished.csv()
    for path in (copy_of_finished.folder / "tables").iterdir():
        path.unlink()
    subprocess.run(
        [sys.executable, "-m", "sweeps", EXAMPLE / "sweep.py", "--out", copy_of_finished.folder, *SEVERAL],
        cwd=ROOT,
        env=os.environ,
        check=True,
        capture_output=True,
    )
    assert copy_of_finished.csv() == wanted


def test_equal_cells_give_equal_files(finished: Finished, copy_of_finished: Finished) -> None:
    """Tables and figures do not depend on when they were made."""
    assert sweep_command(EXAMPLE / "sweep.py", "--out", copy_of_finished.folder).exit_code == 0
    for pattern in ("tables/*", "figures/*.svg", "claims.csv"):
        for path in finished.folder.glob(pattern):
            again = copy_of_finished.folder / path.relative_to(finished.folder)
            assert Path(again).read_bytes() == path.read_bytes(), path.name
