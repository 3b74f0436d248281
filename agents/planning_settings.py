"""The scenario's [planning]: what is requested where, what the stores can hold, and what happens on the way."""

from __future__ import annotations

import math
from typing import Annotated, Self

from pydantic import AfterValidator, Field, model_validator

from protocols.storage.assignment import Algorithm
from protocols.storage.manager import React
from runtime.settings import Settings, Several, problem_at

Seconds = Annotated[float, Field(ge=0)]
Span = Annotated[float, Field(gt=0)]
Rate = Annotated[float, Field(ge=0)]
Rates = dict[str, dict[str, Rate]]
Exponent = Annotated[float, Field(ge=-10, le=10)]


def _topics(value: int | tuple[str, ...]) -> int | tuple[str, ...]:
    if value in (0, ()) or (isinstance(value, int) and value < 0):
        raise ValueError("no topics; write a number of 1 or more, or a list of names")
    names = () if isinstance(value, int) else value
    for name in names:
        if not name or name.startswith("$") or len(name.split()) != 1:
            raise ValueError(f"{name!r} is no name for a topic; write one word that does not start with $")
        if names.count(name) > 1:
            raise ValueError(f"{name} is there twice")
    return value


class Change(Settings):
    """At this time the demand becomes another one; what is left out stays as it was.

    A change of nothing only begins another phase, which is measured apart.
    """

    at: Seconds
    popularity: Exponent | None = None
    locality: Exponent | None = None
    rates: Rates | None = None

    @model_validator(mode="after")
    def _says_something(self) -> Self:
        if self.rates is not None and (self.popularity is not None or self.locality is not None):
            raise ValueError("write either rates, or popularity and locality")
        return self


class Failure(Settings):
    """At this time stores fail: those at these brokers, or so many at random."""

    at: Seconds
    brokers: Several[str] = ()
    count: Annotated[int, Field(ge=0)] = 0
    recover_after: Span | None = None

    @model_validator(mode="after")
    def _one_of_both(self) -> Self:
        if self.brokers and self.count:
            raise ValueError("write either brokers or count")
        return self


class PlanningSettings(Settings):
    """The scenario's [planning]."""

    topics: Annotated[int | Several[str], AfterValidator(_topics)] = Field(examples=[10])
    algorithm: Algorithm = "wrr"
    capacity: Annotated[int, Field(ge=1)] = 5
    stores: Annotated[int, Field(ge=0)] = 0
    min_degree: Annotated[int, Field(ge=1)] = 1
    degrees: dict[str, Annotated[int, Field(ge=1)]] = Field(default_factory=dict)

    rate: Rate = 25.0
    popularity: Exponent = 0.0
    locality: Exponent = 0.0
    rates: Rates | None = None
    changes: dict[str, Change] = Field(default_factory=dict)

    publications: Annotated[int, Field(ge=1)] = 1
    publish_every: Span | None = None
    publishing: dict[str, Rate] = Field(default_factory=dict)

    begin: Seconds = 1.0
    settle: Seconds = 0.0
    until: Span = 3.0
    retry_after: Span = 10.0
    failures: dict[str, Failure] = Field(default_factory=dict)

    react: React = "leave"
    threshold: Annotated[float, Field(ge=0, lt=1)] = 0.1
    report_every: Span = 0.5
    decide_every: Span = 0.5
    patience: Span = 5.0
    manager: str | None = None

    optimum: bool = False

    @model_validator(mode="after")
    def _in_order(self) -> Self:
        if self.until <= self.begin:
            raise problem_at("until", problem=f"{self.until:g} is not after begin = {self.begin:g}")
        for kind, events in (("changes", self.changes), ("failures", self.failures)):
            for name, event in events.items():
                if not self.begin < event.at < self.until:
                    span = f"begin = {self.begin:g} and until = {self.until:g}"
                    raise problem_at(kind, name, "at", problem=f"{event.at:g} is not between {span}")
        if self.react != "leave" and self.algorithm not in ("seq", "wrr"):
            raise problem_at("react", problem=f"{self.react!r} goes with algorithm seq or wrr, not {self.algorithm}")
        return self

    def publication_times(self) -> list[float]:
        """When a publisher publishes: the first ones before anybody asks."""
        first = self.begin / 2
        more = 0 if self.publish_every is None else math.ceil((self.until - first) / self.publish_every) - 1
        return [first] * self.publications + [first + n * (self.publish_every or 0.0) for n in range(1, more + 1)]

    def topic_names(self) -> tuple[str, ...]:
        if isinstance(self.topics, int):
            return tuple(f"t{number}" for number in range(1, self.topics + 1))
        return self.topics
