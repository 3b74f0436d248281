"""Planning on the page: the topics that each store serves, and the hop distance as they move."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from agents.planning_view import holders_at
from protocols.storage.following import Following
from runtime.report import Report
from runtime.system import World

if TYPE_CHECKING:
    from agents.planning import PlanningSystem

MOST = 400
"""So often the analytic distance is computed."""


def planning_report(system: PlanningSystem, world: World, report: Report) -> None:
    report.holding = "serves"
    report.items = list(system.names.topics)
    kinds = {"store": [*system.stores], "client": [*system.clients], "publisher": [*system.publishers]}
    for kind, names in kinds.items():
        for name in names:
            report.kind(name, kind)
    if system.manager_home is not None:
        report.kind("manager", "manager")
    times = _served(world, report)
    for period in system.periods:
        if period.begin <= world.now:
            report.span(period.begin, min(period.end, world.now), period.name)
            report.moment(period.begin, f"phase: {period.name}")
    for row in world.events.rows("decision"):
        if row["did"] != "leave":
            report.moment(row["time"], f"the manager decides to {row['did']}: gain {row['gain']:.0%}")
    for row in world.events.rows("settled"):
        report.moment(row["time"], f"plan {row['plan']} is in force")
    _distances(system, world, report, times)


def _served(world: World, report: Report) -> list[float]:
    """Every store's topics over time; gives the times at which something changed."""
    times = set()
    for name, store in world.protocols(Following).items():
        serving: dict[str, None] = {}
        report.hold(0.0, name, ())
        for time, topic, on in store.durable.history:
            if on:
                serving[topic] = None
            else:
                serving.pop(topic, None)
            report.hold(time, name, serving)
            times.add(time)
    return sorted(times)


def _distances(system: PlanningSystem, world: World, report: Report, times: list[float]) -> None:
    installed, planner = system.installed, system.planner
    measured: list[tuple[float, float | None]] = []
    for period in system.periods:
        phase = report.results.get("phases", {}).get(period.name)
        if phase is not None and period.begin <= world.now:
            measured += [(period.measured_from, phase["mean_hop_distance"]), (min(period.end, world.now), None)]
    begin = system.periods[0].begin
    moments = sorted({*(time for time in times if time >= begin), *(p.begin for p in system.periods)})
    every = -(-len(moments) // MOST)
    analytic: list[tuple[float, float | None]] = []
    for time in moments[:: every or 1]:
        if time <= world.now:
            demand = next(p.demand for p in reversed(system.periods) if p.begin <= time)
            hops = planner.mean_hops(demand, holders_at(installed, world, math.nextafter(time, math.inf)))
            analytic.append((time, hops if math.isfinite(hops) else None))
    report.curve(
        "mean hop distance of requests",
        {"measured in each phase": measured, "for the stores and demand of the moment": analytic},
        unit="hops",
    )
