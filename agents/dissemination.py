"""The dissemination system: brokers of a Tapestry mesh, what they subscribe to, publish and convert (dissemination)."""

from __future__ import annotations

import math
import random
from collections.abc import Iterable, Sequence
from typing import Any, ClassVar

import networkx

from agents.cases.dissemination import dissemination_case
from agents.content_broker import content_broker
from agents.dissemination_outcome import outcome
from agents.dissemination_properties import (
    misplaced,
    missing,
    overpaid,
    wrong_deliveries,
    wrong_roots,
    wrong_tables,
)
from agents.dissemination_settings import (
    ContentPublication,
    DisseminationSettings,
    MeshSettings,
    RandomContent,
    Subscription,
)
from agents.linked import over_links
from agents.reports.dissemination import dissemination_report
from protocols.dissemination.cag import make_cag, weigh
from protocols.dissemination.delivery import Delivery, Planning
from protocols.dissemination.heuristic import Heuristic
from protocols.dissemination.identifiers import full_tables, in_digits
from protocols.dissemination.making import MOST_FORMATS
from protocols.dissemination.rendezvous import Issue, Wish
from protocols.dissemination.resources import Capacity, Resources
from protocols.dissemination.tapestry import Tapestry
from runtime.agent import Agent
from runtime.distributions import Distribution
from runtime.errors import ScenarioError
from runtime.network import Network
from runtime.properties import always, eventually, sometimes
from runtime.report import Report
from runtime.streams import derive, stream
from runtime.system import MakeLayer, System, World
from runtime.testing.cases import Case, Draw


class DisseminationSystem(System):
    """Customized content dissemination (CCD) on Tapestry"""

    section = "dissemination"
    Settings = DisseminationSettings
    settings: DisseminationSettings
    files: ClassVar = {"cag": "cags"}
    headings: ClassVar = {
        "publications": ("publication",),
        "served": ("format", "brokers that got it"),
        "refused": ("broker and format that cannot be made", "publications"),
        "costs": ("plans", "cost"),
        "saved_percent": ("compared with", "percent"),
        "blocks": ("five publications", "mean cost paid"),
    }

    tolerates: ClassVar = ("drop", "duplicate", "reorder", "delay", "crash", "death")
    only_with: ClassVar = dict.fromkeys(("Ping", "Pong", "Silence"), ("crash", "death"))

    def __init__(
        self, settings: DisseminationSettings, network: Network, seed: int, layer: MakeLayer = lambda: None
    ) -> None:
        super().__init__(settings, network, seed, layer)
        self.cag = make_cag(settings.cag.formats, settings.cag.operators)
        self._check()
        mesh = settings.tapestry
        self.identifiers = _identifiers(network.brokers, mesh, seed)
        self.names = {identifier: name for name, identifier in self.identifiers.items()}
        self.arrivals = self._arrivals()
        members = [self.identifiers[name] for name in network.brokers if name not in self.arrivals]
        self.tables = full_tables(members, mesh.base)
        self.back: dict[str, list[str]] = {}
        for owner, table in self.tables.items():
            for other in table.values():
                self.back.setdefault(other, []).append(owner)
        self.wishes: dict[str, list[Wish]] = {}
        self.issues: dict[str, list[Issue]] = {}
        self._write_out()
        if settings.random is not None:
            self._draw(settings.random, stream(seed, "content"))
        self.rates = weigh(self.cag, settings.alpha, settings.beta)
        self.patience_s = mesh.patience or 20 * self._slowest_s()

    def _slowest_s(self) -> float:
        """What a message between two brokers of the mesh hardly ever takes longer than."""
        if self.settings.tapestry.over == "underlay":
            return _slowest_s(self.network.underlay_delay)
        models = [self.network.default, *self.network.exceptions.values()]
        farthest = int(networkx.diameter(self.network.graph()))
        return farthest * max(_slowest_s(model.delay) for model in models)

    def _check(self) -> None:
        settings, brokers = self.settings, set(self.network.brokers)
        if not settings.publications and settings.random is None:
            raise ScenarioError("dissemination", "nothing is published; write publications = [...] or random = {...}")
        rows: list[tuple[str, Subscription | ContentPublication]] = [
            *((f"subscriptions[{place}]", row) for place, row in enumerate(settings.subscriptions)),
            *((f"publications[{place}]", row) for place, row in enumerate(settings.publications)),
        ]
        for key, row in rows:
            _among(f"{key}.broker", row.broker, brokers, "broker {} is not in [network]")
        for key in ("joins", "leaves"):
            for name in getattr(settings.tapestry, key):
                _among(f"tapestry.{key}.{name}", name, brokers, "broker {} is not in [network]")
        for place, wish in enumerate(settings.subscriptions):
            key = f"subscriptions[{place}]"
            if wish.profile is None and not wish.formats:
                raise ScenarioError(f"dissemination.{key}", "write formats = [...] or profile = ...")
            if wish.profile is not None:
                _among(f"{key}.profile", wish.profile, settings.profiles, "{} is not in dissemination.profiles")
            for name in wish.formats:
                _among(f"{key}.formats", name, self.cag.formats, "format {} is not in the CAG")
        for profile, formats in settings.profiles.items():
            for name in formats:
                _among(f"profiles.{profile}", name, self.cag.formats, "format {} is not in the CAG")
        for place, publication in enumerate(settings.publications):
            _among(f"publications[{place}].format", publication.format, self.cag.formats, "format {} is not in the CAG")
        exact = [name for name in (settings.algorithm, *settings.compare) if name == "optimal"]
        if exact and len(self.cag.formats) > MOST_FORMATS:
            told = f"the optimal plan is for at most {MOST_FORMATS} formats, not {len(self.cag.formats)}"
            raise ScenarioError("dissemination.algorithm", f'{told}; write "heuristic"')

    def _arrivals(self) -> dict[str, float]:
        """When the brokers that are not members from the start are to join."""
        mesh = self.settings.tapestry
        joining = self.network.brokers[1:] if mesh.start == "joining" else ()
        arrivals = {name: mesh.every * (place + 1) for place, name in enumerate(joining)}
        arrivals |= mesh.joins
        if len(arrivals) == len(self.network.brokers):
            raise ScenarioError("dissemination.tapestry.joins", "somebody must be there for the others to join")
        return arrivals

    def key(self, topic: str) -> str:
        mesh = self.settings.tapestry
        return in_digits(derive(self.seed, "key", topic), mesh.base, mesh.digits)

    def _write_out(self) -> None:
        for row in self.settings.subscriptions:
            formats = (*row.formats, *(self.settings.profiles[row.profile] if row.profile is not None else ()))
            where = tuple((str(name), str(relation), value) for name, relation, value in row.where)
            self._wish(row.broker, Wish(row.at, row.topic, self.key(row.topic), formats, where))
        for told in self.settings.publications:
            content = tuple(sorted(told.content.items()))
            self._issue(told.broker, Issue(told.at, told.topic, self.key(told.topic), told.format, content))

    def _wish(self, broker: str, wish: Wish) -> None:
        self.wishes.setdefault(broker, []).append(wish)

    def _issue(self, broker: str, issue: Issue) -> None:
        self.issues.setdefault(broker, []).append(issue)

    def _draw(self, workload: RandomContent, rng: random.Random) -> None:
        """Publishers, subscribers and their formats, all drawn uniformly (6.1)."""
        brokers, formats = self.network.brokers, self.cag.formats
        most = max(1, int(workload.most_formats * len(formats)))
        for number in range(workload.publications):
            topic = f"random {number}"
            at = workload.start + number * workload.every
            self._issue(rng.choice(brokers), Issue(at, topic, self.key(topic), formats[0]))
            for broker in sorted(rng.sample(brokers, max(1, round(workload.matching * len(brokers))))):
                chosen = sorted(rng.sample(range(len(formats)), rng.randint(1, most)))
                self._wish(broker, Wish(0.0, topic, self.key(topic), tuple(formats[f] for f in chosen)))

    def agent(self, name: str) -> Agent:
        settings, own = self.settings, self.identifiers[name]
        member = name not in self.arrivals
        tapestry = Tapestry(
            own,
            settings.tapestry.base,
            [(other, self.names[other]) for other in self.tables[own].values()] if member else None,
            self.arrivals.get(name, 0.0),
            settings.tapestry.leaves.get(name),
            self.patience_s,
            {peer: self.identifiers[peer] for peer in self.network.neighbours[name]},
        )
        if member:
            tapestry.begin_with((other, self.names[other]) for other in self.back.get(own, ()))
        agent = content_broker(
            tapestry,
            Resources(*self._factors(name), settings.factors.aware, self._capacity()),
            self._planning(),
            self.wishes.get(name, ()),
            self.issues.get(name, ()),
            settings.tree == "discovered",
            self.patience_s,
            self.layer(),
        )
        if settings.tapestry.over == "underlay":
            return agent
        neighbours = self.network.neighbours[name]
        return over_links("dissemination", agent, name, self.network, neighbours, meshed=True)

    def _factors(self, name: str) -> tuple[float, float]:
        rng = stream(self.seed, "factors", name)
        return rng.uniform(*self.settings.factors.nodes), rng.uniform(*self.settings.factors.links)

    def _capacity(self) -> Capacity | None:
        load = self.settings.load
        return None if load is None else Capacity(load.unit, load.node, load.link, load.most, load.aware)

    def _planning(self) -> Planning:
        settings, options = self.settings, self.settings.heuristic
        return Planning(
            self.cag,
            self.rates,
            settings.algorithm,
            settings.threshold,
            Heuristic(options.initial, options.iterations, options.depth, options.steiner),
            settings.planning,
            settings.busy,
            settings.compare,
        )

    def results(self, world: World) -> dict[str, Any]:
        return outcome(self, world)

    def report(self, world: World, report: Report) -> None:
        dissemination_report(self, world, report)

    @eventually
    def tables_are_full(self, world: World) -> Iterable[str]:
        """Every Tapestry table is the one that knowledge of all the living gives, where they hang together."""
        return wrong_tables(world, self.settings.tapestry.base)

    @eventually
    def one_root_each(self, world: World) -> Iterable[str]:
        """From every broker the route to a topic's key ends at the same root, where the living hang together."""
        return wrong_roots(world, self.settings.tapestry.base, self._topics())

    def _topics(self) -> dict[str, str]:
        """All topics and their keys."""
        topics = {wish.topic: wish.key for wishes in self.wishes.values() for wish in wishes}
        return topics | {issue.topic: issue.key for issues in self.issues.values() for issue in issues}

    @eventually
    def the_root_knows_who_wants_what(self, world: World) -> Iterable[str]:
        """A subscription of a living broker is known at its topic's root and nowhere else, where they hang together."""
        return misplaced(self, world, self._topics())

    @always
    def each_format_once(self, world: World) -> Iterable[str]:
        """Nobody gets a publication twice, or in other formats than it wants."""
        return wrong_deliveries(self, world)

    @eventually
    def everybody_is_served(self, world: World) -> Iterable[str]:
        """What is published when the last who joined, left or failed has been noticed reaches every subscriber."""
        return missing(self, world)

    @eventually
    def paid_as_planned(self, world: World) -> Iterable[str]:
        """A publication after the last change of the mesh costs what was planned, if its tree was discovered."""
        return overpaid(self, world)

    @sometimes
    def a_plan_is_refined(self, world: World) -> bool:
        """A broker on the way sees another tree and makes a better plan for it."""
        return any(delivery.changed_plans for delivery in world.protocols(Delivery).values())

    @sometimes
    def converted_on_the_way(self, world: World) -> bool:
        """A broker that did not make the plan converts content."""
        return any(
            conversion and publication not in delivery.planned
            for delivery in world.protocols(Delivery).values()
            for publication, (_, conversion) in delivery.paid.items()
        )

    @classmethod
    def case(cls, draw: Draw) -> Case:
        return dissemination_case(draw)


def _identifiers(brokers: Sequence[str], mesh: MeshSettings, seed: int) -> dict[str, str]:
    """Every broker's identifier follows from its name; where two are the same, one more word is hashed."""
    if mesh.base**mesh.digits < 2 * len(brokers):
        told = f"{mesh.digits} digits to the base {mesh.base} are too few names for {len(brokers)} brokers"
        raise ScenarioError("dissemination.tapestry.digits", told)
    found: dict[str, str] = {}
    taken: set[str] = set()
    for name in brokers:
        attempt = 0
        while True:
            identifier = in_digits(derive(seed, "identifier", name, str(attempt)), mesh.base, mesh.digits)
            attempt += 1
            if identifier not in taken:
                break
        found[name] = identifier
        taken.add(identifier)
    return found


def _slowest_s(delay: Distribution) -> float:
    return delay.ceiling if delay.ceiling < math.inf else delay.floor + 4 * delay.tail


def _among(key: str, name: str, known: Iterable[str], problem: str) -> None:
    if name not in known:
        raise ScenarioError(f"dissemination.{key}", problem.format(name))
