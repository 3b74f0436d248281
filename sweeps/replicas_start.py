"""Who replaces more, holistic or myopic stores? It depends on how full the storages are at first.

The paper finds 10 to 150 % more replacements with hol (V, Fig. 2) and does not say what the storages hold at the start.
Here both are run from storages that are filled at random, as in the sweep `replicas`, and from sparse ones: every item
is there once, and the rest is empty.
"""

from __future__ import annotations

from sweeps.replicas import SWEEP as REPLICAS
from sweeps.sweep import Claim, Figure, Parameter, Quick, Sweep

PAPER = "V, Fig. 2"
RATIOS = (2.0, 1.25, 5.0, 10.0)
STARTS = ("random", "sparse")


def _more(start: str) -> Claim:
    told = "filled at random" if start == "random" else "every item once, the rest empty"
    return Claim(
        sentence=f"The holistic approach requires 10 to 150 % more replacements ({told}).",
        source=PAPER,
        measure="re",
        table="differences",
        where=f"start = '{start}' and algorithm = 'hol'",
        value="percent_mean",
        half_width="percent_half_width",
        at_least=10.0,
        at_most=150.0,
        unit="%",
    )


SWEEP = Sweep(
    name="replicas-start",
    title="On-line storage management: from full storages, and from nearly empty ones",
    about="120 stores under a single-writer token: replacements, iterations and traffic from two kinds of start.",
    base=REPLICAS.base,
    parameters={
        "p": REPLICAS.parameters["p"].model_copy(update={"values": RATIOS}),
        "spread": REPLICAS.parameters["spread"],
        "start": Parameter(key="storage.placement", values=STARTS, label="what the storages hold at first"),
    },
    algorithms=REPLICAS.algorithms,
    baseline="mpc",
    seed=1,
    runs=10,
    measures={name: REPLICAS.measures[name] for name in ("valid", "ont", "ont_between", "re", "it")},
    figures={
        f"{measure}_{start}": Figure(
            title=f"{name}, storages {'filled at random' if start == 'random' else 'nearly empty'} at first",
            x="p",
            y=measure,
            series=("algorithm", "spread"),
            where=f"start = '{start}'",
            x_scale="log",
        )
        for measure, name in (("re", "RE"), ("it", "IT"), ("ont_between", "ONT between stores"))
        for start in STARTS
    },
    claims=(
        Claim(
            sentence="The algorithms always converge to an equilibrium.",
            source="IV.A, VI",
            measure="valid",
            at_least=1.0,
            unit="of the runs",
        ),
        _more("random"),
        _more("sparse"),
        Claim(
            sentence="The traffic that hol ends with hardly depends on the start: within 2 %.",
            source="ours",
            measure="ont",
            where="algorithm = 'hol'",
            value="100 * (max(if(start = 'sparse', mean, null)) over (partition by p, spread)"
            " / max(if(start = 'random', mean, null)) over (partition by p, spread) - 1)",
            at_least=-2.0,
            at_most=2.0,
            unit="% more from sparse storages",
        ),
    ),
    quick=Quick(runs=2, parameters={"p": (2.0, 5.0)}),
)
