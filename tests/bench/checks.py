"""Checks: how many random and adversarial schedules a second each shipped protocol goes through."""

from __future__ import annotations

from dataclasses import dataclass

from rich.table import Table

from runtime.system import shipped
from runtime.testing.checking import check, subject

CASES, QUICK_CASES = 1_000, 100
SOAK = 50_000


@dataclass(frozen=True)
class CheckCost:
    """One protocol, checked on one core."""

    protocol: str
    cases: int
    events: int
    took_s: float

    @property
    def cases_per_s(self) -> float:
        return self.cases / self.took_s

    @property
    def events_per_s(self) -> float:
        return self.events / self.took_s


def check_cost(quick: bool) -> list[CheckCost]:
    found = []
    for protocol in shipped():
        report = check(subject(protocol), QUICK_CASES if quick else CASES, seed=1)
        assert report.violated is None
        found.append(CheckCost(protocol, report.cases, report.events, report.took_s))
    return found


def check_table(costs: list[CheckCost]) -> Table:
    table = Table(title="Checks: schedules a second, with every fault that is tolerated", title_justify="left")
    table.add_column("protocol")
    for column in ("schedules", "events", "schedules/s", "events/s"):
        table.add_column(column, justify="right")
    for cost in costs:
        rates = f"{cost.cases_per_s:,.0f}", f"{cost.events_per_s:,.0f}"
        table.add_row(cost.protocol, f"{cost.cases:,}", f"{cost.events:,}", *rates)
    soak_s = sum(SOAK / cost.cases_per_s for cost in costs)
    table.add_section()
    table.add_row(f"{SOAK:,} of each, two cores", "", "", "", f"{soak_s / 2 / 60:,.0f} min")
    return table
