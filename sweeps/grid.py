"""The cells of a sweep: which runs it takes, and a name for each that says all it depends on."""

from __future__ import annotations

import copy
import hashlib
import itertools
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from runtime.rundir import named_files
from sweeps.load import Found

ROOT = Path(__file__).parent.parent
CODE = ("agents", "protocols", "runtime")


@dataclass(frozen=True)
class Cell:
    """One run: a scenario with its seed, on this version of the code."""

    name: str
    scenario: dict[str, Any] = field(repr=False)
    folder: str
    algorithm: str
    instance: int
    parameters: dict[str, Any]

    def __str__(self) -> str:
        point = ", ".join(f"{name} = {value}" for name, value in self.parameters.items())
        return f"{self.algorithm}, {point}, instance {self.instance}"


def cells_of(found: Found) -> list[Cell]:
    """Every algorithm on the same instances: an instance is a seed, and all that is drawn follows from it."""
    sweep = found.sweep
    drawn: dict[str, Cell] = {}
    points = [
        dict(zip(grid, values, strict=True)) for grid in sweep.grids() for values in itertools.product(*grid.values())
    ]
    for instance in range(sweep.seed, sweep.seed + sweep.runs):
        for point in points:
            for algorithm in sweep.algorithms:
                cell = _cell(found, algorithm, point, instance)
                drawn.setdefault(f"{cell}", cell)  # a value that is listed twice is one cell
    return list(drawn.values())


def _cell(found: Found, algorithm: str, point: dict[str, Any], instance: int) -> Cell:
    scenario = copy.deepcopy(found.scenario)
    for name, value in point.items():
        put(scenario, found.sweep.parameters[name].key, value)
    for key, value in found.sweep.algorithms[algorithm].items():
        put(scenario, key, value)
    scenario["seed"] = instance
    return Cell(name_of(scenario, found.folder), scenario, str(found.folder), algorithm, instance, point)


def put(scenario: dict[str, Any], key: str, value: Any) -> None:
    """Set `network.nodes`; a table is put into the table that is there."""
    head, dot, rest = key.partition(".")
    if dot:
        put(scenario.setdefault(head, {}), rest, value)
    elif isinstance(value, Mapping) and isinstance(scenario.get(head), dict):
        for inner, item in value.items():
            put(scenario[head], inner, item)
    else:
        scenario[head] = copy.deepcopy(value)


def name_of(scenario: dict[str, Any], folder: Path) -> str:
    """A hash of what the run depends on: scenario and seed, the files that it names, the version of the code."""
    data = {"protocol": "", "network": {}} | scenario
    files = {path.name: _digest_of(path) for path in named_files(data, folder)}
    basis = {"scenario": scenario, "files": files, "code": code_version()}
    return hashlib.sha256(json.dumps(basis, sort_keys=True, default=str).encode()).hexdigest()[:20]


@cache
def code_version() -> str:
    """The package's version and a hash of the source that decides how a run goes."""
    digest = hashlib.sha256()
    for path in _sources():
        digest.update(f"{path.relative_to(ROOT).as_posix()} {_digest_of(path)}\n".encode())
    try:
        number = version("brokerlab")
    except PackageNotFoundError:
        number = "checkout"
    return f"{number}+{digest.hexdigest()[:12]}"


def _sources() -> Iterator[Path]:
    for package in CODE:
        yield from sorted((ROOT / package).rglob("*.py"))
    yield from sorted((ROOT / "agents").glob("*/*.toml"))  # tables that scenarios name


@cache
def _digest_of(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else "missing"
