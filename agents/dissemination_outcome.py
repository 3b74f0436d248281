"""What a run of the dissemination system shows, and what should hold at its end, seen from outside."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import networkx

from protocols.dissemination.cag import members
from protocols.dissemination.content_messages import Publication
from protocols.dissemination.delivery import Delivery, Planned
from protocols.dissemination.identifiers import full_tables, nearest
from protocols.dissemination.rendezvous import Issue, Rendezvous
from protocols.dissemination.tapestry import Tapestry
from protocols.routing.filters import matches
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
    paid = _paid(deliveries)
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
        "refused": {
            f"{broker} {format_name}": f"{publisher} {number}"
            for delivery in deliveries.values()
            for (publisher, number), broker, format_name in delivery.refused
        },
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


def _paid(deliveries: Mapping[str, Delivery]) -> dict[Publication, tuple[float, float]]:
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
    """The mean cost of every five publications, in the order in which they were published."""
    return {
        f"from_{start + 1}": math.fsum(costs[start : start + BLOCK]) / len(costs[start : start + BLOCK])
        for start in range(0, len(costs), BLOCK)
    }


# What should hold


def wrong_tables(world: World, base: int) -> list[str]:
    """Every table is the one that full knowledge of the living gives, if their acquaintances hold them together."""
    mesh = {name: t for name, t in world.protocols(Tapestry).items() if not t.durable.left}
    graph = world.graph.subgraph(mesh)
    if not mesh or not networkx.is_connected(graph):
        return []
    wanted = full_tables([tapestry.identifier for tapestry in mesh.values()], base)
    found = [f"{name} has not joined the mesh" for name, tapestry in mesh.items() if not tapestry.joined]
    for name, tapestry in mesh.items():
        table = {slot: contact.identifier for slot, contact in tapestry.table.items()}
        for slot in sorted(table.keys() | wanted[tapestry.identifier].keys()):
            has, should = table.get(slot), wanted[tapestry.identifier].get(slot)
            if has != should:
                found.append(f"{name} has {has} at level {slot[0]}, digit {slot[1]}, not {should}")
    return found


def wrong_deliveries(system: DisseminationSystem, world: World) -> list[str]:
    """Nobody gets anything twice, or anything but what it wants."""
    found = []
    for name, delivery in world.protocols(Delivery).items():
        for (publisher, number), got in delivery.delivered.items():
            if len(got) > 1:
                found.append(f"{name} got publication {number} of {publisher} {len(got)} times")
            wanted = _wanted(system, name, system.issues[publisher][number])
            if unasked := system.cag.names(got[0] & ~wanted):
                found.append(f"{name} got publication {number} of {publisher} in {', '.join(unasked)}, unasked for")
    return found


def _wanted(system: DisseminationSystem, broker: str, issue: Issue) -> int:
    wishes = system.wishes.get(broker, ())
    meant = [wish for wish in wishes if wish.topic == issue.topic and matches(wish.conditions, issue.content)]
    return system.cag.set_of(name for wish in meant for name in wish.formats)


def wrong_roots(world: World, base: int, topics: Mapping[str, str]) -> list[str]:
    """Follow the routes from everywhere to the keys of these topics."""
    mesh = {name: t for name, t in world.protocols(Tapestry).items() if not t.durable.left}
    if not mesh or not networkx.is_connected(world.graph.subgraph(mesh)):
        return []
    by_identifier = {tapestry.identifier: name for name, tapestry in mesh.items()}
    found = []
    for topic, key in topics.items():
        root = by_identifier[nearest(key, by_identifier, base)]
        ends = {name: _end_of_route(mesh, name, key) for name in mesh}
        found += [f"{name} finds {end} as the root of {topic}, not {root}" for name, end in ends.items() if end != root]
    return found


def _end_of_route(mesh: Mapping[str, Tapestry], start: str, key: str) -> str:
    here, level = start, 0
    while here in mesh:
        hop, level = mesh[here].next_hop(key, level)
        if hop is None:
            break
        here = hop.name
    return here


def _calm(system: DisseminationSystem, world: World) -> bool:
    """Has no broker come or gone?"""
    mesh = world.protocols(Tapestry)
    there = len(mesh) == len(system.network.brokers) and not system.arrivals
    reborn = any(tapestry.durable.life > 1 for tapestry in mesh.values())
    return there and not reborn and not system.settings.tapestry.leaves


def missing(system: DisseminationSystem, world: World) -> list[str]:
    """In a run in which no broker came or went: everybody is served."""
    if not _calm(system, world):
        return []
    deliveries = world.protocols(Delivery)
    plans = [(publication, own) for delivery in deliveries.values() for publication, own in delivery.planned.items()]
    planned, found = dict(plans), []
    if len(plans) != len(planned):
        found.append("a publication was planned by two rendezvous points")
    for publisher, issues in system.issues.items():
        for number, issue in enumerate(issues):
            publication = (publisher, number)
            if publication not in planned:
                found.append(f"nobody planned {publication}")
                continue
            own = planned[publication]
            found += _unserved(system, deliveries, publication, own)
            found += _unplanned(system, world.protocols(Rendezvous), publication, issue, own)
    return found


def overpaid(system: DisseminationSystem, world: World) -> list[str]:
    """What cost more or less than planned, in a run in which no broker came or went and trees were discovered."""
    if not _calm(system, world) or system.settings.tree != "discovered" or system.settings.load is not None:
        return []
    deliveries = world.protocols(Delivery)
    paid, found = _paid(deliveries), []
    for delivery in deliveries.values():
        for publication, own in delivery.planned.items():
            cost = sum(paid.get(publication, (0.0, 0.0)))
            if own.wanted and not math.isclose(cost, own.cost, rel_tol=1e-9, abs_tol=1e-9):
                found.append(f"{publication} cost {cost:g}, not {own.cost:g} as planned")
    return found


def _unserved(
    system: DisseminationSystem, deliveries: Mapping[str, Delivery], publication: Publication, own: Planned
) -> list[str]:
    return [
        f"{name} did not get {publication} in {', '.join(system.cag.names(wanted))}"
        for name, wanted in own.wanted.items()
        if deliveries[name].delivered.get(publication) != [wanted]
    ]


def _unplanned(
    system: DisseminationSystem,
    rendezvous: Mapping[str, Rendezvous],
    publication: Publication,
    issue: Issue,
    own: Planned,
) -> list[str]:
    """What was planned for whom is what the scenario says, for all whose subscription was known in time."""
    publisher, number = publication
    possible = system.cag.reachable(system.cag.set_of([issue.original]))
    found = []
    for broker, wishes in system.wishes.items():
        meant = [matches(wish.conditions, issue.content) and wish.topic == issue.topic for wish in wishes]
        known = rendezvous[broker].known_at
        in_time = [known.get(place, math.inf) < rendezvous[publisher].issued_at[number] for place in range(len(wishes))]
        due, most = (
            possible & system.cag.set_of(f for wish, ok in zip(wishes, chosen, strict=True) if ok for f in wish.formats)
            for chosen in ([a and b for a, b in zip(meant, in_time, strict=True)], meant)
        )
        planned = own.wanted.get(broker, 0)
        if due & ~planned or planned & ~most:
            found.append(f"{publication} was not planned for what {broker} wants")
    return found
