"""Cases for relocation: publishers and subscribers that move while subscriptions come and go."""

from __future__ import annotations

from typing import Any

from runtime.testing.cases import Case, Draw

SETTLED = 2000.0
"""By then every advertisement and first subscription has arrived; what is checked happens afterwards."""

CONDITIONS: list[list[list[Any]]] = [
    [],
    [["x", ">", 3]],
    [["x", ">", 6]],
    [["x", "<=", 6]],
    [["x", "<", 4]],
    [["x", "=", 5]],
    [["x", ">", 3], ["x", "<", 7]],
    [["y", "=", "a"]],
    [["y", "prefix", "a"], ["x", ">=", 5]],
]


def relocation_case(draw: Draw) -> Case:
    names = draw.names()
    relocation = relocation_table(draw, names)
    network = draw.tree(names) | {"underlay_delay": draw.rng.choice([0.1, 1.0, "uniform(0.1, 8)"])}
    return draw.case(
        {
            "protocol": "relocation",
            "seed": draw.seed,
            "links": draw.links,
            "network": network,
            "relocation": relocation,
            "faults": draw.trouble(names, since=SETTLED, until=SETTLED + 20),
        },
        since_s=SETTLED,
    )


def relocation_table(draw: Draw, names: list[str]) -> dict[str, Any]:
    rng = draw.rng
    publishers = {f"p{number}": _publisher(draw, names) for number in range(1, draw.count(3, 1) + 1)}
    stay = {f"s{number}": _wish(draw, names) for number in range(1, draw.count(5) + 1)}
    pass_by = {f"t{number}": _wish(draw, names) | _span(draw) for number in range(1, draw.count(3) + 1)}
    algorithm = rng.choice(["none", "none", "pop", "grape"])
    relocation: dict[str, Any] = {
        "algorithm": algorithm,
        "covering": rng.random() < 0.5,
        "routing": rng.choice(["advertisements", "flooding"]),
        "publishers": publishers,
        "subscribers": stay | pass_by,
        "moves": [_move(draw, list(publishers), names) for _ in range(draw.count(6) if algorithm == "none" else 0)],
        "threshold": rng.randint(1, 4),
        "pop": {"window": 10.0},
        "grape": {"priority": rng.choice(["load", "delay"]), "weight": rng.choice([0.0, 1.0, 50.0, 100.0])},
        "matching": {"base": rng.choice([0.0, 0.05])},
        "steady_from": SETTLED,
    }
    if rng.random() < 0.5:
        relocation["follow_after"] = rng.choice([1, 3])
    return relocation


def _publisher(draw: Draw, names: list[str]) -> dict[str, Any]:
    rng = draw.rng
    low, high = sorted((rng.randint(0, 10), rng.randint(0, 10)))
    return {
        "broker": rng.choice(names),
        "where": [["x", ">=", low], ["x", "<=", high]],
        "contents": [{"x": rng.randint(low, high), "y": rng.choice(["a", "ab", "b"])} for _ in range(draw.count(5, 1))],
        "count": draw.count(12, 1),
        "every": rng.choice([0.2, 1.0, 3.0]),
        "start": SETTLED + rng.uniform(0, 10),
        "leaves": rng.random() < 0.3,
    }


def _wish(draw: Draw, names: list[str]) -> dict[str, Any]:
    return {"broker": draw.rng.choice(names), "where": draw.rng.choice(CONDITIONS)}


def _span(draw: Draw) -> dict[str, float]:
    """A subscription that begins late, or ends, or both."""
    rng = draw.rng
    since = SETTLED + rng.uniform(0, 20)
    until = {"until": since + rng.uniform(0.1, 20)} if rng.random() < 0.6 else {}
    return {"since": rng.choice([0.0, since]), **until}


def _move(draw: Draw, publishers: list[str], names: list[str]) -> dict[str, Any]:
    rng = draw.rng
    return {"at": SETTLED + rng.uniform(0, 20), "publisher": rng.choice(publishers), "to": rng.choice(names)}
