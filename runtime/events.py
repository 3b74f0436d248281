"""The event log: what agents say happened, a table for each kind of event.

Rows are kept as columns, not as objects, and written as one Parquet file per kind.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from runtime.errors import WiringError


class EventLog:
    """Columns of (time, node, fields...) for each kind of event."""

    def __init__(self) -> None:
        self._columns: dict[str, dict[str, list[Any]]] = {}

    def add(self, time: float, node: str, event: str, fields: dict[str, Any]) -> None:
        if "time" in fields or "node" in fields:
            taken = "time" if "time" in fields else "node"
            raise WiringError(f"event {event}: {taken} is already a column of every event")
        columns = self._columns.get(event)
        if columns is None:
            if not event.isidentifier():
                raise WiringError(f"event {event!r}: write a name of letters, digits and _")
            columns = self._columns[event] = {"time": [], "node": [], **{name: [] for name in fields}}
        if len(columns) != len(fields) + 2:
            raise WiringError(f"event {event}: fields {sorted(fields)}, but before {sorted([*columns][2:])}")
        try:
            for name, value in fields.items():
                columns[name].append(value)
        except KeyError as unknown:
            raise WiringError(f"event {event}: field {unknown} was not there before") from None
        columns["time"].append(time)
        columns["node"].append(node)

    def extend(self, other: EventLog) -> None:
        """Add the rows of another log."""
        for event, columns in other._columns.items():
            mine = self._columns.setdefault(event, {name: [] for name in columns})
            if mine.keys() != columns.keys():
                raise WiringError(f"event {event}: fields {sorted([*columns][2:])}, but before {sorted([*mine][2:])}")
            for name, values in columns.items():
                mine[name].extend(values)

    def since(self, event: str, place: int) -> list[dict[str, Any]]:
        """The rows of this event from this one on, as they were logged."""
        columns = self._columns.get(event, {})
        values = zip(*(column[place:] for column in columns.values()), strict=True)
        return [dict(zip(columns, row, strict=True)) for row in values]

    def counts(self) -> dict[str, int]:
        return {event: len(columns["time"]) for event, columns in sorted(self._columns.items())}

    def count(self, event: str) -> int:
        return len(self._columns[event]["time"]) if event in self._columns else 0

    def times(self, event: str) -> list[float]:
        """When this event was logged, as it was logged."""
        return list(self._columns[event]["time"]) if event in self._columns else []

    def rows(self, event: str) -> list[dict[str, Any]]:
        """What was logged of this event, in the table's order; empty if it never happened."""
        return self.table(event).to_pylist() if event in self._columns else []

    def table(self, event: str) -> pa.Table:
        """The rows of this event in the order (time, node); simultaneous rows of one node as they were logged."""
        columns = self._columns[event]
        keys = list(zip(columns["time"], columns["node"], strict=True))
        order = sorted(range(len(keys)), key=keys.__getitem__)
        table = pa.table({name: _array(event, name, values) for name, values in columns.items()}).take(order)
        names = table["node"].combine_chunks().dictionary_encode()
        return table.set_column(1, "node", names)

    def sample(self, event: str, most: int) -> dict[str, list[Any]]:
        """At most so many rows of this event, evenly spread over it, as columns in the table's order."""
        columns = self._columns.get(event, {"time": [], "node": []})
        rank = {name: place for place, name in enumerate(sorted(set(columns["node"])))}
        ranks = np.fromiter(map(rank.__getitem__, columns["node"]), np.int64, len(columns["node"]))
        order = np.lexsort((ranks, np.array(columns["time"], dtype=np.float64)))
        if len(order) > most:
            order = order[np.linspace(0, len(order) - 1, most).astype(np.int64)]
        return {name: [values[place] for place in order.tolist()] for name, values in columns.items()}

    def tables(self) -> dict[str, pa.Table]:
        return {event: self.table(event) for event in sorted(self._columns)}

    def write(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        for event, table in self.tables().items():
            pq.write_table(table, folder / f"{event}.parquet", compression="zstd")


def _array(event: str, name: str, values: list[Any]) -> pa.Array:
    try:
        return pa.array(values)
    except (pa.ArrowException, OverflowError) as problem:
        raise WiringError(f"event {event}: field {name}: {problem}") from None
