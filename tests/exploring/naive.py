"""The obvious way to try every order: on the simulator, run after run, with nothing remembered or left out."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from runtime.schedule import Choose
from runtime.simnode import Entry
from runtime.testing import Case, Schedule
from runtime.testing.running import Shown, run_case

FOLDER = Path(__file__).parent


def scenario(protocol: str, edges: Sequence[str], **more: Any) -> dict[str, Any]:
    """scenario("Flood", ["n1 n2"]): a protocol of small.py on this network."""
    network = {"edges": [edge.split() for edge in edges]}
    return {"protocol": f"small.py:{protocol}", "network": network, **more}


@dataclass(frozen=True)
class Scripted(Schedule):
    """These choices, then always the first; `widths` is filled with how many there were to choose from."""

    choices: tuple[int, ...] = ()
    widths: list[int] = field(default_factory=list)

    def choose(self) -> Choose:
        def next_one(pending: Sequence[Entry]) -> int:
            step = len(self.widths)
            self.widths.append(len(pending))
            return self.choices[step] if step < len(self.choices) else 0

        return next_one


def every_run(data: dict[str, Any], fifo: bool = True, most: int = 20_000) -> Iterator[Shown]:
    choices: list[int] = []
    for _ in range(most):
        schedule = Scripted("deviations", fifo=fifo, choices=tuple(choices))
        yield run_case(Case(data, schedule, folder=FOLDER))
        choices += [0] * (len(schedule.widths) - len(choices))
        while choices and choices[-1] + 1 >= schedule.widths[len(choices) - 1]:
            choices.pop()
        if not choices:
            return
        choices[-1] += 1
    raise AssertionError(f"more than {most} orders")


def noted() -> tuple[set[str], set[str]]:
    """The states and ends that were noted since the last time."""
    module = sys.modules.get("brokerlab_file_small")
    if module is None:
        return set(), set()
    states, ends = set(module.STATES), set(module.ENDS)
    module.STATES.clear()
    module.ENDS.clear()
    return states, ends


def by_brute_force(data: dict[str, Any], plans: Sequence[list[dict[str, Any]]] = ([],), fifo: bool = True) -> Any:
    """States, ends and violated properties over all orders, with each of these plans of faults."""
    noted()
    found = {
        shown.violation.name for plan in plans for shown in every_run({**data, "faults": plan}, fifo) if shown.violation
    }
    return (*noted(), found)
