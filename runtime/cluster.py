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
from runtime.watch import descendants, watched

KNOCK_S = 10.0
START_S = 60.0
START_EACH_S = 1.5
LOOK_UP_S = 0.5
"""How often a wait is interrupted to look for Ctrl-C."""
ROOT = Path(__file__).parent.parent
QUIET = {
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_enable_metrics_collection": "0",
    "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0",
    "RAY_DISABLE_IMPORT_WARNING": "1",
    "RAY_enable_open_telemetry": "0",
}
HELLO = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + bytes([0, 0, 0, 4, 0, 0, 0, 0, 0])
SETTINGS = bytes([4])
"""Ray speaks gRPC: HTTP/2, where both sides begin with a frame of settings, type 4."""

PACKAGES = ("agents", "protocols", "runtime", "sweeps")


@contextmanager
def cluster(address: str | None = None) -> Iterator[None]:
    """Be connected to a Ray cluster; a cluster of one's own ends with the run."""
    if ray.is_initialized():
        yield
        return
    address = address or os.environ.get("RAY_ADDRESS")  # a submitted job is told where it runs
    options: dict[str, Any] = {"log_to_driver": False, "logging_level": logging.ERROR, "configure_logging": True}
    if address is None:
        # "local": else Ray takes part in any cluster that was started on this machine.
        options |= {"address": "local", "include_dashboard": False}
    else:
        _knock(address)
        options |= {"address": address, "runtime_env": _luggage()}
    before = descendants()
    # What raylets say of lost workers and machines would go to standard output, where results belong.
    setattr(ray._private.worker, "print_to_stdstream", lambda *_, **__: None)  # noqa: B010
    with _environment():
        try:
            ray.init(**options)
        except (ConnectionError, RayError, ValueError, RuntimeError, OSError) as problem:
            where = "here" if address is None else f"at {address}"
            token = "" if address is None else " (if it asks for a token: set RAY_AUTH_MODE=token and RAY_AUTH_TOKEN)"
            raise ClusterError(f"no Ray cluster {where}: {_first_line(problem)}{token}") from None
        try:
            with watched(before):
                yield
        finally:
            ray.shutdown()


@contextmanager
def _environment() -> Iterator[None]:
    """Ray keeps its chatter to itself, and workers run the code that we run, whatever else is installed."""
    path = os.pathsep.join([str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])])
    wanted = {name: value for name, value in QUIET.items() if name not in os.environ} | {"PYTHONPATH": path}
    kept = {name: os.environ.get(name) for name in wanted}
    os.environ.update(wanted)
    try:
        yield
    finally:
        for name, value in kept.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


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
        with socket.create_connection((host, int(port)), timeout=KNOCK_S) as line:
            line.settimeout(KNOCK_S)
            line.sendall(HELLO)
            answer = line.recv(9)
    except OSError as problem:
        raise ClusterError(f"no Ray cluster at {address}: {problem.strerror or problem}") from None
    if answer[3:4] != SETTINGS and os.environ.get("RAY_USE_TLS", "0") == "0":
        raise ClusterError(f"no Ray cluster at {address}: something else answers there")


def _luggage() -> dict[str, Any]:
    """The code that workers elsewhere need; a submitted job has brought its own."""
    if "RAY_JOB_CONFIG_JSON_ENV_VAR" in os.environ:
        return {}
    return {"py_modules": [str(ROOT / package) for package in PACKAGES if (ROOT / package).is_dir()]}


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
