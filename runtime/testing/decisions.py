"""Decision files: a case and the property that it violates, small enough to read, to keep and to put into a test."""

from __future__ import annotations

import os
import re
import tomllib
from pathlib import Path
from typing import Any

import tomli_w

from runtime.errors import ReplayError
from runtime.rundir import version_of
from runtime.testing.cases import Case, Schedule
from runtime.testing.running import Shown, noted, run_case

FORMAT = 1
WIDTH = 100
ARRAY = re.compile(r"\[\n((?:\s*(?:[^\n\[\]{}]+|\[[^\n]*\]),\n)+)\s*\]")
KEYS = {"brokerlab", "violated", "schedule", "scenario"}
SCHEDULE = {"way", "deviations", "since_s", "fifo", "step_s", "max_events", "restless"}
OPTIONAL = {"own_clocks", "held"}
FIRST = {"protocol": -4, "seed": -3, "links": -2, "network": -1}
LAST = {"limits": 1, "faults": 2}


def as_text(case: Case, shown: Shown, place: Path = Path()) -> str:
    """The decision file of a case, to be kept in the folder `place`."""
    case = noted(case, shown)
    schedule = case.schedule
    assert shown.violation is not None
    content = {
        "brokerlab": {"format": FORMAT, "version": version_of("brokerlab")},
        "violated": {
            "property": shown.violation.name,
            "problem": shown.violation.problem,
            "nodes": shown.nodes,
            "messages": shown.messages,
            "events": shown.events,
        },
        "schedule": {
            "way": schedule.way,
            "deviations": [[step, choice] for step, choice in sorted(schedule.deviations.items())],
            **({"held": [list(held) for held in schedule.held]} if schedule.held else {}),
            "since_s": schedule.since_s,
            "fifo": schedule.fifo,
            "step_s": schedule.step_s,
            **({"own_clocks": True} if schedule.own_clocks else {}),
            "max_events": case.max_events,
            "restless": case.restless,
        },
        "scenario": _plain(_seen_from(place, case)),
    }
    return _about(case) + _flat(tomli_w.dumps(content))


def _flat(toml: str) -> str:
    """Arrays that fit into a line stand in one; of the others, as many entries as fit stand in each line."""
    before = None
    while toml != before:
        before, toml = toml, ARRAY.sub(_in_a_line, toml)
    return ARRAY.sub(_in_few_lines, toml)


def _in_a_line(array: re.Match[str]) -> str:
    text = "[" + ", ".join(_entries(array)) + "]"
    return text if len(text) <= WIDTH else array[0]


def _in_few_lines(array: re.Match[str]) -> str:
    lines = [""]
    for entry in _entries(array):
        if lines[-1] and len(lines[-1]) + len(entry) + len(", ,") > WIDTH:
            lines.append("")
        lines[-1] += f", {entry}" if lines[-1] else entry
    return "[\n" + "".join(f"    {line},\n" for line in lines) + "]"


def _entries(array: re.Match[str]) -> list[str]:
    return [line.strip().rstrip(",") for line in array[1].splitlines()]


def _about(case: Case) -> str:
    lines = ["A case in which a property is violated. To see it again: brokerlab replay THIS-FILE"]
    schedule = case.schedule
    if schedule.way == "deviations":
        lines += ["The first in the row of pending events comes next."]
    if schedule.deviations:
        lines += ["deviations: [12, 3] is: in step 12, counted from 0, take the one at place 3 instead."]
    if schedule.held:
        lines += ["held: [12, 3, 40] is: what stands at place 3 in step 12 does not count until step 40."]
    return "".join(f"# {line}\n" for line in lines) + "\n"


def _seen_from(place: Path, case: Case) -> dict[str, Any]:
    """What everything else is about comes first. A protocol of one's own is named as it is found from there."""
    data = {key: case.data[key] for key in sorted(case.data, key=lambda key: (FIRST | LAST).get(key, 0))}
    file, colon, name = str(data["protocol"]).rpartition(":")
    if colon:
        data["protocol"] = f"{os.path.relpath(case.folder / file, place)}:{name}"
    return data


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {str(key): _plain(below) for key, below in value.items() if below is not None}
    if isinstance(value, list | tuple):
        return [_plain(below) for below in value]
    return value


def from_text(text: str, folder: Path = Path(), file: str = "decision") -> tuple[Case, str]:
    """The case of a decision file, and the name of the property that it violates."""
    try:
        content = tomllib.loads(text)
    except tomllib.TOMLDecodeError as problem:
        raise ReplayError(f"{file}: not TOML: {problem}") from None
    if not content.keys() >= KEYS:
        raise ReplayError(f"{file}: not a decision file: [{min(KEYS - content.keys())}] is missing")
    if content["brokerlab"].get("format") != FORMAT:
        raise ReplayError(f"{file}: decisions of format {content['brokerlab'].get('format')}; this reads {FORMAT}")
    given = content["schedule"]
    if given.keys() - OPTIONAL != SCHEDULE:
        raise ReplayError(f"{file}: schedule: {min(given.keys() - OPTIONAL ^ SCHEDULE)} is missing or unknown")
    schedule = Schedule(
        given["way"],
        deviations=dict(given["deviations"]),
        held=tuple((step, place, until) for step, place, until in given.get("held", ())),
        since_s=given["since_s"],
        fifo=given["fifo"],
        step_s=given["step_s"],
        own_clocks=given.get("own_clocks", False),
    )
    case = Case(content["scenario"], schedule, given["restless"], folder, given["max_events"])
    return case, str(content["violated"]["property"])


def load(path: Path) -> tuple[Case, str]:
    try:
        return from_text(path.read_text("utf-8"), path.parent, str(path))
    except OSError as problem:
        raise ReplayError(f"{path}: {problem.strerror}") from None
    except UnicodeDecodeError:
        raise ReplayError(f"{path}: not text in UTF-8") from None


def still_violated(text: str, folder: Path = Path()) -> str | None:
    """What is violated in the case of this decision file; None if nothing is any more. For tests."""
    shown = run_case(from_text(text, folder)[0])
    return None if shown.violation is None else f"{shown.violation.name}: {shown.violation.problem}"


def as_test(case: Case, shown: Shown, place: Path = Path()) -> str:
    """A test that fails as long as the case violates a property: ready to be put among one's own."""
    assert shown.violation is not None
    name = shown.violation.name.replace("-", "_")
    return TEST.format(
        name=name, problem=shown.violation.problem.replace('"""', "'''"), text=as_text(case, shown, place)
    )


TEST = '''"""Found by brokerlab: {problem}"""

from pathlib import Path

from runtime.testing import still_violated

DECISIONS = r"""
{text}"""


def test_{name}():
    assert still_violated(DECISIONS, Path(__file__).parent) is None
'''
