"""The [relocation] section."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from agents.coverage import Condition, Seconds
from agents.stocks import Stocks
from protocols.relocation.grape import GrapeSettings
from protocols.relocation.pop import PopSettings
from runtime.settings import Settings, Several

Positive = Annotated[float, Field(gt=0)]
Count = Annotated[int, Field(ge=1)]
Attributes = dict[str, str | int | float | bool]


class Publisher(Settings):
    """A publisher of these contents, in turn."""

    broker: str = Field(examples=["n1"])
    where: Several[Condition] = ()
    contents: Annotated[Several[Attributes], Field(min_length=1)]
    count: Annotated[int, Field(ge=0)]
    every: Positive = 1.0
    start: Seconds = 10.0
    leaves: bool = False


class Subscriber(Settings):
    """One subscriber, or several alike."""

    broker: str = Field(examples=["n1"])
    where: Several[Condition] = ()
    since: Seconds = 0.0
    until: Positive | None = None
    number: Count = 1


class Move(Settings):
    """An operator's order."""

    at: Seconds
    publisher: str
    to: str


class PopTable(Settings):
    traced_per_window: Count | None = None
    """Half of the threshold if left out, as in the paper."""

    window: Positive = PopSettings.window_s
    newest: Annotated[float, Field(gt=0, le=1)] = PopSettings.newest


class GrapeTable(Settings):
    priority: Literal["load", "delay"] = "load"
    weight: Annotated[float, Field(ge=0, le=100)] = GrapeSettings.weight


class Matching(Settings):
    """How long a broker needs for a message."""

    base: Seconds = 0.0
    per_subscription: Seconds = 0.0


class RelocationSettings(Settings):
    """The scenario's [relocation]."""

    algorithm: Literal["none", "pop", "grape"] = "none"
    threshold: Count = PopSettings.threshold
    routing: Literal["advertisements", "flooding"] = "advertisements"
    covering: bool = False
    publishers: dict[str, Publisher] = Field(default_factory=dict)
    subscribers: dict[str, Subscriber] = Field(default_factory=dict)
    stocks: Stocks | None = None
    moves: Several[Move] = ()
    pop: PopTable = PopTable()
    grape: GrapeTable = GrapeTable()
    follow_after: Count | None = None
    matching: Matching = Matching()
    steady_from: Seconds = 0.0
