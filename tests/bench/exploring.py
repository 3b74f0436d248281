"""Exploring: states per second, and what partial-order reduction saves."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, get_args

from rich.table import Table

from runtime.exploring.reduction import Reduction
from runtime.exploring.rules import Rules
from runtime.exploring.search import explore
from runtime.scenario import check, load

RING = {
    "protocol": "coverage",
    "network": {"edges": [["n1", "n2"], ["n2", "n3"], ["n3", "n4"], ["n1", "n4"]]},
    "storage": {"stores": {"s1": {"broker": "n1", "topics": ["a"]}, "s2": {"broker": "n2", "topics": ["a"]}}},
}
DIAMOND = {
    "protocol": "coverage",
    "network": {"edges": [["n1", "n2"], ["n2", "n3"], ["n3", "n4"], ["n1", "n4"], ["n1", "n3"]]},
    "storage": {"stores": {"s1": {"broker": "n1", "topics": ["a"]}}},
}


@dataclass(frozen=True)
class Explored:
    """One exploration, complete."""

    scenario: str
    reduction: str
    states: int
    transitions: int
    seconds: float

    @property
    def states_per_s(self) -> float:
        return self.states / self.seconds


def exploring_race(quick: bool) -> list[Explored]:
    scenarios: dict[str, dict[str, Any]] = {
        "coverage, one store on a diamond": DIAMOND,
        "holistic, three stores": load("holistic").data,
    }
    if not quick:
        scenarios["coverage, two stores on a ring"] = RING
    found = []
    for name, data in scenarios.items():
        for reduction in get_args(Reduction):
            report = explore(check(data), Rules("due"), reduction)
            assert report.complete
            found.append(Explored(name, reduction, report.states, report.transitions, report.took_s))
    return found


def exploring_table(scores: list[Explored]) -> Table:
    table = Table(title="Exploring: all states, with and without reduction", title_justify="left")
    for column in ("scenario", "reduction", "states", "transitions", "s", "states/s", "fewer transitions", "sooner"):
        table.add_column(column, justify="left" if column in ("scenario", "reduction") else "right")
    plain = {score.scenario: score for score in scores if score.reduction == "none"}
    for score in scores:
        whole = plain[score.scenario]
        if score is whole:
            table.add_section()
        table.add_row(
            score.scenario,
            score.reduction,
            f"{score.states:,}",
            f"{score.transitions:,}",
            f"{score.seconds:.2f}",
            f"{score.states_per_s:,.0f}",
            f"{whole.transitions / score.transitions:.1f} x",
            f"{whole.seconds / score.seconds:.1f} x",
        )
    return table
