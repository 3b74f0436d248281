"""Planning on Ray: in lock-step it is the simulator, free-running nothing is lost either."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from runtime.cluster import cluster
from runtime.onray import RayOptions, run_on_ray
from runtime.run import simulate
from runtime.scenario import check
from tests.agents.planning_cases import Case

pytestmark = pytest.mark.xdist_group("planning on ray")


@pytest.fixture(scope="module", autouse=True)
def on_one_ray() -> Iterator[None]:
    with cluster():
        yield


def moving() -> dict[str, Any]:
    """Topics move twice while a store fails and returns."""
    data = Case(brokers=9, topics=4, seed=3, react="either", failures=1).scenario()
    assert simulate(check(data)).summary()["moves"] >= 2
    return data


def test_lock_step_is_the_simulator() -> None:
    on_ray = run_on_ray(check(moving()), RayOptions(agents_per_actor=16))
    assert on_ray.summary() == simulate(check(moving())).summary()


def test_a_free_run_loses_no_request_either() -> None:
    outcome = run_on_ray(check(moving()), RayOptions("free", 16, None, 0.02))
    summary = outcome.summary()
    assert outcome.quiescent and outcome.violations == []
    assert summary["requests_answered"] == summary["requests_sent"] > 0
    assert summary["moves"] >= 1
