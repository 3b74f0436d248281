"""Every shipped protocol stands its check: under every kind of schedule, with all the faults that it tolerates."""

from __future__ import annotations

import secrets

import pytest

from runtime.system import shipped
from runtime.testing.checking import Report, check, subject


def stands(report: Report) -> bool:
    if report.violated is not None:
        case, shown = report.violated
        pytest.fail(f"{report.subject.name}, seed {report.seed}, case {report.cases}: {shown.violation}\n{case}")
    return report.doubts() == []


@pytest.mark.parametrize("protocol", shipped())
def test_a_thousand_schedules(protocol: str) -> None:
    assert stands(check(subject(protocol), 1000, seed=20_111))


@pytest.mark.full
@pytest.mark.parametrize("protocol", shipped())
def test_fifty_thousand_fresh_schedules(protocol: str) -> None:
    assert stands(check(subject(protocol), 50_000, seed=secrets.randbelow(1 << 32)))
