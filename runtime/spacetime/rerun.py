"""A kept run once more, watched.

A run of the simulator follows from its seed, so it is simply run again, faults and all: then every loss has its reason.
A free run on Ray has only its recording; it is followed as soon as the seed leads elsewhere.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from math import inf
from pathlib import Path
from typing import Any

from runtime.errors import BrokerlabError, ReplayError
from runtime.links import COUNT_MASK
from runtime.message import encode
from runtime.scenario import Scenario, load
from runtime.simnode import Entry
from runtime.simulator import Simulator
from runtime.spacetime.collector import Collector
from runtime.spacetime.model import Caption, Mark, SpaceTime
from runtime.trace import Event, Trace

Progress = Callable[[Simulator], None]


class _PartsWays(Exception):
    """The run that is to be seen is not the one that follows from the seed."""


class _Enough(Exception):
    """Everything that was recorded has happened again."""


def draw(folder: Path, states: bool = True, progress: Progress | None = None) -> SpaceTime:
    """The picture of the run that this folder keeps."""
    summary, trace, scenario = _kept(folder)
    try:
        seen = _follow_the_seed(scenario, trace, states, progress)
        if seen is None:
            seen = _follow_the_recording(folder, scenario, trace, states, progress)
            if not summary["quiescent"]:
                _let_the_last_be_under_way(seen)
    except BrokerlabError as problem:
        if isinstance(problem, ReplayError):
            raise
        raise ReplayError(f"{folder}: the run cannot be repeated: {problem}") from problem
    seen.caption = caption_of(summary, folder.resolve().name)
    seen.marks = [Mark(f"violated: {text}") for text in summary.get("violations", [])]
    return seen


def caption_of(summary: dict[str, Any], name: str = "") -> Caption:
    """Title, verdict and facts from a summary as it is kept."""
    faults = ", ".join(f"{kind} {count}" for kind, count in summary.get("faults", {}).items())
    facts = {
        "run": name,
        "seed": str(summary["seed"]),
        "links": summary["links"],
        "virtual time": f"{summary['virtual_time']:,.6g} s",
        "faults that fired": faults or "none",
        "fingerprint": summary["fingerprint"],
    }
    verdict = "interrupted" if summary["interrupted"] else summary["verdict"]
    return Caption(str(summary["protocol"]), verdict, tuple((key, value) for key, value in facts.items() if value))


def _kept(folder: Path) -> tuple[dict[str, Any], Trace, Scenario]:
    try:
        summary: dict[str, Any] = json.loads((folder / "summary.json").read_text("utf-8"))
        caption_of(summary)
    except (OSError, ValueError) as problem:
        why = problem.strerror if isinstance(problem, OSError) else "summary.json is no JSON"
        raise ReplayError(f"{folder} is not a run that was kept with --out: summary.json: {why}") from None
    except (KeyError, TypeError, AttributeError) as problem:
        raise ReplayError(f"{folder}: summary.json is not that of a run: {problem} is missing") from None
    if summary.get("lost"):
        lost = ", ".join(summary["lost"])
        raise ReplayError(f"{folder}: {lost} died with their host, and with them what they heard; it cannot be drawn")
    if not (folder / "trace.msgpack").exists():
        raise ReplayError(f"{folder} has no trace.msgpack: keep the run with --out DIR --trace")
    return summary, Trace.load(folder / "trace.msgpack"), load(str(folder / "scenario.toml"))


def _follow_the_seed(scenario: Scenario, trace: Trace, states: bool, progress: Progress | None) -> SpaceTime | None:
    """None if this leads elsewhere than the run that was kept."""
    scenario.plan.fired.clear()
    sim = Simulator(scenario.network, scenario.system.agent, scenario.seed, scenario.plan)
    expected = iter(trace.events)

    def compare(entry: Entry) -> None:
        if next(expected, None) != _event(entry):
            raise _PartsWays

    def after_window(sim: Simulator) -> None:
        if progress is not None:
            progress(sim)
        if sim.handled >= len(trace.events):
            raise _Enough

    sim.observer = compare
    collector = Collector(sim, states)
    try:
        if trace.events:
            sim.run(scenario.time_limit, scenario.limits.events, after_window)
    except _PartsWays:
        return None
    except _Enough:
        pass
    except BrokerlabError:
        return None  # the seed may lead into an error that the run never met
    return collector.finish() if next(expected, None) is None else None


def _follow_the_recording(
    folder: Path, scenario: Scenario, trace: Trace, states: bool, progress: Progress | None
) -> SpaceTime:
    scenario.plan.fired.clear()
    sim = Simulator(scenario.network, scenario.system.agent, scenario.seed, scenario.plan, trace.recording())
    happened: list[Event] = []
    sim.observer = lambda entry: happened.append(_event(entry))
    collector = Collector(sim, states)
    sim.run(inf, inf, progress)
    seen = collector.finish()
    strange = set(happened) ^ set(trace.events)
    if strange:
        first = min(strange)
        told = "in the trace, but not in the run" if first in set(trace.events) else "in the run, but not in the trace"
        raise ReplayError(f"{folder}: trace.msgpack and scenario.toml are not of one run; {told}: {first}")
    return seen


def _let_the_last_be_under_way(seen: SpaceTime) -> None:
    """A recording does not tell what was lost from what had not arrived yet when the run was stopped.

    Links keep their order: what was sent after the last message that arrived is taken to be on its way.
    """
    last: dict[tuple[int, int], float] = {}
    for arrow in seen.arrows:
        if arrow.arrival is not None:
            road = (arrow.source, arrow.target)
            last[road] = max(arrow.sent, last.get(road, 0.0))
    for arrow in seen.arrows:
        if arrow.fate == "lost" and arrow.sent >= last.get((arrow.source, arrow.target), 0.0):
            arrow.fate = "under way"


def _event(entry: Entry) -> Event:
    arrival, key, link, message = entry
    return Event(arrival, link.peer, link.source, key & COUNT_MASK, encode(message))
