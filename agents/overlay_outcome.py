"""What a run of the overlay system comes to, seen from outside: who is where, and who has received what."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from protocols.overlay.content import Instance, Places
from protocols.overlay.cost import Aggregates, SpanningTrees, access_cost, core_cost
from protocols.overlay.serving import Serving
from protocols.overlay.user import Life, Using
from runtime.system import World


def lives_of(world: World) -> dict[str, Life]:
    return {name: using.durable for name, using in world.protocols(Using).items()}


def present(world: World) -> dict[str, Life]:
    """The users that have joined and not left."""
    return {name: life for name, life in lives_of(world).items() if life.profile is not None and not life.left}


def serving_of(world: World) -> dict[str, Any]:
    return {name: found.durable for name, found in world.protocols(Serving).items()}


def total_cost_of(instance: Instance, assignment: Places, trees: SpanningTrees) -> float:
    return access_cost(instance, assignment) + core_cost(Aggregates.of(instance, assignment), trees)


def wrong_homes(lives: dict[str, Life], serving: dict[str, Any]) -> Iterator[str]:
    """Every user that is there is with exactly one broker, the one that it thinks it is with."""
    for name, life in lives.items():
        homes = [broker for broker, state in serving.items() if name in state.residents]
        if life.left or life.profile is None:
            wanted = []
        elif life.home is None:
            yield f"{name} has no broker: all of them are full"
            continue
        else:
            wanted = [life.home]
        if homes != wanted:
            yield f"{name} is with {homes}, not {wanted}"


def wrong_deliveries(lives: dict[str, Life]) -> Iterator[str]:
    """Who wanted a publication from before it was made to the end has it once; nobody has it twice."""
    for name, life in lives.items():
        for (publisher, number), times in life.received.items():
            if times > 1:
                yield f"{name} received publication {number} of {publisher} {times} times"
            if number not in lives[publisher].published:
                yield f"{name} received publication {number} of {publisher}, who never made it"
        if life.left:
            continue
        for publisher, other in lives.items():
            if publisher == name:
                continue
            for number, (at, content) in other.published.items():
                if (publisher, number) not in life.received and _is_due(life, at, content):
                    yield f"{name} never received publication {number} of {publisher} at {at:g}"


def _is_due(life: Life, at: float, content: tuple[float, ...]) -> bool:
    """Was a registration with this content in force before, and has the user not changed its mind since?"""
    in_force = max((number for when, number in life.confirmed if when <= at), default=0)
    return in_force > 0 and all(profile.matches(content) for profile in life.profiles[in_force - 1 :])
