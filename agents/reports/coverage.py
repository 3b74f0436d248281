"""Coverage on the page: what the stores advertise, the next hops that the brokers ended with, who was answered."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from protocols.storage.client import Asking
from protocols.storage.store import Storing
from runtime.report import Report
from runtime.system import World

if TYPE_CHECKING:
    from agents.coverage import CoverageSystem

LAYERS = 10
MOST = 20_000
"""Answers that are drawn."""


def coverage_report(system: CoverageSystem, world: World, report: Report) -> None:
    report.holding = "advertises"
    for name in system.stores:
        report.kind(name, "store")
        _advertised(system, world, report, name)
    for name in system.settings.clients:
        report.kind(name, "client")
    _next_hops(world, report)
    if world.events.count("response"):
        answers = world.events.sample("response", MOST)
        distances = list(zip(answers["time"], answers["distance_hops"], strict=True))
        report.curve("hop distance of each answer", {"hops from the store": distances}, unit="hops")
        report.table("Requests", ("at", "client", "topic", "store", "hops", "messages"), _requests(system, world))


def _advertised(system: CoverageSystem, world: World, report: Report, name: str) -> None:
    """As its operator ordered; in the end, as it is."""
    topics, failed = dict.fromkeys(system.stores[name].topics), False
    initial = tuple(topics)
    report.hold(0.0, name, topics)
    for event in sorted(system.settings.events, key=lambda event: event.at):
        if event.store != name or event.at > world.now or report.is_down(name, event.at):
            continue
        if event.do in ("fail", "recover"):
            failed = event.do == "fail"
        elif not failed and event.do == "withdraw":
            topics = {topic: None for topic in topics if topic not in (event.topics or initial)}
        elif not failed:
            topics |= dict.fromkeys(event.topics or initial)
        report.hold(event.at, name, () if failed else topics)
        what = {"fail": "fails", "recover": "recovers", "withdraw": "withdraws", "advertise": "advertises"}[event.do]
        report.moment(event.at, f"{name} {what} {' '.join(event.topics)}".rstrip())
    storing = world.protocols(Storing).get(name)
    if storing is not None:
        report.hold(world.now, name, () if storing.failed else sorted(storing.durable.topics))


def _next_hops(world: World, report: Report) -> None:
    tables = report.results["at"]
    for topic in sorted({topic for table in tables.values() for topic in table})[:LAYERS]:
        layer = report.layer(f"next hops for {topic}, in the end", "each with the hops that are left")
        for name, table in tables.items():
            for hop, _, hops in table.get(topic, ()):
                if hop in world.network.neighbours:
                    layer.arrow(name, hop, str(hops), since=world.now)


def _requests(system: CoverageSystem, world: World) -> Iterator[list[Any]]:
    """Each request with who answered it first."""
    numbers: dict[str, int] = {}
    clients = world.protocols(Asking)
    rows: list[list[Any]] = []
    for wish in sorted(system.settings.requests, key=lambda wish: wish.at):
        number = numbers[wish.client] = numbers.get(wish.client, 0) + 1
        if wish.at > world.now or wish.client not in clients:
            continue
        answers = clients[wish.client].responses.get(number, [])
        first = (answers[0].store, answers[0].distance_hops) if answers else (None, None)
        rows.append([wish.at, wish.client, wish.topic, *first, len(answers)])
    yield from rows
