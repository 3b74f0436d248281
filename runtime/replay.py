"""Replay: a run that was kept with its trace, once more on the simulator, event by event as it happened."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from runtime.errors import ReplayError
from runtime.run import Outcome, conclude
from runtime.scenario import load
from runtime.simulator import Simulator
from runtime.trace import Trace

Prepare = Callable[[Simulator], None]


def replay(folder: Path, prepare: Prepare | None = None) -> tuple[Outcome, dict[str, Any]]:
    """Run what this folder keeps again, in the recorded order; gives what it shows now and the summary of then.

    `prepare` sees the simulator before anything happens.
    """
    started = time.perf_counter()
    try:
        then: dict[str, Any] = json.loads((folder / "summary.json").read_text("utf-8"))
    except (OSError, ValueError) as problem:
        why = problem.strerror if isinstance(problem, OSError) else "summary.json is no JSON"
        raise ReplayError(f"{folder} is not a run that was kept with --out: summary.json: {why}") from None
    if not (folder / "trace.msgpack").exists():
        raise ReplayError(f"{folder} has no trace.msgpack: keep the run with --out DIR --trace")
    recording = Trace.load(folder / "trace.msgpack").recording()
    scenario = load(str(folder / "scenario.toml"))
    sim = Simulator(scenario.network, scenario.system.agent, scenario.seed, scenario.plan, recording)
    if prepare is not None:
        prepare(sim)
    quiescent = sim.run()
    return conclude(scenario, sim.tally(), sim.alive(), quiescent, False, started), then
