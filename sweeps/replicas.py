"""Figures 2 to 4 of replicas: holistic (hol) against myopic (mpc) storage management, on one random topology.

The paper gives no value of p where it varies the exponents, and no range of z_size; here p = 2 (half of the items
fit into a storage) and -1 to 1.
"""

from __future__ import annotations

from sweeps.sweep import Claim, Curve, Figure, Measure, Parameter, Quick, Sweep

PAPER = "V, Fig."
RATIOS = (2.0, 1.25, 1.67, 2.5, 3.33, 5.0, 10.0)
POPULARITY = (0.7, 0.2, 0.45, 0.95, 1.2)
SIZES = (0.3, -1.0, -0.6, -0.3, 0.0, 0.6, 1.0)
SPREADS = ("uniform", "random")
FIGURE_2, FIGURE_3, FIGURE_4 = (
    "z_pop = 0.7 and z_size = 0.3",
    "p = 2.0 and z_size = 0.3",
    "p = 2.0 and z_pop = 0.7",
)
METRICS = {"ont": "ONT", "re": "RE", "it": "IT"}


def _figures(number: int, x: str, where: str) -> dict[str, Figure]:
    return {
        f"figure_{number}_{metric}": Figure(
            title=f"Fig. {number}: {name} against {x}",
            x=x,
            y=metric,
            series=("algorithm", "spread"),
            where=where,
            x_scale="log" if x == "p" else "linear",
            y_scale="log" if x == "p" and metric == "ont" else "linear",
        )
        for metric, name in METRICS.items()
    }


def _better(number: int, where: str, spread: str, low: float, high: float, measure: str = "ont") -> Claim:
    kind = "uniform" if spread == "uniform" else "non-uniform"
    counted = "" if measure == "ont" else " (a = 0, as equation 1 is printed)"
    return Claim(
        sentence=f"The holistic approach outperforms the myopic one by {low:g} to {high:g} %, {kind} rates{counted}.",
        source=f"{PAPER} {number}",
        measure=measure,
        table="differences",
        where=f"{where} and spread = '{spread}' and algorithm = 'hol'",
        value="-percent_mean",
        half_width="percent_half_width",
        at_least=low,
        at_most=high,
        unit="%",
    )


def _rises(sentence: str, source: str, measure: str, where: str, over: str, sign: str = "") -> Claim:
    return Claim(
        sentence=sentence,
        source=source,
        measure=measure,
        where=where,
        value=f"{sign}(mean - lag(mean) over (partition by algorithm, spread order by {over}))",
        half_width="half_width",
        at_least=0.0,
        unit="from one point to the next",
    )


def _peak(measure: str) -> Claim:
    name = METRICS[measure]
    return Claim(
        sentence=f"{name} has its peak at z_size = 0, at least double.",
        source=f"{PAPER} 4",
        measure=measure,
        where=FIGURE_4,
        value="if(z_size = 0, null, max(if(z_size = 0, mean, null)) over (partition by algorithm, spread) / mean)",
        at_least=2.0,
        unit="times the value at other exponents",
    )


SWEEP = Sweep(
    name="replicas",
    title="On-line storage management: holistic and myopic",
    about="120 stores under a single-writer token, from a random configuration to equilibrium, all by messages.",
    base={
        "protocol": "holistic",
        "network": {"kind": "random-graph", "nodes": 120, "degree": 3.0, "delay": "uniform(0.5, 1.5)", "seed": 1},
        "storage": {"capacity": 50, "items": {"count": 20, "sizes": 0.3, "ratio": 2.0}, "popularity": 0.7},
    },
    parameters={
        "p": Parameter(key="storage.items.ratio", values=RATIOS, label="total size of the items / capacity, p"),
        "z_pop": Parameter(key="storage.popularity", values=POPULARITY, label="exponent of popularity, z_pop"),
        "z_size": Parameter(key="storage.items.sizes", values=SIZES, label="exponent of size, z_size"),
        "spread": Parameter(key="storage.spread", values=SPREADS, label="rates"),
    },
    studies={
        "figure_2": {"p": RATIOS, "spread": SPREADS},
        "figure_3": {"z_pop": POPULARITY, "spread": SPREADS},
        "figure_4": {"z_size": SIZES, "spread": SPREADS},
    },
    algorithms={"mpc": {"protocol": "myopic"}, "hol": {"protocol": "holistic"}},
    baseline="mpc",
    seed=1,
    runs=20,
    measures={
        "valid": Measure(path="verdict", equals="valid", label="runs that end in an equilibrium"),
        "ont": Measure(path="ont", label="ONT (req·hops/s)"),
        "ont_between": Measure(path="ont_between_stores", label="ONT without the access hop"),
        "re": Measure(path="replacements.mean", label="replacements per storage, RE"),
        "it": Measure(path="iterations.mean", label="iterations per storage, IT"),
        "rates_bytes": Measure(path="by_type.Rates.bytes"),
        "holding_bytes": Measure(path="by_type.Holding.bytes"),
        "links_bytes": Measure(path="by_type.LinkState.bytes"),
        "circulated": Measure(
            formula="coalesce(rates_bytes, 0) + holding_bytes + links_bytes", label="circulated information (bytes)"
        ),
        "token_hops": Measure(path="by_type.Token.messages", label="token travels (hops)"),
        "settled": Measure(path="settled_at", label="time of the last replacement (s)"),
        "fetched": Measure(path="fetched_volume_hops", label="fetched volume times hops"),
    },
    curves={"traffic": Curve(event="traffic_level", value="ont", label="ONT (req·hops/s)")},
    figures={
        **_figures(2, "p", FIGURE_2),
        **_figures(3, "z_pop", FIGURE_3),
        **_figures(4, "z_size", FIGURE_4),
        "circulated": Figure(
            title="What the two circulate (IV.C)", x="p", y="circulated", series=("algorithm", "spread"), where=FIGURE_2
        ),
        "falling": Figure(
            title="The traffic falls", y="traffic", kind="curve", where=f"{FIGURE_2} and p = 2.0 and spread = 'uniform'"
        ),
    },
    claims=(
        Claim(
            sentence="The algorithms always converge to an equilibrium.",
            source="IV.A, VI",
            measure="valid",
            at_least=1.0,
            unit="of the runs",
        ),
        _better(2, FIGURE_2, "uniform", 9, 34),
        _better(2, FIGURE_2, "uniform", 9, 34, "ont_between"),
        _better(2, FIGURE_2, "random", 1, 8),
        _better(2, FIGURE_2, "random", 1, 8, "ont_between"),
        _better(3, FIGURE_3, "uniform", 6, 18),
        _better(3, FIGURE_3, "uniform", 6, 18, "ont_between"),
        _better(3, FIGURE_3, "random", 2, 5),
        _better(3, FIGURE_3, "random", 2, 5, "ont_between"),
        Claim(
            sentence="The holistic approach requires 10 to 150 % more replacements.",
            source=f"{PAPER} 2",
            measure="re",
            table="differences",
            where=f"{FIGURE_2} and algorithm = 'hol'",
            value="percent_mean",
            half_width="percent_half_width",
            at_least=10.0,
            at_most=150.0,
            unit="%",
        ),
        _rises(
            "IT of the holistic approach grows with p.", f"{PAPER} 2", "it", f"{FIGURE_2} and algorithm = 'hol'", "p"
        ),
        _rises(
            "IT of the myopic approach falls with p.", f"{PAPER} 2", "it", f"{FIGURE_2} and algorithm = 'mpc'", "p", "-"
        ),
        _rises("ONT grows as fewer items fit.", f"{PAPER} 2", "ont", FIGURE_2, "p"),
        _rises(
            "RE grows with the popularity exponent (hol).",
            f"{PAPER} 3",
            "re",
            f"{FIGURE_3} and algorithm = 'hol'",
            "z_pop",
        ),
        _rises(
            "IT grows with the popularity exponent (hol).",
            f"{PAPER} 3",
            "it",
            f"{FIGURE_3} and algorithm = 'hol'",
            "z_pop",
        ),
        _peak("it"),
        _peak("re"),
        Claim(
            sentence="The myopic approach circulates less information.",
            source="IV.C",
            measure="circulated",
            table="differences",
            where="algorithm = 'hol'",
            value="percent_mean",
            half_width="percent_half_width",
            at_least=0.0,
            unit="% more, hol",
        ),
    ),
    quick=Quick(runs=3, parameters={"p": (2.0, 5.0), "z_pop": (0.7, 1.2), "z_size": (0.0, 0.3)}),
)
