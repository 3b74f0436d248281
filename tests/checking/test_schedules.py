"""Every shipped protocol stands its check: under every kind of schedule, with all the faults that it tolerates."""

from __future__ import annotations

import pytest

from runtime.system import shipped
from tests.checking.standing import stands

ALONE = [protocol for protocol in shipped() if protocol != "together"]


@pytest.mark.parametrize("protocol", ALONE)
def test_a_thousand_schedules(protocol: str) -> None:
    assert stands(protocol, 1000, shipped()[protocol].tolerates).doubts() == []


@pytest.mark.full
@pytest.mark.parametrize("protocol", ALONE)
def test_fifty_thousand_fresh_schedules(protocol: str) -> None:
    assert stands(protocol, 50_000, shipped()[protocol].tolerates, fresh=True).doubts() == []


def test_several_on_one_overlay() -> None:
    """Fewer, for each takes as long as several; too few to have seen everything that is rare."""
    stands("together", 100, shipped()["together"].tolerates)


@pytest.mark.full
def test_several_on_one_overlay_in_thousands_of_fresh_schedules() -> None:
    assert stands("together", 3000, shipped()["together"].tolerates, fresh=True).doubts() == []
