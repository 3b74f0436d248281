"""The Spark session of a sweep: one, started once, quiet, and the same wherever it runs."""

from __future__ import annotations

import logging
import os
import signal
import socket
import sys
import tempfile
import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from pyspark.sql import SparkSession

from runtime.errors import BrokerlabError
from sweeps.java import provide_java

SETTINGS = {
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.adaptive.enabled": "true",
    "spark.sql.ansi.enabled": "false",  # what cannot be computed is null, not the end of the sweep
    "spark.sql.execution.arrow.pyspark.enabled": "true",
}
OF_OUR_OWN = {
    "spark.app.name": "brokerlab",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.driver.memory": "2g",
}
LOGGING = """\
rootLogger.level = off
rootLogger.appenderRef.console.ref = console
appender.console.type = Console
appender.console.name = console
appender.console.target = SYSTEM_ERR
appender.console.layout.type = PatternLayout
appender.console.layout.pattern = %m%n
"""

PATIENCE_S = 8.0
"""So long a master or server may take to answer the door. Spark itself would knock for minutes, silently."""


class SparkError(BrokerlabError):
    """Spark cannot be started or reached."""


@contextmanager
def spark_running(master: str = "local[*]") -> Iterator[SparkSession]:
    """A session on this master; `sc://` is Spark Connect. One that is already running is used and left running."""
    running = SparkSession.getActiveSession()
    if running is not None:
        yield running
        return
    spark = _connected(master) if master.startswith("sc://") else _started(master)
    try:
        yield spark
    finally:
        with warnings.catch_warnings(action="ignore"):  # after Ctrl-C it has much to say
            spark.stop()


def _connected(address: str) -> SparkSession:
    shown = address.partition("/;")[0]  # what follows may be a token
    try:
        with warnings.catch_warnings(action="ignore", category=FutureWarning):  # on pandas, which we never ask for
            _knock_at_server(address)
            builder: SparkSession.Builder = SparkSession.builder.remote(address)
            spark = builder.getOrCreate()
        for key, value in SETTINGS.items():
            if spark.conf.isModifiable(key):
                spark.conf.set(key, value)
        return spark
    except ImportError as problem:
        raise SparkError(
            f"Spark Connect needs more packages: pip install 'pyspark[connect]' ({_first_line(problem)})"
        ) from problem
    except TimeoutError as problem:
        raise SparkError(f"Spark at {shown}: no Spark Connect server answers there") from problem
    except Exception as problem:
        raise SparkError(f"Spark at {shown}: {_first_line(problem)}") from problem


def _knock_at_server(address: str) -> None:
    """Over gRPC itself, which may go through a proxy or TLS."""
    import grpc
    from pyspark.sql.connect.client import DefaultChannelBuilder

    with DefaultChannelBuilder(address).toChannel() as channel:
        try:
            grpc.channel_ready_future(channel).result(timeout=PATIENCE_S)
        except grpc.FutureTimeoutError:
            raise TimeoutError from None


def _knock_at_master(master: str) -> None:
    """One of several masters is enough: spark://a:7077,b:7077."""
    problem: OSError | ValueError = ValueError("write spark://host:7077")
    for place in master.removeprefix("spark://").split(","):
        host, _, port = place.rpartition(":")
        try:
            socket.create_connection((host.strip("[]"), int(port)), PATIENCE_S).close()
            return
        except (OSError, ValueError) as refused:
            problem = refused if isinstance(refused, OSError) else problem
    raise SparkError(f"Spark at {master}: no master answers there ({problem})") from problem


def _started(master: str) -> SparkSession:
    if master.startswith("spark://"):
        _knock_at_master(master)
    provide_java()
    # Executors of a local cluster run the Python that we run.
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    builder: SparkSession.Builder = SparkSession.builder.master(master)
    for key, value in (SETTINGS | OF_OUR_OWN).items():
        builder = builder.config(key, value)
    if master.startswith("local"):
        # Where the whole of Spark is here, more parts than cores are only more work.
        builder = builder.config("spark.sql.shuffle.partitions", str(2 * (os.cpu_count() or 1)))
    if master.startswith("local") and "SPARK_LOCAL_IP" not in os.environ:
        os.environ["SPARK_LOCAL_IP"] = "127.0.0.1"
    with tempfile.TemporaryDirectory(prefix="brokerlab-") as folder, _silent_launch(), _our_own_interrupt():
        quiet = Path(folder) / "log4j2.properties"
        quiet.write_text(LOGGING)
        builder = builder.config("spark.driver.extraJavaOptions", f"-Dlog4j2.configurationFile={quiet.as_uri()}")
        try:
            spark = builder.getOrCreate()
        except Exception as problem:
            raise SparkError(f"Spark at {master}: {_first_line(problem)}") from problem
    spark.sparkContext.setLogLevel("OFF")
    return spark


@contextmanager
def _our_own_interrupt() -> Iterator[None]:
    """Spark's way with Ctrl-C, and what py4j logs of it, are pages of tracebacks; ours is to stop."""
    if not logging.getLogger().handlers:
        logging.getLogger().addHandler(logging.NullHandler())
    before = signal.getsignal(signal.SIGINT)
    try:
        yield
    finally:
        if threading.current_thread() is threading.main_thread():
            signal.signal(signal.SIGINT, before)


@contextmanager
def _silent_launch() -> Iterator[None]:
    """The launcher's own words go straight to the process's standard error, before any setting counts."""
    sys.stderr.flush()
    ours = os.dup(2)
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 2)
    try:
        yield
    finally:
        os.dup2(ours, 2)
        os.close(nowhere)
        os.close(ours)


def _first_line(problem: Exception) -> str:
    # Of a failure in Java the first line only says that there was one.
    words = str(getattr(problem, "java_exception", problem))
    lines = words.strip().splitlines() or [type(problem).__name__]
    return lines[0]
