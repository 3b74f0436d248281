"""The stock-quote workload: publishers of quotes and three kinds of subscribers (relocation, 5.1).

The paper replays daily quotes. These are drawn so that its three example subscriptions sink about 10, 50 and 100 % of
a publisher's quotes, as it says, and each quote is possible: the day's range holds its open and close.
"""

from __future__ import annotations

import math
import random
from dataclasses import dataclass
from typing import Annotated, Literal

from pydantic import Field

from protocols.relocation.clients import Program, Wish
from protocols.routing.filters import Content, Filter
from runtime.errors import ScenarioError
from runtime.network import Network
from runtime.settings import Settings
from runtime.streams import stream

LOW, MEDIUM, HIGH = "low", "medium", "high"
MIXES = {"random": {LOW: 0.70, MEDIUM: 0.25, HIGH: 0.05}, "clustered": {LOW: 0.95, HIGH: 0.05}}

LEAST_RANGE = 0.04
RANGE_SCALE = (0.15 - LEAST_RANGE) / math.log(10)  # so that one in ten is above 0.15
VOLUME_MEDIAN = 1e6 * math.exp(0.77)
DAYS_OF_MONTH = 28


class Stocks(Settings):
    """Quotes of so many stocks, each from a publisher of its own on a random broker."""

    publishers: Annotated[int, Field(ge=1)] = 10
    subscribers: Annotated[int, Field(ge=0)] = 80
    """To each stock."""

    on_brokers: Annotated[int, Field(ge=1)] = 16
    """X: so many brokers, drawn for each stock, have its subscribers."""

    workload: Literal["random", "clustered"] = "clustered"
    quotes: Annotated[int, Field(ge=0)] = 400
    every: Annotated[float, Field(gt=0)] = 1.0
    start: Annotated[float, Field(ge=0)] = 10.0


@dataclass(frozen=True)
class Part:
    """A publisher or subscriber of the workload: where it is and what it does."""

    broker: str
    program: Program | None = None
    wish: Wish | None = None


def draw(settings: Stocks, network: Network, seed: int) -> dict[str, Part]:
    """The workload that belongs to the seed: the same for all algorithms, and the same stocks for any X."""
    if settings.on_brokers > len(network.brokers):
        told = f"{settings.on_brokers} is too large: there are {len(network.brokers)} brokers"
        raise ScenarioError("relocation.stocks.on_brokers", told)
    parts: dict[str, Part] = {}
    for number in range(1, settings.publishers + 1):
        symbol = f"stock{number}"
        rng = stream(seed, "stock", symbol)
        quotes = tuple(quote(symbol, rng) for _ in range(settings.quotes))
        begins = settings.start + settings.every * rng.random()
        ad = (("class", "=", "STOCK"), ("symbol", "=", symbol))
        broker = rng.choice(network.brokers)
        parts[symbol] = Part(broker, Program(ad, quotes, settings.quotes, settings.every, begins))
        parts |= _subscribers(settings, symbol, rng.sample(network.brokers, settings.on_brokers), rng)
    return parts


def _subscribers(settings: Stocks, symbol: str, brokers: list[str], rng: random.Random) -> dict[str, Part]:
    parts: dict[str, Part] = {}
    for kind, count in _counts(settings).items():
        for number in range(1, count + 1):
            if settings.workload == "clustered" and len(brokers) > 1:
                broker = brokers[0] if kind == HIGH else rng.choice(brokers[1:])
            else:
                broker = rng.choice(brokers)
            parts[f"{symbol}-{kind}{number}"] = Part(broker, wish=Wish(wish(kind, symbol)))
    return parts


def _counts(settings: Stocks) -> dict[str, int]:
    """How many subscribers of each kind; those that rounding leaves are of the first."""
    counts = {kind: round(share * settings.subscribers) for kind, share in MIXES[settings.workload].items()}
    counts[LOW] += settings.subscribers - sum(counts.values())
    return counts


def wish(kind: str, symbol: str) -> Filter:
    """The paper's examples of low-, medium- and high-rated subscriptions."""
    stock: Filter = (("class", "=", "STOCK"), ("symbol", "=", symbol))
    if kind == LOW:
        return (*stock, ("highLow%Diff", ">", 0.15))
    if kind == MEDIUM:
        return (*stock, ("volume", ">", 1_000_000), ("openClose%Diff", ">", 0.025))
    return stock


def quote(symbol: str, rng: random.Random) -> Content:
    spread = LEAST_RANGE + rng.expovariate(1 / RANGE_SCALE)
    low = round(rng.uniform(5, 100), 2)
    high = round(low * (1 + spread), 2)
    change = spread * rng.random()
    begin = low + (high - low) * rng.random() * (1 - change / spread)
    close = begin + change * low
    return (
        ("class", "STOCK"),
        ("close", round(close, 2)),
        ("closeEqualsHigh", round(close, 2) == high),
        ("closeEqualsLow", round(close, 2) == low),
        ("date", f"{rng.randint(1, DAYS_OF_MONTH)}-Sep-96"),
        ("high", high),
        ("highLow%Diff", round(spread, 4)),
        ("low", low),
        ("open", round(begin, 2)),
        ("openClose%Diff", round(change, 4)),
        ("symbol", symbol),
        ("volume", round(VOLUME_MEDIAN * math.exp(rng.gauss(0, 1)))),
    )
