"""Dissemination on the page: the tree of each publication with the formats on its links, and what it cost."""

from __future__ import annotations

from typing import TYPE_CHECKING

from protocols.dissemination.delivery import Delivery
from protocols.dissemination.rendezvous import Rendezvous
from runtime.report import Report
from runtime.system import World

if TYPE_CHECKING:
    from agents.dissemination import DisseminationSystem

LAYERS = 30


def dissemination_report(system: DisseminationSystem, world: World, report: Report) -> None:
    report.holding = "got"
    report.items = list(system.cag.formats)
    _wishes(system, report)
    _received(system, world, report)
    _trees(system, world, report)
    paid, total = [(0.0, 0.0)], 0.0
    for row in world.events.rows("performed"):
        total += row["transmission"] + row["conversion"]
        paid.append((row["time"], total))
    lines = {"paid": paid}
    planned = report.results.get("planned_cost")
    if isinstance(planned, float) and total:
        lines["planned, in all"] = [(0.0, planned), (world.now, planned)]
    report.curve("cost", lines, unit="so far")
    costs = report.results.get("costs", {})
    if len(costs) > 1:
        report.bars("What the plans of other algorithms cost", costs, "for the same trees")


def _wishes(system: DisseminationSystem, report: Report) -> None:
    for name, wishes in system.wishes.items():
        told = [f"wants {wish.topic} in {', '.join(wish.formats)}" for wish in wishes]
        report.text(0.0, name, "\n".join(told[:20]))


def _received(system: DisseminationSystem, world: World, report: Report) -> None:
    """All the formats that a broker has had something in."""
    got = {name: delivery.delivered for name, delivery in world.protocols(Delivery).items()}
    had: dict[str, int] = {}
    for name in got:
        report.hold(0.0, name, ())
    for row in world.events.rows("delivered"):
        name = row["node"]
        formats = got.get(name, {}).get((row["publisher"], row["number"]), [0])[0]
        had[name] = had.get(name, 0) | formats
        report.hold(row["time"], name, system.cag.names(had[name]))


def _trees(system: DisseminationSystem, world: World, report: Report) -> None:
    desks = world.protocols(Rendezvous)
    rows = world.events.rows("forwarded")
    roots = {
        publication: name for name, delivery in world.protocols(Delivery).items() for publication in delivery.planned
    }
    issued = sorted(
        (at, publisher, number) for publisher, desk in desks.items() for number, at in desk.issued_at.items()
    )
    for at, publisher, number in issued:
        report.moment(at, f"{publisher} publishes {system.issues[publisher][number].topic}")
    for at, publisher, number in issued[:LAYERS]:
        issue = system.issues[publisher][number]
        layer = report.layer(f"{issue.topic}, from {publisher} at {at:.4g} s", "with the formats on each link")
        root = roots.get((publisher, number))
        if root is not None and root != publisher:
            layer.arrow(publisher, root, issue.original, since=at)
        for row in rows:
            if (row["publisher"], row["number"]) == (publisher, number):
                layer.arrow(row["node"], row["to"], row["formats"], since=row["time"])
