"""How values go through the runs, from the events: resampled curves, and when each run has converged."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pyarrow.parquet as pq
from pyspark.sql import Column, DataFrame, SparkSession, Window
from pyspark.sql import functions as F
from pyspark.sql.pandas.types import from_arrow_schema
from pyspark.sql.types import StructType

from sweeps.aggregate import described, manifest
from sweeps.grid import Cell
from sweeps.store import Store
from sweeps.sweep import Curve, Sweep, SweepError

AFTER = 2**62
"""Stands behind every row of an event."""


def logged(spark: SparkSession, sweep: Sweep, store: Store, cells: Sequence[Cell], name: str) -> DataFrame | None:
    """The rows of a curve's event with their time and iteration; None where no run has such an event."""
    curve = sweep.curves[name]
    files = sorted({str(path.resolve()) for cell in cells if (path := _file(store, curve, cell)).exists()})
    if not files:
        return None
    rows = spark.read.schema(_schema(files[0])).parquet(*files)
    for column in (curve.value, curve.iteration):
        if column is not None and column not in rows.columns:
            known = ", ".join(rows.columns)
            raise SweepError(f"curves.{name}", f"event {curve.event} has no column {column}; it has: {known}")
    chosen = {
        "node": F.col("node") if "node" in rows.columns else F.lit(""),
        "time": F.col("time").cast("double"),
        "iteration": F.col(curve.iteration).cast("double") if curve.iteration else F.lit(None).cast("double"),
        "told": F.col(curve.value).cast("double") if curve.value else F.lit(1.0),
    }
    return rows.select("cell", "row", *(column.alias(name) for name, column in chosen.items()))


def _schema(file: str) -> StructType:
    """Read off one file here, which is sooner done than by a job of Spark's."""
    return from_arrow_schema(pq.read_schema(file))


def _file(store: Store, curve: Curve, cell: Cell) -> Path:
    return store.events(curve.event) / f"{cell.name}.parquet"


def levels(curve: Curve, rows: DataFrame, runs: DataFrame, axis: str) -> DataFrame:
    """The level after each row, in the order of the axis: nodes may be in different iterations at one time."""
    value: Column = F.col("told")
    order = (axis, "row")
    if curve.each == "node level" and curve.value is not None:
        before = F.lag("told").over(Window.partitionBy("cell", "node").orderBy(*order))
        value = value - F.coalesce(before, F.lit(0.0))
    if curve.each != "level" or curve.value is None:
        so_far = Window.partitionBy("cell").orderBy(*order).rowsBetween(Window.unboundedPreceding, 0)
        rows = rows.withColumn("change", value)
        value = F.lit(curve.start) + F.sum("change").over(so_far)
    return rows.select("cell", "row", "time", "iteration", value.alias("value")).join(F.broadcast(runs), "cell")


def resampled(sweep: Sweep, curve: Curve, rows: DataFrame, runs: DataFrame, axis: str) -> DataFrame:
    """The mean level on a grid of times or iterations; between its rows, a run keeps its last level.

    All runs at one point of the parameters share a grid that ends with the last of them. A run without a row stays
    at the start.
    """
    point = list(sweep.parameters)
    cell = [*point, "algorithm", "instance"]
    ends = rows.groupBy(*point).agg(F.max(axis).alias("end"))
    steps = F.sequence(F.lit(0), F.lit(curve.points - 1))
    if axis == "iteration":
        places = F.transform(F.sequence(F.lit(0), F.col("end").cast("int")), lambda step: step.cast("double"))
    else:
        places = F.transform(steps, lambda step: step * F.col("end") / (curve.points - 1))
    grid = (
        runs.join(ends, point)
        .select("cell", *cell, F.explode(places).alias(axis))
        .withColumn("value", F.lit(None).cast("double"))
        .withColumn("row", F.lit(AFTER))  # after every row of the same moment
    )
    known = rows.select("cell", *cell, axis, "value", "row")
    so_far = Window.partitionBy("cell", *cell).orderBy(axis, "row").rowsBetween(Window.unboundedPreceding, 0)
    carried = known.unionByName(grid).withColumn("level", F.last("value", ignorenulls=True).over(so_far))
    on_grid = carried.where(F.col("row") == AFTER).select(
        *cell, axis, F.coalesce("level", F.lit(curve.start)).alias("value")
    )
    return described(on_grid, [*point, "algorithm", axis], sweep.runs).select(
        *point, "algorithm", axis, "n", "mean", "stddev", "half_width", "low", "high"
    )


def converged(sweep: Sweep, curve: Curve, rows: DataFrame) -> DataFrame:
    """When, in each run, does the level come near its final one for good? Described over the instances."""
    cell = [*sweep.parameters, "algorithm", "instance"]
    whole = Window.partitionBy("cell", *cell)
    in_order = whole.orderBy("row").rowsBetween(Window.unboundedPreceding, Window.unboundedFollowing)
    final = F.last("value", ignorenulls=True).over(in_order)
    allowed = curve.tolerance * F.abs(final - F.lit(curve.start))
    away = F.abs(F.col("value") - final) > allowed
    marked = rows.withColumn("last_away", F.max(F.when(away, F.col("row"))).over(whole))
    near = marked.where(F.col("row") > F.coalesce("last_away", F.lit(-1)))
    reached = near.groupBy("cell", *cell).agg(F.min("time").alias("time"), F.min("iteration").alias("iteration"))
    keys = [*sweep.parameters, "algorithm", "until"]
    long = reached.unpivot([*sweep.parameters, "algorithm", "instance"], ["time", "iteration"], "until", "value")
    return described(long.where(F.col("value").isNotNull()), keys, sweep.runs)


def all_curves(spark: SparkSession, sweep: Sweep, store: Store, cells: Sequence[Cell]) -> dict[str, DataFrame]:
    """The tables `curves`, `curves_by_iteration` and `convergence`, of all the curves that the sweep asks for."""
    parts: dict[str, list[DataFrame]] = {"curves": [], "curves_by_iteration": [], "convergence": []}
    runs = manifest(spark, sweep, cells)
    for name, curve in sweep.curves.items():
        rows = logged(spark, sweep, store, cells, name)
        if rows is None:
            continue
        by_time = levels(curve, rows, runs, "time").cache()
        parts["curves"].append(_named(name, resampled(sweep, curve, by_time, runs, "time")))
        parts["convergence"].append(_named(name, converged(sweep, curve, by_time)))
        if curve.iteration is not None:
            by_iteration = levels(curve, rows, runs, "iteration")
            told = resampled(sweep, curve, by_iteration, runs, "iteration")
            parts["curves_by_iteration"].append(_named(name, told))
    return {table: _union(found) for table, found in parts.items() if found}


def _named(name: str, table: DataFrame) -> DataFrame:
    return table.select(F.lit(name).alias("curve"), "*")


def _union(parts: Sequence[DataFrame]) -> DataFrame:
    whole = parts[0]
    for part in parts[1:]:
        whole = whole.unionByName(part)
    return whole
