"""What an observer of the planning system sees at the end: hop distances phase by phase, and what does not hold."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from scipy import stats

from protocols.storage.assignment import Plan, Planner, traffic
from protocols.storage.assignment_optimum import best_assignment
from protocols.storage.browsing import Browsing, Hops
from protocols.storage.following import Following
from protocols.storage.manager import Managing, Names
from protocols.storage.planning import Floats
from runtime.system import World

CONFIDENCE = 0.95


class Period(NamedTuple):
    """A piece of the run with one demand; requests from `measured_from` on are measured."""

    name: str
    begin: float
    measured_from: float
    end: float
    demand: Floats


@dataclass(frozen=True)
class Installed:
    """What was planned and installed, as the observer knows it from the scenario."""

    names: Names
    planner: Planner
    plan: Plan
    periods: Sequence[Period]
    stores: Mapping[str, int]
    publications: int
    """On each topic before anybody asks."""

    published: int
    """In the end."""


def results_of(installed: Installed, world: World, optimum: bool) -> dict[str, Any]:
    clients = list(world.protocols(Browsing).values())
    phases = {
        period.name: _phase(installed, world, period, [asking.hops[place] for asking in clients])
        for place, period in enumerate(installed.periods)
    }
    last = list(phases.values())[-1]
    holding = {name: store for name, store in world.protocols(Following).items() if store.durable.topics}
    decisions = [decision for manager in world.protocols(Managing).values() for decision in manager.decisions]
    moved = [decision for decision in decisions if decision.did != "leave"]
    results: dict[str, Any] = {
        **{key: last[key] for key in ("mean_hop_distance", "half_width", "analytic", "ont", "analytic_ont")},
        "requests_sent": sum(len(asking.asked) for asking in clients),
        "requests_answered": sum(len(asking.asked) - len(asking.open) for asking in clients),
        "requests_repeated": sum(asking.repeated for asking in clients),
        "requests_incomplete": sum(
            request.responses < installed.publications for asking in clients for request in asking.asked.values()
        ),
        "stores_installed": len(installed.plan.stores),
        "replicas": sum(installed.plan.degrees),
        "decisions": len(decisions),
        "moves": len(moved),
        "phases": phases,
        "moved": {
            str(number): {
                "at": decision.at,
                "by": decision.did,
                "gain_percent": 100 * decision.gain,
                "done_at": decision.done_at,
            }
            for number, decision in enumerate(moved, start=1)
        },
        "assignment": {name: " ".join(sorted(store.durable.topics)) for name, store in holding.items()},
    }
    return results | (_gap(installed) if optimum else {})


def _phase(installed: Installed, world: World, period: Period, measured: Sequence[Hops]) -> dict[str, Any]:
    count, total = sum(hops.count for hops in measured), sum(hops.total for hops in measured)
    seconds = period.end - period.measured_from
    holders = holders_at(installed, world, period.end)
    analytic = installed.planner.mean_hops(period.demand, holders)
    mean = total / count if count else None
    half = _half_width(count, total, sum(hops.squares for hops in measured))
    served = math.isfinite(analytic)
    return {
        "from": period.begin,
        "requests": count,
        "mean_hop_distance": mean,
        "half_width": half,
        "analytic": analytic if served else None,
        "within": mean is not None and half is not None and served and abs(mean - analytic) <= half,
        "ont": total / seconds if seconds > 0 else None,
        "analytic_ont": traffic(installed.planner.distance, period.demand, holders) if served else None,
    }


def _half_width(count: int, total: int, squares: int) -> float | None:
    """Of the 95 % interval of the mean: requests are drawn independently, so their distances are, too."""
    if count < 2:
        return None
    variance = max(squares - total * total / count, 0.0) / (count - 1)
    return float(stats.t.ppf((1 + CONFIDENCE) / 2, count - 1)) * math.sqrt(variance / count)


def holders_at(installed: Installed, world: World, time: float) -> list[list[int]]:
    """Who served each topic just before this time."""
    serving: list[list[int]] = [[] for _ in installed.names.topics]
    for name, store in world.protocols(Following).items():
        state = {topic: on for at, topic, on in store.durable.history if at < time}
        for place, topic in enumerate(installed.names.topics):
            if state.get(topic, False):
                serving[place].append(installed.stores[name])
    return serving


def _gap(installed: Installed) -> dict[str, Any]:
    """How far the first assignment is from the best one for the same stores and degrees."""
    planner, plan, demand = installed.planner, installed.plan, installed.periods[0].demand
    if planner.algorithm == "grd_opt":  # it keeps to no capacity
        return {}
    best = best_assignment(planner.distance, demand, plan.degrees, plan.stores, planner.capacity)
    least, ours = planner.mean_hops(demand, best), planner.mean_hops(demand, plan.holders)
    return {
        "optimum_hop_distance": least,
        "planned_hop_distance": ours,
        "gap_percent": 100 * (ours / least - 1) if least > 0 else 0.0,
    }


# What should hold


def unserved(installed: Installed, world: World) -> Iterator[str]:
    """Every request is answered by a store that held the topic, if anybody does.

    In full, too, unless it was faster than a publication: that is a result (`requests_incomplete`).
    """
    stores = world.protocols(Following)
    held = {name: {topic for _, topic, _ in store.durable.history} for name, store in stores.items()}
    available = _held(stores, failed=False)
    again = Counter((row["who"], row["number"]) for row in world.events.rows("passed_again"))
    for name, asking in world.protocols(Browsing).items():
        for number, request in asking.asked.items():
            most = installed.published * (request.attempts + again[name, number])
            if request.responses == 0 and request.topic in available:
                yield f"{name} was never told what it asked for: request {number} for {request.topic}"
            elif request.responses > most:
                yield f"{name} got {request.responses} responses to request {number} for {request.topic}; {most} exist"
        for topic, store in asking.served:
            if store in held and topic not in held[store]:
                yield f"{name} was answered by {store}, which never held {topic}"


def _forgotten(world: World, managing: Managing) -> Iterator[str]:
    """The manager waits for nobody but stores that are down or could not get what they were to hold."""
    if managing.durable.final is not None:
        yield "a move has not come to its end"
    for name, store in world.protocols(Following).items():
        if name in managing.durable.waiting and not store.failed and not store.durable.acquiring:
            yield f"the manager still waits for {name}, which holds all that it is to hold"


def misplaced(installed: Installed, world: World) -> Iterator[str]:
    """Stores hold what the last plan says, with all that was published.

    What is published while stores are down may be nowhere: then only what was published before counts. Nor can anybody
    get a topic that only stores which are down have.
    """
    managing = next(iter(world.protocols(Managing).values()), None)
    holders = installed.plan.holders if managing is None else managing.durable.holders
    if managing is not None:
        yield from _forgotten(world, managing)
    under_way = managing is not None and managing.durable.goal is not None
    limited = installed.planner.algorithm != "grd_opt" and not under_way
    stores = world.protocols(Following)
    always_up = not any(store.outages for store in stores.values())
    least = installed.published if always_up else installed.publications
    unreachable = _held(stores, failed=True) - _held(stores, failed=False)
    for name, store in stores.items():
        place = installed.stores[name]
        planned = {topic for topic, held in zip(installed.names.topics, holders, strict=True) if place in held}
        if store.failed:
            continue
        if {*store.durable.topics} != planned - (unreachable & store.durable.acquiring.keys()):
            yield f"{name} holds {sorted(store.durable.topics)}, not {sorted(planned)}"
        if limited and len(store.durable.topics) > installed.planner.capacity:
            yield f"{name} holds {len(store.durable.topics)} topics, more than its capacity"
        for topic in sorted(store.durable.topics):
            kept = len(store.durable.stored.get(topic, {}))
            if kept < least:
                yield f"{name} has {kept} of {least} publications on {topic}"


def _held(stores: Mapping[str, Following], failed: bool) -> set[str]:
    """What stores serve that are up, or have on their disks that are down: some may have failed on their return."""
    found = set()
    for store in stores.values():
        if store.failed == failed:
            found |= {*store.durable.topics, *(store.durable.returning if failed else ())}
    return found


def orphaned(installed: Installed, world: World) -> Iterator[str]:
    """Topics that nobody serves, though all stores are up and have caught up."""
    stores = world.protocols(Following)
    everybody = stores.keys() == installed.stores.keys()
    if world.now < installed.periods[0].begin or not everybody or any(_away(store) for store in stores.values()):
        return
    served = {topic for store in stores.values() for topic in store.durable.topics}
    for topic in installed.names.topics:
        if topic not in served:
            yield f"no store serves {topic}"


def _away(store: Following) -> bool:
    return store.failed or bool(store.durable.returning)


def incomplete(installed: Installed, world: World) -> Iterator[str]:
    """Stores that serve a topic without what was published on it before anybody asked."""
    if world.now < installed.periods[0].begin:
        return
    for name, store in world.protocols(Following).items():
        for topic in store.durable.topics:
            kept = len(store.durable.stored.get(topic, ()))
            if not store.failed and kept < installed.publications:
                yield f"{name} serves {topic} with {kept} of {installed.publications} publications"
