"""What may go wrong on Ray: processes killed, machines lost, clusters that are not there or too small."""

from __future__ import annotations

import os
import random
import signal
import socket
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from threading import Timer
from typing import Any

import pytest
import ray
from ray.cluster_utils import Cluster

from runtime.cluster import cluster
from runtime.errors import ClusterError
from runtime.freerun import FreeRun
from runtime.lockstep import LockStep
from runtime.onray import RayOptions, run_on_ray
from runtime.progress import Seen
from runtime.run import simulate
from runtime.scenario import check, load
from tests.runtime.command import brokerlab, scenario
from tests.runtime.test_shares import troubled

LONG = troubled(12, 12)
"""Some hundred windows long, with something of everything."""


OPEN: list[Any] = []


@pytest.fixture(scope="module", autouse=True)
def nothing_left() -> Iterator[None]:
    yield
    while OPEN:
        OPEN.pop().__exit__(None, None, None)
    ray.shutdown()


@pytest.fixture
def here() -> None:
    """A local Ray, shared by the tests that need no other."""
    if not ray.is_initialized():
        OPEN.append(cluster())
        OPEN[-1].__enter__()


@pytest.fixture
def alone() -> Iterator[None]:
    """No Ray yet."""
    ray.shutdown()
    yield
    ray.shutdown()


@pytest.fixture(scope="module")
def undisturbed() -> dict[str, Any]:
    outcome = simulate(check(LONG))
    tables = {event: table.to_pylist() for event, table in outcome.tally.events.tables().items()}
    return {"fingerprint": outcome.tally.fingerprint(), "fired": outcome.tally.fired, "tables": tables}


def seen(run: LockStep) -> dict[str, Any]:
    tally = run.tally()
    tables = {event: table.to_pylist() for event, table in tally.events.tables().items()}
    return {"fingerprint": tally.fingerprint(), "fired": tally.fired, "tables": tables}


def kill(actor: Any) -> None:
    os.kill(ray.get(actor.pid.remote()), signal.SIGKILL)


# Lock-step


@pytest.mark.parametrize("moment", [0, 1, 2, *(pytest.param(moment, marks=pytest.mark.full) for moment in (3, 4))])
def test_a_killed_worker_is_started_again_and_nothing_changes(
    here: None, undisturbed: dict[str, Any], moment: int
) -> None:
    """At a random moment, often in the middle of a step."""
    rng = random.Random(moment)
    lines: list[str] = []
    run = LockStep(check(LONG), 2, lines.append)
    pid = ray.get(rng.choice(run.seats).actor.pid.remote())
    after = rng.randrange(100)

    def strike(_: Seen) -> None:
        nonlocal after
        after -= 1
        if after == 0:
            Timer(rng.uniform(0, 0.05), os.kill, (pid, signal.SIGKILL)).start()

    run.progress = strike
    assert run.run() and seen(run) == undisturbed
    run.close()
    assert run.deaths == 1 and "started again from the beginning" in lines[0]


def test_from_a_snapshot_it_is_not_far(here: None, undisturbed: dict[str, Any]) -> None:
    lines: list[str] = []
    run = LockStep(check(LONG), 2, lines.append)
    run.snapshot_every_s = 0.0
    steps, killed = 0, 0

    def strike(_: Seen) -> None:
        nonlocal steps, killed
        steps += 1
        kept = all(seat.snapshot is not None for seat in run.seats)
        if kept and killed < 2 and steps > 60 * (killed + 1):
            kill(run.seats[killed].actor)
            killed += 1

    run.progress = strike
    assert run.run() and seen(run) == undisturbed
    run.close()
    assert killed == run.deaths == 2
    assert all("from its last snapshot" in line for line in lines)


@pytest.mark.full
def test_both_workers_killed_at_once(here: None, undisturbed: dict[str, Any]) -> None:
    run = LockStep(check(LONG), 2)
    steps = 0

    def strike(_: Seen) -> None:
        nonlocal steps
        steps += 1
        if steps == 30:
            for seat in run.seats:
                kill(seat.actor)

    run.progress = strike
    assert run.run() and seen(run) == undisturbed
    run.close()
    assert run.deaths == 2


@pytest.mark.full
def test_a_worker_killed_after_the_last_step_still_answers(here: None, undisturbed: dict[str, Any]) -> None:
    run = LockStep(check(LONG), 2)
    assert run.run()
    kill(run.seats[1].actor)
    assert seen(run) == undisturbed
    run.close()


def test_a_host_that_dies_again_and_again_ends_the_run(here: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("runtime.lockstep.MOST_DEATHS", 1)
    run = LockStep(check(LONG), 1)
    run.progress = lambda _: kill(run.seats[0].actor)
    with pytest.raises(ClusterError, match="hosts died 2 times"):
        run.run()
    run.close()


@pytest.mark.full
def test_a_lost_machine_is_replaced_and_nothing_changes(
    alone: None, undisturbed: dict[str, Any], capfd: pytest.CaptureFixture[str]
) -> None:
    machines = Cluster(initialize_head=True, connect=False, head_node_args={"num_cpus": 0, "include_dashboard": False})
    try:
        others = [machines.add_node(num_cpus=1) for _ in range(2)]
        machines.wait_for_nodes()
        with cluster(machines.address):
            _lose_a_machine(machines, others[0], undisturbed)
    finally:
        ray.shutdown()
        machines.shutdown()
    assert "raylet" not in capfd.readouterr().out  # where results go


def _lose_a_machine(machines: Cluster, doomed: Any, undisturbed: dict[str, Any]) -> None:
    lines: list[str] = []
    run = LockStep(check(LONG), 2, lines.append)
    steps = 0

    def strike(_: Seen) -> None:
        nonlocal steps
        steps += 1
        if steps == 40:
            machines.remove_node(doomed, allow_graceful=False)

    run.progress = strike
    assert run.run() and seen(run) == undisturbed
    run.close()
    assert run.deaths >= 1 and len(lines) == run.deaths  # what is started again may first get the lost machine, too


# Free-running


@pytest.fixture
def doomed(monkeypatch: pytest.MonkeyPatch) -> None:
    """A free run whose first host is killed after a moment."""

    class Doomed(FreeRun):
        def run(self) -> bool:
            pid = ray.get(self.runners[0].actor.pid.remote())
            Timer(0.1, os.kill, (pid, signal.SIGKILL)).start()
            return super().run()

    monkeypatch.setattr("runtime.onray.FreeRun", Doomed)


@pytest.mark.parametrize("links", ["raw", "reliable"])
def test_the_death_of_a_free_host_is_the_crash_of_its_agents(here: None, doomed: None, links: str) -> None:
    lines: list[str] = []
    options = RayOptions("free", agents_per_actor=8, time_scale=0.002)
    outcome = run_on_ray(load("coverage", [f"links={links}"]), options, report=lines.append)
    lost = outcome.summary()["lost"]
    assert lost and sorted([*lost, *outcome.agents]) == sorted(outcome.scenario.network.neighbours)
    assert lines[1:] == [f"host 0 of 2 died, and with it its {len(lost)} agents"]
    assert outcome.quiescent


def test_the_survivors_are_told_whom_they_lost(here: None, doomed: None, tmp_path: Path) -> None:
    """A neighbour's hint is the last event: the run is not quiet before it was handled."""
    path = scenario(tmp_path, "mourn.py:Mourn", MOURN, more="seed = 1")
    outcome = run_on_ray(load(str(path)), RayOptions("free", agents_per_actor=2, time_scale=0.01))
    lost, results = outcome.results["lost"], outcome.results["by_node"]
    assert lost and any(set(results[name]["lost"]) & set(lost) for name in results)


MOURN = """\
from runtime.agent import LinkChanged, Protocol, on
from runtime.message import message


@message
class Wake:
    pass


class Mourn(Protocol):
    def __init__(self):
        self.lost = []

    def started(self, node):
        node.after(60.0, Wake())

    @on(Wake)
    def woke(self, node, sender, wake):
        pass

    @on(LinkChanged)
    def changed(self, node, sender, change):
        self.lost.append(change.peer)

    def result(self):
        return {"lost": self.lost}
"""


def test_a_free_run_without_a_host_left_fails(here: None, doomed: None) -> None:
    ran = brokerlab(
        "run", "coverage", "--on", "ray", "--clock", "free", "--time-scale", 0.02, "--agents-per-actor", 100
    )
    assert ran.exit_code == 1 and "every host died" in ran.stderr


# Clusters that are not there, or too small


PATIENCE_S = 100.0
"""Less than Ray would wait by itself, and far more than a slow machine needs."""


def bounded(action: Callable[[], Any]) -> Any:
    started = time.monotonic()
    result = action()
    assert time.monotonic() - started < PATIENCE_S
    return result


@pytest.mark.parametrize(
    ("address", "said"),
    [("127.0.0.1:1", "no Ray cluster at 127.0.0.1:1"), ("nowhere", "is not an address of a Ray cluster")],
)
def test_an_address_where_nobody_listens(alone: None, address: str, said: str) -> None:
    ran = bounded(lambda: brokerlab("run", "coverage", "--on", "ray", "--ray-address", address))
    assert ran.exit_code == 1 and said in ran.stderr and "Traceback" not in ran.stderr


def test_an_address_where_somebody_listens_but_does_not_answer(alone: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("runtime.cluster.KNOCK_S", 1.0)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        address = f"127.0.0.1:{silent.getsockname()[1]}"
        ran = bounded(lambda: brokerlab("run", "coverage", "--on", "ray", "--ray-address", address))
    assert ran.exit_code == 1 and f"no Ray cluster at {address}" in ran.stderr


def test_too_few_cores_for_the_actors(alone: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("runtime.cluster.START_S", 2.0)
    ray.init(address="local", num_cpus=1, include_dashboard=False, log_to_driver=False)
    taken = ray.remote(num_cpus=1)(type("Greedy", (), {"there": lambda self: True})).remote()
    assert ray.get(taken.there.remote())
    ran = bounded(lambda: brokerlab("run", "coverage", "--on", "ray"))
    assert ran.exit_code == 1 and "only 0 of 1 actors started within" in ran.stderr and "1 CPUs" in ran.stderr


def test_an_actor_that_cannot_be_built(here: None, tmp_path: Path) -> None:
    code = f"import os\nif os.getpid() != {os.getpid()}:\n    raise RuntimeError('only at home')\n" + MOURN
    ran = bounded(lambda: brokerlab("run", scenario(tmp_path, "mourn.py:Mourn", code), "--on", "ray"))
    assert ran.exit_code == 1 and "could not be built" in ran.stderr and "only at home" in ran.stderr
