"""Cases for several systems on one overlay: each part's own, all busy at the same time on the same small network."""

from __future__ import annotations

from typing import Any

from agents.cases.dissemination import dissemination_table
from agents.cases.overlay import BUSY_S, overlay_table
from agents.cases.overlay import DELAYS as UNEVEN
from agents.cases.planning import planning_table, some_failures
from agents.cases.relocation import SETTLED, relocation_table
from agents.cases.replicas import item_sizes, replicas_table, take_turns
from runtime.testing.cases import Case, Draw

PARTS = ("planning", "holistic", "relocation", "overlay", "dissemination")
DELAYS = (0.05, "uniform(0.01, 0.3)", *UNEVEN)


def together_case(draw: Draw) -> Case:
    """Two to five of the parts, most often two: what goes wrong between parts, goes wrong between two of them."""
    rng = draw.rng
    # Dice that ring every timer early repeat everything for ever, if there is much to be repeated.
    storm = draw.lossy and draw.way == "random"
    count = 2 if storm else rng.choice([2, 2, 2, 3, 4, 5])
    chosen = sorted(rng.sample(PARTS, count), key=PARTS.index)
    names = draw.names(2)[: 12 if count == 2 and not draw.faults else 5]
    drawn: dict[str, Any] = {}
    for part in chosen:
        drawn |= _table(draw, part, names, "relocation" in chosen)
    return draw.case(
        {
            "protocol": "together",
            "seed": draw.seed,
            "links": draw.links,
            "network": _network(draw, names, "relocation" in chosen),
            "together": {"parts": chosen},
            **drawn,
            "faults": draw.trouble(names, since=SETTLED, until=SETTLED + BUSY_S, most=0.3),
        },
        since_s=SETTLED + rng.uniform(0, BUSY_S / 2),
    )


def _network(draw: Draw, names: list[str], tree: bool) -> dict[str, Any]:
    """A tree where publications are routed by content, else any network.

    Where nothing is sent again and again, links may be so slow that one part's messages wait for another's.
    """
    rng = draw.rng
    network = draw.tree(names) if tree or rng.random() < 0.3 else draw.graph(names)
    if draw.faults:
        return network
    slow = {"bandwidth": 10_000.0} if rng.random() < 0.5 else {}
    return network | {"delay": rng.choice(DELAYS), "access_delay": rng.choice([0.05, 1.0])} | slow


def _table(draw: Draw, part: str, names: list[str], tree: bool) -> dict[str, Any]:
    rng = draw.rng
    match part:
        case "planning":
            stores = draw.count(min(4, len(names)), 1)
            calm = draw.faults or draw.way != "timed" or rng.random() < 0.5
            failures = {} if calm else some_failures(draw, SETTLED, stores)
            table = planning_table(draw, stores, SETTLED, quiet=True, failures=failures)
            # The first ones half-way, the last one while others ask. Over cycles and repaired links it may be nowhere.
            late = {"publish_every": SETTLED / 4 + 1} if tree and not draw.lossy else {}
            return {"planning": table | late}
        case "holistic":
            turns, between = take_turns(draw), (SETTLED, SETTLED + BUSY_S)
            # Where time-outs may outrun the network for ever, nobody misses the token.
            slow = draw.way != "random" and rng.random() < 0.3
            impatient = slow or (draw.way != "random" and bool(draw.faults))
            table = replicas_table(draw, names, item_sizes(draw), True, turns, slow, impatient, between)
            return {"storage": table}
        case "relocation":
            return {"relocation": relocation_table(draw, names)}
        case "overlay":
            # These brokers are no points in a plane.
            return {"overlay": overlay_table(draw, len(names), SETTLED) | {"access_costs": "uniform"}}
    dissemination = dissemination_table(draw, names, SETTLED, BUSY_S)
    mesh = dissemination["tapestry"]
    # What is repaired on the way can take long; who is slow is not dead.
    mesh |= {"over": rng.choice(["underlay", "links"]), "patience": 2000.0}
    if mesh["joins"]:
        # The only acquaintance of somebody who wants to join may have left.
        mesh["leaves"] = {}
    return {"dissemination": dissemination}
