"""The measurements as tables, and as JSON."""

from __future__ import annotations

import platform
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from rich.table import Table

from tests.bench.by_hand import HandWritten
from tests.bench.flooding import Score, ratio, worst_ratio
from tests.bench.million import Crowd
from tests.bench.parquet import LogCost
from tests.bench.with_simpy import SimPyStores


@dataclass(frozen=True)
class Aim:
    """The kernel is at least so many times as fast as this contestant, at every size."""

    factor: float
    contestant: str


AIMS = (Aim(0.5, HandWritten.name), Aim(3.0, SimPyStores.name))


def flooding_table(scores: Sequence[Score]) -> Table:
    columns = "nodes", "contestant", "messages", "built, s", "run, s", "messages/s", "brokerlab is"
    table = _table("Flooding: best run of each", *columns)
    for score in scores:
        times = ratio(scores, score.contestant, score.nodes)
        if score.contestant == scores[0].contestant:
            table.add_section()
        table.add_row(
            f"{score.nodes:,}",
            score.contestant,
            f"{score.messages:,}",
            f"{score.construction_s:.5f}",
            f"{score.run_s:.5f}",
            f"{score.messages_per_s:,.0f}",
            f"{times:.2f} x",
        )
    return table


def crowd_table(crowd: Crowd) -> Table:
    table = _facts(f"{crowd.nodes:,} nodes: the nearest of five sources")
    table.add_row("network built", f"{crowd.network_s:.1f} s")
    table.add_row("agents built", f"{crowd.agents_s:.1f} s")
    table.add_row("run", f"{crowd.run_s:.1f} s")
    table.add_row("messages", f"{crowd.messages:,}")
    table.add_row("bytes sent", f"{crowd.sent_bytes:,}")
    table.add_row("messages/s", f"{crowd.messages_per_s:,.0f}")
    table.add_row("peak memory", f"{crowd.peak_bytes / 2**30:.2f} GiB")
    table.add_row("memory per agent after construction", f"{crowd.bytes_per_agent:,.0f} bytes")
    table.add_row("of which its names and neighbours", f"{crowd.network_bytes / crowd.nodes:,.0f} bytes")
    return table


def log_table(cost: LogCost) -> Table:
    table = _facts(f"Parquet: {cost.events:,} events")
    table.add_row("to collect", f"{cost.collect_us_per_event:.2f} µs per event")
    table.add_row("to write", f"{cost.write_s:.2f} s")
    table.add_row("on disk, time, node and two fields", f"{cost.bytes_per_event:.1f} bytes per event")
    return table


def aims_table(scores: Sequence[Score]) -> Table:
    table = _table("Aims, at every size", "compared with", "at least", "worst", "verdict")
    for aim in AIMS:
        worst = worst_ratio(scores, aim.contestant)
        verdict = "met" if worst >= aim.factor else "not met"
        table.add_row(aim.contestant, f"{aim.factor:.1f} x", f"{worst:.2f} x", verdict)
    return table


def as_json(scores: Sequence[Score], crowd: Crowd, cost: LogCost) -> dict[str, Any]:
    aims = [(aim, worst_ratio(scores, aim.contestant)) for aim in AIMS]
    return {
        "python": platform.python_version(),
        "flooding": [
            asdict(score)
            | {
                "messages_per_s": score.messages_per_s,
                "brokerlab_ratio": ratio(scores, score.contestant, score.nodes),
            }
            for score in scores
        ],
        "crowd": asdict(crowd)
        | {
            "messages_per_s": crowd.messages_per_s,
            "bytes_per_agent": crowd.bytes_per_agent,
        },
        "parquet": asdict(cost)
        | {
            "collect_us_per_event": cost.collect_us_per_event,
            "bytes_per_event": cost.bytes_per_event,
        },
        "aims": [asdict(aim) | {"worst": worst, "met": worst >= aim.factor} for aim, worst in aims],
    }


def _table(title: str, *columns: str) -> Table:
    table = Table(title=title, title_justify="left")
    for column in columns:
        words = column in ("contestant", "compared with", "verdict")
        table.add_column(column, justify="left" if words else "right", no_wrap=True)
    return table


def _facts(title: str) -> Table:
    table = Table(title=title, title_justify="left", show_header=False)
    table.add_column()
    table.add_column(justify="right")
    return table
