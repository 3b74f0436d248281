"""Content-based routing: publications through 63 brokers, and the index beside a scan of all filters."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from time import perf_counter
from typing import Any

from rich.table import Table

from agents.stocks import HIGH, LOW, MEDIUM, quote, wish
from protocols.routing.filters import Content, Filter, matches
from protocols.routing.index import Index
from runtime.scenario import check
from runtime.simulator import Simulator
from runtime.streams import stream
from runtime.system import World

SEED = 1
SIZES = (1_000, 100_000)
SUBSCRIBERS_OF_A_STOCK = 100
AIM = 100.0
"""How many times faster than a scan the index should be with the most filters."""


@dataclass(frozen=True)
class MatchingCost:
    filters: int
    index_s: float
    scan_s: float
    build_s: float

    @property
    def ratio(self) -> float:
        return self.scan_s / self.index_s


@dataclass(frozen=True)
class RoutingCost:
    brokers: int
    publications: int
    handled: int
    deliveries: int
    wall_s: float


def matching_cost(count: int) -> MatchingCost:
    """Seconds for one publication, with an index and with a test of every filter; both find the same."""
    rng = stream(SEED, "bench", "matching")
    kinds = rng.choices((LOW, MEDIUM, HIGH), (70, 25, 5), k=count)
    filters = {str(n): wish(kind, f"stock{n // SUBSCRIBERS_OF_A_STOCK}") for n, kind in enumerate(kinds)}
    quotes = [quote(f"stock{rng.randrange(count // SUBSCRIBERS_OF_A_STOCK)}", rng) for _ in range(1000)]
    index = Index()
    start = perf_counter()
    for name, conditions in filters.items():
        index.add(name, conditions)
    build_s = perf_counter() - start
    few = quotes[: max(3, 300_000 // count)]
    assert [sorted(index.matching(content)) for content in few[:3]] == [sorted(_scan(filters, c)) for c in few[:3]]
    scan_s = _each(lambda content: _scan(filters, content), few)
    return MatchingCost(count, _each(index.matching, quotes), scan_s, build_s)


def _scan(filters: dict[str, Filter], content: Content) -> list[str]:
    return [name for name, conditions in filters.items() if matches(conditions, content)]


def _each(match: Callable[[Content], list[str]], quotes: list[Content]) -> float:
    start = perf_counter()
    for content in quotes:
        match(content)
    return (perf_counter() - start) / len(quotes)


def routing_cost(quotes: int) -> RoutingCost:
    scenario = check(
        {
            "protocol": "relocation",
            "seed": SEED,
            "network": {"kind": "balanced-tree", "branching": 2, "height": 5, "delay": "uniform(0.02, 0.06)"},
            "relocation": {"stocks": {"workload": "random", "on_brokers": 63, "quotes": quotes}},
        }
    )
    sim = Simulator(scenario.network, scenario.system.agent, scenario.seed)
    sim.run(until=9.0)  # the tables are built
    start = perf_counter()
    sim.run()
    wall_s = perf_counter() - start
    results = scenario.system.results(World(sim.alive(), scenario.network))
    return RoutingCost(63, 10 * quotes, results["publications_handled"], results["delivered"], wall_s)


def content_race(quick: bool) -> tuple[RoutingCost, list[MatchingCost]]:
    return routing_cost(50 if quick else 400), [matching_cost(count) for count in SIZES]


def content_table(routing: RoutingCost, matching: list[MatchingCost]) -> Table:
    table = Table(title="Content-based routing", title_justify="left")
    table.add_column("what")
    table.add_column("measured", justify="right")
    table.add_row(
        f"{routing.publications:,} publications through {routing.brokers} brokers",
        f"{routing.publications / routing.wall_s:,.0f} publications/s, "
        f"{(routing.handled + routing.deliveries) / routing.wall_s:,.0f} messages/s",
    )
    for cost in matching:
        table.add_row(
            f"one publication against {cost.filters:,} filters",
            f"index {cost.index_s * 1e6:,.1f} µs, scan {cost.scan_s * 1e6:,.0f} µs: {cost.ratio:,.0f} x",
        )
    verdict = "met" if matching[-1].ratio >= AIM else "not met"
    table.add_row(f"aim: {AIM:.0f} x with {matching[-1].filters:,} filters", verdict)
    return table


def content_as_json(routing: RoutingCost, matching: list[MatchingCost]) -> dict[str, Any]:
    return {"routing": asdict(routing), "matching": [asdict(cost) | {"ratio": cost.ratio} for cost in matching]}
