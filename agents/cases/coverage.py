"""Cases for coverage: stores that advertise, withdraw, fail and return while brokers crash and links misbehave."""

from __future__ import annotations

from typing import Any

from runtime.testing.cases import Case, Draw

ORDERS = ("withdraw", "advertise", "fail", "recover")


def coverage_case(draw: Draw) -> Case:
    rng = draw.rng
    names = draw.names()
    stores = {
        f"s{number}": {"broker": rng.choice(names), "topics": rng.sample(["a", "b"], rng.randint(1, 2))}
        for number in range(1, draw.count(6, 1) + 1)
    }
    clients = {f"c{number}": rng.choice(names) for number in range(1, draw.count(2) + 1)}
    storage: dict[str, Any] = {
        "stores": stores,
        "clients": clients,
        "events": [_order(draw, list(stores)) for _ in range(draw.count(8))],
        "publications": [{"at": rng.uniform(0, 40), "client": name, "topic": "a"} for name in clients],
        "requests": [{"at": rng.uniform(0, 40), "client": name, "topic": "a"} for name in clients],
    }
    return draw.case(
        {
            "protocol": "coverage",
            "seed": draw.seed,
            # On raw links nobody hears that a neighbour has died.
            "links": "reliable" if "death" in draw.faults else draw.links,
            "network": draw.graph(names),
            "storage": storage,
            "faults": [_some_one_way(draw, fault) for fault in draw.trouble([*names, *stores], names)],
        }
    )


def _some_one_way(draw: Draw, fault: dict[str, Any]) -> dict[str, Any]:
    return fault | {"one_way": draw.rng.random() < 0.3} if fault["kind"] == "partition" else fault


def _order(draw: Draw, stores: list[str]) -> dict[str, Any]:
    rng = draw.rng
    order = {"at": rng.uniform(0, 40), "store": rng.choice(stores), "do": rng.choice(ORDERS)}
    one_topic = order["do"] in ("withdraw", "advertise") and rng.random() < 0.5
    return order | ({"topics": [rng.choice(["a", "b"])]} if one_topic else {})
