"""What a run of the dissemination system shows, seen from outside."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from protocols.dissemination.cag import members
from protocols.dissemination.content_messages import Publication
from protocols.dissemination.delivery import Delivery, Planned
from protocols.dissemination.rendezvous import Rendezvous
from protocols.dissemination.tapestry import Tapestry
from runtime.system import World

if TYPE_CHECKING:
    from agents.dissemination import DisseminationSystem

PROBE_MB = 0.0001
"""The paper's size of a tree discovery message, 0.1 KB (6.1)."""

BLOCK = 5
"""Figure 5 shows averages over so many publications."""


def outcome(system: DisseminationSystem, world: World) -> dict[str, Any]:
    deliveries = world.protocols(Delivery)
    planned = {publication: (name, own) for name, d in deliveries.items() for publication, own in d.planned.items()}
    paid = paid_costs(deliveries)
    in_time = sorted(planned, key=lambda publication: (_issued(system, publication), publication))
    total = math.fsum(own.cost for _, own in planned.values())
    costs = {system.settings.algorithm: total, **_totals([own for _, own in planned.values()])}
    probes = sum(rendezvous.probes for rendezvous in world.protocols(Rendezvous).values())
    overhead = _overhead(system, probes, len(planned))
    tables = [len(tapestry.table) for tapestry in world.protocols(Tapestry).values()]
    return {
        "publications": {
            f"{publisher} {number}": {
                "rendezvous point": planned[publisher, number][0],
                "receivers": len(planned[publisher, number][1].wanted),
                "brokers in the tree": planned[publisher, number][1].brokers,
                "planned": round(planned[publisher, number][1].cost, 6),
                "paid": round(sum(paid.get((publisher, number), (0.0, 0.0))), 6),
            }
            for publisher, number in in_time
        },
        "served": _served(system, deliveries),
        "refused": _refused(deliveries.values()),
        "planned_cost": total,
        "paid_cost": math.fsum(sum(both) for both in paid.values()),
        "paid_transmission": math.fsum(transmission for transmission, _ in paid.values()),
        "paid_conversion": math.fsum(conversion for _, conversion in paid.values()),
        "overhead": overhead,
        "costs": costs,
        "saved_percent": {
            name: 100 * (cost - total - overhead) / cost
            for name, cost in costs.items()
            if cost and name != system.settings.algorithm
        },
        "blocks": _blocks([sum(paid.get(publication, (0.0, 0.0))) for publication in in_time]),
        "brokers_in_trees": sum(own.brokers for _, own in planned.values()),
        "deepest": max((own.depth for _, own in planned.values()), default=0),
        "probes": probes,
        "other_trees": sum(delivery.other_trees for delivery in deliveries.values()),
        "refined_plans": sum(delivery.changed_plans for delivery in deliveries.values()),
        "mean_table": sum(tables) / len(tables) if tables else 0.0,
    }


def paid_costs(deliveries: Mapping[str, Delivery]) -> dict[Publication, tuple[float, float]]:
    found: dict[Publication, list[tuple[float, float]]] = {}
    for delivery in deliveries.values():
        for publication, both in delivery.paid.items():
            found.setdefault(publication, []).append(both)
    return {
        publication: (math.fsum(t for t, _ in parts), math.fsum(c for _, c in parts))
        for publication, parts in sorted(found.items())
    }


def _issued(system: DisseminationSystem, publication: Publication) -> float:
    publisher, number = publication
    return system.issues[publisher][number].at


def _totals(planned: list[Planned]) -> dict[str, float]:
    names = dict.fromkeys(name for own in planned for name in own.others)
    return {name: math.fsum(own.others[name] for own in planned) for name in names}


def _overhead(system: DisseminationSystem, probes: int, plans: int) -> float:
    """What discovering trees and planning cost, in the units of the plans' cost (6.1)."""
    defined = [c for row in system.cag.conversions for c in row if 0 < c < math.inf]
    sent = PROBE_MB * probes / (sum(system.cag.sizes) / len(system.cag.sizes))
    planning = system.settings.planning * plans / (sum(defined) / len(defined)) if defined else 0.0
    return system.settings.alpha * sent + system.settings.beta * planning


def _refused(deliveries: Iterable[Delivery]) -> dict[str, str]:
    """By broker and format, of which publications."""
    refused: dict[str, list[Publication]] = {}
    for delivery in deliveries:
        for publication, broker, format_name in delivery.refused:
            refused.setdefault(f"{broker} {format_name}", []).append(publication)
    return {
        demand: ", ".join(f"{publisher} {number}" for publisher, number in sorted(publications))
        for demand, publications in sorted(refused.items())
    }


def _served(system: DisseminationSystem, deliveries: Mapping[str, Delivery]) -> dict[str, int]:
    """How many brokers got content in each format."""
    counts = dict.fromkeys(system.cag.formats, 0)
    for delivery in deliveries.values():
        for formats in delivery.delivered.values():
            for got in formats:
                for place in members(got):
                    counts[system.cag.formats[place]] += 1
    return counts


def _blocks(costs: list[float]) -> dict[str, float]:
    """The mean cost of every five publications, in the order in which they were published, if there are more."""
    if len(costs) <= BLOCK:
        return {}
    return {
        f"from_{start + 1}": math.fsum(costs[start : start + BLOCK]) / len(costs[start : start + BLOCK])
        for start in range(0, len(costs), BLOCK)
    }
