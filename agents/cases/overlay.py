"""Cases for the overlay: users that publish while they are handed over, join, leave and change their minds."""

from __future__ import annotations

from typing import Any

from runtime.testing.cases import Case, Draw

SETTLED = 200.0
"""By then the first users are registered; what is checked happens in the seconds after it."""

BUSY_S = 10.0
DELAYS = (1.0, "uniform(0.1, 5)", "exponential(0.05, 4)", "exponential(0.05, 4)")
"""Mostly such that what one link carries is late for what another has carried."""


SLOW_S = (3.0, 10.0)
"""What a slow link takes: long enough for a hand-over between other brokers to end meanwhile."""


def overlay_case(draw: Draw) -> Case:
    rng = draw.rng
    if draw.way == "timed" and "delay" in draw.faults and (dice := rng.random()) < 0.8:
        return _with_slow_links(draw, "many" if dice < 0.6 else "one")
    brokers = draw.names(2)[:5]
    overlay = overlay_table(draw, len(brokers))
    users = [f"u{number}" for number in range(1, overlay["users"] + 1)]
    return draw.case(
        {
            "protocol": "overlay",
            "seed": draw.seed,
            # Sessions make good what a crash swallows; on raw links there are none.
            "links": "reliable" if "crash" in draw.faults else draw.links,
            "network": {
                "kind": "plane",
                "nodes": len(brokers),
                "connect": "complete",
                "delay": rng.choice(DELAYS),
                "access_delay": rng.choice([0.1, 1.0]),
            },
            "overlay": overlay,
            "faults": draw.trouble([*brokers, *users], brokers, SETTLED, SETTLED + BUSY_S, most=0.3),
        },
        # In the midst of it: what is on its way then can be late.
        since_s=SETTLED + rng.uniform(0, BUSY_S),
    )


def _with_slow_links(draw: Draw, movers: str) -> Case:
    """A quick network, with a slow link between two brokers, or slow links from one to all users.

    On the one a publication is overtaken by later ones that are routed past it; on the others the order to move is, and
    by the time the user comes to where it was sent, others have moved.
    """
    rng = draw.rng
    brokers = [f"n{number}" for number in range(1, draw.count(5, 4) + 1)]
    users = [f"u{number}" for number in range(1, draw.count(10, 6) + 1)]
    one, other = rng.sample(brokers, 2)
    slow = [[one, other]] if movers == "many" else [[one, user] for user in users]
    begin = SETTLED + 2.0
    return draw.case(
        {
            "protocol": "overlay",
            "seed": draw.seed,
            "network": {
                "kind": "plane",
                "nodes": len(brokers),
                "connect": "complete",
                "delay": rng.choice([0.1, "uniform(0.05, 0.5)"]),
                "access_delay": 0.1,
            },
            "overlay": {
                "users": len(users),
                "intervals": draw.count(4, 2),
                "access_to_core": rng.choice([0.1, 1.0, 10.0]),
                "capacity": 1e9,
                "movers": movers,
                "begin": begin,
                "period": 0.1 if movers == "one" else 0.5,
                "patience": 4,
                "publish_since": SETTLED,
                "publish_until": SETTLED + BUSY_S,
                "publish_scale": 6.0,
            },
            "faults": [
                {
                    "kind": "delay",
                    "links": slow,
                    "one_way": True,
                    "since": begin + rng.uniform(-1, 2),
                    "by": rng.choice(SLOW_S),
                }
            ],
        }
    )


def overlay_table(draw: Draw, brokers: int, settled: float = SETTLED) -> dict[str, Any]:
    """Users on so many brokers that are busy from then on."""
    rng = draw.rng
    users = draw.count(6, 3)
    movers = rng.choice(["one", "many"])
    overlay: dict[str, Any] = {
        "users": users,
        "intervals": draw.count(4, 1),
        "dimensions": draw.count(2, 1),
        "access_costs": rng.choice(["uniform", "plane"]),
        "access_to_core": rng.choice([0.1, 1.0, 10.0]),
        "capacity": 1e9,
        "movers": movers,
        "begin": settled + rng.uniform(0, 2),
        "period": rng.choice([0.1, 1.0]),
        "patience": 4,
        "unwilling": rng.choice([0.0, 0.0, 0.3]),
        "publish_since": settled,
        "publish_until": settled + BUSY_S,
        "publish_scale": rng.choice([1.0, 3.0, 6.0]),
    }
    if draw.way == "timed" and rng.random() < 0.2:
        # The paper's rule: nothing can still be on its way after so long.
        overlay["redirect_ttl"] = 100_000.0
    churn = {do: draw.count(2) for do in ("joins", "leaves", "interests", "rates")} if rng.random() < 0.7 else {}
    if rng.random() < 0.4:
        overlay, churn = _with_little_room(draw, overlay, churn, brokers)
    if churn:
        overlay["churn"] = {**churn, "between": [settled, settled + BUSY_S]}
    return overlay


def _with_little_room(
    draw: Draw, overlay: dict[str, Any], churn: dict[str, int], brokers: int
) -> tuple[dict[str, Any], dict[str, int]]:
    """Brokers turn users away, but when nobody is being handed over there is always one that has room.

    If everybody wants everything and nobody changes that, all users need the same: all that is published. So a
    capacity is a number of users. One that is being handed over counts twice, and so does what it publishes.
    """
    movers = draw.rng.choice(["none", "one", "many"])
    few = {"joins": draw.count(3, 1), "leaves": churn.get("leaves", 0)}
    users = overlay["users"] + few["joins"]
    fit = (users - 1) // brokers + 1
    room = {"capacity_factor": fit * brokers / users, "width": 1.0, "movers": movers}
    return {key: value for key, value in overlay.items() if key != "capacity"} | room, few
