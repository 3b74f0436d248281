"""What a worker does for one cell: run the scenario, note its traffic, write it down."""

from __future__ import annotations

import json
import shlex
import traceback
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import tomli_w

from runtime.errors import BrokerlabError, WiringError
from runtime.run import simulate
from runtime.rundir import as_json
from runtime.scenario import check
from runtime.show import their_part
from runtime.simulator import Simulator
from sweeps.grid import Cell
from sweeps.store import Store, write_whole

TRAFFIC = "traffic"


@dataclass(frozen=True)
class Ended:
    """How a cell ended: with a verdict, or with an error."""

    cell: str
    verdict: str = ""
    wall_s: float = 0.0
    error: str = ""
    traceback: str = ""


class Traffic:
    """What had been sent by the end of each window of the simulator; a curve that every protocol has."""

    def __init__(self) -> None:
        self.columns: dict[str, list[Any]] = {name: [] for name in ("time", "window", "messages", "bytes", "pending")}

    def __call__(self, sim: Simulator) -> None:
        sent = list(sim.sent.values())
        row = (
            sim.now,
            len(self.columns["time"]) + 1,
            sum(messages for messages, _ in sent),
            sum(size for _, size in sent),
            sim.pending,
        )
        for column, value in zip(self.columns.values(), row, strict=True):
            column.append(value)

    def table(self) -> pa.Table:
        types = {"time": pa.float64()}
        return pa.table({name: pa.array(rows, types.get(name, pa.int64())) for name, rows in self.columns.items()})


def work(cell: Cell, folder: Path) -> Ended:
    """Run a cell and keep it. Whatever goes wrong in the run is told, not raised."""
    try:
        return _work(cell, Store(folder))
    except Exception as problem:
        told = str(problem) if isinstance(problem, BrokerlabError) else f"{type(problem).__name__}: {problem}"
        return Ended(cell.name, error=told, traceback=their_part(problem) or traceback.format_exc())


def _work(cell: Cell, store: Store) -> Ended:
    scenario = check(cell.scenario, Path(cell.folder))
    traffic = Traffic()
    outcome = simulate(scenario, traffic)
    if outcome.interrupted:  # half a run is no result
        raise KeyboardInterrupt
    events = outcome.tally.events.tables()
    if TRAFFIC in events:
        raise WiringError(f"event {TRAFFIC}: the name is taken, every sweep notes its traffic there; log another name")
    row = {
        "verdict": outcome.verdict,
        "wall_s": outcome.wall_s,
        "scenario": json.dumps(cell.scenario, sort_keys=True),
        "summary": json.dumps(json.loads(as_json(outcome.summary())), separators=(",", ":")),
    }
    store.save(cell.name, row, {TRAFFIC: traffic.table(), **events})
    return Ended(cell.name, outcome.verdict, outcome.wall_s)


def scenario_file(store: Store, cell: Cell) -> Path:
    """The scenario of one cell as a file that can be run."""
    data = json.loads(json.dumps(cell.scenario))
    file, colon, attribute = str(data.get("protocol", "")).rpartition(":")
    if colon:
        data["protocol"] = f"{Path(cell.folder) / file}:{attribute}"
    if "file" in data.get("network", {}):
        data["network"]["file"] = str(Path(cell.folder) / data["network"]["file"])
    path = store.failed / f"{cell.name}.toml"
    write_whole(path, f"# {cell}\n{tomli_w.dumps(data)}".encode())
    return path


def repeat_command(store: Store, cell: Cell) -> str:
    """The one command that runs this cell again."""
    return shlex.join(["brokerlab", "run", str(scenario_file(store, cell))])


def remember_failure(store: Store, cell: Cell, ended: Ended) -> str:
    """Keep why a cell failed, so that it is not tried again in vain; gives the command that repeats it."""
    command = repeat_command(store, cell)
    known = {
        "cell": str(cell),
        "error": ended.error,
        "repeat": command,
        "traceback": ended.traceback.splitlines(),
        "scenario": cell.scenario,
    }
    write_whole(store.failed / f"{cell.name}.json", (json.dumps(known, indent=2) + "\n").encode())
    return command


def failures(store: Store) -> dict[str, dict[str, Any]]:
    """The cells that failed before, and why; a note that cannot be read counts as none."""
    known = {}
    for path in sorted(store.failed.glob("*.json")):
        try:
            known[path.stem] = dict(json.loads(path.read_text("utf-8")))
        except (ValueError, TypeError):
            path.unlink()
    return known


def forget_failure(store: Store, cell: str) -> None:
    for suffix in (".json", ".toml"):
        (store.failed / f"{cell}{suffix}").unlink(missing_ok=True)
