"""The tables of a sweep: sorted, as Parquet for programs and as CSV for people. Equal input gives equal bytes."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame

from sweeps.store import as_parquet, write_whole

DIGITS = 12
ORDER = ("curve", "measure", "algorithm", "baseline", "until", "instance", "time", "iteration", "event")


def collected(table: DataFrame, parameters: list[str]) -> pa.Table:
    """The rows in an order that does not depend on who computed them."""
    rows = table.toArrow()
    keys = [key for key in (*parameters, *ORDER) if key in rows.column_names]
    return rows.sort_by([(key, "ascending") for key in keys])


def write_tables(folder: Path, tables: Mapping[str, pa.Table]) -> None:
    folder.mkdir(exist_ok=True)
    for name, table in tables.items():
        write_whole(folder / f"{name}.parquet", as_parquet(table))
        write_whole(folder / f"{name}.csv", as_csv(table))


def as_csv(table: pa.Table) -> bytes:
    text = io.StringIO()
    rows = csv.writer(text, lineterminator="\n")
    rows.writerow(table.column_names)
    rows.writerows(zip(*(map(_cell, table[name].to_pylist()) for name in table.column_names), strict=True))
    return text.getvalue().encode()


def _cell(value: Any) -> Any:
    return f"{value:.{DIGITS}g}" if isinstance(value, float) else value
