"""Every shipped protocol stands its check: under every kind of schedule, with all the faults that it tolerates."""

from __future__ import annotations

import pytest

from runtime.system import shipped
from tests.checking.standing import stands


@pytest.mark.parametrize("protocol", shipped())
def test_a_thousand_schedules(protocol: str) -> None:
    assert stands(protocol, 1000, shipped()[protocol].tolerates).doubts() == []


@pytest.mark.full
@pytest.mark.parametrize("protocol", shipped())
def test_fifty_thousand_fresh_schedules(protocol: str) -> None:
    assert stands(protocol, 50_000, shipped()[protocol].tolerates, fresh=True).doubts() == []
