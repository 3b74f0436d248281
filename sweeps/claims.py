"""Claims: what a sentence says, what was measured, and whether it holds. None is tuned away."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from sweeps.sweep import Claim, SweepError

HOLDS, PARTLY, FAILS, UNKNOWN = "holds", "partly", "does not hold", "not measured"
MEASURE_COLUMN = {"means": "measure", "differences": "measure", "convergence": "curve"}


@dataclass(frozen=True)
class Judged:
    """A claim beside what was measured."""

    claim: Claim
    verdict: str
    lowest: float | None
    highest: float | None
    rows: int
    inside: int
    """How many of the rows lie in the claim's range."""

    @property
    def claimed(self) -> str:
        low, high = self.claim.at_least, self.claim.at_most
        if low is not None and high is not None:
            return f"{low:g} to {high:g}" if low != high else f"{low:g}"
        return f"at least {low:g}" if low is not None else f"at most {high:g}"

    @property
    def measured(self) -> str:
        if self.lowest is None or self.highest is None:
            return "-"
        low, high = f"{self.lowest:.4g}", f"{self.highest:.4g}"
        return low if low == high else f"{low} to {high}"

    @property
    def differs(self) -> str:
        """What does not agree, and whatever the sweep itself says about it."""
        parts = [] if self.inside == self.rows else [f"{self.rows - self.inside} of {self.rows} rows lie outside"]
        return "; ".join([*parts, *([self.claim.remark] if self.claim.remark else [])])

    def row(self) -> dict[str, Any]:
        return {
            "sentence": self.claim.sentence,
            "source": self.claim.source,
            "claimed": self.claimed,
            "measured": self.measured,
            "unit": self.claim.unit,
            "verdict": self.verdict,
            "remarks": self.differs,
        }


def judge_all(claims: Sequence[Claim], tables: Mapping[str, DataFrame]) -> list[Judged]:
    return [_judge(place, claim, tables) for place, claim in enumerate(claims)]


def _judge(place: int, claim: Claim, tables: Mapping[str, DataFrame]) -> Judged:
    table = tables.get(claim.table)
    if table is None:
        return Judged(claim, UNKNOWN, None, None, 0, 0)
    if claim.table in MEASURE_COLUMN:
        table = table.where(F.col(MEASURE_COLUMN[claim.table]) == claim.measure)
    try:
        seen = _compared(claim, table).first()
    except PySparkException as problem:
        lines = str(problem).strip().splitlines()
        raise SweepError(f"claims[{place}]", lines[0] if lines else "cannot be computed") from problem
    if seen is None or not seen["rows"]:
        return Judged(claim, UNKNOWN, None, None, 0, 0)
    return Judged(claim, _verdict(seen), seen["lowest"], seen["highest"], seen["rows"], seen["inside"])


def _compared(claim: Claim, table: DataFrame) -> DataFrame:
    """How many of the rows lie in the range, and how many with their intervals reach into it."""
    low = float("-inf") if claim.at_least is None else claim.at_least
    high = float("inf") if claim.at_most is None else claim.at_most
    value = claim.measure if claim.table == "cells" and claim.value == "mean" else claim.value
    half = claim.half_width or ("half_width" if value == "mean" else "0.0")
    rows = table.where(claim.where).select(
        F.expr(value).cast("double").alias("value"), F.coalesce(F.expr(half).cast("double"), F.lit(0.0)).alias("half")
    )
    inside = F.col("value").between(low, high)
    reaching = (F.col("value") + F.col("half") >= low) & (F.col("value") - F.col("half") <= high)
    return rows.where(F.col("value").isNotNull()).agg(
        F.count(F.lit(1)).alias("rows"),
        F.min("value").alias("lowest"),
        F.max("value").alias("highest"),
        F.count(F.when(inside, 1)).alias("inside"),
        F.count(F.when(reaching, 1)).alias("reaching"),
    )


def _verdict(seen: Any) -> str:
    """Holds: every value lies in the range. Partly: some do, or the interval of some reaches into it."""
    if seen["inside"] == seen["rows"]:
        return HOLDS
    return PARTLY if seen["reaching"] else FAILS


def as_table(judged: Sequence[Judged]) -> pa.Table:
    names = ("sentence", "source", "claimed", "measured", "unit", "verdict", "remarks")
    return pa.Table.from_pylist([each.row() for each in judged], pa.schema([(name, pa.string()) for name in names]))
