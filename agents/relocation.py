"""The relocation system: content-based routing, and publishers that move to better brokers (relocation)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, ClassVar

import networkx

from agents.broker import relocation_broker
from agents.cases.relocation import relocation_case
from agents.client import publisher, subscriber
from agents.relocation_settings import Attributes, RelocationSettings
from agents.reports.relocation import relocation_report
from agents.routed import incomplete, out_of_order, two_homes, unfinished, wrong_deliveries, wrong_tables
from agents.stocks import Part, draw
from protocols.relocation.clients import Program, Publishing, Subscribing, Wish
from protocols.relocation.grape import GrapeSettings
from protocols.relocation.pop import PopSettings
from protocols.routing.connections import Connections, Resources
from protocols.routing.content import ContentRouting
from protocols.routing.filters import Content, Filter, matches
from runtime.agent import Agent
from runtime.errors import ScenarioError
from runtime.network import Network
from runtime.properties import always, eventually, sometimes
from runtime.report import Report
from runtime.system import MakeLayer, System, World
from runtime.testing.cases import Case, Draw


class RelocationSystem(System):
    """Publishers that move to the brokers where their subscribers are: POP, GRAPE, lossless migration"""

    section = "relocation"
    Settings = RelocationSettings
    settings: RelocationSettings
    headings: ClassVar = {
        "publishers": ("publisher",),
    }

    tolerates: ClassVar = ("drop", "duplicate", "reorder", "delay", "partition")

    def __init__(
        self, settings: RelocationSettings, network: Network, seed: int, layer: MakeLayer = lambda: None
    ) -> None:
        _require_tree(network)
        self.parts = _parts(settings)
        if settings.stocks is not None:
            self.parts |= draw(settings.stocks, network, seed)
        self.programs = [part.program for part in self.parts.values() if part.program is not None]
        if not self.programs:
            raise ScenarioError("relocation", "no publisher; write publishers = {...} or stocks = {...}")
        self.tree = network.graph()
        network = network.attach({name: part.broker for name, part in self.parts.items()}, "relocation")
        super().__init__(settings, network, seed, layer)
        self.moves = _moves(settings, self.parts, self.tree)
        self._guests: dict[str, list[str]] = {name: [] for name in network.brokers}
        for guest, home in network.homes.items():
            self._guests[home].append(guest)

    def agent(self, name: str) -> Agent:
        layer = self.layer()
        part = self.parts.get(name)
        if part is None:
            return self._broker(name)
        if part.program is not None:
            return publisher(part.broker, part.program, self.moves.get(name, ()), layer)
        assert part.wish is not None
        return subscriber(part.broker, [part.wish], self.settings.steady_from, layer)

    def _broker(self, name: str) -> Agent:
        settings = self.settings
        resources = Resources(
            settings.matching.base,
            settings.matching.per_subscription,
            self.network.default.bandwidth,
            begins_s=min(program.start_s for program in self.programs),
            steady_s=settings.steady_from,
        )
        connections = Connections(frozenset(self.tree[name]), frozenset(self._guests[name]), resources)
        flooding = settings.routing == "flooding"
        algorithm = self._algorithm()
        return relocation_broker(
            connections, algorithm, settings.covering, flooding, settings.follow_after, self.layer()
        )

    def _algorithm(self) -> PopSettings | GrapeSettings | None:
        threshold, pop, grape = self.settings.threshold, self.settings.pop, self.settings.grape
        if self.settings.algorithm == "pop":
            return PopSettings(threshold, pop.traced_per_window or -(-threshold // 2), pop.window, pop.newest)
        if self.settings.algorithm == "grape":
            return GrapeSettings(threshold, grape.priority, grape.weight)
        return None

    # What is seen from outside

    @eventually
    def tables_as_if_started_here(self, world: World) -> Iterable[str]:
        """Routing tables are those of a network in which every publisher had started where it is now."""
        return wrong_tables(world, self.settings.covering, self.settings.routing == "flooding")

    @eventually
    def nothing_lost_or_doubled(self, world: World) -> Iterable[str]:
        """Every subscriber has each publication that it wants once, in order, and no other."""
        return wrong_deliveries(world)

    @eventually
    def nothing_missed_from_the_start(self, world: World) -> Iterable[str]:
        """Who subscribed at the start has all that publishers who begin in the steady state have published."""
        return incomplete(world, self.settings.steady_from)

    @eventually
    def everything_published(self, world: World) -> Iterable[str]:
        """No publisher is still paused, and none has anything left to publish."""
        return unfinished(world)

    @always
    def newer_than_before(self, world: World) -> Iterable[str]:
        """What a subscriber has got last from a publisher is newer than what it got before."""
        return out_of_order(world)

    @always
    def one_home_each(self, world: World) -> Iterable[str]:
        """No two brokers take the same publisher for theirs."""
        return two_homes(world)

    @sometimes
    def a_publisher_moves(self, world: World) -> bool:
        """A publisher has moved to another broker."""
        return any(sent.migrations for sent in world.protocols(Publishing).values())

    @sometimes
    def a_publication_waits(self, world: World) -> bool:
        """Something is published while its publisher is on the move."""
        return any(sent.buffer for sent in world.protocols(Publishing).values())

    @sometimes
    def a_subscriber_follows(self, world: World) -> bool:
        """A subscriber has moved towards its publications."""
        return any(reading.moves for reading in world.protocols(Subscribing).values())

    @classmethod
    def case(cls, draw: Draw) -> Case:
        return relocation_case(draw)

    def results(self, world: World) -> dict[str, Any]:
        publishers = world.protocols(Publishing)
        return {
            "publishers": {
                name: {"published": sent.numbered, "from": self.parts[name].broker, "now at": sent.broker}
                for name, sent in publishers.items()
            },
            **self._deliveries(world),
            **self._work(world),
            **_migrations(publishers.values()),
            "followed": sum(reading.moves for reading in world.protocols(Subscribing).values()),
        }

    def report(self, world: World, report: Report) -> None:
        relocation_report(self, world, report)

    def _deliveries(self, world: World) -> dict[str, Any]:
        distance = dict(networkx.all_pairs_shortest_path_length(self.tree))
        deliveries = hops = 0
        delay_s = 0.0
        everything = 0
        for reading in world.protocols(Subscribing).values():
            for received in reading.received.values():
                everything += len(received.numbers)
                deliveries += received.counted
                delay_s += received.delay_s
                hops += sum(count * distance[a][b] for (a, b), count in received.ways.items())
        return {
            "delivered": everything,
            "delivery_delay_s": delay_s / deliveries if deliveries else None,
            "hop_count": hops / deliveries if deliveries else None,
        }

    def _work(self, world: World) -> dict[str, Any]:
        """Averages over all brokers in the steady state; the overhead is that of the whole run."""
        tables = world.protocols(ContentRouting).values()
        desks = [routing.connections for routing in tables]
        works = [desk.steady for desk in desks]
        ends = max(program.start_s + program.every_s * program.count for program in self.programs)
        broker_s = len(works) * max(ends - max(self.settings.steady_from, desks[0].resources.begins_s), 1e-9)
        links = sum(len(desk.brokers) + len(desk.attached) for desk in desks) / len(desks)
        bandwidth = self.network.default.bandwidth
        everything = [work for desk in desks for work in (desk.settling, desk.steady)]
        control = sum(work.control for work in everything)
        publications = sum(work.publications for work in everything)
        bytes_out = sum(work.bytes_out for work in works)
        entries = sum(len(routing.subscriptions) + len(routing.advertisements) for routing in tables)
        selections = [choice for routing in tables for choice in routing.tracer.selections]
        return {
            "message_rate": sum(work.publications + work.control for work in works) / broker_s,
            "input_utilisation": sum(work.busy_s for work in works) / broker_s,
            "output_utilisation": bytes_out / (broker_s * links * bandwidth) if bandwidth and links else None,
            "publications_handled": publications,
            "message_overhead": control / publications if publications else None,
            "table_entries": entries,
            "trace_bytes": sum(routing.tracer.size_bytes() for routing in tables),
            "selections": len(selections),
            "selection_s": _mean(took_s for _, took_s in selections),
        }


def _migrations(publishers: Iterable[Publishing]) -> dict[str, Any]:
    waits = [wait for sent in publishers for wait in sent.migrations]
    firsts = [(sent.first_moved_at, sent.program.start_s) for sent in publishers]
    return {
        "response_s": _mean(moved_at - start_s for moved_at, start_s in firsts if moved_at is not None),
        "migrations": len(waits),
        "publisher_wait_s": _mean(wait_s for _, wait_s in waits),
        "path_hops": _mean(hops for hops, _ in waits),
    }


def _mean(values: Iterable[float]) -> float | None:
    values = list(values)
    return sum(values) / len(values) if values else None


def _require_tree(network: Network) -> None:
    graph = network.graph()
    if graph.number_of_edges() >= len(graph):
        raise ScenarioError("network", "not a tree; publications are routed on trees: write e.g. kind = random-tree")


def _parts(settings: RelocationSettings) -> dict[str, Part]:
    parts: dict[str, Part] = {}
    for name, row in settings.publishers.items():
        where, contents = _filter(row.where), tuple(_content(content) for content in row.contents)
        for place, content in enumerate(contents):
            if not matches(where, content):
                key = f"relocation.publishers.{name}.contents[{place}]"
                raise ScenarioError(key, "does not meet the conditions in `where`, which the publisher advertises")
        program = Program(where, contents, row.count, row.every, row.start, row.leaves)
        parts[name] = Part(row.broker, program)
    for name, group in settings.subscribers.items():
        if group.until is not None and group.until <= group.since:
            raise ScenarioError(f"relocation.subscribers.{name}.until", f"write a time after since = {group.since:g}")
        alike = [name] if group.number == 1 else [f"{name}{number}" for number in range(1, group.number + 1)]
        for each in alike:
            if each in parts:
                raise ScenarioError(f"relocation.subscribers.{name}", f"the name {each} is taken")
            parts[each] = Part(group.broker, wish=Wish(_filter(group.where), group.since, group.until))
    return parts


def _moves(
    settings: RelocationSettings, parts: Mapping[str, Part], tree: networkx.Graph
) -> dict[str, list[tuple[float, tuple[str, ...]]]]:
    """For each publisher its orders with their paths; each begins where the one before ended."""
    if settings.moves and settings.algorithm != "none":
        raise ScenarioError("relocation.moves", 'only with algorithm = "none": an algorithm decides by itself')
    at = {name: part.broker for name, part in parts.items() if part.program is not None}
    moves: dict[str, list[tuple[float, tuple[str, ...]]]] = {}
    for place, move in sorted(enumerate(settings.moves), key=lambda row: row[1].at):
        if move.publisher not in at:
            raise ScenarioError(f"relocation.moves[{place}].publisher", f"there is no publisher {move.publisher}")
        if move.to not in tree:
            raise ScenarioError(f"relocation.moves[{place}].to", f"broker {move.to} is not in [network]")
        path = tuple(networkx.shortest_path(tree, move.to, at[move.publisher]))
        if len(path) > 1:
            at[move.publisher] = move.to
            moves.setdefault(move.publisher, []).append((move.at, path))
    return moves


def _filter(where: Iterable[tuple[Any, ...]]) -> Filter:
    return tuple((str(name), str(relation), value) for name, relation, value in where)


def _content(attributes: Attributes) -> Content:
    return tuple(sorted(attributes.items()))
