"""Ray: a cluster to run on, started here or found at an address, and the actors on it."""

from __future__ import annotations

import logging
import os
import socket
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import ray
from ray.exceptions import RayActorError, RayError, RayTaskError

from runtime.errors import ClusterError
from runtime.hosts import Host, Kit

KNOCK_S = 10.0
START_S = 60.0
START_EACH_S = 1.5
LOOK_UP_S = 0.5
"""How often a wait is interrupted to look for Ctrl-C."""
PACKAGES = ("agents", "protocols", "runtime", "sweeps")


@contextmanager
def cluster(address: str | None = None) -> Iterator[None]:
    """Be connected to a Ray cluster; a cluster of one's own ends with the run."""
    if ray.is_initialized():
        yield
        return
    address = address or os.environ.get("RAY_ADDRESS")  # a submitted job is told where it runs
    os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    os.environ.setdefault("RAY_DEDUP_LOGS", "0")
    options: dict[str, Any] = {"log_to_driver": False, "logging_level": logging.ERROR, "configure_logging": True}
    if address is None:
        # "local": else Ray takes part in any cluster that was started on this machine.
        options |= {"address": "local", "include_dashboard": False}
    else:
        _knock(address)
        options |= {"address": address, "runtime_env": _luggage()}
    try:
        ray.init(**options)
    except (ConnectionError, RayError, ValueError, RuntimeError, OSError) as problem:
        where = "here" if address is None else f"at {address}"
        raise ClusterError(f"no Ray cluster {where}: {_first_line(problem)}") from None
    try:
        yield
    finally:
        ray.shutdown()


def _knock(address: str) -> None:
    """Ray itself would wait for many minutes where nobody listens."""
    host, colon, port = address.removeprefix("ray://").rpartition(":")
    if address == "auto":
        return
    if not colon or not port.isdigit():
        raise ClusterError(
            f'{address!r} is not an address of a Ray cluster; write "host:6379", "ray://host:10001" or "auto"'
        )
    try:
        socket.create_connection((host, int(port)), timeout=KNOCK_S).close()
    except OSError as problem:
        raise ClusterError(f"no Ray cluster at {address}: {problem.strerror or problem}") from None


def _luggage() -> dict[str, Any]:
    """The code that workers elsewhere need; a submitted job has brought its own."""
    if "RAY_JOB_CONFIG_JSON_ENV_VAR" in os.environ:
        return {}
    root = Path(__file__).parent.parent
    return {"py_modules": [str(root / package) for package in PACKAGES if (root / package).is_dir()]}


def resources() -> dict[str, float]:
    found: dict[str, float] = ray.cluster_resources()  # type: ignore[no-untyped-call]
    return found


def cpus() -> int:
    return max(1, int(resources().get("CPU", 1)))


def start_hosts(kit: Kit, count: int, waiting: Callable[[int], None] = lambda ready: None) -> list[Any]:
    """An actor for each share; ClusterError if they do not start in time.

    While it takes, `waiting` is told again and again how many are there.
    """
    # One core each while they last; beyond that they share what there is.
    luggage = ray.put(kit)
    hosts = [start_host(luggage, number, 1.0 if count <= cpus() else 0.0) for number in range(count)]
    try:
        await_hosts(hosts, waiting)
    except BaseException:
        for host in hosts:
            ray.kill(host)
        raise
    return hosts


def start_host(kit: Any, number: int, cores: float = 0.0) -> Any:
    actor: Any = ray.remote(Host)
    return actor.options(num_cpus=cores, max_restarts=0, max_task_retries=0).remote(kit, number)


def await_hosts(hosts: Sequence[Any], waiting: Callable[[int], None] = lambda ready: None) -> None:
    """Wait until all of them are there; ClusterError if that takes too long or one of them cannot be built."""
    patience = START_S + START_EACH_S * len(hosts)
    answers = [host.ready.remote() for host in hosts]
    ready: list[Any] = []
    missing = answers
    ends = time.monotonic() + patience
    while missing and time.monotonic() < ends:
        ready, missing = ray.wait(answers, num_returns=len(answers), timeout=min(LOOK_UP_S, patience))
        for answer in ready:
            _refuse_unbuilt(answer)
        waiting(len(ready))
    if missing:
        raise ClusterError(
            f"only {len(ready)} of {len(hosts)} actors started within {patience:.0f} s; the cluster has {cpus()} CPUs "
            f"and {resources().get('memory', 0) / 2**30:.1f} GiB"
        )


def _refuse_unbuilt(answer: Any) -> None:
    """A host whose constructor fails would fail again. One that was killed can be replaced: that is not said here."""
    try:
        ray.get(answer)
    except RayTaskError as problem:
        raise ClusterError(f"an actor could not be built: {_last_line(problem)}") from None
    except RayActorError as problem:
        if "creation task" in str(problem):
            raise ClusterError(f"an actor could not be built: {_last_line(problem)}") from None
    except RayError as problem:
        raise ClusterError(f"an actor could not be started: {_first_line(problem)}") from None


def _last_line(problem: BaseException) -> str:
    return (str(problem).strip() or type(problem).__name__).splitlines()[-1].strip()


def _first_line(problem: BaseException) -> str:
    return (str(problem).strip() or type(problem).__name__).splitlines()[0]
