"""From finished cells to tables, figures, claims and the report."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from sweeps.aggregate import differences, means, measured
from sweeps.claims import Judged, as_table, judge_all
from sweeps.curves import all_curves
from sweeps.figures import draw_all
from sweeps.grid import Cell, code_version
from sweeps.load import Found
from sweeps.report import versions, write_report
from sweeps.runner import Ran
from sweeps.spark import spark_running
from sweeps.store import MARK, Store, write_whole
from sweeps.tables import as_csv, collected, write_tables


@dataclass(frozen=True)
class Results:
    """What a sweep has shown."""

    found: Found
    tables: dict[str, pa.Table]
    claims: list[Judged]
    facts: dict[str, Any]

    @cached_property
    def verdict_of(self) -> dict[str, str]:
        cells = self.tables["cells"]
        return dict(zip(cells["cell"].to_pylist(), cells["verdict"].to_pylist(), strict=True))

    @property
    def verdicts(self) -> dict[str, int]:
        return dict(self.facts["verdicts"])


def evaluate(found: Found, cells: Sequence[Cell], ran: Ran, store: Store, master: str, command: str) -> Results:
    """Aggregate the finished cells of this sweep, and write all that people look at."""
    with spark_running(master) as spark:
        tables = aggregate(spark, found, cells, ran, store)
        small = {name: spark.createDataFrame(table).cache() for name, table in tables.items()}
        claims = judge_all(found.sweep.claims, small)
        figures = draw_all(found.sweep, small, store.folder / "figures")
    facts = _facts(found, cells, ran, store, tables["cells"])
    write_tables(store.folder / "tables", tables)
    write_whole(store.folder / "claims.csv", as_csv(as_table(claims)))
    write_report(store.folder / "report.html", found, tables, claims, figures, facts, command)
    about = {"command": command, "code": code_version(), "versions": versions()}
    write_whole(store.folder / MARK, (json.dumps(about | _declared(found), indent=2) + "\n").encode())
    return Results(found, tables, claims, facts)


def aggregate(spark: SparkSession, found: Found, cells: Sequence[Cell], ran: Ran, store: Store) -> dict[str, pa.Table]:
    sweep = found.sweep
    finished = [cell for cell in cells if cell.name in ran.files]
    rows = measured(spark, sweep, finished, ran.files).cache()
    tables: dict[str, DataFrame] = {"cells": rows, "means": means(sweep, rows)}
    if len(sweep.algorithms) > 1:
        tables["differences"] = differences(sweep, rows)
    tables |= all_curves(spark, sweep, store, finished)
    return {name: collected(table, list(sweep.parameters)) for name, table in tables.items()}


def _facts(found: Found, cells: Sequence[Cell], ran: Ran, store: Store, rows: pa.Table) -> dict[str, Any]:
    counted = rows.group_by("verdict").aggregate([("verdict", "count")]).sort_by("verdict").to_pylist()
    return {
        "sweep": found.sweep.name,
        "out": str(store.folder),
        "report": str(store.folder / "report.html"),
        "cells": len(cells),
        "finished": len(rows),
        "computed": ran.computed,
        "reused": ran.reused,
        "damaged": len(ran.damaged),
        "failed": len(ran.failed),
        "failures": list(ran.failed.values()),
        "verdicts": {row["verdict"]: row["verdict_count"] for row in counted},
    }


def _declared(found: Found) -> dict[str, Any]:
    return {"sweep": found.sweep.model_dump(mode="json"), "scenario": found.scenario}
