"""Several systems on one overlay: the same brokers, links, faults and clock."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache
from typing import Annotated, Any, ClassVar, Literal

from pydantic import AfterValidator, Field

from agents.cases.together import together_case
from agents.coverage import CoverageSystem
from agents.dissemination import DisseminationSystem
from agents.overlay import OverlaySystem
from agents.planning import PlanningSystem
from agents.relocation import RelocationSystem
from agents.replicas import HolisticSystem, MyopicSystem
from agents.shared_broker import shared_agent
from protocols.ways import Ways
from runtime.agent import Agent
from runtime.errors import ScenarioError, WiringError
from runtime.network import Network
from runtime.parts import PartedAgent
from runtime.properties import Property
from runtime.report import Report, apart, join
from runtime.settings import Settings, Several, parse
from runtime.system import MakeLayer, System, World
from runtime.testing.cases import Case, Draw

Kinds = Mapping[str, type[System]]
KINDS: Kinds = {
    "planning": PlanningSystem,
    "coverage": CoverageSystem,
    "holistic": HolisticSystem,
    "myopic": MyopicSystem,
    "relocation": RelocationSystem,
    "overlay": OverlaySystem,
    "dissemination": DisseminationSystem,
}
Name = Literal["planning", "coverage", "holistic", "myopic", "relocation", "overlay", "dissemination"]
SEEN_ALONE = {"overlay-a-publication-is-late", "dissemination-a-plan-is-refined"}
"""What hardly ever comes about in networks as small as several parts are checked in; the parts' own checks see it."""

FIVE: tuple[Name, ...] = ("planning", "holistic", "relocation", "overlay", "dissemination")


def _apart(names: tuple[Name, ...]) -> tuple[Name, ...]:
    tables: dict[str, str] = {}
    for name in names:
        table = KINDS[name].section
        if (other := tables.setdefault(table, name)) != name or names.count(name) > 1:
            raise ValueError(f"{name} is there twice" if other == name else f"{other} and {name} both read [{table}]")
    return names


class TogetherSettings(Settings):
    """The scenario's [together]."""

    parts: Annotated[Several[Name], Field(min_length=1), AfterValidator(_apart)] = FIVE


def _tolerated(kinds: Kinds) -> tuple[str, ...]:
    """The faults that all of them are to withstand."""
    first, *others = kinds.values()
    return tuple(fault for fault in first.tolerates if all(fault in other.tolerates for other in others))


def _only_with(kinds: Kinds) -> dict[str, Sequence[str]]:
    here = {"Reborn": ("crash", "death"), "Serving.redirected(overlay.Redirect)": ()}
    return here | {what: faults for kind in kinds.values() for what, faults in kind.only_with.items()}


def _headings(kinds: Kinds) -> dict[str, tuple[str, ...]]:
    own = {"by_part": ("part",)}
    return own | {f"{name}.{key}": words for name, kind in kinds.items() for key, words in kind.headings.items()}


class TogetherSystem(System):
    """Planning, replicas, relocation, overlay and dissemination on one overlay, each broker one agent"""

    section = "together"
    Settings = TogetherSettings
    unread: ClassVar = tuple(dict.fromkeys(kind.section for kind in KINDS.values()))
    kinds: ClassVar[Kinds] = {name: KINDS[name] for name in FIVE}
    headings: ClassVar = _headings(kinds)
    tolerates: ClassVar = _tolerated(kinds)
    only_with: ClassVar = _only_with(kinds)

    def __init__(self, tables: Mapping[str, Any], network: Network, seed: int, layer: MakeLayer = lambda: None) -> None:
        self.parts = {name: kind(tables[kind.section], network, seed, layer) for name, kind in self.kinds.items()}
        super().__init__(tables[self.section], _with_all_guests(network, self.parts), seed, layer)
        try:
            self.agent(network.brokers[0])
        except WiringError as problem:
            told = f"they do not go together: {problem}"
            raise ScenarioError("together.parts", told) from None

    @classmethod
    def members(cls, data: Mapping[str, Any]) -> tuple[type[System], ...]:
        own = parse(TogetherSettings, data.get(cls.section, {}), cls.section)
        return (cls, *(KINDS[name] for name in own.parts))

    @classmethod
    def of(cls, tables: Mapping[str, Any], network: Network, seed: int, layer: MakeLayer) -> System:
        return made_of(tables[cls.section].parts)(tables, network, seed, layer)

    def agent(self, name: str) -> Agent:
        here = {part: system for part, system in self.parts.items() if name in system.network.neighbours}
        return shared_agent(
            {part: system.agent(name) for part, system in here.items()},
            {part: system.network.neighbours[name] for part, system in here.items()},
            self.layer(),
        )

    # What was seen: of each part what it shows when it is alone, under its name

    def observe(self, world: World) -> None:
        for system in self.parts.values():
            system.observe(world)

    def results(self, world: World) -> dict[str, Any]:
        shown: dict[str, Any] = {"by_part": self._traffic(world)}
        for name, system in self.parts.items():
            shown |= {f"{name}.{key}": value for key, value in system.results(world).items()}
        return shown

    def report(self, world: World, report: Report) -> None:
        traffic = self._traffic(world)
        report.bars(
            "By part", {part: row["bytes"] for part, row in traffic.items()}, "bytes", "On the links, hop by hop."
        )
        parts = {name: apart(report, f"{name}.") for name in self.parts}
        for name, system in self.parts.items():
            system.report(world, parts[name])
        join(report, parts, self.network.homes)

    def _traffic(self, world: World) -> dict[str, dict[str, int]]:
        """What each part gave to the links, at every hop, and what went past them."""
        names = [*self.parts, "presence"]
        sent, past = ({name: [0, 0] for name in names} for _ in range(2))
        part_of: dict[str, str] = {}
        for agent in world.agents.values():
            assert isinstance(agent, PartedAgent)
            for part in agent.parts:
                if part.name in sent:
                    _add(sent[part.name], part.sent)
                    _add(past[part.name], part.sent_underlay)
                part_of |= {kind.tag: part.name for protocol in part.protocols for kind in protocol.handlers}
        for ways in world.protocols(Ways).values():
            for tag, counts in ways.durable.items():
                _add(sent[part_of[tag]], counts)
        return {
            name: {
                "messages": sent[name][0],
                "bytes": sent[name][1],
                "past the overlay": past[name][0],
                "bytes past it": past[name][1],
            }
            for name in names
            if sent[name][0] or past[name][0]
        }

    # What should hold: of each part what should hold when it is alone

    @classmethod
    def properties(cls) -> tuple[Property, ...]:
        every = [
            replace(found, name=f"{name}-{found.name}")
            for name, kind in cls.kinds.items()
            for found in kind.properties()
        ]
        return tuple(found for found in every if found.name not in SEEN_ALONE)

    def problems(self, found: Property, world: World) -> list[str]:
        system = self.parts.get(found.name.partition("-")[0])
        return [] if system is None else found.problems(system, world)

    def come_about(self, found: Property, world: World) -> bool:
        system = self.parts.get(found.name.partition("-")[0])
        return system is not None and bool(found.look(system, world))

    @classmethod
    def case(cls, draw: Draw) -> Case:
        return together_case(draw)


@cache
def made_of(names: tuple[str, ...]) -> type[TogetherSystem]:
    """The system of these parts."""
    kinds = {name: KINDS[name] for name in names}
    members: dict[str, Any] = {"kinds": kinds, "headings": _headings(kinds), "tolerates": _tolerated(kinds)}
    return type(TogetherSystem.__name__, (TogetherSystem,), members | {"only_with": _only_with(kinds)})


def _add(counts: list[int], more: Sequence[int]) -> None:
    counts[0] += more[0]
    counts[1] += more[1]


def _with_all_guests(network: Network, parts: Mapping[str, System]) -> Network:
    """The brokers with the links that they have, and every part's agents with theirs."""
    neighbours = {name: list(peers) for name, peers in network.neighbours.items()}
    homes: dict[str, str] = {}
    for system in parts.values():
        for guest, home in system.network.homes.items():
            if guest in neighbours:
                raise ScenarioError(system.section, f"the name {guest} is taken")
            neighbours[guest] = list(system.network.neighbours[guest])
            homes[guest] = home
            for broker in neighbours[guest]:
                neighbours[broker].append(guest)
    ordered = {name: tuple(sorted(peers)) for name, peers in sorted(neighbours.items())}
    return replace(network, neighbours=ordered, homes=dict(sorted(homes.items())))
