"""A claim holds, holds partly, or does not hold; none is made to."""

from __future__ import annotations

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from sweeps.claims import FAILS, HOLDS, PARTLY, UNKNOWN, as_table, judge_all
from sweeps.sweep import Claim, SweepError


@pytest.fixture(scope="module")
def tables(spark: SparkSession) -> dict[str, object]:
    rows = {"nodes": [1, 2, 3], "measure": ["m"] * 3, "mean": [10.0, 20.0, 30.0], "half_width": [1.0, None, 6.0]}
    return {"means": spark.createDataFrame(pa.table(rows))}


@pytest.mark.parametrize(
    ("asked", "verdict", "measured"),
    [
        ({"at_least": 10, "at_most": 30}, HOLDS, "10 to 30"),
        ({"at_least": 20}, PARTLY, "10 to 30"),
        ({"at_least": 35}, PARTLY, "10 to 30"),
        ({"at_least": 37}, FAILS, "10 to 30"),
        ({"at_most": 5}, FAILS, "10 to 30"),
        ({"at_most": 25, "where": "nodes < 3"}, HOLDS, "10 to 20"),
        ({"at_most": 10, "value": "mean / nodes"}, HOLDS, "10"),
        ({"at_most": 10, "where": "nodes > 9"}, UNKNOWN, "-"),
    ],
)
def test_verdicts(tables: dict[str, object], asked: dict[str, object], verdict: str, measured: str) -> None:
    (judged,) = judge_all([Claim(sentence="It is so.", source="p. 1", measure="m", **asked)], tables)
    assert (judged.verdict, judged.measured) == (verdict, measured)


def test_a_claim_that_does_not_hold_says_what_differs(tables: dict[str, object]) -> None:
    judged = judge_all([Claim(sentence="", source="", measure="m", at_most=15, remark="noise")], tables)
    assert as_table(judged).to_pylist()[0]["remarks"] == "2 of 3 rows lie outside; noise"


def test_a_condition_that_cannot_be_read_is_named(tables: dict[str, object]) -> None:
    with pytest.raises(SweepError, match=r"claims\[0\]"):
        judge_all([Claim(sentence="", source="", measure="m", at_most=1, where="nodez > 1")], tables)
