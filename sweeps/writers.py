"""What asynchrony does to storage management: one writer, several, or every store on its own clock.

The paper assumes a single writer and says that without it convergence becomes "questionable" (IV.A). Here is what
happens: the traffic at the end against the paper's single writer from the same configuration, replacements, how many
of them were wasted, how long it takes, and how often it never ends. All runs are guarded (an item leaves a store only
if a store with a smaller name is known to hold it), else an item could be lost: so the point at one writer shows what
the guard costs. Where every store has its own clock, it strikes at random times, or regularly: everywhere at once.
"""

from __future__ import annotations

from sweeps.sweep import Claim, Curve, Figure, Measure, Parameter, Quick, Sweep

OURS = "ours; the paper leaves it open (IV.A)"
STORES = 60
WRITERS = (1, 2, 4, 8, 15, 30, 60)
PERIODS = (100.0, 3.0, 10.0, 30.0, 300.0, 1000.0)
TOGETHER = (100.0, 3.0, 10.0)
DELAYS = ("constant(1.0)", "exponential(0.05, 1.0)")
TOKENS, CLOCK, REGULAR = "writers > 0", "writers = 0 and clock = 'random'", "clock = 'regular'"
MANY = "writers != 1 and clock = 'random'"


def _each(name: str, title: str, y: str, y_label: str = "", log: bool = False) -> dict[str, Figure]:
    kinds = {
        "tokens": ("tokens", "writers", TOKENS),
        "clock": ("every store on its own clock", "period", CLOCK),
        "regular": ("all clocks strike at once", "period", REGULAR),
    }
    return {
        f"{name}_{kind}": Figure(
            title=f"{title}: {told}",
            x=x,
            y=y,
            series=("algorithm", "delay"),
            where=where,
            x_scale="log",
            y_scale="log" if log else "linear",
            y_label=y_label,
        )
        for kind, (told, x, where) in kinds.items()
    }


SWEEP = Sweep(
    name="writers",
    title="Storage management with many writers",
    about=f"{STORES} stores, from a random configuration until nothing moves: 1 to {STORES} tokens, or none at all.",
    base={
        "protocol": "holistic",
        "network": {"kind": "random-graph", "nodes": STORES, "degree": 3.0, "delay": "constant(1.0)"},
        "storage": {
            "capacity": 50,
            "items": {"count": 20, "sizes": 0.3, "ratio": 2.5},
            "popularity": 0.7,
            "guarded": True,
            "patience": "never",
        },
    },
    parameters={
        "writers": Parameter(key="storage.writers", values=(*WRITERS, 0), label="writers at once"),
        "period": Parameter(key="storage.period", values=PERIODS, label="mean time between a store's decisions (s)"),
        "delay": Parameter(key="network.delay", values=DELAYS, label="delay"),
        "clock": Parameter(key="storage.clock", values=("random", "regular"), label="the stores' clocks"),
    },
    studies={
        "tokens": {"writers": WRITERS, "delay": DELAYS},
        "clock": {"writers": (0,), "period": PERIODS, "delay": DELAYS},
        "together": {"writers": (0,), "period": TOGETHER, "delay": DELAYS, "clock": ("regular",)},
    },
    algorithms={"hol": {"protocol": "holistic"}, "mpc": {"protocol": "myopic"}},
    seed=1,
    runs=20,
    measures={
        "valid": Measure(path="verdict", equals="valid"),
        "converged": Measure(path="equilibrium", equals=True, label="share of runs that converge"),
        "cycled": Measure(path="stopped", equals="cycle", label="cycles among the runs that do not converge"),
        "ont": Measure(path="ont", label="ONT at the end (req·hops/s)"),
        "single": Measure(path="ont_single_writer"),
        "further": Measure(formula="100 * (ont / single - 1)", label="traffic beyond the single writer's (%)"),
        "re": Measure(path="replacements.mean", label="replacements per storage"),
        "it": Measure(path="iterations.mean", label="iterations per storage"),
        "wasted": Measure(path="wasted_replacements"),
        "wasted_share": Measure(
            formula=f"wasted / greatest({STORES} * re, 1)", label="share of replacements that did not lower the traffic"
        ),
        "settled": Measure(path="settled_at", label="time of the last replacement (s)"),
        "sent": Measure(path="messages", label="messages"),
    },
    curves={"traffic": Curve(event="traffic_level", value="ont", label="ONT (req·hops/s)")},
    figures={
        **_each("traffic_at_end", "Traffic at the end", "further"),
        **_each("wasted", "Wasted replacements", "wasted_share"),
        **_each("replacements", "Replacements", "re"),
        **_each("time", "Time to convergence", "settled", log=True),
        **_each("converged", "Share of runs that converge", "converged"),
        "falling": Figure(
            title="The traffic through time, holistic, constant delay",
            y="traffic",
            kind="curve",
            series=("writers",),
            where="algorithm = 'hol' and delay = 'constant(1.0)' and period = 100.0 and clock = 'random'",
        ),
    },
    claims=(
        Claim(
            sentence="No item is lost, no capacity exceeded, and rest means equilibrium, with any number of writers.",
            source="ours, as a property",
            measure="valid",
            at_least=1.0,
            unit="of the runs",
        ),
        Claim(
            sentence="Decisions on outdated information make convergence questionable: some runs do not converge"
            " (several tokens, or random clocks).",
            source="IV.A",
            measure="converged",
            where=MANY,
            at_most=0.999,
            unit="of the runs converge",
        ),
        Claim(
            sentence="The same, where all stores decide at the same moments (regular clocks).",
            source="IV.A",
            measure="converged",
            where=REGULAR,
            at_most=0.999,
            unit="of the runs converge",
        ),
        Claim(
            sentence="Decisions on outdated information cause some performance degradation (hol).",
            source="IV.A",
            measure="further",
            where=f"{MANY} and algorithm = 'hol'",
            at_least=0.0,
            unit="% more traffic",
        ),
        Claim(
            sentence="The same, where all stores decide at the same moments (regular clocks, hol).",
            source="IV.A",
            measure="further",
            where=f"{REGULAR} and algorithm = 'hol'",
            at_least=0.0,
            unit="% more traffic",
        ),
        Claim(
            sentence="The guard itself costs less than 1 % of traffic (one guarded writer).",
            source=OURS,
            measure="further",
            where="writers = 1",
            at_most=1.0,
            unit="% more traffic",
        ),
        Claim(
            sentence="A single holistic writer wastes no replacement.",
            source="IV.A",
            measure="wasted_share",
            where="writers = 1 and algorithm = 'hol'",
            at_most=0.0,
            unit="of the replacements",
        ),
        Claim(
            sentence="As many writers as stores waste at least a tenth of their replacements (hol).",
            source=OURS,
            measure="wasted_share",
            where=f"writers = {STORES} and algorithm = 'hol'",
            at_least=0.1,
            unit="of the replacements",
            remark="the bound was set after a look at first runs: it describes, it does not predict",
        ),
    ),
    quick=Quick(runs=2, parameters={"writers": (0, 1, 8, 60), "period": (10.0, 100.0), "delay": DELAYS[:1]}),
)
