"""Regions: the values of one attribute that a conjunction of conditions lets through, exactly.

A value is a number, a text, nothing (None) or not a number (NaN); conditions put these in no order with each other.
Numbers are dense, so their region is an interval without some points. Texts are not: the text after "a" is "a\\0". So
every condition on texts is a half-open interval, and a prefix is one too.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from math import inf, isnan

from runtime.message import Scalar

LAST = "\U0010ffff"
AFTER = "\0"
"""What follows a text immediately is the text with this at its end."""


@dataclass(frozen=True)
class Numbers:
    """An interval without some points. (An end that is left out is no point to leave out again.)"""

    low: float = -inf
    high: float = inf
    low_open: bool = False
    high_open: bool = False
    without: frozenset[float] = frozenset()

    @property
    def empty(self) -> bool:
        return self.low > self.high or (self.low == self.high and (self.low_open or self.high_open))

    def __contains__(self, value: float) -> bool:
        above = value > self.low or (value == self.low and not self.low_open)
        below = value < self.high or (value == self.high and not self.high_open)
        return above and below and value not in self.without

    def __and__(self, other: Numbers) -> Numbers:
        low, low_open = max((self.low, self.low_open), (other.low, other.low_open))
        high, high_closed = min((self.high, not self.high_open), (other.high, not other.high_open))
        without = self.without | other.without
        low_open, high_open = low_open or low in without, not high_closed or high in without
        return Numbers(low, high, low_open, high_open, frozenset(v for v in without if low < v < high))

    def within(self, other: Numbers) -> bool:
        """Is every number here also there?"""
        if self.empty:
            return True
        low_fits = (self.low, self.low_open) >= (other.low, other.low_open)
        high_fits = (self.high, not self.high_open) <= (other.high, not other.high_open)
        return low_fits and high_fits and not any(value in self for value in other.without)


@dataclass(frozen=True)
class Texts:
    """The texts from `low` up to, but without, `high` (None: without end), and without some."""

    low: str = ""
    high: str | None = None
    without: frozenset[str] = frozenset()

    @property
    def empty(self) -> bool:
        return self.high is not None and self.low >= self.high

    def __contains__(self, value: str) -> bool:
        return self.low <= value and (self.high is None or value < self.high) and value not in self.without

    def __and__(self, other: Texts) -> Texts:
        low, without = max(self.low, other.low), self.without | other.without
        high = min((end for end in (self.high, other.high) if end is not None), default=None)
        while low in without:
            low += AFTER
        while high is not None and high.endswith(AFTER) and high[:-1] in without:
            high = high[:-1]
        return Texts(low, high, frozenset(v for v in without if v > low and (high is None or v < high)))

    def within(self, other: Texts) -> bool:
        """Is every text here also there?"""
        if self.empty:
            return True
        high_fits = other.high is None or (self.high is not None and self.high <= other.high)
        return self.low >= other.low and high_fits and not any(value in self for value in other.without)


NO_NUMBER = Numbers(inf, -inf)
NO_TEXT = Texts("", "")


@dataclass(frozen=True)
class Region:
    """Which numbers, which texts, and whether nothing and not-a-number fit."""

    numbers: Numbers = Numbers()
    texts: Texts = Texts()
    nothing: bool = True
    nan: bool = True

    @property
    def empty(self) -> bool:
        return self.numbers.empty and self.texts.empty and not self.nothing and not self.nan

    def __and__(self, other: Region) -> Region:
        return Region(
            self.numbers & other.numbers,
            self.texts & other.texts,
            self.nothing and other.nothing,
            self.nan and other.nan,
        )

    def within(self, other: Region) -> bool:
        """Is every value here also there?"""
        return (
            self.numbers.within(other.numbers)
            and self.texts.within(other.texts)
            and self.nothing <= other.nothing
            and self.nan <= other.nan
        )


EVERYTHING = Region()
NOWHERE = Region(NO_NUMBER, NO_TEXT, nothing=False, nan=False)


def region_of(conditions: Iterable[tuple[str, Scalar]]) -> Region:
    """The values that meet all of these (operator, value)."""
    region = EVERYTHING
    for part in _parts(conditions):
        region = region & part
    return region


def _parts(conditions: Iterable[tuple[str, Scalar]]) -> Iterator[Region]:
    for relation, value in conditions:
        if relation == "present":
            continue
        if isinstance(value, str):
            yield _text(relation, value)
        elif value is None:
            yield _nothing(relation)
        elif isnan(value):
            yield EVERYTHING if relation == "!=" else NOWHERE
        else:
            yield _number(relation, value)


def _number(relation: str, value: float) -> Region:
    match relation:
        case "=":
            numbers = Numbers(value, value)
        case "!=":
            return Region(numbers=Numbers() & Numbers(without=frozenset((value,))))
        case "<" | "<=":
            numbers = Numbers(high=value, high_open=relation == "<")
        case ">" | ">=":
            numbers = Numbers(low=value, low_open=relation == ">")
        case _:
            return NOWHERE
    return Region(numbers, NO_TEXT, nothing=False, nan=False)


def _text(relation: str, value: str) -> Region:
    match relation:
        case "=":
            texts = Texts(value, value + AFTER)
        case "!=":
            return Region(texts=Texts() & Texts(without=frozenset((value,))))
        case "<":
            texts = Texts(high=value)
        case "<=":
            texts = Texts(high=value + AFTER)
        case ">":
            texts = Texts(low=value + AFTER)
        case ">=":
            texts = Texts(low=value)
        case _:
            texts = Texts(value, _after_prefix(value))
    return Region(NO_NUMBER, texts, nothing=False, nan=False)


def _nothing(relation: str) -> Region:
    if relation == "!=":
        return Region(nothing=False)
    return Region(NO_NUMBER, NO_TEXT, nothing=True, nan=False) if relation == "=" else NOWHERE


def _after_prefix(prefix: str) -> str | None:
    """The first text after all that begin like this."""
    prefix = prefix.rstrip(LAST)
    return prefix[:-1] + chr(ord(prefix[-1]) + 1) if prefix else None
