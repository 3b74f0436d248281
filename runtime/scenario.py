"""Scenarios: everything that a run depends on, in one TOML file, checked before anything runs."""

from __future__ import annotations

import math
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field, create_model

from runtime.agent import Layer
from runtime.errors import ScenarioError
from runtime.faults import Fault, FaultPlan, plan_faults
from runtime.network import Network
from runtime.settings import Settings, Several, parse
from runtime.system import MakeLayer, System, find_system, load_attribute
from runtime.topology import NetworkSettings, build

SHIPPED = Path(__file__).parent.parent / "agents" / "scenarios"
CHANNEL = "protocols.channel:Channel"


class Limits(Settings):
    """A run that reaches a limit before it is quiet ends undecided."""

    events: Annotated[int, Field(ge=1)] = 10_000_000
    time: Annotated[float, Field(gt=0)] | None = None


class ChannelSettings(Settings):
    """The reliable links' patience; what is left out follows from the network's delays."""

    retransmit_after: Annotated[float, Field(gt=0)] | None = None
    suspect_after: Annotated[int, Field(ge=1)] = 15
    give_up_after: Annotated[int, Field(ge=1)] = 60


class Frame(Settings):
    """What every scenario has, whatever its protocol."""

    protocol: str = Field(examples=["coverage"])
    seed: Annotated[int, Field(ge=0)] = 0
    links: Literal["raw", "reliable"] = "raw"
    network: NetworkSettings
    faults: Several[Fault] = ()
    limits: Limits = Limits()
    channel: ChannelSettings = ChannelSettings()


@dataclass(frozen=True)
class Scenario:
    """A checked scenario: the network is built, the faults are planned, the cast is known."""

    name: str
    data: dict[str, Any]
    protocol: str
    seed: int
    links: str
    limits: Limits
    system: System
    plan: FaultPlan
    folder: Path
    """Where the files that it names are sought."""

    @property
    def network(self) -> Network:
        return self.system.network

    @property
    def time_limit(self) -> float:
        return math.inf if self.limits.time is None else self.limits.time


def load(name: str, overrides: Sequence[str] = (), seed: int | None = None) -> Scenario:
    """Read a scenario file, or a shipped scenario by its name, with `key=value` overrides."""
    path = find(name)
    data = read(path)
    for override in overrides:
        _override(data, override)
    if seed is not None:
        data["seed"] = seed
    return check(data, path.parent, path.name)


def check(data: Mapping[str, Any], folder: Path = Path(), file: str = "scenario") -> Scenario:
    """Check a scenario that has been read, and prepare all that it describes."""
    try:
        return _check(dict(data), folder, file)
    except ScenarioError as error:
        raise ScenarioError(error.key, error.problem, file) from error


def find(name: str) -> Path:
    """The file of this name, or the shipped scenario."""
    path = Path(name)
    known = shipped_scenarios()
    if path.exists() and not path.is_dir():
        return path
    if name in known:
        return known[name]
    if path.is_dir():
        raise ScenarioError("", "a folder, not a file; write the name of a .toml file", name)
    if path.suffix == ".toml":
        return path
    raise ScenarioError("", f"neither a file nor a shipped scenario; shipped are: {', '.join(known)}", name)


def shipped_scenarios() -> dict[str, Path]:
    return {path.stem: path for path in sorted(SHIPPED.glob("*.toml"))}


def read(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise ScenarioError("", f"file not found; shipped are: {', '.join(shipped_scenarios())}", str(path)) from None
    except OSError as problem:
        raise ScenarioError("", problem.strerror or str(problem), str(path)) from None
    except UnicodeDecodeError:
        raise ScenarioError("", "not text in UTF-8", str(path)) from None
    except tomllib.TOMLDecodeError as problem:
        raise ScenarioError("", f"not TOML: {problem}", str(path)) from None


def _check(data: dict[str, Any], folder: Path, file: str) -> Scenario:
    if not isinstance(data.get("protocol"), str):
        parse(Frame, data)  # says what is wrong with it
    kind = find_system(data["protocol"], folder)
    members = kind.members(data)
    for member in members:
        data = _with_files(data, member, folder)
    frame = parse(_frame_of(tuple(kind.unread), members), data)
    bare = build(frame.network, frame.seed, folder)
    layer = _layer(frame, bare)
    system = kind.of({member.section: getattr(frame, member.section) for member in members}, bare, frame.seed, layer)
    plan = plan_faults(frame.faults, system.network, frame.seed)
    return Scenario(file, data, frame.protocol, frame.seed, frame.links, frame.limits, system, plan, folder)


@lru_cache(maxsize=64)
def _frame_of(unread: tuple[str, ...], members: tuple[type[System], ...]) -> type[Frame]:
    """The frame with the tables of these systems. To make one takes longer than a small run."""
    tables: dict[str, Any] = dict.fromkeys(unread, (Any, None))
    tables |= {member.section: _table_of(member) for member in members}
    return create_model("Scenario", __base__=Frame, **tables)


def _table_of(kind: type[System]) -> tuple[Any, Any]:
    """The system's table as a field: it may be left out where every key has a default."""
    needed = any(field.is_required() for field in kind.Settings.model_fields.values())
    return (kind.Settings, ...) if needed else (kind.Settings, Field(default_factory=kind.Settings))


def _with_files(data: dict[str, Any], kind: type[System], folder: Path) -> dict[str, Any]:
    """The scenario with the tables in it for which it names a file; so a kept scenario needs no other file."""
    section = data.get(kind.section)
    named = [key for key in kind.files if isinstance(section, dict) and isinstance(section.get(key), str)]
    if not isinstance(section, dict) or not named:
        return data
    return data | {kind.section: section | {key: _table(kind, key, section[key], folder) for key in named}}


def _table(kind: type[System], key: str, name: str, folder: Path) -> dict[str, Any]:
    shipped = {path.stem: path for path in sorted((SHIPPED.parent / kind.files[key]).glob("*.toml"))}
    path = shipped.get(name, folder / name)
    if not path.is_file():
        known = f"neither a file beside the scenario nor one of: {', '.join(shipped)}"
        raise ScenarioError(f"{kind.section}.{key}", f"{name!r} is {known}")
    try:
        return read(path)
    except ScenarioError as error:
        raise ScenarioError(f"{kind.section}.{key}", f"{path.name}: {error.problem}") from None


def _layer(frame: Frame, network: Network) -> MakeLayer:
    if frame.links == "raw":
        return lambda: None
    channel: type[Layer] = load_attribute(CHANNEL)
    options = frame.channel.model_dump()
    if options["retransmit_after"] is None:
        # Half as long again as a message and its answer usually take.
        slowest = max((network.default.delay, network.access_delay), key=lambda delay: delay.mean)
        usual = slowest.ceiling if slowest.ceiling < math.inf else slowest.floor + 4 * slowest.tail
        options["retransmit_after"] = 3 * usual
    return lambda: channel(**options)


def _override(data: dict[str, Any], override: str) -> None:
    """Apply `network.nodes=40`; the value is TOML, or text where it is no TOML."""
    key, equals, text = override.partition("=")
    if not equals or not key.strip():
        raise ScenarioError(f"--set {override}", "write key=value, as in network.nodes=40")
    try:
        value = tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        value = text.strip()
    try:
        change_key(data, key.strip(), value)
    except ScenarioError as error:
        raise ScenarioError(f"--set {override}", error.problem) from None


def change_key(data: dict[str, Any], key: str, value: Any) -> None:
    """Set `network.nodes` in the data of a scenario; tables on the way that are not there are made."""
    *tables, last = key.split(".")
    place: Any = data
    for table in tables:
        inner = place.get(table, {})
        if not isinstance(inner, dict):
            raise ScenarioError(key, f"{table} is not a table")
        place[table] = place = dict(inner)
    place[last] = value
