"""The [overlay] section, and the instance that is drawn from it and the seed."""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import Annotated, Literal

import numpy as np
from pydantic import Field, model_validator

from agents.linked import is_complete
from protocols.overlay.clustering import two_stage_clustering
from protocols.overlay.content import (
    ContentSpace,
    Floats,
    Instance,
    Places,
    draw_boxes,
    draw_quadratics,
    equal_capacities,
)
from protocols.overlay.mixing import steiner_mixing
from protocols.overlay.moves import descend
from protocols.overlay.optimum import NoOptimum, optimal_assignment
from protocols.overlay.packing import NoRoom, greedy_packing, random_assignment
from protocols.overlay.user import Planned, Profile
from protocols.storage.planning import hop_distances
from runtime.errors import ScenarioError
from runtime.network import Network
from runtime.settings import Settings, Several
from runtime.streams import stream

Seconds = Annotated[float, Field(ge=0)]
Count = Annotated[int, Field(ge=0)]
MOST_CHANNELS = 10_000


class Event(Settings):
    at: Seconds
    user: str = Field(examples=["u1"])
    do: Literal["join", "leave", "interests", "rates"]


class Churn(Settings):
    """Users that join, leave, or change what they want or publish, at random times."""

    joins: Count = 0
    leaves: Count = 0
    interests: Count = 0
    rates: Count = 0
    between: Annotated[Several[Seconds], Field(min_length=2, max_length=2)] = Field(examples=[[40.0, 80.0]])

    @model_validator(mode="after")
    def _in_order(self) -> Churn:
        if self.between[0] > self.between[1]:
            raise ValueError(f"between = {list(self.between)}: write the earlier time first")
        return self


class OverlaySettings(Settings):
    """The scenario's [overlay]."""

    users: Annotated[int, Field(ge=1)] | None = None
    users_per_broker: Annotated[int, Field(ge=1)] | None = None
    intervals: Annotated[int, Field(ge=1)] = 10
    dimensions: Annotated[int, Field(ge=1)] = 1
    width: Annotated[float, Field(gt=0, le=1)] | None = None
    access_costs: Literal["uniform", "plane"] = "uniform"
    access_to_core: Annotated[float, Field(gt=0)] = 1.0
    capacity_factor: Annotated[float, Field(gt=0)] = 2.0
    capacity: Annotated[float, Field(gt=0)] | None = None
    assignment: Literal["random", "packing", "clustering", "mixing", "descent", "optimum"] = "random"
    movers: Literal["none", "one", "many"] = "none"
    begin: Seconds = 20.0
    period: Annotated[float, Field(gt=0)] = 1.0
    patience: Count | None = None
    unwilling: Annotated[float, Field(ge=0, le=1)] = 0.0
    redirect_ttl: Seconds | None = None
    publish_since: Seconds = 0.0
    publish_until: Seconds = 0.0
    publish_scale: Annotated[float, Field(gt=0)] = 1.0
    events: Several[Event] = ()
    churn: Churn | None = None

    @model_validator(mode="after")
    def _says_how_many(self) -> OverlaySettings:
        if (self.users is None) == (self.users_per_broker is None):
            raise ValueError("write either users or users_per_broker")
        return self

    @model_validator(mode="after")
    def _few_enough_channels(self) -> OverlaySettings:
        if self.intervals**self.dimensions > MOST_CHANNELS:
            told = f"{self.intervals} intervals in {self.dimensions} dimensions"
            raise ValueError(f"{told} are more than {MOST_CHANNELS:,} channels; write fewer")
        return self

    @property
    def live(self) -> bool:
        """Are the users agents, or is only the assignment computed?"""
        publishing = self.publish_until > self.publish_since
        return self.movers != "none" or publishing or bool(self.events) or self.churn is not None


@dataclass(frozen=True)
class Drawn:
    """Everything that the seed decides: who there is, what each does when, and what links cost."""

    space: ContentSpace
    names: tuple[str, ...]
    """Of the users; those that are there from the beginning come first."""

    plans: dict[str, tuple[Planned, ...]]
    instance: Instance
    """All users with what they want at first, joined or not."""

    at_first: int
    points: Floats | None
    """Where the users are, if their links cost by distance."""

    @property
    def beginning(self) -> Instance:
        """The users that are there from the beginning."""
        whole, few = self.instance, slice(self.at_first)
        return Instance(whole.rates[few], whole.interests[few], whole.access[few], whole.core, whole.capacity)


def draw(settings: OverlaySettings, network: Network, seed: int) -> Drawn:
    """The same for all algorithms."""
    space = ContentSpace(settings.intervals, settings.dimensions)
    users = settings.users or len(network.brokers) * (settings.users_per_broker or 0)
    names = [f"u{number}" for number in range(1, users + 1)]
    events = planned_events(settings, names, seed)
    joining = [event.user for event in events if event.do == "join"]
    everybody = (*names, *joining)
    _check(settings, set(names), network)
    profiles = _profiles(settings, space, everybody, stream(seed, "overlay", "content"))
    rates = np.array([profile.rates for profile in profiles])
    interests = np.zeros_like(rates)
    for row, profile in zip(interests, profiles, strict=True):
        row[list(profile.interests)] = 1.0
    core, access, points = _costs(settings, network, len(everybody), stream(seed, "overlay", "access"))
    capacity = equal_capacities(rates, interests, len(network.brokers), settings.capacity_factor)
    if settings.capacity is not None:
        capacity = np.full(len(network.brokers), settings.capacity)
    rng = stream(seed, "overlay", "changes")
    plans = {
        name: _plans(settings, space, profile, name in joining, [e for e in events if e.user == name], rng)
        for name, profile in zip(everybody, profiles, strict=True)
    }
    return Drawn(space, everybody, plans, Instance(rates, interests, access, core, capacity), len(names), points)


def _profiles(
    settings: OverlaySettings, space: ContentSpace, names: tuple[str, ...], rng: random.Random
) -> list[Profile]:
    quadratics = draw_quadratics(len(names), settings.dimensions, rng)
    boxes = draw_boxes(len(names), settings.dimensions, rng, settings.width)
    rates, interests = space.histogram(quadratics), space.encode(boxes)
    return [
        Profile(
            tuple((low, high) for low, high in box),
            tuple(np.flatnonzero(wanted).tolist()),
            tuple(published),
        )
        for box, wanted, published in zip(boxes.tolist(), interests, rates.tolist(), strict=True)
    ]


def _plans(
    settings: OverlaySettings,
    space: ContentSpace,
    profile: Profile,
    joins: bool,
    events: list[Event],
    rng: random.Random,
) -> tuple[Planned, ...]:
    plans = [] if joins else [Planned(0.0, "join", profile)]
    for event in sorted(events, key=lambda event: event.at):
        if event.do == "join":
            plans.append(Planned(event.at, "join", profile))
            continue
        if event.do == "leave":
            plans.append(Planned(event.at, "leave"))
            continue
        (new,) = _profiles(settings, space, ("",), rng)
        wants, publishes = (new, profile) if event.do == "interests" else (profile, new)
        profile = Profile(wants.box, wants.interests, publishes.rates)
        plans.append(Planned(event.at, "change", profile))
    return tuple(plans)


def planned_events(settings: OverlaySettings, names: list[str], seed: int) -> list[Event]:
    """What users do, as the scenario says and as the seed draws it."""
    return [*settings.events, *_churn(settings, names, stream(seed, "overlay", "churn"))]


def _churn(settings: OverlaySettings, names: list[str], rng: random.Random) -> list[Event]:
    churn = settings.churn
    if churn is None:
        return []
    leaving = rng.sample(names, min(churn.leaves, len(names) - 1))
    staying = [name for name in names if name not in leaving]
    who = [(f"u{len(names) + number}", "join") for number in range(1, churn.joins + 1)]
    who += [(name, "leave") for name in leaving]
    who += [(rng.choice(staying), "interests") for _ in range(churn.interests)]
    who += [(rng.choice(staying), "rates") for _ in range(churn.rates)]
    return [Event.model_validate({"at": rng.uniform(*churn.between), "user": user, "do": do}) for user, do in who]


def _costs(
    settings: OverlaySettings, network: Network, users: int, rng: random.Random
) -> tuple[Floats, Floats, Floats | None]:
    """Ways between brokers cost their length, 1 on average; access links `access_to_core` times that on average."""
    places = np.array([network.positions[name] for name in network.brokers if network.positions])
    brokers = len(network.brokers)
    core = _lengths(network, places)
    if brokers > 1:
        core = core * (brokers * (brokers - 1) / core.sum())
    points: Floats | None = None
    if settings.access_costs == "uniform":
        access = np.array([rng.random() for _ in range(users * brokers)]).reshape(users, brokers)
    else:
        points = np.array([rng.random() for _ in range(2 * users)]).reshape(users, 2)
        access = np.sqrt(((points[:, None] - places) ** 2).sum(axis=2))
    return core, access * (settings.access_to_core / access.mean()), points


def _lengths(network: Network, places: Floats) -> Floats:
    """How far it is between any two brokers: the distance of points that are all linked, else the hops between them."""
    if len(places) and is_complete(network):
        return np.asarray(np.sqrt(((places[:, None] - places) ** 2).sum(axis=2)))
    order = {name: place for place, name in enumerate(network.brokers)}
    return hop_distances([[order[peer] for peer in network.neighbours[name]] for name in network.brokers])


def _check(settings: OverlaySettings, names: set[str], network: Network) -> None:
    brokers = network.brokers
    if settings.access_costs == "plane" and not network.positions:
        told = '"plane" goes with brokers that are points; write kind = "plane" in [network], or "uniform"'
        raise ScenarioError("overlay.access_costs", told)
    if taken := sorted(names & set(brokers)):
        raise ScenarioError("overlay.users", f"the name {taken[0]} is taken by a broker")
    joined, left = set(names), dict[str, float]()
    for place, event in sorted(enumerate(settings.events), key=lambda row: (row[1].at, row[0])):
        key = f"overlay.events[{place}].user"
        if event.do == "join" and (event.user in joined or event.user in brokers):
            raise ScenarioError(key, f"{event.user} is there already; write another name")
        if event.do != "join" and event.user not in joined:
            raise ScenarioError(key, f"{event.user} is not there at {event.at:g}; users are u1 to u{len(names)}")
        if event.user in left:
            raise ScenarioError(key, f"{event.user} has left at {left[event.user]:g}")
        joined.add(event.user)
        if event.do == "leave":
            left[event.user] = event.at


def assign(settings: OverlaySettings, instance: Instance, seed: int) -> tuple[Places, Places]:
    """A random assignment, and the one by the scenario's algorithm; both are the same for the same seed."""
    key = "overlay.capacity_factor" if settings.capacity is None else "overlay.capacity"
    if instance.demand.sum() > instance.capacity.sum() * (1 + 1e-9):
        told = f"all users together need {instance.demand.sum():.4g}, all brokers bear {instance.capacity.sum():.4g}"
        raise ScenarioError(key, f"{told}; write more")
    try:
        at_random = random_assignment(instance, stream(seed, "overlay", "random"))
        match settings.assignment:
            case "packing":
                return at_random, greedy_packing(instance)
            case "clustering":
                return at_random, two_stage_clustering(instance)
            case "mixing":
                return at_random, steiner_mixing(instance, stream(seed, "overlay", "mixing"))
            case "descent":
                return at_random, descend(instance, at_random)[0]
            case "optimum":
                return at_random, optimal_assignment(instance)
        return at_random, at_random
    except NoRoom as problem:
        raise ScenarioError(key, f"{problem}; write more") from None
    except NoOptimum as problem:
        raise ScenarioError("overlay.assignment", str(problem)) from None
