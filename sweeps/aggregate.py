"""What the cells show, in DataFrame operations: means with intervals, paired differences, quantiles.

Rows of a group are summed in a fixed order, so that the same cells give the same digits on any number of executors.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from scipy import stats

from sweeps.grid import Cell
from sweeps.sweep import Measure, Sweep

CONFIDENCE = 0.95
QUANTILES = {"q05": 0.05, "q25": 0.25, "median": 0.5, "q75": 0.75, "q95": 0.95}
CELL_COLUMNS = "cell string, verdict string, wall_s double, scenario string, summary string, events string"


def manifest(spark: SparkSession, sweep: Sweep, cells: Sequence[Cell]) -> DataFrame:
    """Which cell stands for which point of the grid, algorithm and instance."""
    columns: dict[str, list[Any]] = {"cell": [cell.name for cell in cells]}
    columns |= {name: [cell.parameters[name] for cell in cells] for name in sweep.parameters}
    columns |= {"algorithm": [cell.algorithm for cell in cells], "instance": [cell.instance for cell in cells]}
    return spark.createDataFrame(pa.table(columns))


def measured(spark: SparkSession, sweep: Sweep, cells: Sequence[Cell], files: Mapping[str, Path]) -> DataFrame:
    """A row for each finished cell: where it stands in the grid, its verdict and its measures."""
    finished = [cell for cell in cells if cell.name in files]
    places = manifest(spark, sweep, finished)
    rows = spark.read.schema(CELL_COLUMNS).parquet(*sorted({str(files[cell.name].resolve()) for cell in finished}))
    table = rows.select("cell", "verdict", "summary").join(F.broadcast(places), "cell")
    for name, measure in sweep.measures.items():
        table = table.withColumn(name, _value(measure))
    return table.select(*sweep.parameters, "algorithm", "instance", "verdict", *sweep.measures, "cell")


def _value(measure: Measure) -> Column:
    if measure.path is None:
        return F.expr(str(measure.formula)).cast("double")
    steps = "".join(f"['{step}']" for step in measure.path.split("."))
    told = F.get_json_object("summary", f"${steps}")
    if measure.equals is not None:
        wanted = str(measure.equals).lower() if isinstance(measure.equals, bool) else str(measure.equals)
        return (told == wanted).cast("double")
    return F.when(told == "true", 1.0).when(told == "false", 0.0).otherwise(told.cast("double"))


def means(sweep: Sweep, cells: DataFrame) -> DataFrame:
    """For each point, algorithm and measure: n, mean, deviation, 95 % interval, quantiles."""
    places = [*sweep.parameters, "algorithm"]
    long = cells.unpivot([*places, "instance"], list(sweep.measures), "measure", "value")
    return described(long, [*places, "measure"], sweep.runs)


def differences(sweep: Sweep, cells: DataFrame) -> DataFrame:
    """Each algorithm beside the baseline on the same instance: differences, and the same in percent."""
    places = [*sweep.parameters, "instance"]
    long = cells.unpivot([*places, "algorithm"], list(sweep.measures), "measure", "value")
    is_baseline = F.col("algorithm") == sweep.compared_with
    baseline = long.where(is_baseline).select(*places, "measure", F.col("value").alias("other"))
    pairs = (
        long.where(~is_baseline)
        .join(baseline, [*places, "measure"])
        .withColumn("baseline", F.lit(sweep.compared_with))
        .withColumn("value", F.col("value") - F.col("other"))
        .withColumn("percent", 100 * F.col("value") / F.abs(F.when(F.col("other") != 0, F.col("other"))))
    )
    keys = [*sweep.parameters, "algorithm", "baseline", "measure"]
    plain = described(pairs, keys, sweep.runs)
    percent = described(pairs.withColumn("value", F.col("percent")), keys, sweep.runs)
    renamed = {name: f"percent_{name}" for name in ("n", "mean", "stddev", "half_width")}
    return plain.join(percent.select(*keys, *(F.col(old).alias(new) for old, new in renamed.items())), keys)


def described(rows: DataFrame, keys: Sequence[str], most: int) -> DataFrame:
    """Describe `value` in each group; what is not a number counts nowhere. `most` is the largest n there can be."""
    values = rows.withColumn("value", F.when(~F.isnan("value"), F.col("value")))
    # Sums of fractions depend on their order: one partition for a group, and its rows sorted.
    in_order = values.repartition(*keys).sortWithinPartitions(*keys, "instance")
    groups = in_order.groupBy(*keys).agg(
        F.count("value").alias("n"),
        F.mean("value").alias("mean"),
        F.when(F.count("value") > 1, F.stddev_samp("value")).alias("stddev"),
        F.min("value").alias("min"),
        F.percentile("value", F.array(*map(F.lit, QUANTILES.values()))).alias("quantiles"),
        F.max("value").alias("max"),
    )
    half_width = F.col("t") * F.col("stddev") / F.sqrt("n")
    with_t = groups.join(F.broadcast(_t_quantiles(rows.sparkSession, most)), "n", "left")
    return with_t.select(
        *keys,
        "n",
        "mean",
        "stddev",
        half_width.alias("half_width"),
        (F.col("mean") - half_width).alias("low"),
        (F.col("mean") + half_width).alias("high"),
        "min",
        *(F.col("quantiles")[place].alias(name) for place, name in enumerate(QUANTILES)),
        "max",
    )


def _t_quantiles(spark: SparkSession, most: int) -> DataFrame:
    """Student's t for every n that can occur."""
    sizes = list(range(2, max(most, 2) + 1))
    quantiles = [float(stats.t.ppf((1 + CONFIDENCE) / 2, n - 1)) for n in sizes]
    return spark.createDataFrame(pa.table({"n": sizes, "t": quantiles}))
