"""The overlay on the page: which broker each user is with, and the cost as users move."""

from __future__ import annotations

from typing import TYPE_CHECKING

from runtime.report import Report
from runtime.system import World

if TYPE_CHECKING:
    from agents.overlay import OverlaySystem


def overlay_report(system: OverlaySystem, world: World, report: Report) -> None:
    report.holding = "is with"
    report.lettered = False
    report.items = list(system.brokers)
    for broker in system.brokers:
        report.paint(broker, broker)
    if not system.settings.live:
        return
    points = system.drawn.points
    for place, name in enumerate(system.drawn.names):
        report.kind(name, "user")
        if points is not None and system.network.positions:
            report.place(name, *map(float, points[place]))
    for broker, position in system.network.positions.items() if points is not None else ():
        report.place(broker, *position)
    _homes(system, world, report)
    _cost(system, world, report)


def _homes(system: OverlaySystem, world: World, report: Report) -> None:
    for name in system.drawn.names:
        report.home(0.0, name, None)
    for row in world.events.rows("home"):
        broker = row["broker"] or None
        report.home(row["time"], row["node"], broker)
        report.hold(row["time"], row["node"], [broker] if broker else [])
    told = {"join": "joins", "leave": "leaves", "change": "wants or publishes something else"}
    for name, plans in system.drawn.plans.items():
        for plan in plans:
            if 0 < plan.at <= world.now:
                report.moment(plan.at, f"{name} {told[plan.do]}")


def _cost(system: OverlaySystem, world: World, report: Report) -> None:
    exact = world.events.rows("cost")
    moves = world.events.rows("move")
    lines = {}
    if exact:
        lines["total"] = [(row["time"], row["total"]) for row in exact]
    elif moves:
        start = float(report.results.get("assigned_cost", moves[0]["cost"]))
        lines["as the mover knows it"] = [(0.0, start), *((row["time"], row["cost"]) for row in moves)]
    bound = report.results.get("least_cost")
    if lines and isinstance(bound, float):
        lines["access cost alone, at least"] = [(0.0, bound), (world.now, bound)]
    if lines:
        report.curve("cost", lines, unit="per second")
    if moves:
        saved = [(row["time"], row["gain"]) for row in moves]
        report.curve("what each move promises to save", {"gain": saved}, unit="per second")
