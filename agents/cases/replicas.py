"""Cases for holistic and myopic stores: tokens and clocks, slow holders, new rates, stores and links that fail."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from runtime.testing.cases import Case, Draw

RESTLESS_EVENTS = 1_500
"""Where time-outs may outrun the network for ever, so much is enough to see whether it stays out of danger."""


def holistic_case(draw: Draw) -> Case:
    return _case(draw, holistic=True)


def myopic_case(draw: Draw) -> Case:
    return _case(draw, holistic=False)


def _case(draw: Draw, holistic: bool) -> Case:
    rng = draw.rng
    names = draw.names()
    sizes = item_sizes(draw)
    turns, slow = take_turns(draw), rng.random() < 0.15
    # Raw links that lose and double messages take their time, but do no harm, unless nobody hears who is gone.
    raw = turns["writers"] == 1 and draw.lossy and not draw.faults & {"partition", "death"} and rng.random() < 0.4
    impatient = bool(draw.faults) or slow
    restless = raw or (impatient and draw.way == "random")
    storage = replicas_table(draw, names, sizes, holistic, turns, slow, impatient)
    case = draw.case(
        {
            "protocol": "holistic" if holistic else "myopic",
            "seed": draw.seed,
            # On raw links nobody hears that a neighbour has died.
            "links": "raw" if raw else "reliable" if "death" in draw.faults else draw.links,
            "limits": {"time": 100_000.0},
            "network": draw.graph(names),
            "storage": storage,
            "faults": draw.trouble(names, until=150, down=100),
        },
        restless=restless,
    )
    return replace(case, max_events=RESTLESS_EVENTS) if restless else case


def item_sizes(draw: Draw) -> dict[str, int]:
    return {f"i{number}": draw.rng.choice([1, 1, 2, 3]) for number in range(1, draw.count(6, 1) + 1)}


def replicas_table(
    draw: Draw,
    names: list[str],
    sizes: dict[str, int],
    holistic: bool,
    turns: dict[str, Any],
    slow: bool = False,
    impatient: bool = False,
    between: tuple[float, float] = (1, 300),
) -> dict[str, Any]:
    """Stores that hold these items; a slow one thinks long, impatient ones miss the token; rates change in between."""
    rng, items = draw.rng, list(sizes)
    room = max(max(sizes.values()), -(-sum(sizes.values()) // len(names)) + 3)
    return {
        "capacity": {name: rng.randint(room, room + 2) for name in names},
        "sizes": sizes,
        "rates": _rates(draw, names, items),
        "patience": rng.uniform(30, 200) if impatient else "never",
        "thinking": {rng.choice(names): rng.uniform(100, 1000)} if slow else {},
        "changes": [
            {"at": rng.uniform(*between), "rates": _rates(draw, rng.sample(names, 1), items)}
            for _ in range(rng.choice([0, 0, 1, 2]))
        ],
        **turns,
        **_rule(draw, holistic),
    }


def take_turns(draw: Draw) -> dict[str, Any]:
    """Mostly the paper's single writer."""
    rng = draw.rng
    writers = rng.choice([1, 1, 1, 1, 0, 0, 2, 3])
    return {
        "writers": writers,
        "period": rng.choice([0.5, 10.0]),
        "clock": rng.choice(["random", "random", "regular"]),
        # Several writers may go round in circles; they may also think so too early.
        **({} if writers == 1 else {"same_decision_limit": 3, "replacement_limit": rng.choice([1, 2, 50])}),
    }


def _rule(draw: Draw, holistic: bool) -> dict[str, Any]:
    chance = draw.rng.random()
    if chance < 0.15:
        return {"search": "knapsack"}
    if chance < 0.3:
        return {"replacement_cost": draw.rng.uniform(0, 3)}
    return {"load_weight": 2.0} if holistic and chance < 0.5 else {}


def _rates(draw: Draw, names: Sequence[str], items: Sequence[str]) -> dict[str, dict[str, float]]:
    rng = draw.rng
    return {name: {item: rng.choice([0, 1, 2, rng.uniform(0, 5)]) for item in items} for name in names}
