"""Systems: a protocol with its cast. Which agents does a scenario ask for, and what did their run show?

A shipped system has a name in `agents.SYSTEMS`. A protocol of one's own needs none: `protocol =
"my_file.py:MyProtocol"` puts one on every node of the network.
"""

from __future__ import annotations

import importlib
import importlib.util
import inspect
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

import networkx
from pydantic import BaseModel, create_model

from runtime.agent import Agent, Layer, Protocol
from runtime.errors import BrokerlabError, ScenarioError
from runtime.events import EventLog
from runtime.network import Network
from runtime.properties import Kind, Property, properties_of
from runtime.settings import Settings, one_of

if TYPE_CHECKING:
    from runtime.report.model import Report
    from runtime.testing.cases import Case, Draw

P = TypeVar("P")
MakeLayer = Callable[[], Layer | None]


@dataclass(frozen=True)
class World:
    """What an observer sees at the end of a run: the agents that are up, and the links that work."""

    agents: Mapping[str, Agent]
    network: Network
    cut: frozenset[tuple[str, str]] = frozenset()
    events: EventLog = field(default_factory=EventLog)
    """What the agents logged."""

    now: float = 0.0

    dead: Mapping[str, Agent] = field(default_factory=dict)
    """The agents of crashed nodes as they were then, where somebody can still see them."""

    found: dict[type[Any], dict[str, Any]] = field(default_factory=dict, repr=False, compare=False)
    """The protocols that were asked for; who looks again at the same agents may hand this on."""

    @cached_property
    def graph(self) -> networkx.Graph:
        """The living brokers and the links that work both ways."""
        graph = self.network.graph()
        graph.remove_nodes_from([name for name in self.network.brokers if name not in self.agents])
        graph.remove_edges_from(self.cut)
        return graph

    def protocols(self, kind: type[P]) -> dict[str, P]:
        """Every living agent's protocol of this class."""
        if kind not in self.found:
            found = {name: agent.find(kind) for name, agent in self.agents.items()}
            self.found[kind] = {name: protocol for name, protocol in found.items() if protocol is not None}
        return self.found[kind]


class System:
    """Says who lives on the network and what is to be seen there. It looks on from outside; agents cannot."""

    section: ClassVar[str]
    """The table of the scenario that belongs to this system."""

    Settings: ClassVar[type[BaseModel]]

    headings: ClassVar[Mapping[str, tuple[str, ...]]] = {}
    """What the columns of a result are called where people see it: {"at": ("broker", "topic", "next hops")}."""

    files: ClassVar[Mapping[str, str]] = {}
    """Keys of the section that may name a TOML file instead of holding a table, and the folder in `agents` with the
    files that are shipped: {"cag": "cags"}."""

    unread: ClassVar[Sequence[str]] = ()
    """Tables of other systems that a scenario may hold for another time."""

    tolerates: ClassVar[Sequence[str]] = ()
    """The faults that it is to withstand: what `brokerlab check` strikes it with if nobody says otherwise."""

    only_with: ClassVar[Mapping[str, Sequence[str]]] = {}
    """Messages, by tag, or handlers, such as "Storing.ordered(Order)", that occur only with one of these faults; with
    none of them, never here.

    Else a handler that no case has called leaves a check undecided."""

    def __init__(self, settings: Any, network: Network, seed: int, layer: MakeLayer = lambda: None) -> None:
        self.settings = settings
        self.network = network
        self.seed = seed
        self.layer = layer

    @classmethod
    def members(cls, data: Mapping[str, Any]) -> tuple[type[System], ...]:
        """The systems whose tables a scenario with this data holds."""
        return (cls,)

    @classmethod
    def of(cls, tables: Mapping[str, Any], network: Network, seed: int, layer: MakeLayer) -> System:
        """The system that these tables, by their names, describe."""
        return cls(tables[cls.section], network, seed, layer)

    def agent(self, name: str) -> Agent:
        """A new agent for the node of this name: it knows its own part of the scenario and nothing else."""
        raise ScenarioError("protocol", f"{type(self).__name__} has no agent()")

    def observe(self, world: World) -> None:
        """Add to the world's events what only somebody who sees all the nodes can know; called once, at the end."""

    def results(self, world: World) -> dict[str, Any]:
        """What the run has shown, as JSON."""
        return {}

    def report(self, world: World, report: Report) -> None:
        """Say what the run's page shows beside what it shows of every run: who holds what when, curves, panels."""

    @classmethod
    def case(cls, draw: Draw) -> Case:
        """A small scenario to check the protocol with, drawn with these dice."""
        raise ScenarioError("protocol", f"{cls.__name__} draws no cases; check one of its scenarios: a .toml file")

    def written_out(self, data: Mapping[str, Any]) -> dict[str, Any]:
        """The scenario's tables in which the seed has decided something, with that in its place.

        So whoever makes a case smaller can leave out each part of it on its own.
        """
        return {}

    @classmethod
    def properties(cls) -> tuple[Property, ...]:
        """What is to hold: the methods marked with `always`, `eventually` and `sometimes`."""
        return properties_of(cls)

    def problems(self, found: Property, world: World) -> list[str]:
        """What is wrong with this property, in words."""
        return found.problems(self, world)

    def come_about(self, found: Property, world: World) -> bool:
        """Has this `sometimes` property come about?"""
        return bool(found.look(self, world))

    def violations(self, world: World, *kinds: Kind) -> list[str]:
        """What should hold and does not; of all properties, unless only some kinds are asked for."""
        asked = kinds or ("always", "eventually")
        return [p for found in self.properties() if found.kind in asked for p in self.problems(found, world)]


class Uniform(System):
    """The same protocol on every node; its constructor's parameters are the scenario's `[settings]`."""

    section = "settings"
    headings: ClassVar = {"by_node": ("node",)}
    protocol: ClassVar[type[Protocol]]

    def agent(self, name: str) -> Agent:
        return Agent([self.protocol(**dict(self.settings))], self.layer())

    def results(self, world: World) -> dict[str, Any]:
        """What each node's `result()` gives, if the protocol has one."""
        if not hasattr(self.protocol, "result"):
            return {}
        return {"by_node": {name: found.result() for name, found in world.protocols(self.protocol).items()}}

    def report(self, world: World, report: Report) -> None:
        """What the protocol's static `report(world, report)` says, if it has one; a handler may have that name, too."""
        if isinstance(inspect.getattr_static(self.protocol, "report", None), staticmethod):
            self.protocol.report(world, report)  # type: ignore[attr-defined]

    @classmethod
    def case(cls, draw: Draw) -> Case:
        """What the protocol's static `case(draw)` gives, if it has one."""
        own: Callable[[Draw], Case] | None = getattr(cls.protocol, "case", None)
        return super().case(draw) if own is None else own(draw)

    @classmethod
    def properties(cls) -> tuple[Property, ...]:
        return properties_of(cls.protocol)

    def problems(self, found: Property, world: World) -> list[str]:
        return found.problems(world)

    def come_about(self, found: Property, world: World) -> bool:
        return bool(found.look(world))


def shipped() -> dict[str, type[System]]:
    """The systems that come with brokerlab, by name."""
    known: dict[str, str] = importlib.import_module("agents").SYSTEMS
    return {name: load_attribute(target) for name, target in known.items()}


def find_system(name: str, folder: Path) -> type[System]:
    """The system that a scenario names; files are looked for in the scenario's folder."""
    known: dict[str, str] = importlib.import_module("agents").SYSTEMS
    if name in known:
        return _as_system(load_attribute(known[name]), name)
    file, colon, attribute = name.rpartition(":")
    if not colon:
        raise ScenarioError("protocol", one_of(name, list(known)) + '; for your own write "my_file.py:MyProtocol"')
    if not file.endswith(".py"):
        raise ScenarioError("protocol", f'{name!r}: write "my_file.py:MyProtocol"')
    module = _load_file(folder / file)
    if not hasattr(module, attribute):
        raise ScenarioError("protocol", f"{file} has no {attribute}")
    return _as_system(getattr(module, attribute), name)


def load_attribute(target: str) -> Any:
    """The thing that "package.module:name" names."""
    module, _, attribute = target.partition(":")
    return getattr(importlib.import_module(module), attribute)


def _load_file(path: Path) -> Any:
    """The module in this file: loaded once, and again if the file has changed."""
    path = path.resolve()
    state = path.stat() if path.is_file() else None
    version = None if state is None else (state.st_mtime_ns, state.st_size)
    if version is not None and _loaded.get(path, (None, None))[0] == version:
        module = _loaded[path][1]
        sys.modules[module.__name__] = module  # another file of this name may have come meanwhile
        return module
    spec = importlib.util.spec_from_file_location(f"brokerlab_file_{path.stem}", path)
    if not path.is_file() or spec is None or spec.loader is None:
        raise ScenarioError("protocol", f"file {path.name} not found; it was looked for as {path}")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    try:
        spec.loader.exec_module(module)
    except BrokerlabError as problem:
        raise ScenarioError("protocol", f"{path.name}: {problem}") from problem
    except Exception as problem:
        raise ScenarioError("protocol", f"{path.name}: {type(problem).__name__}: {problem}") from problem
    _loaded[path] = (version, module)
    return module


_loaded: dict[Path, tuple[Any, Any]] = {}


def _as_system(found: Any, name: str) -> type[System]:
    if isinstance(found, type) and issubclass(found, System):
        return found
    if isinstance(found, type) and issubclass(found, Protocol):
        members = {"protocol": found, "Settings": _settings_of(found, name), "__doc__": found.__doc__}
        withstands = {"tolerates": getattr(found, "tolerates", ())}
        return type(found.__name__, (Uniform,), members | withstands)
    raise ScenarioError("protocol", f"{name} is neither a Protocol nor a System")


def _settings_of(protocol: type[Protocol], name: str) -> type[BaseModel]:
    """Settings read off the constructor: names, types and defaults of its parameters."""
    fields: dict[str, Any] = {}
    try:
        for parameter in inspect.signature(protocol, eval_str=True).parameters.values():
            if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
                continue
            hint = Any if parameter.annotation is parameter.empty else parameter.annotation
            fields[parameter.name] = (hint, ... if parameter.default is parameter.empty else parameter.default)
        return create_model(f"{protocol.__name__}Settings", __base__=Settings, **fields)
    except Exception as problem:  # annotations can hold anything
        reason = str(problem).partition("\n")[0].partition(". Set `")[0]
        told = f"{name}: the parameters of __init__ cannot be read as [settings]: {reason}"
        raise ScenarioError("protocol", told) from None
