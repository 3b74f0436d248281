"""Cases for planning: demand changes, topics move while requests go on, stores fail and brokers crash."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from runtime.testing.cases import Case, Draw

DELAYS = (0.05, "uniform(0.01, 0.3)", "exponential(0.01, 0.1)")
REACTIONS = ("reassign", "replan", "either")
REQUESTED_S = 6.0
LONGEST_DOWN_S = 3.0


def planning_case(draw: Draw) -> Case:
    rng = draw.rng
    # Over repaired links everything takes many more events.
    names = (replace(draw, size=min(draw.size, 5)) if draw.lossy else draw).names()
    # Subscriptions must be there before the first publication, and that before the first request.
    began = 400.0 if draw.lossy or "delay" in draw.faults else 8.0
    # What is published while somebody is down, or over a cycle, may be nowhere.
    quiet = bool(draw.faults & {"crash"}) or draw.lossy or rng.random() < 0.2
    stores = draw.count(min(4, len(names)), 1)
    failures = some_failures(draw, began, stores) if rng.random() < 0.4 else {}
    crashing = [*names, "manager"] if rng.random() < 0.5 else names
    return draw.case(
        {
            "protocol": "planning",
            "seed": draw.seed,
            "links": draw.links,
            "network": (draw.graph(names) if quiet else draw.tree(names)) | {"delay": rng.choice(DELAYS)},
            "planning": planning_table(draw, stores, began, quiet, failures),
            "faults": draw.trouble(crashing, names, began + 1, began + REQUESTED_S, LONGEST_DOWN_S, most=0.3),
        },
        since_s=began,
    )


def planning_table(
    draw: Draw, stores: int, began: float, quiet: bool, failures: dict[str, Any] | None = None
) -> dict[str, Any]:
    """So many stores, and requests from then on; quiet: publications only before them."""
    return {
        **_planned(draw, stores),
        **_demand(draw, began),
        **({} if quiet else {"publish_every": 2.0}),
        "failures": failures or {},
    }


def _planned(draw: Draw, stores: int) -> dict[str, Any]:
    rng = draw.rng
    topics = draw.count(4, 1)
    return {
        "topics": topics,
        "algorithm": rng.choice(["seq", "wrr"]),
        "capacity": rng.randint(-(-topics // stores), topics),
        "stores": stores,
        "publications": 2,
        "react": rng.choice(REACTIONS),
        "threshold": 0.0,
        "report_every": 1.5,
        "decide_every": 1.0,
        "retry_after": 30.0,
        "patience": 60.0,
    }


def _demand(draw: Draw, began: float) -> dict[str, Any]:
    rng = draw.rng
    return {
        "rate": 0.5,
        "popularity": rng.uniform(-2, 2),
        "locality": rng.uniform(-2, 2),
        "begin": began,
        "until": began + REQUESTED_S,
        "changes": {"other": {"at": began + 3, "popularity": rng.uniform(-2, 2), "locality": rng.uniform(-2, 2)}},
    }


def some_failures(draw: Draw, began: float, stores: int) -> dict[str, Any]:
    rng = draw.rng
    return {
        f"failure{number}": {
            "at": began + rng.uniform(1, REQUESTED_S - 1),
            "count": rng.randint(0, stores),
            **({"recover_after": rng.uniform(0.5, LONGEST_DOWN_S)} if rng.random() < 0.8 else {}),
        }
        for number in range(1, draw.count(2, 1) + 1)
    }
