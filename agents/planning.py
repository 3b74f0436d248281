"""The planning system: stores are planned, installed and used, and follow what is requested (planning, 5 and 6)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from agents.broker import metering_broker, storage_broker
from agents.cases.planning import planning_case
from agents.client import browsing_client, client
from agents.coverage import wrong_tables
from agents.manager import manager
from agents.planning_settings import Change, PlanningSettings
from agents.planning_view import Installed, Period, incomplete, misplaced, orphaned, results_of, unserved
from agents.reports.planning import planning_report
from agents.store import planned_store
from protocols.storage.assignment import Plan, Planner
from protocols.storage.browsing import Phase
from protocols.storage.manager import Managing, Names
from protocols.storage.planning import Floats, Unsatisfiable, hop_distances
from protocols.storage.store import Order
from protocols.storage.workload import zipf_demand
from runtime.agent import Agent
from runtime.errors import ScenarioError
from runtime.network import Network
from runtime.properties import always, eventually, sometimes
from runtime.report import Report
from runtime.streams import stream
from runtime.system import MakeLayer, System, World
from runtime.testing.cases import Case, Draw

MANAGER = "manager"


class PlanningSystem(System):
    """Storage planning and replica assignment, in operation and as demand changes"""

    section = "planning"
    Settings = PlanningSettings
    settings: PlanningSettings
    headings: ClassVar = {
        "phases": ("phase",),
        "assignment": ("store", "topics"),
        "moved": ("move",),
    }
    only_with: ClassVar = {
        "Asking.ask(RequestNow)": (),  # publishers ask for nothing
        "Asking.answered(Response)": (),
        "Managing.ordered(Order)": (),  # nobody tells the manager to fail
    }
    tolerates: ClassVar = ("drop", "duplicate", "reorder", "delay", "crash")

    def __init__(
        self, settings: PlanningSettings, network: Network, seed: int, layer: MakeLayer = lambda: None
    ) -> None:
        self.names = Names(
            network.brokers, settings.topic_names(), tuple(f"store-{broker}" for broker in network.brokers)
        )
        self.places = {broker: place for place, broker in enumerate(network.brokers)}
        super().__init__(settings, network, seed, layer)
        self.distance = hop_distances([[self.places[p] for p in network.neighbours[b]] for b in network.brokers])
        self.planner = self._planner()
        self.periods = self._periods()
        self.plan = self._first_plan()
        self.failing = {name: self._failing(name) for name in settings.failures}
        self.publishers = self._publishers()
        self.manager_home = self._manager_home()
        self._attach()

    # What is asked for

    def _planner(self) -> Planner:
        settings, topics = self.settings, self.names.topics
        for topic in settings.degrees:
            if topic not in topics:
                raise ScenarioError(f"planning.degrees.{topic}", f"{topic} is not in planning.topics")
        if settings.degrees and len(settings.degrees) < len(topics):
            missing = next(topic for topic in topics if topic not in settings.degrees)
            raise ScenarioError("planning.degrees", f"write a degree for every topic; {missing} has none")
        return Planner(
            self.distance,
            settings.capacity,
            settings.algorithm,
            settings.stores,
            settings.min_degree,
            tuple(settings.degrees[topic] for topic in topics) if settings.degrees else (),
            self._by_broker("planning.publishing", settings.publishing) if settings.publishing else None,
        )

    def _by_broker(self, key: str, values: Mapping[str, float]) -> Floats:
        row = np.zeros(len(self.places))
        for broker, value in values.items():
            if broker not in self.places:
                raise ScenarioError(f"{key}.{broker}", f"broker {broker} is not in [network]")
            row[self.places[broker]] = value
        if not row.any():
            raise ScenarioError(key, "at least one broker needs a number above 0")
        return row

    def _listed(self, key: str, rates: Mapping[str, Mapping[str, float]]) -> Floats:
        demand = np.zeros((len(self.names.topics), len(self.places)))
        for broker, wanted in rates.items():
            if broker not in self.places:
                raise ScenarioError(f"{key}.{broker}", f"broker {broker} is not in [network]")
            for topic, rate in wanted.items():
                if topic not in self.names.topics:
                    raise ScenarioError(f"{key}.{broker}.{topic}", f"{topic} is not in planning.topics")
                demand[self.names.topics.index(topic), self.places[broker]] = rate
        return demand

    @cached_property
    def _centres(self) -> list[int]:
        """A random broker for each topic, around which it is requested; the same whatever else is set."""
        return [stream(self.seed, "centre", topic).randrange(len(self.places)) for topic in self.names.topics]

    def _periods(self) -> list[Period]:
        """The run in pieces: a new one begins with every change, failure and recovery."""
        settings = self.settings
        happens: list[tuple[float, str, Change | None]] = [(settings.begin, "planned", None)]
        happens += [(change.at, name, change) for name, change in settings.changes.items()]
        for name, failure in settings.failures.items():
            happens.append((failure.at, name, None))
            if failure.recover_after is not None and failure.at + failure.recover_after < settings.until:
                happens.append((failure.at + failure.recover_after, f"{name} over", None))
        happens.sort(key=lambda event: event[0])
        if len({name for _, name, _ in happens}) < len(happens):
            raise ScenarioError("planning.changes", "changes and failures need different names, and not planned")
        popularity, locality, listed = settings.popularity, settings.locality, settings.rates
        periods = []
        for place, (begin, name, change) in enumerate(happens):
            if change is not None:
                popularity = popularity if change.popularity is None else change.popularity
                locality = locality if change.locality is None else change.locality
                zipf = change.popularity is not None or change.locality is not None
                listed = change.rates if change.rates is not None or zipf else listed
            end = happens[place + 1][0] if place + 1 < len(happens) else settings.until
            if listed is not None:
                key = "planning.rates" if change is None else f"planning.changes.{name}.rates"
                demand = self._listed(key, listed)
            else:
                demand = zipf_demand(self.distance, self._centres, settings.rate, popularity, locality)
            if not demand.any():
                raise ScenarioError("planning.rates", f"nothing is requested in the phase {name}")
            periods.append(Period(name, begin, min(begin + settings.settle, end), end, demand))
        return periods

    def _first_plan(self) -> Plan:
        try:
            return self.planner.plan(self.periods[0].demand, stream(self.seed, "rnd"))
        except Unsatisfiable as problem:
            raise ScenarioError("planning", str(problem)) from None

    # Who is there

    def _failing(self, name: str) -> tuple[int, ...]:
        """The brokers whose stores fail. Which ranks are drawn does not depend on the algorithm."""
        failure, stores = self.settings.failures[name], self.plan.stores
        if failure.count > len(stores):
            told = f"{failure.count} stores are to fail, but there are only {len(stores)}"
            raise ScenarioError(f"planning.failures.{name}.count", told)
        for broker in failure.brokers:
            if self.places.get(broker) not in stores:
                known = ", ".join(sorted(self.names.brokers[store] for store in stores))
                raise ScenarioError(f"planning.failures.{name}.brokers", f"no store at {broker}; there are {known}")
        if failure.brokers:
            return tuple(self.places[broker] for broker in failure.brokers)
        ranks = stream(self.seed, "failing", name).sample(range(len(stores)), len(stores))
        return tuple(stores[rank] for rank in ranks[: failure.count])

    def _publishers(self) -> dict[str, tuple[str, str]]:
        """Publishers and their brokers and topics: one for each topic, where publications occur."""
        publishing = self.planner.publishing
        chances = [1.0] * len(self.places) if publishing is None else publishing.tolist()
        return {
            f"publisher-{topic}": (stream(self.seed, "publisher", topic).choices(self.names.brokers, chances)[0], topic)
            for topic in self.names.topics
        }

    def _manager_home(self) -> str | None:
        if self.settings.react == "leave":
            return None
        if self.settings.manager is None:
            return self.names.brokers[int(np.argmin(self.distance.sum(axis=1)))]  # in the middle
        if self.settings.manager not in self.places:
            raise ScenarioError("planning.manager", f"broker {self.settings.manager} is not in [network]")
        return self.settings.manager

    def _attach(self) -> None:
        brokers = self.names.brokers
        planned = range(len(brokers)) if self.settings.react in ("replan", "either") else sorted(self.plan.stores)
        self.stores = {self.names.stores[place]: place for place in planned}
        asking = sum(period.demand.sum(axis=0) for period in self.periods)
        self.clients = {f"client-{brokers[place]}": place for place in np.flatnonzero(asking).tolist()}
        network = self.network.attach({name: brokers[place] for name, place in self.stores.items()}, "planning.stores")
        network = network.attach({name: brokers[place] for name, place in self.clients.items()}, "planning.rates")
        network = network.attach({name: broker for name, (broker, _) in self.publishers.items()}, "planning.topics")
        if self.manager_home is not None:
            network = network.attach({MANAGER: self.manager_home}, "planning.manager")
        self.network = network
        self.guests: dict[str, list[str]] = {}
        for guest, home in network.homes.items():
            self.guests.setdefault(home, []).append(guest)

    def agent(self, name: str) -> Agent:
        settings, brokers, layer = self.settings, self.names.brokers, self.layer()
        if name in self.stores:
            place = self.stores[name]
            topics = [topic for topic, held in zip(self.names.topics, self.plan.holders, strict=True) if place in held]
            managed = self.manager_home is not None
            return planned_store(brokers[place], topics, self._orders(place), managed, settings.retry_after, layer)
        if name in self.clients:
            place = self.clients[name]
            return browsing_client(brokers[place], self._phases(place), settings.retry_after, layer)
        if name in self.publishers:
            broker, topic = self.publishers[name]
            publications = [
                (at, topic, (("number", number),)) for number, at in enumerate(settings.publication_times(), start=1)
            ]
            return client(broker, publications, layer=layer)
        if name == MANAGER:
            assert self.manager_home is not None
            return manager(self.manager_home, self.planner, self.names, self.plan, settings, layer)
        if self.manager_home is None:
            return storage_broker(self.guests.get(name, ()), layer)
        return metering_broker(self.guests.get(name, ()), settings.report_every, layer)

    def _orders(self, place: int) -> list[tuple[float, Order]]:
        orders = []
        for name, failure in self.settings.failures.items():
            if place in self.failing[name]:
                orders.append((failure.at, Order("fail", ())))
                if failure.recover_after is not None:
                    orders.append((failure.at + failure.recover_after, Order("recover", ())))
        return orders

    def _phases(self, place: int) -> list[Phase]:
        return [
            Phase(
                period.begin,
                period.measured_from,
                period.end,
                tuple(
                    (topic, float(rate))
                    for topic, rate in zip(self.names.topics, period.demand[:, place], strict=True)
                    if rate > 0
                ),
            )
            for period in self.periods
        ]

    # What it showed

    @cached_property
    def installed(self) -> Installed:
        return Installed(
            self.names,
            self.planner,
            self.plan,
            self.periods,
            self.stores,
            self.settings.publications,
            len(self.settings.publication_times()),
        )

    def results(self, world: World) -> dict[str, Any]:
        return results_of(self.installed, world, self.settings.optimum)

    def report(self, world: World, report: Report) -> None:
        planning_report(self, world, report)

    @classmethod
    def case(cls, draw: Draw) -> Case:
        return planning_case(draw)

    def written_out(self, data: Mapping[str, Any]) -> dict[str, Any]:
        """Who asks for what how often, which stores fail, and where the manager is."""
        drawn = {period.name: self._rates(period) for period in self.periods}
        table = {key: value for key, value in data["planning"].items() if key not in ("rate", "popularity", "locality")}
        table |= {"rates": drawn["planned"]}
        table |= {} if self.manager_home is None else {"manager": self.manager_home}
        if changes := self.settings.changes:
            table["changes"] = {name: {"at": change.at, "rates": drawn[name]} for name, change in changes.items()}
        if failures := table.get("failures", {}):
            table["failures"] = {name: self._failed(name, failure) for name, failure in failures.items()}
        return {"planning": table}

    def _rates(self, period: Period) -> dict[str, dict[str, float]]:
        rates = {
            broker: {
                topic: float(rate)
                for topic, rate in zip(self.names.topics, period.demand[:, place], strict=True)
                if rate > 0
            }
            for broker, place in self.places.items()
        }
        return {broker: wanted for broker, wanted in rates.items() if wanted}

    def _failed(self, name: str, failure: Mapping[str, Any]) -> dict[str, Any]:
        kept = {key: value for key, value in failure.items() if key not in ("count", "brokers")}
        return kept | {"brokers": [self.names.brokers[place] for place in self.failing[name]]}

    @eventually
    def tables_are_right(self, world: World) -> Iterable[str]:
        """Every broker's routes are those that breadth-first search over the living gives."""
        return wrong_tables(world)

    @eventually
    def requests_are_answered(self, world: World) -> Iterable[str]:
        """Every request is answered, by a store that held the topic, if anybody does."""
        return unserved(self.installed, world)

    @eventually
    def stores_follow_the_plan(self, world: World) -> Iterable[str]:
        """Stores hold what the last plan says, with all that was published on it."""
        return misplaced(self.installed, world)

    @always
    def every_topic_has_a_holder(self, world: World) -> Iterable[str]:
        """However topics move, each is served by some store, unless stores are down."""
        return orphaned(self.installed, world)

    @always
    def who_serves_has_everything(self, world: World) -> Iterable[str]:
        """A store serves a topic only with all that was published before anybody asked."""
        return incomplete(self.installed, world)

    @sometimes
    def a_topic_moves(self, world: World) -> bool:
        """A store acquires a topic that others hold."""
        return world.events.count("acquired") > 0

    @sometimes
    def a_plan_is_made_again(self, world: World) -> bool:
        """The manager finds a better plan."""
        return any(managing.durable.plan for managing in world.protocols(Managing).values())
