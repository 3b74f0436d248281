"""The [dissemination] section."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, model_validator

from agents.coverage import Condition
from runtime.settings import Settings, Several

Seconds = Annotated[float, Field(ge=0)]
Positive = Annotated[float, Field(gt=0)]
Range = Annotated[Several[Positive], Field(min_length=2, max_length=2)]
Algorithm = Literal["optimal", "heuristic", "root", "leaves"]
MOST_IN_A_MESSAGE = 60  # a set of formats is one number on the wire


class CagSettings(Settings):
    """A content adaptation graph: sizes in MB, and the seconds that an operator takes for 1 MB of its source."""

    formats: Annotated[dict[str, Positive], Field(min_length=1, max_length=MOST_IN_A_MESSAGE)]
    operators: dict[str, dict[str, Positive]] = Field(default_factory=dict)

    @model_validator(mode="after")
    def _known(self) -> CagSettings:
        for source, targets in self.operators.items():
            for name in (source, *targets):
                if name not in self.formats:
                    raise ValueError(f"operators.{source}: {name} is not in formats")
        return self


class Subscription(Settings):
    broker: str = Field(examples=["n1"])
    topic: str
    profile: str | None = None
    formats: Several[str] = ()
    where: Several[Condition] = ()
    at: Seconds = 0.0


class ContentPublication(Settings):
    at: Seconds
    broker: str
    topic: str
    format: str
    content: dict[str, str | int | float | bool] = Field(default_factory=dict)


class RandomContent(Settings):
    """Publications by random brokers, each on a topic of its own that random brokers have subscribed to."""

    matching: Annotated[float, Field(gt=0, le=1)]
    publications: Annotated[int, Field(ge=1)] = 1
    start: Seconds = 100.0
    every: Positive = 100.0
    most_formats: Annotated[float, Field(gt=0, le=1)] = 0.25


class MeshSettings(Settings):
    base: Annotated[int, Field(ge=2, le=36)] = 16
    digits: Annotated[int, Field(ge=1, le=40)] = 8
    over: Literal["underlay", "links"] = "underlay"
    start: Literal["complete", "joining"] = "complete"
    every: Seconds = 5.0
    patience: Positive | None = None
    joins: dict[str, Seconds] = Field(default_factory=dict)
    leaves: dict[str, Seconds] = Field(default_factory=dict)


class HeuristicSettings(Settings):
    initial: Literal["root", "leaves", "cheapest", "few"] = "cheapest"
    iterations: Annotated[int, Field(ge=0)] | None = None
    depth: Annotated[int, Field(ge=1)] = 1
    steiner: Literal["best", "nearest"] = "best"


class FactorSettings(Settings):
    nodes: Range = (1.0, 1.0)
    links: Range = (1.0, 1.0)
    aware: bool = True

    @model_validator(mode="after")
    def _in_order(self) -> FactorSettings:
        for low, high in (self.nodes, self.links):
            if low > high:
                raise ValueError(f"[{low:g}, {high:g}] is empty; write the smaller number first")
        return self


class LoadSettings(Settings):
    unit: Positive
    node: Positive
    link: Positive
    most: Annotated[float, Field(ge=1)] = 100.0
    aware: bool = True


class DisseminationSettings(Settings):
    cag: CagSettings = Field(examples=["map"])
    alpha: Annotated[float, Field(ge=0)] = 1.0
    beta: Annotated[float, Field(ge=0)] = 1.0
    algorithm: Algorithm = "optimal"
    tree: Literal["discovered", "estimated"] = "discovered"
    threshold: Annotated[float, Field(ge=0)] = 0.0
    planning: Seconds = 0.1
    busy: bool = True
    compare: Several[Algorithm] = ()
    heuristic: HeuristicSettings = HeuristicSettings()
    tapestry: MeshSettings = MeshSettings()
    factors: FactorSettings = FactorSettings()
    load: LoadSettings | None = None
    profiles: dict[str, Several[str]] = Field(default_factory=dict)
    subscriptions: Several[Subscription] = ()
    publications: Several[ContentPublication] = ()
    random: RandomContent | None = None
