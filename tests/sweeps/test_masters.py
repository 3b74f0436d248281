"""A sweep aggregates on a cluster or a Spark Connect server as it does here, and says so when none is there."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pyspark
import pytest

from sweeps.java import java_home
from tests.sweeps.conftest import EXAMPLE, Finished

ROOT = EXAMPLE.parent.parent.parent
SPARK = Path(pyspark.__file__).parent
START_S, SWEEP_S, END_S = 60, 240, 20
HERE = "127.0.0.1"
MASTER = "org.apache.spark.deploy.master.Master"
WORKER = "org.apache.spark.deploy.worker.Worker"
CONNECT = "org.apache.spark.sql.connect.service.SparkConnectServer"


def free_port() -> int:
    with socket.create_server((HERE, 0)) as door:
        port: int = door.getsockname()[1]
        return port


def listens(port: int) -> bool:
    with socket.socket() as visitor:
        visitor.settimeout(1)
        return visitor.connect_ex((HERE, port)) == 0


@contextmanager
def server(log: Path, *words: object, ready: Callable[[], bool]) -> Iterator[None]:
    """A process of Spark's own, waited for, and ended with all that it has started."""
    home = java_home(os.environ)
    environment = os.environ | ({"JAVA_HOME": str(home)} if home else {})
    environment |= {"SPARK_HOME": str(SPARK), "SPARK_LOCAL_IP": HERE, "SPARK_NO_DAEMONIZE": "1"}
    environment |= {"SPARK_MASTER_OPTS": "-Dspark.master.rest.enabled=false"}  # else it takes a fixed port
    with log.open("wb") as told:
        started = subprocess.Popen(
            list(map(str, words)), stdout=told, stderr=told, env=environment, cwd=log.parent, start_new_session=True
        )
    try:
        latest = time.monotonic() + START_S
        while not ready():
            assert started.poll() is None and time.monotonic() < latest, log.read_text()[-2000:]
            time.sleep(0.2)
        yield
    finally:
        end(started)


def end(process: subprocess.Popen[bytes]) -> None:
    """The whole group: a worker has executors."""
    for how in (signal.SIGTERM, signal.SIGKILL):
        try:
            os.killpg(process.pid, how)
            process.wait(END_S)
        except ProcessLookupError:
            break
        except subprocess.TimeoutExpired:
            continue
    process.wait(END_S)


@pytest.fixture
def standalone(tmp_path: Path) -> Iterator[str]:
    port = free_port()
    address = f"spark://{HERE}:{port}"
    spark_class = SPARK / "bin" / "spark-class"
    log = tmp_path / "worker.log"
    with ExitStack() as running:
        words = (spark_class, MASTER, "--host", HERE, "--port", port, "--webui-port", 0)
        running.enter_context(server(tmp_path / "master.log", *words, ready=lambda: listens(port)))
        words = (spark_class, WORKER, address, "--host", HERE, "--webui-port", 0, "-c", 1, "-m", "1g", "-d", tmp_path)
        running.enter_context(server(log, *words, ready=lambda: "Successfully registered" in log.read_text()))
        yield address


@pytest.fixture
def connect(tmp_path: Path) -> Iterator[str]:
    port = free_port()
    settings = {
        "spark.connect.grpc.binding.address": HERE,
        "spark.connect.grpc.binding.port": port,
        "spark.ui.enabled": "false",
        "spark.sql.warehouse.dir": tmp_path / "warehouse",
    }
    words = [SPARK / "bin" / "spark-submit", "--class", CONNECT, "--master", "local[2]"]
    words += [word for key, value in settings.items() for word in ("--conf", f"{key}={value}")]
    with server(tmp_path / "connect.log", *words, "spark-internal", ready=lambda: listens(port)):
        yield f"sc://{HERE}:{port}"


def aggregated(
    sweep: Finished, master: str, changes: Mapping[str, str] | None = None, within_s: float = SWEEP_S
) -> subprocess.CompletedProcess[str]:
    """The command again, in a process of its own: all cells are there, only the tables are made anew."""
    for path in (sweep.folder / "tables").iterdir():
        path.unlink()
    return subprocess.run(
        [sys.executable, "-m", "sweeps", EXAMPLE / "sweep.py", "--out", sweep.folder, "--spark-master", master],
        cwd=ROOT,
        env=os.environ | (changes or {}),
        capture_output=True,
        text=True,
        timeout=within_s,
        check=False,
    )


@pytest.mark.full
def test_a_standalone_cluster_gives_the_same_bytes(copy_of_finished: Finished, standalone: str) -> None:
    wanted = copy_of_finished.csv()
    done = aggregated(copy_of_finished, standalone)
    assert done.returncode == 0, done.stderr
    assert copy_of_finished.csv() == wanted


@pytest.mark.full
def test_spark_connect_gives_the_same_bytes_without_a_java_here(copy_of_finished: Finished, connect: str) -> None:
    wanted = copy_of_finished.csv()
    done = aggregated(copy_of_finished, connect, {"JAVA_HOME": str(copy_of_finished.folder / "no-java")})
    assert done.returncode == 0, done.stderr
    assert "Warning" not in done.stderr
    assert copy_of_finished.csv() == wanted


@pytest.mark.parametrize(
    ("master", "told"),
    [
        ("spark://127.0.0.1:1", "no master answers there"),
        ("spark://127.0.0.1", "write spark://host:7077"),
        pytest.param("sc://127.0.0.1:1/;token=secret", "no Spark Connect server answers there"),
    ],
)
def test_a_master_that_is_not_there_is_told_soon_and_in_one_line(
    copy_of_finished: Finished, master: str, told: str
) -> None:
    done = aggregated(copy_of_finished, master, within_s=40)
    last = done.stderr.strip().splitlines()[-1]
    assert done.returncode == 1
    assert told in last
    assert master.partition("/;")[0] in last
    assert "secret" not in done.stderr
    assert "Traceback" not in done.stderr


def test_what_spark_connect_needs_is_told(copy_of_finished: Finished, tmp_path: Path) -> None:
    (tmp_path / "pandas.py").write_text("raise ImportError('no pandas')\n")
    done = aggregated(copy_of_finished, "sc://127.0.0.1:1", {"PYTHONPATH": str(tmp_path)}, within_s=40)
    assert done.returncode == 1
    assert "pip install 'pyspark[connect]'" in done.stderr
    assert "Traceback" not in done.stderr
