"""The run directory: everything that one run showed, and how to run it again.

It is complete in itself: a network file or a protocol file that the scenario names is copied beside it, so the
directory can be moved or given away. Each file appears whole or not at all.
"""

from __future__ import annotations

import json
import math
import os
import platform
import shlex
import shutil
from collections.abc import Callable, Iterable
from functools import partial
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from string import Template
from typing import Any

import tomli_w

from runtime.errors import AgentError, OutputError, ScenarioError
from runtime.report.page import page, report_of
from runtime.run import Outcome
from runtime.scenario import Scenario, read

FIRST_LINE = "# The scenario of a brokerlab run, with everything that was set on the command line.\n"
REPORT = "report.html"
README = Template("""\
# $protocol, seed $seed: $verdict

$ended after $events events and $time virtual seconds, with $messages messages ($size bytes) on the links.
Fingerprint: `$fingerprint`$same.

To run it again, in this folder:

    brokerlab run scenario.toml

It was made by:

    $command

| file | what it is |
| --- | --- |
$files

Versions: $versions.
""")


def version_of(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "(not installed)"


def claim(folder: Path, scenario: Scenario, force: bool = False) -> None:
    """Make sure, before anything runs, that the results may be written there."""
    if folder.exists() and not folder.is_dir():
        raise OutputError(f"{folder}: a file, not a folder; choose another name")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        there = [path for path in folder.iterdir() if path.suffix != ".partial"]
        if there and not _is_ours(folder):
            raise OutputError(f"{folder}: not empty and not a run directory; choose a new folder")
    except OSError as problem:
        raise OutputError(f"{folder}: {problem.strerror}; choose another folder") from None
    if not os.access(folder, os.W_OK):
        raise OutputError(f"{folder}: Permission denied; choose another folder")
    saved = folder / "scenario.toml"
    if saved.exists() and not force and saved.read_text("utf-8") != effective(scenario):
        raise OutputError(f"{folder}: holds a run of another scenario or seed; choose a new folder, or add --force")


def save(outcome: Outcome, folder: Path, command: str | None = None) -> None:
    """Write the run into this folder, which `claim` has found to be good."""
    scenario = outcome.scenario
    summary = outcome.summary()
    text = as_json(summary)
    try:
        # Read before anything is removed: a saved scenario may be run into its own folder.
        copies = {path.name: path.read_bytes() for path in named_files(scenario.data, scenario.folder)}
        _remove_old(folder)
        _write(folder / "scenario.toml", lambda path: _text(path, effective(scenario)))
        for name, content in copies.items():
            _write(folder / name, partial(Path.write_bytes, data=content))
        _write_events(outcome, folder)
        if outcome.trace is not None:
            _write(folder / "trace.msgpack", outcome.trace.save)
        _write(folder / "summary.json", lambda path: _text(path, text))
        command = command or "brokerlab run scenario.toml"
        readme = _readme(outcome, summary, folder, command)
        _write(folder / "README.md", lambda path: _text(path, readme))
        report, mistake = report_of(outcome)
        html = page(outcome, report, summary, command, _versions(), mistake)
        _write(folder / REPORT, lambda path: _text(path, html))
    except OSError as problem:
        raise OutputError(f"{folder}: {problem.strerror or problem}") from None
    if mistake is not None:  # now that all the rest is kept
        raise mistake


def effective(scenario: Scenario) -> str:
    """The scenario as it ran, in TOML; the files that it names lie beside it."""
    data: dict[str, Any] = {"protocol": scenario.protocol, "seed": scenario.seed} | scenario.data
    file, colon, attribute = scenario.protocol.rpartition(":")
    if colon:
        data["protocol"] = f"{Path(file).name}:{attribute}"
    network = data["network"]
    if "file" in network:
        data["network"] = network | {"file": Path(network["file"]).name}
    return FIRST_LINE + tomli_w.dumps(data)


def named_files(data: dict[str, Any], folder: Path) -> list[Path]:
    """The files that a scenario names: its protocol's and its network's."""
    protocol_file, colon, _ = data["protocol"].rpartition(":")
    names = [protocol_file] if colon else []
    names += [data["network"]["file"]] if "file" in data["network"] else []
    return [folder / name for name in names]


def as_json(summary: dict[str, Any]) -> str:
    """One JSON object; what is not finite becomes null, for JSON has no word for it."""
    return json.dumps(_plain(summary, ()), indent=2) + "\n"


def _plain(value: Any, path: tuple[str, ...]) -> Any:
    if isinstance(value, dict):
        return {str(key): _plain(item, (*path, str(key))) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item, (*path, str(place))) for place, item in enumerate(value)]
    if value is None or isinstance(value, str | bool | int):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if hasattr(value, "item") and hasattr(value, "dtype"):  # a number of numpy's
        return _plain(value.item(), path)
    raise AgentError(
        f"the result {'.'.join(path)} is {type(value).__name__} {value!r}, which has no JSON; "
        "give numbers, text, lists or dicts (of a set, sorted(...))"
    )


def _is_ours(folder: Path) -> bool:
    """A run directory, or the beginning of one: a run that was killed leaves the folder empty or with a scenario."""
    try:
        return (folder / "scenario.toml").read_text("utf-8").startswith(FIRST_LINE)
    except (FileNotFoundError, UnicodeDecodeError):
        return False


def _remove_old(folder: Path) -> None:
    """Take away what an earlier run left, its scenario last: until then the folder is known as ours."""
    if not _is_ours(folder):
        return
    try:
        old = read(folder / "scenario.toml")
        copies: Iterable[Path] = [folder / path.name for path in named_files(old, folder)]
    except (ScenarioError, KeyError, TypeError, AttributeError):  # someone has edited it
        copies = ()
    names = (REPORT, "README.md", "summary.json", "trace.msgpack", "trace.html", "trace.svg")
    for path in (*(folder / name for name in names), *copies, *(folder / "events").glob("*.parquet")):
        path.unlink(missing_ok=True)


def _write(path: Path, write: Callable[[Path], Any]) -> None:
    """A whole file or none: written under another name, then renamed."""
    unfinished = path.with_name(f".{path.name}.partial")
    try:
        write(unfinished)
        unfinished.replace(path)
    finally:
        unfinished.unlink(missing_ok=True)


def _text(path: Path, text: str) -> None:
    path.write_text(text, encoding="utf-8", newline="\n")


def _write_events(outcome: Outcome, folder: Path) -> None:
    events, unfinished = folder / "events", folder / ".events.partial"
    events.mkdir(exist_ok=True)
    try:
        outcome.tally.events.write(unfinished)
        for path in sorted(unfinished.iterdir()):
            path.replace(events / path.name)
    finally:
        shutil.rmtree(unfinished, ignore_errors=True)


def _readme(outcome: Outcome, summary: dict[str, Any], folder: Path, command: str) -> str:
    return README.substitute(
        summary,
        verdict=_ending(outcome),
        ended="Quiet" if outcome.quiescent else "Interrupted" if outcome.interrupted else "Stopped by a limit",
        same="" if outcome.interrupted else "; the same scenario and versions always give it",
        time=f"{summary['virtual_time']:g}",
        size=summary["bytes"],
        command=command,
        files="\n".join(f"| `{name}` | {what} |" for name, what in _contents(outcome, folder)),
        versions=", ".join(_versions()),
    )


def _versions() -> list[str]:
    packages = ("brokerlab", "numpy", "pyarrow", "msgpack")
    return [f"Python {platform.python_version()}", *(f"{package} {version_of(package)}" for package in packages)]


def _ending(outcome: Outcome) -> str:
    return f"{outcome.verdict} (interrupted)" if outcome.interrupted else outcome.verdict


def _contents(outcome: Outcome, folder: Path) -> list[tuple[str, str]]:
    copies = named_files(outcome.scenario.data, outcome.scenario.folder)
    return [
        (REPORT, "the run to look at, in a browser: who held what when, curves, messages, log, verdicts"),
        ("scenario.toml", "everything that the run depends on"),
        *((path.name, "a copy of the file that the scenario names") for path in copies),
        ("summary.json", "verdict, counts, results and fingerprint; what `--json` prints"),
        *(
            (
                f"events/{event}.parquet",
                f"what the agents logged as `{event}`: {count} rows of time, node and its fields",
            )
            for event, count in outcome.tally.events.counts().items()
        ),
        *([("trace.msgpack", "every event in the order in which it happened")] if outcome.trace is not None else []),
    ]


def repeat(name: str, seed: int, overrides: Iterable[str]) -> str:
    """The one command that runs this scenario again, ready for a shell."""
    options = [word for override in overrides for word in ("--set", override)]
    return shlex.join(["brokerlab", "run", name, "--seed", str(seed), *options])
