"""Storage planning and replica assignment: figures 4 to 9 of the paper, and the gap to the exact optimum.

All numbers are measured: stores are installed, clients send requests at random times, and the hops are those of the
responses. The paper compares in percent without saying of what; here percent are of `wrr` on the same instance. How far
the paper's figures reach is not in its text: brokers, capacities, degrees and exponents are ours around its defaults.
Nor does it say which trees: here every labelled tree is equally likely; `planning-balanced` has regular ones.
"""

from __future__ import annotations

from typing import Any

from sweeps.sweep import Claim, Figure, Measure, Parameter, Quick, Sweep

EXPONENTS = (0.0, 0.2, 0.4, 0.6, 0.8, 1.0)
DEGREES = "stores = 0"  # 6.1.1: a minimum degree is given
FIGURE_4 = f"{DEGREES} and capacity = 5 and min_degree = 2"
FIGURE_5 = f"{DEGREES} and brokers = 100 and min_degree = 2"
FIGURE_6 = f"{DEGREES} and brokers = 100 and capacity = 5"
FIGURE_7 = "stores > 0 and brokers = 100 and locality = 0.0 and failed = 0"
FIGURE_8 = "stores > 0 and brokers = 100 and popularity = 0.0 and failed = 0"
FIGURE_9 = "stores = 20 and popularity = 0.8 and locality = 0.0 and brokers = 100"
SMALL = "optimum"
HOPS = "mean hop distance"
ONT = "ONT (requests x hops / s)"

OF_WRR: dict[str, Any] = {
    "measure": "hops",
    "table": "differences",
    "value": "percent_mean",
    "half_width": "percent_half_width",
    "unit": "% of wrr",
}
"""A claim about an algorithm beside wrr on the same instances."""


def _both(number: int, about: str, x: str, where: str) -> dict[str, Figure]:
    """The two pictures of one figure of the paper."""
    return {
        f"figure_{number}": Figure(title=f"Fig. {number}: {HOPS}, {about}", x=x, y="hops", where=where),
        f"figure_{number}_ont": Figure(title=f"Fig. {number}: network traffic, {about}", x=x, y="ont", where=where),
    }


def _by_stores(number: int, what: str, x: str, y: str, where: str, suffix: str = "") -> dict[str, Figure]:
    """One picture for each M."""
    return {
        f"figure_{number}{suffix}_m{stores}": Figure(
            title=f"Fig. {number}: {what}, {x}, M = {stores}", x=x, y=y, where=f"{where} and stores = {stores}"
        )
        for stores in (10, 20)
    }


SWEEP = Sweep(
    name="planning",
    title="Storage planning and replica assignment",
    about="Stores are planned for a random tree of brokers, installed, and asked by Poisson clients for a second.",
    base={
        "protocol": "planning",
        "network": {"kind": "random-tree", "nodes": 100, "delay": "uniform(0.0005, 0.0015)"},
        "planning": {
            "topics": 10,
            "begin": 0.2,
            "settle": 0.05,
            "until": 1.05,
            "retry_after": 0.2,
            "failures": {"failed": {"at": 0.25, "count": 0}},
        },
    },
    parameters={
        "brokers": Parameter(key="network.nodes", values=(100, 30, 50, 150, 200, 250), label="number of brokers"),
        "capacity": Parameter(key="planning.capacity", values=(5, 1, 2, 3, 4, 6, 8, 10), label="topics per store, L"),
        "min_degree": Parameter(
            key="planning.min_degree", values=(1, 2, 3, 4, 5), label="least replicas of a topic, min_k"
        ),
        "stores": Parameter(key="planning.stores", values=(0, 10, 20), label="stores M"),
        "popularity": Parameter(
            key="planning.popularity", values=(1.0, 0.0, 0.2, 0.4, 0.6, 0.8), label="exponent of popularity"
        ),
        "locality": Parameter(key="planning.locality", values=EXPONENTS, label="exponent of locality"),
        "failed": Parameter(
            key="planning.failures.failed.count", values=(0, 1, 2, 3, 4, 5), label="failed stores of 20"
        ),
        "optimum": Parameter(key="planning.optimum", values=(False, True)),
    },
    studies={
        "brokers": {"brokers": (50, 100, 150, 200, 250), "min_degree": (2,)},
        "capacity": {"capacity": (1, 2, 3, 4, 5, 6, 8, 10), "min_degree": (2,)},
        "degree": {"min_degree": (1, 2, 3, 4, 5)},
        "popularity": {"stores": (10, 20), "popularity": EXPONENTS},
        "locality": {"stores": (10, 20), "popularity": (0.0,), "locality": EXPONENTS},
        "failures": {"stores": (20,), "popularity": (0.8,), "failed": (0, 1, 2, 3, 4, 5)},
        "optimum": {
            "brokers": (30,),
            "stores": (10,),
            "popularity": (0.0, 0.8),
            "locality": (0.0, 1.0),
            "optimum": (True,),
        },
    },
    algorithms={name: {"planning.algorithm": name} for name in ("seq", "wrr", "grd_opt", "rnd")},
    baseline="wrr",
    seed=1,
    runs=20,
    measures={
        "valid": Measure(path="verdict", equals="valid", label="runs without a violation"),
        "hops": Measure(path="mean_hop_distance", label=HOPS),
        "analytic": Measure(path="analytic", label="mean hop distance by (3)"),
        "agrees": Measure(path="phases.failed.within", equals=True, label="runs with (3) in the measured interval"),
        "ont": Measure(path="ont", label=ONT),
        "installed": Measure(path="stores_installed", label="stores installed"),
        "requests": Measure(path="requests_sent"),
        "repeated": Measure(path="requests_repeated"),
        "before": Measure(path="phases.planned.analytic"),
        "increase": Measure(formula="100 * (hops / before - 1)", label="increase of the hop distance (%)"),
        "increase_each": Measure(formula="increase / failed"),
        "gap": Measure(path="gap_percent", label="above the exact optimum (%)"),
        "ont_each": Measure(formula="ont / brokers", label="ONT per broker"),
    },
    figures={
        **_both(4, "number of brokers", "brokers", FIGURE_4),
        **_both(5, "storage capacity", "capacity", FIGURE_5),
        **_both(6, "minimum replication degree", "min_degree", FIGURE_6),
        **_by_stores(7, HOPS, "popularity", "hops", FIGURE_7),
        **_by_stores(8, HOPS, "locality", "hops", FIGURE_8),
        **_by_stores(8, "stores installed", "locality", "installed", FIGURE_8, "_stores"),
        "figure_9": Figure(
            title=f"Fig. 9: {HOPS}, store failures",
            x="failed",
            y="hops",
            where=f"{FIGURE_9} and algorithm <> 'grd_opt'",
        ),
        "gap": Figure(
            title="Beyond the paper: from the optimum, 30 brokers",
            x="locality",
            y="gap",
            series=("popularity", "algorithm"),
            where=f"{SMALL} and algorithm <> 'grd_opt'",
        ),
    },
    claims=(
        Claim(
            sentence="The mean hop distance that requests measure is that of the cost model.",
            source="5.4, (3)",
            measure="agrees",
            at_least=0.75,
            unit="of the runs",
            remark="95 % are to be expected over all; fewer than 15 of 20 once in 3000 points",
        ),
        Claim(
            sentence="Every request is answered in full by a store that holds the topic, capacities are kept, and"
            " every table is right.",
            source="ours, as a property",
            measure="valid",
            at_least=1.0,
            unit="of the runs",
        ),
        Claim(
            sentence="rnd is 5 to 25 % worse than the proposed algorithm.",
            source="6.1.1, Figs. 4-6",
            where=f"algorithm = 'rnd' and {DEGREES}",
            at_least=5.0,
            at_most=25.0,
            **OF_WRR,
        ),
        Claim(
            sentence="The proposed algorithm is less than 10 % worse than grd_opt.",
            source="6.1.1, Figs. 4-6",
            where=f"algorithm = 'grd_opt' and {DEGREES}",
            at_least=-100 / 11,
            remark="10 % above grd_opt is -9.09 % of wrr",
            **OF_WRR,
        ),
        Claim(
            sentence="wrr is 4 to 17 % better than seq in every experiment.",
            source="6.1.1",
            where="algorithm = 'seq' and failed = 0 and not optimum",
            at_least=4.0,
            at_most=17.0,
            **OF_WRR,
        ),
        Claim(
            sentence="The larger the capacity, the smaller the distance: seq and wrr reach grd_opt.",
            source="6.1.1, Fig. 5",
            where=f"algorithm = 'grd_opt' and {DEGREES} and capacity = 10 and brokers = 100",
            at_least=-5.0,
            **OF_WRR,
        ),
        Claim(
            sentence="The mean hop distance grows sublinearly with the network: at most like its square root.",
            source="6.1.1, Fig. 4; the root is ours, from the diameter of a random tree",
            measure="hops",
            where=f"{FIGURE_4} and algorithm in ('seq', 'wrr')",
            value="mean / sqrt(brokers)",
            half_width="half_width / sqrt(brokers)",
            at_least=0.2,
            at_most=0.35,
            unit="hops / sqrt(brokers)",
            remark="the band was set after a look at first runs",
        ),
        Claim(
            sentence="The ONT grows sublinearly with the network: no more per broker than among 50.",
            source="6.1.1, Fig. 4",
            measure="ont_each",
            where=f"{FIGURE_4} and algorithm in ('seq', 'wrr') and brokers > 50",
            at_most=45.0,
            unit="requests x hops / s",
            remark="cannot hold: each broker asks at the same rate, so the ONT per broker is 25 times the mean hop"
            " distance, which grows; 45 is what 50 brokers have at most",
        ),
        Claim(
            sentence="rnd is 10 to 25 % worse than the proposed algorithm.",
            source="6.1.2, Fig. 7",
            where=f"algorithm = 'rnd' and {FIGURE_7}",
            at_least=10.0,
            at_most=25.0,
            **OF_WRR,
        ),
        Claim(
            sentence="The proposed algorithm is less than 9 % worse than grd_opt.",
            source="6.1.2, Fig. 7",
            where=f"algorithm = 'grd_opt' and {FIGURE_7}",
            at_least=-100 * 9 / 109,
            remark="9 % above grd_opt is -8.26 % of wrr",
            **OF_WRR,
        ),
        Claim(
            sentence="With locality, the proposed algorithm is up to four times worse than grd_opt.",
            source="6.1.2, Fig. 8",
            where=f"algorithm = 'grd_opt' and {FIGURE_8}",
            at_least=-75.0,
            remark="four times grd_opt is -75 % of wrr",
            **OF_WRR,
        ),
        Claim(
            sentence="... and needs three times fewer stores.",
            source="6.1.2, Fig. 8",
            where=f"algorithm = 'grd_opt' and {FIGURE_8} and locality >= 0.8",
            at_least=200.0,
            **(OF_WRR | {"measure": "installed"}),
        ),
        Claim(
            sentence="When 25 % of the stores fail, the mean hop distance grows by at most 11 %.",
            source="6.1.2, Fig. 9",
            measure="increase",
            where=f"{FIGURE_9} and failed = 5 and algorithm in ('seq', 'wrr')",
            at_most=11.0,
            unit="%",
        ),
        Claim(
            sentence="The increase is linear in the number of failed stores.",
            source="6.1.2, Fig. 9",
            measure="increase_each",
            where=f"{FIGURE_9} and failed > 0 and algorithm in ('seq', 'wrr')",
            at_least=5.0,
            at_most=7.5,
            unit="% for each failed store",
            remark="linear: about the same for one as for five; the band was set after a look at first runs",
        ),
        Claim(
            sentence="The proposed algorithms are at any case up to 25 % better than rnd.",
            source="6.3",
            where="algorithm = 'rnd' and failed = 0 and not optimum",
            at_least=0.0,
            at_most=25.0,
            **OF_WRR,
        ),
        Claim(
            sentence="seq and wrr are within 40 % of the exact optimum for the same stores and degrees.",
            source="ours; the paper knows no optimum",
            measure="gap",
            where=f"{SMALL} and algorithm in ('seq', 'wrr')",
            at_least=0.0,
            at_most=40.0,
            unit="%",
            remark="the band was set after a look at first runs",
        ),
    ),
    quick=Quick(
        runs=3,
        parameters={
            "brokers": (30, 50, 100),
            "capacity": (1, 5),
            "min_degree": (2, 4),
            "stores": (10, 20),
            "popularity": (0.0, 0.8),
            "locality": (0.0, 1.0),
            "failed": (0, 5),
        },
    ),
)
