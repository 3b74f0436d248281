"""How long things take: constant, uniform or exponential times, written as a number or as text."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from numbers import Real
from typing import Annotated

from pydantic import PlainSerializer, PlainValidator

FORMS = 'a number, "constant(1.0)", "uniform(0.5, 1.5)" or "exponential(0.5, 1.0)"'


@dataclass(frozen=True, slots=True)
class Distribution:
    """A constant floor, and above it a uniform span or an exponential tail."""

    floor: float
    span: float = 0.0
    tail: float = 0.0

    @property
    def linear(self) -> bool:
        return self.tail == 0

    @property
    def mean(self) -> float:
        return self.floor + self.span / 2 + self.tail

    @property
    def ceiling(self) -> float:
        return self.floor + self.span if self.linear else math.inf

    def value(self, u: float) -> float:
        """The draw that belongs to a uniform u in [0, 1)."""
        if self.tail:
            return self.floor - self.tail * math.log1p(-u)
        return self.floor + u * self.span

    def __str__(self) -> str:
        if self.tail:
            return f"exponential({self.floor!r}, {_end(self.floor, self.tail)!r})"
        if self.span:
            return f"uniform({self.floor!r}, {_end(self.floor, self.span)!r})"
        return f"constant({self.floor!r})"


def parse_distribution(text: str | float | int | Distribution) -> Distribution:
    if isinstance(text, Distribution):
        return text
    if isinstance(text, bool) or not isinstance(text, str | Real):
        raise ValueError(f"{_shown(text)} is not a time; write {FORMS}")
    if not isinstance(text, str):
        return Distribution(_number(text))
    name, numbers = parse_call(text, FORMS)
    match name, numbers:
        case "constant", [floor]:
            return Distribution(floor)
        case "uniform", [low, high]:
            if low > high:
                raise ValueError(f"{text}: the range is empty; write uniform({high!r}, {low!r})")
            return Distribution(low, span=high - low)
        case "exponential", [floor, mean]:
            if mean <= floor:
                raise ValueError(f"{text}: the mean must be above the floor; write exponential(floor, mean)")
            return Distribution(floor, tail=mean - floor)
        case "constant", _:
            raise ValueError(f"{text}: constant takes one number; write constant(1.0)")
        case "uniform", _:
            raise ValueError(f"{text}: uniform takes two numbers; write uniform(low, high)")
        case "exponential", _:
            raise ValueError(f"{text}: exponential takes two numbers; write exponential(floor, mean)")
    raise ValueError(f"{name} is no distribution; write {FORMS}")


def parse_call(text: str, forms: str) -> tuple[str, list[float]]:
    """Reads "name(1.0, 2.0)"; the numbers are finite and not negative."""
    call = re.fullmatch(r"\s*([A-Za-z][\w-]*)\s*\(([^()]*)\)\s*", text)
    if call is None:
        raise ValueError(f"{text!r} is not a time; write {forms}")
    name, inside = call.groups()
    return name, [_number(part) for part in inside.split(",")] if inside.strip() else []


def positive_delay(text: str | float | int | Distribution) -> Distribution:
    delay = parse_distribution(text)
    if delay.floor <= 0:
        raise ValueError(
            f"{_shown(text)} allows a delay of 0; write one above 0: a message takes some time, so that "
            "the order of simultaneous events stays defined"
        )
    return delay


def _number(part: str | float | int) -> float:
    try:
        number = float(part)
    except (ValueError, OverflowError):
        raise ValueError(f"{str(part).strip()!r} is not a number") from None
    if not math.isfinite(number):
        raise ValueError(f"{number} is not a finite number; write {FORMS}")
    if number < 0:
        raise ValueError(f"{number!r} is negative; write a number of 0 or more")
    return number


def _shown(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _end(floor: float, width: float) -> float:
    """The shortest number that lies this width above the floor: rounding may have moved it by one step."""
    near = floor + width
    steps = (near, math.nextafter(near, 0.0), math.nextafter(near, math.inf))
    candidates = (float(f"{step:.{digits}g}") for digits in range(1, 18) for step in steps)
    return next((end for end in candidates if end - floor == width), near)


_as_text = PlainSerializer(str, return_type=str)

Delay = Annotated[Distribution, PlainValidator(positive_delay), _as_text]
"""The time that a message takes: always above 0."""

Duration = Annotated[Distribution, PlainValidator(parse_distribution), _as_text]
"""A time that may be 0."""
