"""Sweeps: what Ray and the files cost beside a plain process pool, and how fast Spark reads a large event log."""

from __future__ import annotations

import io
import os
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from contextlib import redirect_stderr
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import ray
from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from rich.table import Table

from runtime.cluster import cluster
from runtime.run import simulate
from runtime.scenario import check
from sweeps.grid import Cell, cells_of
from sweeps.load import Found
from sweeps.runner import run_cells
from sweeps.spark import spark_running
from sweeps.store import Store
from sweeps.sweep import Measure, Parameter, Sweep

CELLS = 200
CELL_S = 0.05
EVENTS = 10_000_000
QUICK_EVENTS = 1_000_000
GROUPS = 400
FILES = 20
BUSY = f"""\
import time
from runtime.agent import Protocol

class Busy(Protocol):
    def started(self, node):
        if node.id == "n1":
            end = time.perf_counter() + {CELL_S}
            while time.perf_counter() < end:
                pass
"""


@dataclass(frozen=True)
class SweepCost:
    cells: int
    cores: int
    ideal_s: float
    pool_s: float
    ray_start_s: float
    sweep_s: float
    resume_s: float

    @property
    def overhead_percent(self) -> float:
        """Of the running sweep, with its files, beside the pool, which writes nothing."""
        return 100 * (self.sweep_s / self.pool_s - 1)


@dataclass(frozen=True)
class LogRead:
    rows: int
    groups: int
    megabytes: float
    session_s: float
    means_s: float
    approximate_s: float
    exact_s: float

    @property
    def rows_per_s(self) -> float:
        return self.rows / self.means_s


def sweep_cost() -> SweepCost:
    cores = os.cpu_count() or 1
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        cells = _busy_cells(folder)
        pool_s = _timed(lambda: _pool(cells, cores))
        store = Store(folder / "out")
        store.open()
        started = time.perf_counter()
        with cluster(), redirect_stderr(io.StringIO()):
            ray.get(ray.remote(lambda: None).remote())
            ray_start_s = time.perf_counter() - started
            sweep_s = _timed(lambda: run_cells(cells, store))
            resume_s = _timed(lambda: run_cells(cells, store))
    return SweepCost(CELLS, cores, CELLS * CELL_S / cores, pool_s, ray_start_s, sweep_s, resume_s)


def _busy_cells(folder: Path) -> list[Cell]:
    (folder / "busy.py").write_text(BUSY)
    sweep = Sweep(
        name="busy",
        title="Cells that only take time",
        base={"protocol": "busy.py:Busy", "network": {"kind": "line"}},
        parameters={"nodes": Parameter(key="network.nodes", values=(2, 3))},
        runs=CELLS // 2,
        measures={"messages": Measure(path="messages")},
    )
    return cells_of(Found(sweep, dict(sweep.base) if isinstance(sweep.base, dict) else {}, folder))


def _pool(cells: list[Cell], cores: int) -> None:
    with ProcessPoolExecutor(cores, mp_context=get_context("spawn")) as pool:
        assert all(pool.map(_alone, cells))


def _alone(cell: Cell) -> bool:
    return simulate(check(cell.scenario, Path(cell.folder))).quiescent


def log_read(rows: int) -> LogRead:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name) / "event=tick"
        folder.mkdir()
        _write_log(folder, rows)
        size = sum(path.stat().st_size for path in folder.iterdir()) / 2**20
        started = time.perf_counter()
        with spark_running() as spark:
            spark.range(1).count()
            session_s = time.perf_counter() - started
            log = spark.read.parquet(str(folder))
            mean, deviation = F.mean("value"), F.stddev_samp("value")
            _grouped(log.limit(1000), mean, deviation)  # what is compiled once is not what is measured
            means_s = _timed(lambda: _grouped(log, mean, deviation))
            quantiles = [0.05, 0.5, 0.95]
            approximate_s = _timed(lambda: _grouped(log, mean, F.percentile_approx("value", quantiles)))
            exact_s = _timed(lambda: _grouped(log, mean, F.percentile("value", quantiles)))
    return LogRead(rows, GROUPS, size, session_s, means_s, approximate_s, exact_s)


def _write_log(folder: Path, rows: int) -> None:
    rng = np.random.default_rng(1)
    for number in range(FILES):
        count = rows // FILES
        cells = rng.integers(0, GROUPS, count)
        table = {"cell": cells, "time": np.sort(rng.random(count)), "value": rng.normal(size=count)}
        pq.write_table(pa.table(table), folder / f"{number}.parquet", compression="zstd")


def _grouped(log: DataFrame, *columns: Any) -> None:
    found = log.groupBy("cell").agg(*columns).toArrow()
    assert 0 < len(found) <= GROUPS


def _timed(work: Callable[[], Any]) -> float:
    started = time.perf_counter()
    work()
    return time.perf_counter() - started


def sweep_table(cost: SweepCost) -> Table:
    return _facts(
        f"A sweep of {cost.cells} cells of {CELL_S * 1000:.0f} ms on {cost.cores} cores",
        {
            "the cells alone, perfectly shared": f"{cost.ideal_s:.1f} s",
            "plain process pool, nothing written": f"{cost.pool_s:.1f} s",
            "Ray started": f"{cost.ray_start_s:.1f} s",
            "sweep, every cell and its events on disk": f"{cost.sweep_s:.1f} s",
            "sweep beside the pool": f"{cost.overhead_percent:+.0f} %",
            "the same command again": f"{cost.resume_s:.2f} s",
        },
    )


def log_read_table(read: LogRead) -> Table:
    return _facts(
        f"Spark: an event log of {read.rows:,} rows ({read.megabytes:.0f} MiB), {read.groups} groups",
        {
            "session started": f"{read.session_s:.1f} s",
            "mean and deviation": f"{read.means_s:.1f} s, {read.rows_per_s:,.0f} rows/s",
            "with approximate quantiles": f"{read.approximate_s:.1f} s",
            "with exact quantiles": f"{read.exact_s:.1f} s",
        },
    )


def _facts(title: str, facts: dict[str, str]) -> Table:
    table = Table(title=title, title_justify="left", show_header=False)
    table.add_column()
    table.add_column(justify="right")
    for name, value in facts.items():
        table.add_row(name, value)
    return table
