"""For scripts and notebooks: run a sweep with one call, and get its tables, claims and figures.

from sweeps.api import run_sweep

results = run_sweep("coverage", quick=True)
results.tables["means"].to_pandas()     # Arrow tables: cells, means, differences, curves, convergence
[claim.row() for claim in results.claims]
"""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from pathlib import Path

from runtime.errors import BrokerlabError
from runtime.scenario import check
from sweeps.grid import Cell, cells_of
from sweeps.load import Found, find_sweep
from sweeps.results import Results, evaluate
from sweeps.runner import Ran, run_cells
from sweeps.store import Store


@dataclass(frozen=True)
class Asked:
    """Which sweep, how much of it, and where."""

    name: str
    quick: bool = False
    runs: int | None = None
    seed: int | None = None
    out: Path | None = None
    retry_failed: bool = False
    ray_address: str | None = None
    spark_master: str = "local[*]"

    def command(self) -> str:
        words = ["brokerlab", "sweep", self.name, *(["--quick"] if self.quick else [])]
        for key in ("runs", "seed", "out"):
            words += [f"--{key}", str(getattr(self, key))] if getattr(self, key) is not None else []
        return shlex.join(words)

    def found(self) -> Found:
        found = find_sweep(self.name)
        wanted = found.sweep.quickly() if self.quick else found.sweep
        changes = {key: value for key, value in (("runs", self.runs), ("seed", self.seed)) if value is not None}
        return Found(wanted.model_copy(update=changes), found.scenario, found.folder)


@dataclass(frozen=True)
class Swept:
    """What became of a sweep's cells, and what they show; nothing, if none has finished."""

    cells: list[Cell]
    ran: Ran
    store: Store
    results: Results | None


def perform(asked: Asked) -> Swept:
    """Run the cells that are missing, aggregate them, draw, judge, write the report."""
    found = asked.found()
    suffix = "-quick" if asked.quick else ""
    store = Store(asked.out or Path("runs") / f"{found.sweep.name}-sweep{suffix}")
    cells = cells_of(found)
    _check_early(found, cells)
    store.open()
    with store.locked():
        ran = run_cells(cells, store, asked.retry_failed, asked.ray_address)
        results = evaluate(found, cells, ran, store, asked.spark_master, asked.command()) if ran.files else None
    return Swept(cells, ran, store, results)


def _check_early(found: Found, cells: list[Cell]) -> None:
    """A mistake in the sweep itself is told before hundreds of cells fail of it."""
    for algorithm in found.sweep.algorithms:
        first = next(cell for cell in cells if cell.algorithm == algorithm)
        check(first.scenario, found.folder, f"{found.sweep.name}, {first}")


def run_sweep(
    name: str,
    *,
    quick: bool = False,
    runs: int | None = None,
    seed: int | None = None,
    out: str | Path | None = None,
    ray_address: str | None = None,
    spark_master: str = "local[*]",
) -> Results:
    """Run a shipped sweep, or a .py or .toml file that declares one; what is finished is not computed again."""
    place = None if out is None else Path(out)
    swept = perform(Asked(name, quick, runs, seed, place, False, ray_address, spark_master))
    if swept.results is None:
        raise BrokerlabError(f"no cell of {name} finished; see {swept.store.failed}")
    return swept.results
