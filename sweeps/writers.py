"""What asynchrony does to storage management: one writer, several, or every store on its own clock.

The paper assumes a single writer and says that without it "convergence is questionable" (IV.A). Here is what
happens: traffic at the end against the single writer on the same instance, replacements, how many were wasted, how
long it takes, and how often it never ends. Other writers' items are guarded (an item leaves a store only if a store
with a smaller name is known to hold it), else an item could be lost; the single writer is shown with the guard, too.
"""

from __future__ import annotations

from sweeps.sweep import Claim, Curve, Figure, Measure, Parameter, Quick, Sweep

OURS = "ours; the paper leaves it open (IV.A)"
DELAYS = (1.0, 5.0, 25.0)


def _writers(count: int, **more: object) -> dict[str, object]:
    return {"storage.writers": count, **{f"storage.{key}": value for key, value in more.items()}}


MANY = "algorithm not in ('1', '1 guarded')"

SWEEP = Sweep(
    name="writers",
    title="Storage management with many writers",
    about="60 stores, from a random configuration until nothing moves: 1 to 60 tokens, or no token at all.",
    base={
        "protocol": "holistic",
        "network": {"kind": "random-graph", "nodes": 60, "degree": 3.0, "delay": 1.0},
        "storage": {
            "capacity": 50,
            "items": {"count": 20, "sizes": 0.3, "ratio": 2.5},
            "popularity": 0.7,
            "spread": "uniform",
            "period": 100.0,
            "patience": "never",
        },
    },
    parameters={
        "delay": Parameter(key="network.delay", values=DELAYS, label="message delay (s)"),
        "kind": Parameter(key="protocol", values=("holistic", "myopic"), label="algorithm"),
        "spread": Parameter(key="storage.spread", values=("uniform", "random"), label="rates"),
    },
    algorithms={
        "1": _writers(1),
        "1 guarded": _writers(1, guarded=True),
        **{str(count): _writers(count) for count in (2, 4, 8, 15, 30, 60)},
        "own clock": _writers(0),
    },
    baseline="1",
    seed=1,
    runs=20,
    measures={
        "valid": Measure(path="verdict", equals="valid"),
        "converged": Measure(path="equilibrium", equals=True, label="share of runs that converge"),
        "ont": Measure(path="ont", label="ONT at the end (req·hops/s)"),
        "re": Measure(path="replacements.mean", label="replacements per storage"),
        "it": Measure(path="iterations.mean", label="iterations per storage"),
        "wasted": Measure(path="wasted_replacements"),
        "wasted_share": Measure(
            formula="wasted / greatest(60 * re, 1)", label="share of replacements that did not lower the traffic"
        ),
        "settled": Measure(path="settled_at", label="time of the last replacement (s)"),
        "sent": Measure(path="messages", label="messages"),
    },
    curves={"traffic": Curve(event="traffic_level", value="ont", label="ONT (req·hops/s)")},
    figures={
        "ont": Figure(
            title="Traffic at the end, against the single writer",
            x="delay",
            y="ont",
            kind="percent",
            where="kind = 'holistic' and spread = 'uniform'",
            x_scale="log",
            y_label="further traffic (%)",
        ),
        "ont_myopic": Figure(
            title="The same, myopic",
            x="delay",
            y="ont",
            kind="percent",
            where="kind = 'myopic' and spread = 'uniform'",
            x_scale="log",
            y_label="further traffic (%)",
        ),
        "wasted": Figure(
            title="Wasted replacements (holistic)",
            x="delay",
            y="wasted_share",
            where="kind = 'holistic' and spread = 'uniform'",
            x_scale="log",
        ),
        "re": Figure(
            title="Replacements per storage (holistic)",
            x="delay",
            y="re",
            where="kind = 'holistic' and spread = 'uniform'",
            x_scale="log",
        ),
        "time": Figure(
            title="Time to the last replacement (holistic)",
            x="delay",
            y="settled",
            where="kind = 'holistic' and spread = 'uniform'",
            x_scale="log",
            y_scale="log",
        ),
        "converged": Figure(
            title="Share of runs that converge",
            x="delay",
            y="converged",
            series=("kind", "spread", "algorithm"),
            where="algorithm in ('60', 'own clock')",
            x_scale="log",
        ),
        "falling": Figure(
            title="The traffic through time, delay 5 s",
            y="traffic",
            kind="curve",
            where="kind = 'holistic' and spread = 'uniform' and delay = 5.0",
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
            sentence="Outdated information makes convergence questionable.",
            source="IV.A",
            measure="converged",
            where=MANY,
            at_most=0.999,
            unit="of the runs converge",
            remark="the paper expects that some do not",
        ),
        Claim(
            sentence="Outdated information causes some performance degradation.",
            source="IV.A",
            measure="ont",
            table="differences",
            where=f"{MANY} and kind = 'holistic'",
            value="percent_mean",
            half_width="percent_half_width",
            at_least=0.0,
            unit="% more traffic than the single writer",
        ),
        Claim(
            sentence="The guard itself costs little: a single writer with it.",
            source=OURS,
            measure="ont",
            table="differences",
            where="algorithm = '1 guarded'",
            value="percent_mean",
            half_width="percent_half_width",
            at_most=1.0,
            unit="% more traffic than without",
        ),
        Claim(
            sentence="More writers waste more: the share of replacements that did not lower the traffic.",
            source=OURS,
            measure="wasted_share",
            where=f"{MANY} and kind = 'holistic'",
            at_least=0.0,
            at_most=1.0,
            unit="of the replacements",
        ),
    ),
    quick=Quick(runs=2, parameters={"delay": (1.0, 25.0), "spread": ("uniform",)}),
)
