"""The coverage system: brokers, stores and clients, and who knows the way to what (planning, 4.1)."""

from __future__ import annotations

import random
from collections.abc import Iterable, Mapping, Sequence
from typing import Annotated, Any, ClassVar, Literal

import networkx
from pydantic import AfterValidator, Field, model_validator

from agents.broker import storage_broker
from agents.cases.coverage import coverage_case
from agents.client import client
from agents.reports.coverage import coverage_report
from agents.store import store
from protocols.routing.filters import OPERATORS, Filter
from protocols.storage.client import Asking
from protocols.storage.coverage import Coverage
from protocols.storage.retrieval import Retrieval
from protocols.storage.store import Order, Storing
from runtime.agent import Agent
from runtime.errors import ScenarioError
from runtime.message import Scalar
from runtime.network import Network
from runtime.properties import always, eventually, sometimes
from runtime.report import Report
from runtime.settings import Settings, Several
from runtime.streams import stream
from runtime.system import MakeLayer, System, World
from runtime.testing.cases import Case, Draw

Seconds = Annotated[float, Field(ge=0)]
Topics = Annotated[Several[str], Field(min_length=1)]


def _condition(words: Sequence[Any]) -> tuple[Any, ...]:
    if len(words) != 3 or not isinstance(words[0], str):
        raise ValueError('write ["attribute", "operator", value], as in ["price", ">", 10]')
    if words[1] not in OPERATORS:
        raise ValueError(f"{words[1]!r} is no operator; write one of: {' '.join(OPERATORS)}")
    return tuple(words)


Condition = Annotated[Several[Any], AfterValidator(_condition)]


class Store(Settings):
    broker: str = Field(examples=["n1"])
    topics: Topics = Field(examples=[["a", "b"]])


class RandomStores(Settings):
    """Stores on brokers drawn at random, each with topics drawn at random."""

    count: Annotated[int, Field(ge=1)]
    topics: Topics
    each: Annotated[int, Field(ge=1)] = 1

    @model_validator(mode="after")
    def _enough(self) -> RandomStores:
        if self.each > len(self.topics):
            raise ValueError(f"each = {self.each}, but there are only {len(self.topics)} topics")
        return self


class Publication(Settings):
    at: Seconds
    client: str
    topic: str
    content: dict[str, str | int | float | bool] = Field(default_factory=dict)


class Wish(Settings):
    at: Seconds
    client: str
    topic: str
    where: Several[Condition] = ()


class Event(Settings):
    at: Seconds
    store: str
    do: Literal["withdraw", "advertise", "fail", "recover"]
    topics: Several[str] = ()


class StorageSettings(Settings):
    """The scenario's [storage]."""

    stores: dict[str, Store] = Field(default_factory=dict)
    random_stores: RandomStores | None = None
    clients: dict[str, str] = Field(default_factory=dict)
    publications: Several[Publication] = ()
    requests: Several[Wish] = ()
    events: Several[Event] = ()


class CoverageSystem(System):
    """Advertisement coverage and request/response retrieval"""

    section = "storage"
    Settings = StorageSettings
    settings: StorageSettings
    headings: ClassVar = {"at": ("broker", "topic", "next hops (store, distance)"), "stored": ("store", "messages")}

    only_with: ClassVar = {"FetchTopic": (), "TopicCopy": ()}  # what moves plans, not coverage
    tolerates: ClassVar = ("drop", "duplicate", "reorder", "delay", "partition", "crash", "death")

    def __init__(self, settings: StorageSettings, network: Network, seed: int, layer: MakeLayer = lambda: None) -> None:
        self.stores = dict(settings.stores)
        if settings.random_stores is not None:
            self.stores |= _drawn(settings.random_stores, network, stream(seed, "stores"))
        if not self.stores:
            raise ScenarioError("storage", "no store; write stores = { s1 = { broker = ..., topics = [...] } }")
        network = network.attach({name: s.broker for name, s in self.stores.items()}, "storage.stores")
        network = network.attach(settings.clients, "storage.clients")
        super().__init__(settings, network, seed, layer)
        self._check_names()
        self._guests: dict[str, list[str]] = {}
        for guest, home in network.homes.items():
            self._guests.setdefault(home, []).append(guest)

    def _check_names(self) -> None:
        publishing = [(f"publications[{place}]", row.client) for place, row in enumerate(self.settings.publications)]
        requesting = [(f"requests[{place}]", row.client) for place, row in enumerate(self.settings.requests)]
        for key, name in publishing + requesting:
            if name not in self.settings.clients:
                raise ScenarioError(f"storage.{key}.client", f"{name} is not in storage.clients")
        for place, event in enumerate(self.settings.events):
            if event.store not in self.stores:
                raise ScenarioError(f"storage.events[{place}].store", f"{event.store} is not in storage.stores")

    def agent(self, name: str) -> Agent:
        settings, layer = self.settings, self.layer()
        if name in self.stores:
            own = self.stores[name]
            orders = [(e.at, Order(e.do, e.topics)) for e in settings.events if e.store == name]
            return store(own.broker, own.topics, orders, layer)
        if name in settings.clients:
            return client(
                settings.clients[name],
                [(p.at, p.topic, _content(p)) for p in settings.publications if p.client == name],
                [(r.at, r.topic, _filter(r)) for r in settings.requests if r.client == name],
                layer,
            )
        return storage_broker(self._guests.get(name, ()), layer)

    def results(self, world: World) -> dict[str, Any]:
        tables = world.protocols(Coverage)
        clients = world.protocols(Asking).values()
        answers = [responses for asking in clients for responses in asking.responses.values()]
        distances = [responses[0].distance_hops for responses in answers]
        return {
            "at": {name: coverage.table() for name, coverage in tables.items()},
            "farthest_hops": max((coverage.farthest_hops for coverage in tables.values()), default=0),
            "stored": {
                name: sum(map(len, storing.durable.stored.values()))
                for name, storing in world.protocols(Storing).items()
            },
            "requests_sent": sum(asking.asked for asking in clients),
            "requests_answered": len(answers),
            "responses": sum(map(len, answers)),
            "mean_hop_distance": sum(distances) / len(distances) if distances else None,
        }

    def report(self, world: World, report: Report) -> None:
        coverage_report(self, world, report)

    @classmethod
    def case(cls, draw: Draw) -> Case:
        return coverage_case(draw)

    @eventually
    def tables_are_right(self, world: World) -> Iterable[str]:
        """Every broker's routes are those that breadth-first search over the living gives."""
        return wrong_tables(world)

    @always
    def no_way_is_longer_than_the_network(self, world: World) -> Iterable[str]:
        """However tables change, distances never count up around a loop."""
        most = len(world.network.brokers) - 1
        for name, coverage in world.protocols(Coverage).items():
            if coverage.farthest_hops > most:
                yield f"{name} believed in a way of {coverage.farthest_hops} hops; there are {most + 1} brokers"

    @always
    def the_withdrawn_is_not_believed(self, world: World) -> Iterable[str]:
        """No broker relies on an advertisement that it knows to be withdrawn."""
        for name, coverage in world.protocols(Coverage).items():
            withdrawn = coverage.durable.withdrawn
            for topic, routes in coverage.routes.items():
                for hop, ad in routes.hops.items():
                    if ad.number <= withdrawn.get((topic, ad.store), 0):
                        yield f"{name} still goes over {hop} to {ad.store} for {topic}, which was withdrawn"

    @always
    def nobody_waits_for_a_way_that_is_known(self, world: World) -> Iterable[str]:
        """A request waits at a broker only as long as the broker knows no way to its topic."""
        for name, retrieval in world.protocols(Retrieval).items():
            for topic in retrieval.waiting:
                if topic in retrieval.coverage.routes:
                    yield f"{name} knows a way to {topic} and keeps requests for it waiting"

    @sometimes
    def ways_are_equally_near(self, world: World) -> bool:
        """A broker keeps more than one next hop."""
        tables = world.protocols(Coverage).values()
        return any(len(routes.hops) > 1 for coverage in tables for routes in coverage.routes.values())

    @sometimes
    def a_request_waits(self, world: World) -> bool:
        """A broker has no way to what is asked for."""
        return any(retrieval.waiting for retrieval in world.protocols(Retrieval).values())

    @sometimes
    def a_request_is_answered(self, world: World) -> bool:
        """A client gets what was stored."""
        return any(asking.responses for asking in world.protocols(Asking).values())


def _drawn(settings: RandomStores, network: Network, rng: random.Random) -> dict[str, Store]:
    return {
        f"store{number}": Store(
            broker=rng.choice(network.brokers), topics=tuple(sorted(rng.sample(settings.topics, settings.each)))
        )
        for number in range(1, settings.count + 1)
    }


def _content(publication: Publication) -> tuple[tuple[str, Scalar], ...]:
    return tuple(sorted(publication.content.items()))


def _filter(wish: Wish) -> Filter:
    return tuple((str(name), str(relation), value) for name, relation, value in wish.where)


def wrong_tables(world: World) -> list[str]:
    """What breadth-first search over the living brokers says otherwise than their tables."""
    holders: dict[str, dict[str, set[str]]] = {}
    for name, storing in world.protocols(Storing).items():
        if not storing.failed and storing.home in world.graph:
            for topic in storing.durable.topics:
                holders.setdefault(topic, {}).setdefault(storing.home, set()).add(name)
    tables = {name: coverage.table() for name, coverage in world.protocols(Coverage).items()}
    topics = {*holders, *(topic for table in tables.values() for topic in table)}
    return [
        problem
        for topic in sorted(topics)
        for problem in _wrong_entries(world.graph, topic, holders.get(topic, {}), tables)
    ]


def _wrong_entries(
    graph: networkx.Graph,
    topic: str,
    homes: Mapping[str, set[str]],
    tables: Mapping[str, Mapping[str, Sequence[tuple[str, str, int]]]],
) -> list[str]:
    """Entries that are missing or should not be there, told in words."""
    distance = networkx.multi_source_dijkstra_path_length(graph, set(homes), weight=None) if homes else {}
    stores = {name for names in homes.values() for name in names}
    found = []
    for name in graph:
        entries = tables[name].get(topic, [])
        wanted = {peer for peer in graph[name] if name in distance and distance[peer] == distance[name] - 1}
        wanted |= homes.get(name, set())
        if {hop for hop, _, _ in entries} != wanted:
            found.append(
                f"{name} sends requests for {topic} to {sorted(h for h, _, _ in entries)}, not {sorted(wanted)}"
            )
        for hop, store_name, hops in entries:
            if hops != distance.get(name):
                found.append(f"{name} thinks {topic} is {hops} hops away over {hop}, not {distance.get(name)}")
            if store_name not in stores:
                found.append(f"{name} still names the store {store_name} for {topic}")
    return found
