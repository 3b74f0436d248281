"""Where finished cells are kept. A cell's file is there, whole, or it is not: its existence is completion.

    cells/<cell>.<digest>.parquet      one row: the scenario, the summary, and the digests of its event files
    events/event=<kind>/<cell>.parquet what was logged in the run; written before the cell's own file
    failed/<cell>.json, <cell>.toml    why a cell failed, and the scenario that repeats it

The digest in the name is of the file's bytes, so damage of any kind is noticed.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from runtime.errors import OutputError

MARK = "sweep.json"
UNFINISHED = ".partial"
DAMAGED = ".damaged"
COLUMNS = pa.schema(
    [
        ("cell", pa.string()),
        ("verdict", pa.string()),
        ("wall_s", pa.float64()),
        ("scenario", pa.string()),
        ("summary", pa.string()),
        ("events", pa.string()),
    ]
)


@dataclass
class Contents:
    """What a look at the store has found."""

    files: dict[str, Path] = field(default_factory=dict)
    """The whole file of each finished cell."""

    damaged: list[Path] = field(default_factory=list)
    """What was set aside, under its old name."""


@dataclass(frozen=True)
class Store:
    folder: Path

    @property
    def cells(self) -> Path:
        return self.folder / "cells"

    @property
    def failed(self) -> Path:
        return self.folder / "failed"

    def events(self, kind: str) -> Path:
        return self.folder / "events" / f"event={kind}"

    def open(self) -> None:
        """Make the folder ours, unless it is someone else's."""
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            if any(self.folder.iterdir()) and not (self.folder / MARK).exists():
                raise OutputError(f"{self.folder}: not empty and not the folder of a sweep; choose a new one")
            for folder in (self.cells, self.failed):
                folder.mkdir(exist_ok=True)
            if not (self.folder / MARK).exists():
                write_whole(self.folder / MARK, b"{}\n")
        except OSError as problem:
            raise OutputError(f"{self.folder}: {problem.strerror or problem}; choose another folder") from None

    @contextmanager
    def locked(self) -> Iterator[None]:
        """One sweep at a time in one folder. The lock goes when its process does, however it ends."""
        with (self.folder / ".lock").open("w") as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                raise OutputError(f"{self.folder}: another sweep is running there; wait, or choose another") from None
            yield

    def look(self, wanted: Mapping[str, Any]) -> Contents:
        """Which of the wanted cells are finished? What is damaged is set aside, and so not finished."""
        found = Contents()
        for path in [*self.cells.glob(f"*{UNFINISHED}"), *self.folder.glob(f"events/*/*{UNFINISHED}")]:
            path.unlink(missing_ok=True)
        for path in sorted(self.cells.glob("*.parquet")):
            cell = path.name.partition(".")[0]
            if cell not in wanted:
                continue
            broken = self._broken(path, cell)
            for part in broken:
                set_aside(part)
            found.damaged += broken
            if not broken:
                found.files[cell] = path
        return found

    def file_of(self, cell: str) -> Path | None:
        return next(iter(sorted(self.cells.glob(f"{cell}.*.parquet"))), None)

    def _broken(self, path: Path, cell: str) -> list[Path]:
        """The damaged files of a cell; one that lost its events is computed again as a whole."""
        content = path.read_bytes()
        if path.name != f"{cell}.{digest(content)}.parquet":
            return [path]
        row = pq.read_table(pa.BufferReader(content)).to_pylist()[0]
        events = {self.events(kind) / f"{cell}.parquet": known for kind, known in json.loads(row["events"]).items()}
        bad = [part for part, known in events.items() if not part.is_file() or digest(part.read_bytes()) != known]
        return [*bad, path] if bad else []

    def save(self, cell: str, row: dict[str, Any], events: Mapping[str, pa.Table]) -> Path:
        """Write a finished run: its events first, its own file last."""
        digests = {}
        for kind, table in events.items():
            content = as_parquet(_for_spark(table, cell))
            self.events(kind).mkdir(parents=True, exist_ok=True)
            write_whole(self.events(kind) / f"{cell}.parquet", content)
            digests[kind] = digest(content)
        whole = {"cell": cell, **row, "events": json.dumps(digests, sort_keys=True)}
        content = as_parquet(pa.Table.from_pylist([whole], COLUMNS))
        path = self.cells / f"{cell}.{digest(content)}.parquet"
        write_whole(path, content)
        return path


def _for_spark(table: pa.Table, cell: str) -> pa.Table:
    """The rows with the cell that they belong to and their order, in types that Spark reads."""
    names = pa.DictionaryArray.from_arrays(pa.array([0] * len(table), pa.int32()), pa.array([cell]))
    for place, column in enumerate(table.schema):
        if pa.types.is_null(column.type):
            table = table.set_column(place, column.name, table[column.name].cast(pa.string()))
    table = table.add_column(0, "row", pa.array(range(len(table)), pa.int64()))
    return table.add_column(0, "cell", names)


def as_parquet(table: pa.Table) -> bytes:
    sink = pa.BufferOutputStream()
    pq.write_table(table, sink, compression="zstd")
    return bytes(sink.getvalue())


def digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()[:16]


def write_whole(path: Path, content: bytes) -> None:
    """Write a file that appears whole or not at all, also if the machine stops."""
    unfinished = path.with_name(f"{path.name}.{os.getpid()}{UNFINISHED}")
    with unfinished.open("wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    unfinished.replace(path)
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


def set_aside(path: Path) -> None:
    if path.exists():
        path.replace(path.with_name(path.name + DAMAGED))
