"""What should hold in a run of the dissemination system, seen from outside with full knowledge."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from functools import cache
from typing import TYPE_CHECKING

import networkx

from agents.dissemination_outcome import paid_costs
from protocols.dissemination.content_messages import Publication
from protocols.dissemination.delivery import Delivery, Planned
from protocols.dissemination.identifiers import full_tables, nearest
from protocols.dissemination.rendezvous import Issue, Rendezvous, Wish
from protocols.dissemination.tapestry import Tapestry
from protocols.routing.filters import matches
from runtime.system import World

if TYPE_CHECKING:
    from agents.dissemination import DisseminationSystem

Mesh = Mapping[str, Tapestry]
Wishes = Mapping[str, list[tuple[int, Wish]]]
"""The numbered subscriptions of brokers to one topic."""


def _mesh(world: World) -> Mesh:
    """The living who have not left, if their acquaintances hold them together; else nobody."""
    mesh = {name: tapestry for name, tapestry in world.protocols(Tapestry).items() if not tapestry.durable.left}
    return mesh if mesh and networkx.is_connected(world.graph.subgraph(mesh)) else {}


# The mesh


def wrong_tables(world: World, base: int) -> list[str]:
    """Every table is the one that full knowledge of the living gives."""
    mesh = _mesh(world)
    wanted = full_tables([tapestry.identifier for tapestry in mesh.values()], base)
    found = [f"{name} has not joined the mesh" for name, tapestry in mesh.items() if not tapestry.joined]
    for name, tapestry in mesh.items():
        table = {slot: contact.identifier for slot, contact in tapestry.table.items()}
        for slot in sorted(table.keys() | wanted[tapestry.identifier].keys()):
            has, should = table.get(slot), wanted[tapestry.identifier].get(slot)
            if has != should:
                found.append(f"{name} has {has} at level {slot[0]}, digit {slot[1]}, not {should}")
    return found


def _roots(mesh: Mesh, base: int, topics: Mapping[str, str]) -> dict[str, str]:
    """Which of them is the root of each topic's key."""
    by_identifier = {tapestry.identifier: name for name, tapestry in mesh.items()}
    return {topic: by_identifier[nearest(key, by_identifier, base)] for topic, key in topics.items() if mesh}


def wrong_roots(world: World, base: int, topics: Mapping[str, str]) -> list[str]:
    """Follow the routes from everywhere to the keys of these topics."""
    mesh, found = _mesh(world), []
    for topic, root in _roots(mesh, base, topics).items():
        ends = _ends_of_routes(mesh, topics[topic])
        found += [f"{name} finds {end} as the root of {topic}, not {root}" for name, end in ends.items() if end != root]
    return found


def _ends_of_routes(mesh: Mesh, key: str) -> dict[str, str]:
    """From everywhere; routes that meet go on together, and a digit is resolved with every hop."""

    @cache
    def end(here: str, level: int) -> str:
        hop, then = mesh[here].next_hop(key, level) if here in mesh else (None, level)
        return here if hop is None else end(hop.name, then)

    return {name: end(name, 0) for name in mesh}


def misplaced(system: DisseminationSystem, world: World, topics: Mapping[str, str]) -> Iterator[str]:
    """Every subscription of the living is known at the root, as of the broker's present life, and nowhere else."""
    mesh, desks = _mesh(world), world.protocols(Rendezvous)
    roots = _roots(mesh, system.settings.tapestry.base, topics)
    for broker in mesh:
        for number, wish in enumerate(system.wishes.get(broker, ())):
            root = roots[wish.topic]
            known = desks[root].subscriptions.get(wish.topic, {}).get((broker, number))
            if known is None or known.broker.life != mesh[broker].durable.life:
                yield f"{root} does not know subscription {number} of {broker} to {wish.topic}"
    for name in mesh:
        for topic, subscriptions in desks[name].subscriptions.items():
            for broker, number in subscriptions:
                if broker not in mesh:
                    yield f"{name} keeps subscription {number} of {broker}, which is gone"
                elif name != roots[topic]:
                    yield f"{name} keeps subscription {number} of {broker} to {topic}, whose root is {roots[topic]}"


# Content


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


def _undisturbed(system: DisseminationSystem, world: World) -> Iterator[tuple[Publication, Issue]]:
    """What was published by the living after the last change of the mesh that anybody has seen."""
    mesh = _mesh(world)
    since = max((tapestry.changed_at for tapestry in world.protocols(Tapestry).values()), default=math.inf)
    for publisher in mesh:
        for number, issue in enumerate(system.issues.get(publisher, ())):
            if issue.at > since:
                yield (publisher, number), issue


def missing(system: DisseminationSystem, world: World) -> Iterator[str]:
    """Every undisturbed publication is planned once, for all who want it and were known in time, and they get it."""
    deliveries, desks, mesh = world.protocols(Delivery), world.protocols(Rendezvous), _mesh(world)
    living = {name: desks[name] for name in mesh}
    wishes = _wishes_by_topic(system)
    for publication, issue in _undisturbed(system, world):
        plans = [delivery.planned[publication] for delivery in deliveries.values() if publication in delivery.planned]
        if len(plans) != 1:
            yield f"{publication} was planned by {len(plans)} rendezvous points"
        for own in plans:
            yield from _unserved(system, deliveries, publication, own)
            yield from _unplanned(system, living, wishes.get(issue.topic, {}), publication, issue, own)


def _unserved(
    system: DisseminationSystem, deliveries: Mapping[str, Delivery], publication: Publication, own: Planned
) -> Iterator[str]:
    for name, wanted in own.wanted.items():
        if name not in deliveries or deliveries[name].delivered.get(publication) != [wanted]:
            yield f"{name} did not get {publication} in {', '.join(system.cag.names(wanted))}"


def _wishes_by_topic(system: DisseminationSystem) -> Mapping[str, Wishes]:
    found: dict[str, dict[str, list[tuple[int, Wish]]]] = {}
    for broker, wishes in system.wishes.items():
        for number, wish in enumerate(wishes):
            found.setdefault(wish.topic, {}).setdefault(broker, []).append((number, wish))
    return found


def _unplanned(
    system: DisseminationSystem,
    desks: Mapping[str, Rendezvous],
    wishes: Wishes,
    publication: Publication,
    issue: Issue,
    own: Planned,
) -> Iterator[str]:
    """What was planned for whom is what the scenario says, for all whose subscription was known in time."""
    publisher, number = publication
    issued_at = desks[publisher].issued_at[number]
    possible = system.cag.reachable(system.cag.set_of([issue.original]))
    for broker in dict.fromkeys((*wishes, *own.wanted)):
        known = desks[broker].known_at if broker in desks else {}
        due = most = 0
        for place, wish in wishes.get(broker, ()):
            if matches(wish.conditions, issue.content):
                formats = possible & system.cag.set_of(wish.formats)
                most |= formats
                due |= formats if known.get(place, math.inf) < issued_at else 0
        planned = own.wanted.get(broker, 0)
        if due & ~planned or planned & ~(most if broker in desks else 0):
            yield f"{publication} was not planned for what {broker} wants"


def overpaid(system: DisseminationSystem, world: World) -> Iterator[str]:
    """What cost more or less than planned, of the undisturbed on trees that were discovered."""
    settings = system.settings
    if settings.tree != "discovered" or settings.load is not None or not settings.factors.aware:
        return
    deliveries = world.protocols(Delivery)
    paid = paid_costs(deliveries)
    for publication, _ in _undisturbed(system, world):
        cost = sum(paid.get(publication, (0.0, 0.0)))
        for own in (delivery.planned.get(publication) for delivery in deliveries.values()):
            if own is not None and own.wanted and not math.isclose(cost, own.cost, rel_tol=1e-9, abs_tol=1e-9):
                yield f"{publication} cost {cost:g}, not {own.cost:g} as planned"
