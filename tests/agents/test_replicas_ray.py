"""Holistic and myopic stores on Ray: in lock-step they are the simulator, free-running they find an equilibrium."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from runtime.cluster import cluster
from runtime.onray import RayOptions, run_on_ray
from runtime.run import simulate
from runtime.scenario import check

pytestmark = pytest.mark.xdist_group("replicas on ray")


@pytest.fixture(scope="module", autouse=True)
def on_one_ray() -> Iterator[None]:
    with cluster():
        yield


def stores(count: int, protocol: str = "holistic", **storage: Any) -> dict[str, Any]:
    return {
        "protocol": protocol,
        "seed": 2,
        "network": {"kind": "random-graph", "nodes": count, "degree": 3.0, "delay": "uniform(0.5, 1.5)"},
        "storage": {
            "capacity": 50,
            "items": {"count": 20},
            "popularity": 0.7,
            "spread": "random",
            **storage,
        },
    }


def test_lock_step_is_the_simulator() -> None:
    on_ray = run_on_ray(check(stores(20)), RayOptions(agents_per_actor=10))
    assert on_ray.summary() == simulate(check(stores(20))).summary()


def test_crashes_and_losses_in_lock_step_too() -> None:
    faulty = stores(8, patience=60.0) | {
        "links": "reliable",
        "faults": [{"kind": "drop", "probability": 0.1}, {"kind": "crash", "nodes": ["n1"], "at": 40.0}],
    }
    on_ray = run_on_ray(check(faulty), RayOptions(agents_per_actor=4))
    assert on_ray.summary() == simulate(check(faulty)).summary()
    assert on_ray.results["epochs"] > 1


@pytest.mark.parametrize("writers", [1, 0])
def test_a_free_run_ends_in_an_equilibrium(writers: int) -> None:
    outcome = run_on_ray(check(stores(16, writers=writers)), RayOptions("free", 8, None, 0.001))
    assert outcome.quiescent and outcome.violations == []
    assert outcome.results["equilibrium"] is True


@pytest.mark.full
@pytest.mark.parametrize("protocol", ["holistic", "myopic"])
@pytest.mark.parametrize("clock", ["lockstep", "free"])
def test_the_papers_size(protocol: str, clock: Any) -> None:
    on_ray = run_on_ray(check(stores(120, protocol)), RayOptions(clock, 30, None, 0.001))
    assert on_ray.verdict == "valid" and on_ray.results["equilibrium"] is True
    if clock == "lockstep":  # in real time the token may be faster than what it needs to know
        assert on_ray.results["ont"] == pytest.approx(simulate(check(stores(120, protocol))).results["ont"])
