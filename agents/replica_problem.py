"""What stores have to manage: items and sizes, request rates, capacities, and what they hold at first."""

from __future__ import annotations

import random
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import Field, PlainSerializer, PlainValidator, model_validator

from protocols.storage.replicas.catalogue import Catalogue
from protocols.storage.replicas.decision import ROOM, Amounts
from runtime.errors import ScenarioError
from runtime.settings import Settings, Several
from runtime.streams import stream


@dataclass(frozen=True)
class Zipf:
    """The shares of ranks 1, 2, ... are proportional to rank to the power of minus the exponent."""

    exponent: float

    def shares(self, ranks: int) -> Amounts:
        return np.arange(1.0, ranks + 1) ** -self.exponent

    def __str__(self) -> str:
        return f"zipf({self.exponent!r})"


def _zipf(text: Any) -> Zipf:
    if isinstance(text, Zipf):
        return text
    if isinstance(text, int | float) and not isinstance(text, bool):
        return Zipf(float(text))
    found = re.fullmatch(r"\s*zipf\(\s*(-?\d+(?:\.\d*)?)\s*\)\s*", text) if isinstance(text, str) else None
    if found is None:
        raise ValueError(f'{text!r} is no Zipf law; write "zipf(0.7)", or the exponent alone')
    return Zipf(float(found[1]))


ZipfLaw = Annotated[Zipf, PlainValidator(_zipf), PlainSerializer(str)]
Positive = Annotated[float, Field(gt=0)]
Rate = Annotated[float, Field(ge=0)]
RatesByStore = dict[str, dict[str, Rate]]


class ItemNames(Settings):
    """Items drawn by rank: `count` of them, whose sizes add up to `ratio` times a store's capacity."""

    count: Annotated[int, Field(ge=1)] = 20
    sizes: ZipfLaw = Zipf(0.3)
    ratio: Positive = 2.0


class RatesChanging(Settings):
    """From this time on, the clients ask at other rates: those written out, or the same law with ranks moved on."""

    at: Annotated[float, Field(gt=0)]
    rates: RatesByStore = Field(default_factory=dict)
    popularity: ZipfLaw | None = None
    moved_ranks: Annotated[int, Field(ge=0)] = 0


class ProblemSettings(Settings):
    """The part of [storage] that says what there is to manage."""

    capacity: Positive | dict[str, Positive] = Field(examples=[50])
    sizes: dict[str, Positive] | None = Field(None, examples=[{"a": 1, "b": 1}])
    items: ItemNames | None = None
    rates: RatesByStore | None = None
    popularity: ZipfLaw | None = None
    peak: Positive = 25.0
    spread: Literal["uniform", "random"] = "uniform"
    placement: Literal["random", "sparse"] | dict[str, Several[str]] = "random"
    access_hops: Annotated[float, Field(ge=0)] = 1.0
    changes: Several[RatesChanging] = ()

    @model_validator(mode="after")
    def _one_of_each(self) -> ProblemSettings:
        if (self.sizes is None) == (self.items is None):
            raise ValueError(
                'write either sizes = { a = 1, ... } or items = { count = 20, sizes = "zipf(0.3)", ratio = 2 }'
            )
        if (self.rates is None) == (self.popularity is None):
            raise ValueError('write either rates = { n1 = { a = 0.3 }, ... } or popularity = "zipf(0.7)"')
        if self.sizes is not None and not self.sizes:
            raise ValueError("sizes: there is no item")
        return self


class Problem:
    """The settings worked out for the stores of one network and one seed."""

    def __init__(self, settings: ProblemSettings, stores: Sequence[str], seed: int) -> None:
        self.stores = tuple(stores)
        self.settings = settings
        self.capacities = self._capacities()
        self.catalogue = Catalogue(self._sizes())
        chance = stream(seed, "rates")
        self._factors = np.array([[chance.random() for _ in self.catalogue.items] for _ in self.stores])
        first = settings.popularity
        base = self._by_law(first, 0) if first is not None else self._by_hand(settings.rates or {}, None, "rates")
        self.rates_since: list[tuple[float, Amounts]] = [(0.0, base)]
        """From when on which rates hold: store by item."""

        for place, change in sorted(enumerate(settings.changes), key=lambda pair: pair[1].at):
            self.rates_since.append((change.at, self._changed(change, f"changes[{place}]")))
        self.placement = self._placement(stream(seed, "placement"))

    def rates_at(self, time: float) -> Amounts:
        return [rates for since, rates in self.rates_since if since <= time][-1]

    def _capacities(self) -> dict[str, float]:
        given = self.settings.capacity
        if not isinstance(given, dict):
            return dict.fromkeys(self.stores, float(given))
        _known("capacity", given, self.stores, "node")
        if missing := [name for name in self.stores if name not in given]:
            raise ScenarioError("storage.capacity", f"{missing[0]} has none; write one number for all or one for each")
        return {name: float(given[name]) for name in self.stores}

    def _sizes(self) -> dict[str, float]:
        largest = max(self.capacities.values())
        drawn = self.settings.items
        if drawn is None:
            sizes = {name: float(size) for name, size in (self.settings.sizes or {}).items()}
            key = "storage.sizes."
        else:
            shares = drawn.sizes.shares(drawn.count)
            width = len(str(drawn.count))
            total = drawn.ratio * largest
            names = [f"i{rank:0{width}}" for rank in range(1, drawn.count + 1)]
            sizes = dict(zip(names, (shares / shares.sum() * total).tolist(), strict=True))
            key = "storage.items: "
        for name, size in sizes.items():
            if size > largest + ROOM:
                raise ScenarioError(f"{key}{name}", f"size {size:g} fits in no store; the largest holds {largest:g}")
        return sizes

    def _by_law(self, law: Zipf, moved: int) -> Amounts:
        """The peak for the most popular item, less by rank; where the spread is random, times a factor in [0, 1)."""
        rates = np.roll(self.settings.peak * law.shares(len(self.catalogue.items)), moved)
        whole = np.broadcast_to(rates, self._factors.shape)
        return whole * self._factors if self.settings.spread == "random" else whole.copy()

    def _by_hand(self, written: Mapping[str, Mapping[str, float]], before: Amounts | None, key: str) -> Amounts:
        rates = np.zeros(self._factors.shape) if before is None else before.copy()
        _known(key, written, self.stores, "node")
        for store, row in written.items():
            _known(f"{key}.{store}", row, self.catalogue.items, "item")
            for item, rate in row.items():
                rates[self.stores.index(store), self.catalogue.places[item]] = rate
        return rates

    def _changed(self, change: RatesChanging, key: str) -> Amounts:
        law = change.popularity or (self.settings.popularity if change.moved_ranks else None)
        if law is None and not change.rates:
            raise ScenarioError(f"storage.{key}", "write rates, popularity or moved_ranks (which needs a popularity)")
        rates = self.rates_since[-1][1] if law is None else self._by_law(law, change.moved_ranks)
        return self._by_hand(change.rates, rates, f"{key}.rates")

    def _placement(self, rng: random.Random) -> dict[str, tuple[str, ...]]:
        given = self.settings.placement
        sizes = dict(zip(self.catalogue.items, self.catalogue.sizes.tolist(), strict=True))
        if not isinstance(given, dict):
            return _drawn_placement(self.capacities, sizes, rng, filled=given == "random")
        _known("placement", given, self.stores, "node")
        for store, items in given.items():
            _known(f"placement.{store}", items, self.catalogue.items, "item")
            if len(set(items)) < len(items):
                raise ScenarioError(f"storage.placement.{store}", "an item is there twice")
            if (used := sum(sizes[item] for item in items)) > self.capacities[store] + ROOM:
                raise ScenarioError(
                    f"storage.placement.{store}", f"the items need {used:g}, the capacity is {self.capacities[store]:g}"
                )
        if missing := [item for item in sizes if not any(item in items for items in given.values())]:
            raise ScenarioError("storage.placement", f"no store holds {missing[0]}; every item needs one replica")
        return {store: tuple(given.get(store, ())) for store in self.stores}


def _known(key: str, names: Sequence[str] | Mapping[str, Any], known: Sequence[str], what: str) -> None:
    for name in names:
        if name not in known:
            raise ScenarioError(f"storage.{key}.{name}", f"{what} {name} is not in {_where(what)}")


def _where(what: str) -> str:
    return "[network]" if what == "node" else "storage.sizes or storage.items"


TRIES = 100


def _drawn_placement(
    capacities: Mapping[str, float], sizes: Mapping[str, float], rng: random.Random, filled: bool
) -> dict[str, tuple[str, ...]]:
    """Every item somewhere; then, unless they are to stay as empty as that, each store is filled at random."""
    for _ in range(TRIES):
        placed = _each_item_once(capacities, sizes, rng)
        if placed is not None:
            break
    else:
        raise ScenarioError("storage.capacity", f"too small: in {TRIES} attempts no way was found to store every item")
    for store, held in placed.items() if filled else ():
        free = capacities[store] - sum(sizes[item] for item in held)
        for item in rng.sample(list(sizes), len(sizes)):
            if item not in held and sizes[item] <= free + ROOM:
                held.append(item)
                free -= sizes[item]
    return {store: tuple(sorted(held)) for store, held in placed.items()}


def _each_item_once(
    capacities: Mapping[str, float], sizes: Mapping[str, float], rng: random.Random
) -> dict[str, list[str]] | None:
    """Each item in a store that has room, the large ones first; None if the draw ends in a corner."""
    free = dict(capacities)
    placed: dict[str, list[str]] = {store: [] for store in capacities}
    for item in sorted(sizes, key=lambda name: (-sizes[name], name)):
        with_room = [store for store in free if free[store] + ROOM >= sizes[item]]
        if not with_room:
            return None
        store = rng.choice(with_room)
        placed[store].append(item)
        free[store] -= sizes[item]
    return placed
