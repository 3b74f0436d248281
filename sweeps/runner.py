"""Runs the cells as Ray tasks, one core each. What is finished stays finished, however the sweep ends."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import redirect_stdout
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any

import ray

from runtime.cluster import cluster, cpus
from runtime.errors import OutputError
from sweeps.grid import Cell
from sweeps.progress import CellsProgress
from sweeps.store import Store
from sweeps.work import Ended, failures, forget_failure, remember_failure, work

CRASHES_FORGIVEN = 3
IN_FLIGHT_PER_CORE = 8
SHOWN = 20


@dataclass
class Ran:
    """What a sweep has after its cells have run."""

    files: dict[str, Path]
    """The file of each finished cell."""

    computed: int = 0
    reused: int = 0
    damaged: list[Path] = field(default_factory=list)
    failed: dict[str, dict[str, Any]] = field(default_factory=dict)


def run_cells(cells: Sequence[Cell], store: Store, retry_failed: bool = False, ray_address: str | None = None) -> Ran:
    """Compute the cells that are not finished. The others are neither run nor written again."""
    wanted = {cell.name: cell for cell in cells}
    there = store.look(wanted)
    ran = Ran(there.files, reused=len(there.files), damaged=there.damaged)
    known = failures(store)
    if not retry_failed:
        ran.failed = {name: known[name] for name in wanted if name in known and name not in ran.files}
    todo = [cell for name, cell in wanted.items() if name not in ran.files and name not in ran.failed]
    with CellsProgress(len(wanted), len(ran.files), len(ran.failed)) as progress:
        for path in there.damaged:
            progress.say(f"damaged, set aside and computed again: {path}")
        for why in ran.failed.values():
            progress.say(f"failed before: {why['cell']}: {why['error']} (again with --retry-failed)")
        if todo:
            # Ray has words for standard output about workers that die; they would spoil --json.
            with Path(os.devnull).open("w") as nowhere, redirect_stdout(nowhere), cluster(ray_address):
                for cell, ended in _ended(todo, store.folder.resolve()):
                    _note(cell, ended, store, ran, progress)
    return ran


def _note(cell: Cell, ended: Ended, store: Store, ran: Ran, progress: CellsProgress) -> None:
    if ended.error:
        command = remember_failure(store, cell, ended)
        ran.failed[cell.name] = {"cell": str(cell), "error": ended.error, "repeat": command}
        if len(ran.failed) <= SHOWN:
            progress.say(f"failed: {cell}: {ended.error}\n  to repeat it: {command}")
        elif len(ran.failed) == SHOWN + 1:
            progress.say(f"failed: more than {SHOWN} cells; all are in {store.failed}")
    else:
        path = store.file_of(cell.name)
        if path is None:
            raise OutputError(f"{store.folder}: workers write there, but not to this machine; choose a shared folder")
        forget_failure(store, cell.name)
        ran.files[cell.name] = path
        ran.computed += 1
    progress.ended(not ended.error)


def _ended(todo: Sequence[Cell], folder: Path) -> Iterator[tuple[Cell, Ended]]:
    """Cells as they end. A task whose worker dies is run again by Ray, a few times."""
    task: Any = ray.remote(num_cpus=1, max_retries=CRASHES_FORGIVEN)(work)
    most = IN_FLIGHT_PER_CORE * cpus()
    waiting = iter(todo)
    running: dict[Any, Cell] = {}
    while True:
        for cell in islice(waiting, most - len(running)):
            running[task.remote(cell, folder)] = cell
        if not running:
            return
        ready, _ = ray.wait(list(running), num_returns=1)
        for reference in ready:
            cell = running.pop(reference)
            yield cell, _result(reference, cell)


def _result(reference: Any, cell: Cell) -> Ended:
    try:
        ended: Ended = ray.get(reference)
        return ended
    except ray.exceptions.RayError as problem:
        lines = str(problem).strip().splitlines() or [""]
        return Ended(cell.name, error=f"{type(problem).__name__}: {lines[0]}", traceback=str(problem))
