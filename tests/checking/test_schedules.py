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


ALONE = [protocol for protocol in shipped() if protocol != "together"]


@pytest.mark.parametrize("protocol", ALONE)
def test_a_thousand_schedules(protocol: str) -> None:
    assert stands(check(subject(protocol), 1000, seed=20_111))


@pytest.mark.full
@pytest.mark.parametrize("protocol", ALONE)
def test_fifty_thousand_fresh_schedules(protocol: str) -> None:
    assert stands(check(subject(protocol), 50_000, seed=secrets.randbelow(1 << 32)))


def test_several_on_one_overlay() -> None:
    """Fewer, for each takes as long as several; too few to have seen everything that is rare."""
    assert check(subject("together"), 100, seed=20_111).violated is None


@pytest.mark.full
def test_several_on_one_overlay_in_thousands_of_fresh_schedules() -> None:
    assert stands(check(subject("together"), 3000, seed=secrets.randbelow(1 << 32)))
