"""Cases for dissemination: content for many formats on a mesh whose brokers join, leave and fail."""

from __future__ import annotations

from typing import Any

from runtime.testing.cases import Case, Draw

TOPICS = ("news", "maps")
PUBLISHING = 400.0
"""From then on content is published; by then newcomers have mostly joined."""

LONGEST_BUSY_S = 500.0
AFTERWARDS_S = 5000.0
"""So much later everybody has noticed who failed last, if the order is that of time."""

CONDITIONS: tuple[list[list[Any]], ...] = ([], [], [["x", ">", 5]])


def dissemination_case(draw: Draw) -> Case:
    rng = draw.rng
    # Content passes brokers that see another tree only where there are many, and more than one hop apart.
    many = rng.random() < 0.4
    names = draw.names(max(2, draw.size if many else 0))
    # In a short time brokers fail while content is on its way.
    busy_s = rng.choice([20.0, LONGEST_BUSY_S])
    dissemination = dissemination_table(draw, names, PUBLISHING, busy_s, many)
    data: dict[str, Any] = {
        "protocol": "dissemination",
        "seed": draw.seed,
        "links": draw.links,
        # Everybody knows everybody by name, so that the living stay connected whoever fails.
        "network": {"kind": "complete", "nodes": len(names), "delay": draw.delay()},
        "dissemination": dissemination,
        "faults": draw.trouble(
            names[1:], names, rng.choice([0.0, PUBLISHING]), PUBLISHING + busy_s, down=300.0, most=0.3
        ),
    }
    case = draw.case(data, since_s=rng.choice([0.0, PUBLISHING]))
    if rng.random() < 0.5:
        formats = [*dissemination["cag"]["formats"]]
        late = _publication(draw, names, formats, PUBLISHING + busy_s + AFTERWARDS_S, busy_s)
        dissemination["publications"].append(late)
    back = [fault["at"] + fault["recover_after"] for fault in data["faults"] if "recover_after" in fault]
    if back and rng.random() < 0.3:
        # Who is just back knows others before all of them know of its new life.
        dissemination["tapestry"]["leaves"][rng.choice(names[1:])] = rng.choice(back) + rng.uniform(0, 30)
    return case


def dissemination_table(
    draw: Draw, names: list[str], publishing: float = PUBLISHING, busy_s: float = LONGEST_BUSY_S, many: bool = False
) -> dict[str, Any]:
    """Content is published from then on, for so long; with many brokers, such that plans are worth refining."""
    rng = draw.rng
    # The first broker stays, so that there is always somebody to join.
    others = rng.sample(names[1:], len(names) - 1)
    joining, leaving = (
        others[: draw.count(len(others) // 2 if many else len(others))],
        others[-draw.count(2, 1) :] if rng.random() < 0.4 else [],
    )
    formats = [f"f{number}" for number in range(draw.count(4, 3 if many else 1))]
    # All at once, all while content is published, or one by one.
    together = rng.choice([None, 1.0, publishing])
    dissemination: dict[str, Any] = {
        "cag": {"formats": {name: rng.choice([1.0, rng.uniform(0.1, 5)]) for name in formats}}
        | _operators(draw, formats),
        "alpha": rng.choice([0.1, 1.0, 10.0]),
        "algorithm": rng.choice(["optimal", "heuristic", "root", "leaves"]),
        "compare": ["optimal", "root", "leaves"] if len(names) == 4 else [],
        "tree": rng.choice(["discovered", "estimated"]),
        "threshold": rng.choice([0.0, 0.0, 0.5, 1e9]),
        "tapestry": {
            "base": 2 if many else rng.choice([2, 3, 4, 16]),
            "digits": rng.choice([5 if len(names) <= 16 else 7, 7]),
            "joins": {name: together or rng.uniform(0, 200) for name in joining},
            "leaves": {name: rng.uniform(0, publishing + busy_s) for name in leaving},
        },
        "factors": rng.choice([{}, {"nodes": [0.5, 2.0], "links": [0.2, 5.0]}]),
        "subscriptions": [
            _subscription(draw, names, formats, publishing + busy_s) for _ in range(draw.count(2 * len(names), 1))
        ],
        "publications": [_publication(draw, names, formats, publishing, busy_s) for _ in range(draw.count(3, 1))],
    }
    if many:
        dissemination |= _worth_refining(draw, names, formats, publishing)
    if rng.random() < 0.3:
        dissemination["load"] = {"unit": 10_000.0, "node": 3.0, "link": 5.0, "aware": rng.random() < 0.5}
    return dissemination


def _worth_refining(draw: Draw, names: list[str], formats: list[str], publishing: float) -> dict[str, Any]:
    """Half of the brokers want something, and who makes the plan sees little of those on the way to them."""
    far = draw.rng.sample(names, -(-len(names) // 2))
    return {
        "tree": "estimated",
        "threshold": 0.0,
        "alpha": 1.0,
        "factors": {"nodes": [0.2, 5.0], "links": [0.2, 5.0]},
        "algorithm": draw.rng.choice(["optimal", "heuristic"]),
        "subscriptions": [_subscription(draw, [name], formats, 0.0) | {"topic": TOPICS[0], "at": 0.0} for name in far],
        "publications": [_publication(draw, names, formats, publishing, 20.0) | {"topic": TOPICS[0]} for _ in range(3)],
    }


def _operators(draw: Draw, formats: list[str]) -> dict[str, Any]:
    rng = draw.rng
    return {
        "operators": {
            source: {target: rng.uniform(0.1, 3) for target in formats if target != source and rng.random() < 0.6}
            for source in formats
        }
    }


def _subscription(draw: Draw, names: list[str], formats: list[str], until: float) -> dict[str, Any]:
    rng = draw.rng
    return {
        "broker": rng.choice(names),
        "topic": rng.choice(TOPICS),
        "formats": rng.sample(formats, draw.count(len(formats), 1)),
        "where": rng.choice(CONDITIONS),
        "at": rng.choice([0.0, rng.uniform(0, until)]),
    }


def _publication(draw: Draw, names: list[str], formats: list[str], publishing: float, busy_s: float) -> dict[str, Any]:
    rng = draw.rng
    return {
        "at": publishing + rng.uniform(0, busy_s),
        "broker": rng.choice(names),
        "topic": rng.choice(TOPICS),
        "format": rng.choice(formats),
        "content": {"x": rng.randint(0, 10)},
    }
