"""Runs in a row need the memory of one: what a network leaves behind is collected before the next is built."""

from __future__ import annotations

import gc
import weakref

import pytest

from runtime.garbage import tidy
from runtime.scenario import load
from runtime.simulator import Simulator


def network_that_ran() -> Simulator:
    scenario = load("coverage")
    sim = Simulator(scenario.network, scenario.system.agent, scenario.seed, scenario.plan)
    sim.run()
    return sim


@pytest.mark.parametrize("collecting_takes_s", [0.0, float("inf")])
def test_the_network_before_is_let_go_when_collecting_costs_little(
    monkeypatch: pytest.MonkeyPatch, collecting_takes_s: float
) -> None:
    gc.disable()
    try:
        before = weakref.ref(network_that_ran())
        monkeypatch.setattr(tidy, "took", collecting_takes_s)
        network_that_ran()
    finally:
        gc.enable()
    assert (before() is None) == (collecting_takes_s == 0.0)
