"""What a sweep is: a grid of parameters, algorithms and instances; what is measured, drawn and claimed."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from typing import Annotated, Any, Literal, Self

from pydantic import Field, model_validator

from runtime.errors import ScenarioError
from runtime.settings import Settings, Several

RESERVED = frozenset(("cell", "algorithm", "baseline", "instance", "measure", "curve", "value", "other", "percent"))
RESERVED |= {"verdict", "summary", "event", "row", "node", "time", "iteration", "until", "n", "mean", "level", "end"}

Scalar = str | int | float | bool


class SweepError(ScenarioError):
    """The sweep is at fault: says which file and key, and what is allowed."""


class Parameter(Settings):
    """One axis of the grid: a key of the scenario and the values that it takes."""

    key: str = Field(examples=["network.nodes"])
    values: Annotated[Several[Scalar], Field(min_length=1)] = Field(examples=[[25, 50]])
    label: str = ""


class Measure(Settings):
    """A number of each run: found in its summary, or computed from other measures and parameters."""

    path: str | None = Field(None, examples=["by_type.Advertise.messages"])
    equals: Scalar | None = None
    """Then the measure is 1 where the summary says this, else 0."""

    formula: str | None = Field(None, examples=["messages / nodes"])
    """An expression of Spark SQL over the parameters and the measures above."""

    label: str = ""

    @model_validator(mode="after")
    def _one_source(self) -> Self:
        if (self.path is None) == (self.formula is None):
            raise ValueError("write either path or formula")
        if self.equals is not None and self.path is None:
            raise ValueError("equals goes with path")
        return self


class Curve(Settings):
    """How a value goes through a run, read off the rows of one kind of event."""

    event: str = "traffic"
    """What the agents log; `traffic` is what the sweep itself notes after every window of the simulator."""

    value: str | None = Field(None, examples=["messages"])
    """The column with the value; left out, the rows are counted."""

    each: Literal["level", "change", "node level"] = "level"
    """Is a row's value the new level, something to add to it, or the level of one node (the sum is drawn)?"""

    start: float = 0.0
    """The level before the first row."""

    iteration: str | None = None
    """The column that counts iterations, where the event has one."""

    points: Annotated[int, Field(ge=2)] = 60
    tolerance: Annotated[float, Field(ge=0)] = 0.01
    """Converged is what stays this near to the final level, relative to how far that is from the start."""

    label: str = ""


class Figure(Settings):
    """A picture of one table: error bars are 95 % intervals."""

    title: str
    y: str = Field("", examples=["messages"])
    """A measure, or a curve."""

    x: str = Field("time", examples=["nodes"])
    """A parameter for a measure; `time` or `iteration` for a curve."""

    along: dict[str, float] = Field(default_factory=dict, examples=[{"first_hour": 1, "second_hour": 2}])
    """Instead of x and y: several measures, each at its place on the x axis."""

    kind: Literal["means", "differences", "percent", "curve"] = "means"
    """`differences` and `percent` compare each algorithm with the baseline on the same instance."""

    series: Several[str] = ("algorithm",)
    where: str = "true"
    """Which rows: a condition of Spark SQL over the table's columns."""

    x_label: str = ""
    y_label: str = ""
    x_scale: Literal["linear", "log"] = "linear"
    y_scale: Literal["linear", "log"] = "linear"

    @model_validator(mode="after")
    def _one_way(self) -> Self:
        if bool(self.y) == bool(self.along):
            raise ValueError("write either y or along")
        if self.along and (self.kind == "curve" or not (self.x_label and self.y_label)):
            raise ValueError("along is for measures, and asks for x_label and y_label")
        return self


class Claim(Settings):
    """A sentence, the range that it gives, and where in the tables to look for what is measured."""

    sentence: str
    source: str = Field(examples=["4.1, p. 7"])
    measure: str = Field(examples=["messages"])
    table: Literal["means", "differences", "convergence", "cells"] = "means"
    where: str = "true"
    value: str = "mean"
    """An expression of Spark SQL over the table's columns; over `cells`, the measures are columns."""

    half_width: str | None = None
    """Of its 95 % interval; that of the mean unless the value is another."""

    at_least: float | None = None
    at_most: float | None = None
    unit: str = ""
    remark: str = ""

    @model_validator(mode="after")
    def _has_a_range(self) -> Self:
        if self.at_least is None and self.at_most is None:
            raise ValueError("write at_least, at_most or both")
        return self


class Quick(Settings):
    """The variant that takes a minute."""

    runs: Annotated[int, Field(ge=1)] = 3
    parameters: dict[str, Annotated[Several[Scalar], Field(min_length=1)]] = Field(default_factory=dict)


def _as_it_is() -> dict[str, dict[str, Any]]:
    return {"as it is": {}}


class Sweep(Settings):
    """Everything that a sweep depends on."""

    name: str
    title: str
    about: str = ""
    base: str | dict[str, Any] = Field(examples=["coverage"])
    """A scenario: its table, its file, or the name of a shipped one."""

    parameters: Annotated[dict[str, Parameter], Field(min_length=1)]
    studies: dict[str, dict[str, Annotated[Several[Scalar], Field(min_length=1)]]] = Field(default_factory=dict)
    """Several small grids instead of one large one: each names the parameters that it varies, with some of their
    values; every other parameter keeps its first value."""

    algorithms: Annotated[dict[str, dict[str, Any]], Field(min_length=1)] = Field(default_factory=_as_it_is)
    """Each name with the keys of the scenario that it sets."""

    baseline: str | None = None
    """The algorithm that the others are compared with; the first unless named."""

    seed: Annotated[int, Field(ge=0)] = 1
    """Of the first instance; the next ones follow. All algorithms run on the same instances."""

    runs: Annotated[int, Field(ge=1)] = 10
    measures: Annotated[dict[str, Measure], Field(min_length=1)]
    curves: dict[str, Curve] = Field(default_factory=dict)
    figures: dict[str, Figure] = Field(default_factory=dict)
    claims: Several[Claim] = ()
    quick: Quick = Quick()

    @model_validator(mode="after")
    def _fits_together(self) -> Self:
        self._check_names()
        if self.baseline is not None and self.baseline not in self.algorithms:
            raise ValueError(f"baseline: {self.baseline!r} is not one of: {', '.join(self.algorithms)}")
        for name in self.quick.parameters:
            _known(f"quick.parameters.{name}", name, self.parameters)
        for study, varied in self.studies.items():
            for name, values in varied.items():
                _known(f"studies.{study}.{name}", name, self.parameters)
                for value in values:
                    _known(f"studies.{study}.{name}", value, self.parameters[name].values)
        for name, figure in self.figures.items():
            for measure in figure.along:
                _known(f"figures.{name}.along", measure, self.measures)
            if figure.y:
                _known(f"figures.{name}.y", figure.y, self.curves if figure.kind == "curve" else self.measures)
                axes = ("time", "iteration") if figure.kind == "curve" else tuple(self.parameters)
                _known(f"figures.{name}.x", figure.x, axes)
            for series in figure.series:
                _known(f"figures.{name}.series", series, ("algorithm", *self.parameters))
        for place, claim in enumerate(self.claims):
            known = self.curves if claim.table == "convergence" else self.measures
            _known(f"claims[{place}].measure", claim.measure, known)
        return self

    def _check_names(self) -> None:
        if not re.fullmatch(r"[\w-]+", self.name):
            raise ValueError(f"name: {self.name!r} is to name a folder; write letters, digits, - and _")
        columns = [*self.parameters, *self.measures]
        for name in (*columns, *self.curves):
            if not name.isidentifier() or name.lower() in RESERVED:
                raise ValueError(f"{name!r} cannot be a column; write another name of letters, digits and _")
        twice = sorted({name for name in columns if columns.count(name) > 1})
        if twice:
            raise ValueError(f"{twice[0]} is both a parameter and a measure; write another name for one of them")

    @property
    def compared_with(self) -> str:
        return self.baseline or next(iter(self.algorithms))

    def grids(self) -> list[dict[str, tuple[Scalar, ...]]]:
        """The values of every parameter, for each grid that is run."""
        if not self.studies:
            return [{name: parameter.values for name, parameter in self.parameters.items()}]
        return [
            {name: varied.get(name, parameter.values[:1]) for name, parameter in self.parameters.items()}
            for varied in self.studies.values()
        ]

    def quickly(self) -> Self:
        fewer = self.quick.parameters
        parameters = {
            name: parameter.model_copy(update={"values": fewer.get(name, parameter.values)})
            for name, parameter in self.parameters.items()
        }
        # A study keeps what it has of the fewer values, and one value at least.
        studies = {
            study: {
                name: tuple(value for value in values if value in fewer.get(name, values)) or values[:1]
                for name, values in varied.items()
            }
            for study, varied in self.studies.items()
        }
        update = {"parameters": self.parameters if studies else parameters, "studies": studies, "runs": self.quick.runs}
        return self.model_copy(update=update)

    def label(self, name: str) -> str:
        """What people call this parameter, measure or curve."""
        axes: Mapping[str, Parameter | Measure | Curve] = {**self.parameters, **self.measures, **self.curves}
        return (axes[name].label if name in axes else "") or name.replace("_", " ")


def _known(key: str, name: Scalar, choices: Collection[Scalar]) -> None:
    if name not in choices:
        raise ValueError(f"{key}: {name!r} is not one of: {', '.join(map(str, choices))}")
