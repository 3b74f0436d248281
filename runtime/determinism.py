"""Is a run the same when it is run again? In another process, where Python orders its sets in another way."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from runtime.run import Outcome
from runtime.rundir import as_json
from runtime.trace import Trace

HOME = Path(__file__).parent.parent


@dataclass(frozen=True)
class Difference:
    """Where two runs part."""

    where: str
    here: str
    again: str

    def __str__(self) -> str:
        return f"the second run differs in {self.where}\n  first:  {self.here}\n  second: {self.again}"


def differs(outcome: Outcome, name: str, overrides: Sequence[str]) -> Difference | None:
    """Run the scenario once more, in a process of its own, and say where it parts from this outcome."""
    assert outcome.trace is not None, "the first run needs a trace"
    with TemporaryDirectory(prefix="brokerlab-") as temporary:
        folder = Path(temporary) / "again"
        complaint = _run_again(name, outcome.scenario.seed, overrides, folder)
        if not (folder / "summary.json").exists():
            return Difference("how it ended", outcome.verdict, complaint)
        trace = Trace.load(folder / "trace.msgpack")
        summary = json.loads((folder / "summary.json").read_text("utf-8"))
    return _first_event(outcome.trace, trace) or _first_key(json.loads(as_json(outcome.summary())), summary)


def _run_again(name: str, seed: int, overrides: Sequence[str], folder: Path) -> str:
    """Run it into this folder; gives what was said on standard error."""
    settings = [word for override in overrides for word in ("--set", override)]
    words = ["run", name, "--seed", str(seed), *settings, "--trace", "--json", "--out", str(folder)]
    done = subprocess.run(
        # -P: a folder called `agents` where the user stands must not hide ours.
        [sys.executable, "-P", "-m", "runtime.cli", *words],
        env=os.environ | {"PYTHONHASHSEED": _another_hash_seed(), "PYTHONPATH": _path()},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        check=False,
    )
    return done.stderr.strip()


def _another_hash_seed() -> str:
    return "2" if os.environ.get("PYTHONHASHSEED") == "1" else "1"


def _path() -> str:
    """Where the second process finds brokerlab, installed or not."""
    return os.pathsep.join(part for part in (str(HOME), os.environ.get("PYTHONPATH")) if part)


def _first_event(first: Trace, second: Trace) -> Difference | None:
    found = first.first_difference(second)
    if found is None:
        return None
    place, here, again = found
    ended = "nothing more happens"
    return Difference(f"event {place}", str(here or ended), str(again or ended))


def _first_key(here: Any, again: Any, path: tuple[str, ...] = ()) -> Difference | None:
    """The first place in the summary that differs: what was said can differ even if nothing of it arrived."""
    if here == again:
        return None
    if isinstance(here, dict) and isinstance(again, dict):
        for key in [*here, *(key for key in again if key not in here)]:
            if found := _first_key(here.get(key), again.get(key), (*path, key)):
                return found
    return Difference(".".join(path) + ", although all events are the same", json.dumps(here), json.dumps(again))
