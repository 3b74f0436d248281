"""Finding a sweep: by the name of a shipped one, or in a .py or .toml file."""

from __future__ import annotations

import importlib.util
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from runtime.errors import ScenarioError
from runtime.scenario import find, read, shipped_scenarios
from runtime.settings import parse, settings_error
from runtime.system import load_attribute
from sweeps import SHIPPED
from sweeps.sweep import Sweep, SweepError


@dataclass(frozen=True)
class Found:
    """A sweep, its base scenario, and the folder where the files that the scenario names are sought."""

    sweep: Sweep
    scenario: dict[str, Any]
    folder: Path


def find_sweep(name: str) -> Found:
    try:
        return _found(name)
    except ScenarioError as error:
        raise SweepError(error.key, error.problem, error.file or name) from error


def _found(name: str) -> Found:
    path = Path(name)
    if path.suffix in (".py", ".toml"):
        if not path.is_file():
            raise SweepError("", f"file not found; shipped sweeps are: {', '.join(SHIPPED)}")
        sweep = _from_python(path) if path.suffix == ".py" else parse(Sweep, read(path))
        return _with_base(sweep, path.resolve().parent)
    if name not in SHIPPED:
        raise SweepError("", f"neither a .py or .toml file nor a shipped sweep; shipped are: {', '.join(SHIPPED)}")
    return _with_base(load_attribute(SHIPPED[name]), Path.cwd())


def _from_python(path: Path) -> Sweep:
    spec = importlib.util.spec_from_file_location(f"brokerlab_sweep_{path.stem}", path)
    if spec is None or spec.loader is None:
        raise SweepError("", "not a Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    try:
        spec.loader.exec_module(module)
    except ValidationError as error:
        raise settings_error(error, Sweep) from None
    except Exception as problem:
        raise SweepError("", f"{type(problem).__name__}: {problem}") from problem
    found = getattr(module, "SWEEP", None)
    if not isinstance(found, Sweep):
        raise SweepError("SWEEP", "missing; write SWEEP = Sweep(name=..., ...)")
    return found


def _with_base(sweep: Sweep, folder: Path) -> Found:
    if isinstance(sweep.base, dict):
        return Found(sweep, sweep.base, folder)
    beside = folder / sweep.base
    if sweep.base in shipped_scenarios() or not beside.is_file():
        path = find(sweep.base)
        return Found(sweep, read(path), path.resolve().parent)
    return Found(sweep, read(beside), beside.resolve().parent)
