"""Replicas on the page: what each store holds from replacement to replacement, and the traffic as it falls."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from agents.replica_observer import Replaced
from protocols.storage.replicas.decision import Amounts
from protocols.storage.replicas.knowledge import Knowledge
from runtime.report import Report
from runtime.system import World

if TYPE_CHECKING:
    from agents.replicas import ReplicasSystem

LIKED = 5


def replicas_report(system: ReplicasSystem, world: World, report: Report, made: Sequence[Replaced]) -> None:
    problem = system.problem
    report.items = list(problem.catalogue.items)
    held = {store: dict.fromkeys(items) for store, items in problem.placement.items()}
    for store, items in held.items():
        report.kind(store, "store")
        report.hold(0.0, store, items)
    for change in made:
        items = held[change.store]
        for item in change.out:
            items.pop(item, None)
        items |= dict.fromkeys(change.came)
        report.hold(change.time, change.store, items)
    for store, known in world.protocols(Knowledge).items():
        report.hold(world.now, store, known.durable.items)  # what faults did to the log does not matter in the end
    _demand(system, world, report)
    _traffic(system, world, report, made)
    for row in world.events.rows("equilibrium"):
        report.moment(row["time"], f"{row['node']} finds the equilibrium")
    for row in world.events.rows("claim"):
        report.moment(row["time"], f"{row['node']} claims epoch {row['epoch']}")
    for row in world.events.rows("gave_up"):
        report.moment(row["time"], f"{row['node']} gives up: {row['why']}")


def _demand(system: ReplicasSystem, world: World, report: Report) -> None:
    problem = system.problem
    for place, (since, rates) in enumerate(problem.rates_since):
        if since > world.now:
            break
        if place:
            report.moment(since, "clients ask for other things")
        for store, row in zip(problem.stores, rates, strict=True):
            report.text(since, store, _liked(problem.catalogue.items, row))


def _liked(items: Sequence[str], rates: Amounts) -> str:
    order = np.argsort(-rates, kind="stable")[:LIKED].tolist()
    told = ", ".join(f"{items[item]} {rates[item]:.3g}/s" for item in order if rates[item] > 0)
    return (
        f"its clients ask for {told}{' ...' if len(items) > LIKED else ''}" if told else "its clients ask for nothing"
    )


def _traffic(system: ReplicasSystem, world: World, report: Report, made: Sequence[Replaced]) -> None:
    """The traffic after each replacement, and what a change of the rates made of it at once."""
    end = float(report.results.get("ont", made[-1].after if made else 0.0))
    points = [(0.0, made[0].before if made and not _changed(system, 0.0, made[0].time) else None)]
    for since, _ in system.problem.rates_since[1:]:
        after = next((change.before for change in made if change.time >= since), end)
        if since <= world.now:
            points.append((since, after))
    points += [(change.time, change.after) for change in made]
    lines = {"overall network traffic": points if made else [(0.0, end), (world.now, end)]}
    optimum = report.results.get("optimum")
    if isinstance(optimum, float | int):
        lines["least that is possible"] = [(0.0, float(optimum)), (world.now, float(optimum))]
    report.curve("traffic", lines, unit="size × hops per second")


def _changed(system: ReplicasSystem, begin: float, end: float) -> bool:
    return any(begin < since <= end for since, _ in system.problem.rates_since)
