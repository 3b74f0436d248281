"""For tests that say what is true of a protocol under certain faults, orders and sizes."""

from __future__ import annotations

import secrets
from collections.abc import Sequence

import pytest

from runtime.testing.cases import Way
from runtime.testing.checking import WAYS, Report, check, subject

SEED = 20_111
"""The same cases in every run of the tests; those that take long draw fresh ones."""


def stands(
    protocol: str,
    examples: int,
    faults: Sequence[str] = (),
    ways: Sequence[Way] = WAYS,
    size: int | None = None,
    fresh: bool = False,
) -> Report:
    """Check a shipped protocol; fails with the case in which a property is violated, or if a fault never struck."""
    seed = secrets.randbelow(1 << 32) if fresh else SEED
    report = check(subject(protocol), examples, seed, faults, ways, size)
    if report.violated is not None:
        case, shown = report.violated
        pytest.fail(f"{protocol}, seed {seed}, case {report.cases}: {shown.violation}\n{case}")
    assert all(report.fired[fault] for fault in faults)
    return report
