"""Relocation on the page: where publishers and subscribers are, and how far publications go."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import networkx

from protocols.relocation.clients import Publishing
from protocols.routing.filters import matches
from runtime.report import Report
from runtime.system import World

if TYPE_CHECKING:
    from agents.relocation import RelocationSystem

MOST = 300_000
"""Contents and subscribers that are looked at together."""

LINES = 6
BROKERS = 300


def relocation_report(system: RelocationSystem, world: World, report: Report) -> None:
    report.holding = "reads"
    report.lettered = False
    publishers = {name: part for name, part in system.parts.items() if part.program is not None}
    report.items = list(publishers)
    for name in system.parts:
        report.kind(name, "publisher" if name in publishers else "subscriber")
    for name in publishers:
        report.paint(name, name)
    moves = _moves(system, world, report)
    pairs = sum(len(part.program.contents) for part in publishers.values() if part.program) * len(system.parts)
    if pairs <= MOST:
        readers = _readers(system, world, report)
        _ways(system, world, report, moves, readers)


def _moves(system: RelocationSystem, world: World, report: Report) -> dict[str, list[tuple[float, float, str]]]:
    """For each client when its moves began and ended, and where it was then."""
    moves = {name: [(0.0, 0.0, part.broker)] for name, part in system.parts.items()}
    rows = [(row["time"], row["node"], row["to"], row["wait_s"]) for row in world.events.rows("migrated")]
    rows += [(row["time"], row["node"], row["to"], 0.0) for row in world.events.rows("followed")]
    layer = report.layer("moves of publishers") if rows else None
    for time, name, to, wait_s in sorted(rows):
        if layer is not None and system.parts[name].program is not None:
            layer.arrow(moves[name][-1][2], to, name, since=time)
            report.moment(time, f"{name} is at {to}, after a pause of {wait_s:.3g} s")
        moves[name].append((time - wait_s, time, to))
        report.home(time, name, to)
    for row in world.events.rows("selected"):
        report.moment(row["time"], f"{row['node']} finds {row['target']} best for {row['publisher']}")
    return moves


def _readers(system: RelocationSystem, world: World, report: Report) -> dict[str, list[list[str]]]:
    """For each publisher's contents who wants them; who wants any of them reads the publisher."""
    readers: dict[str, list[list[str]]] = {}
    wishes = {name: part.wish for name, part in system.parts.items() if part.wish is not None}
    reads: dict[str, list[str]] = {name: [] for name in wishes}
    for publisher, part in system.parts.items():
        if part.program is None:
            continue
        readers[publisher] = [
            [name for name, wish in wishes.items() if matches(wish.conditions, content)]
            for content in part.program.contents
        ]
        for name in sorted({name for every in readers[publisher] for name in every}):
            reads[name].append(publisher)
    for name, wish in wishes.items():
        if wish.since_s:
            report.hold(0.0, name, ())
        report.hold(wish.since_s, name, reads[name])
        if wish.until_s is not None and wish.until_s <= world.now:
            report.hold(wish.until_s, name, ())
    return readers


def _ways(
    system: RelocationSystem,
    world: World,
    report: Report,
    moves: Mapping[str, list[tuple[float, float, str]]],
    readers: Mapping[str, list[list[str]]],
) -> None:
    """How far each publication goes to its readers, from where the publisher and they are when it is sent."""
    lines: dict[str, list[tuple[float, float | None]]] = {}
    hops = dict(networkx.all_pairs_shortest_path_length(system.tree)) if len(system.tree) <= BROKERS else {}
    for publisher, sent in list(world.protocols(Publishing).items())[: LINES if hops else 0]:
        program, points = sent.program, []
        for number in range(sent.numbered):
            time = program.start_s + number * program.every_s
            _, ended, broker = next(move for move in reversed(moves[publisher]) if move[0] <= time)
            time = max(time, ended)  # what is published during a move is sent at its end
            wanted = readers[publisher][number % len(program.contents)]
            homes = [next(move[2] for move in reversed(moves[name]) if move[1] <= time) for name in wanted]
            points.append((time, sum(hops[broker][home] for home in homes) / len(homes) if homes else None))
        lines[publisher] = points
    if any(lines.values()):
        report.curve("mean way of a publication to its readers", lines, unit="hops")
