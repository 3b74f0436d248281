"""Other heuristics, which are the paper's future work (dissemination, 8), and trees that are estimated (3.1)."""

from __future__ import annotations

from sweeps.dissemination import GAP, MATCHING, OURS, VALID, base
from sweeps.sweep import Claim, Figure, Measure, Parameter, Quick, Sweep

HEURISTICS = Sweep(
    name="dissemination-heuristics",
    title="Customized dissemination: deeper subtrees and better initial plans for the heuristic",
    about="The paper's future work (section 8) on its large CAG, against the optimum.",
    base=base(compare=["optimal"], algorithm="heuristic"),
    parameters={
        "ratio": Parameter(key="dissemination.alpha", values=(0.1, 1.0, 10.0), label="alpha / beta"),
        "matching": Parameter(key=MATCHING.key, values=(0.05, 0.2), label=MATCHING.label),
    },
    algorithms={
        "the heuristic": {"dissemination.heuristic": {"initial": "cheapest", "depth": 1}},
        "nearest terminal": {"dissemination.heuristic": {"initial": "cheapest", "depth": 1, "steiner": "nearest"}},
        "from leaves": {"dissemination.heuristic": {"initial": "leaves", "depth": 1}},
        "deeper": {"dissemination.heuristic": {"initial": "cheapest", "depth": 2}},
        "better start": {"dissemination.heuristic": {"initial": "few", "depth": 1}},
        "both": {"dissemination.heuristic": {"initial": "few", "depth": 2}},
    },
    seed=1,
    runs=10,
    measures={
        "valid": VALID,
        "optimal": Measure(path="costs.optimal", label="cost of the optimal plan"),
        "heuristic": Measure(path="costs.heuristic", label="cost of the heuristic's plan"),
        "gap": GAP,
    },
    figures={
        "gap": Figure(
            title="Above the optimum at alpha/beta = 1",
            x="matching",
            y="gap",
            series=("algorithm",),
            where="ratio = 1.0",
        ),
    },
    claims=(
        Claim(
            sentence="Deeper subtrees never lead to a dearer plan, on the mean.",
            source="8, future work",
            measure="heuristic",
            table="differences",
            value="percent_mean",
            half_width="percent_half_width",
            where="algorithm = 'deeper'",
            at_most=0.0,
            unit="%",
        ),
        Claim(
            sentence="Steiner trees by connecting the nearest terminal, and in no other way, lead to dearer plans.",
            source=OURS,
            measure="heuristic",
            table="differences",
            value="percent_mean",
            half_width="percent_half_width",
            where="algorithm = 'nearest terminal'",
            at_least=0.0,
            unit="%",
        ),
        Claim(
            sentence="An initial plan from the optimal algorithm with few formats leads to cheaper plans.",
            source="8, future work",
            measure="heuristic",
            table="differences",
            value="percent_mean",
            half_width="percent_half_width",
            where="algorithm = 'better start'",
            at_most=0.0,
            unit="%",
        ),
    ),
    quick=Quick(runs=1, parameters={"matching": (0.05,)}),
)

TREES = Sweep(
    name="dissemination-trees",
    title="Customized dissemination: discovered trees, estimated trees, and plans refined on the way",
    about="The cost that is really paid, on the same instances (Algorithm 1). Optimal plans, alpha = beta.",
    base=base(),
    parameters={
        "cag": Parameter(key="dissemination.cag", values=("map", "video"), label="CAG"),
        "matching": MATCHING,
    },
    algorithms={
        "discovered": {"dissemination.tree": "discovered"},
        "estimated, refined": {"dissemination.tree": "estimated"},
        "estimated, followed": {"dissemination.tree": "estimated", "dissemination.threshold": 1e9},
    },
    seed=1,
    runs=20,
    measures={
        "valid": VALID,
        "paid": Measure(path="paid_cost", label="cost paid"),
        "planned": Measure(path="planned_cost", label="cost planned at the rendezvous point"),
        "refined": Measure(path="refined_plans", label="plans refined"),
        "other_trees": Measure(path="other_trees", label="brokers that see another tree"),
        "probes": Measure(path="probes", label="discovery messages"),
        "error": Measure(formula="100 * (planned - paid) / paid", label="error of the estimate (%)"),
    },
    figures={
        "paid": Figure(
            title="Paid beyond discovered trees",
            x="matching",
            y="paid",
            kind="percent",
            series=("algorithm", "cag"),
            y_label="more than with the discovered tree (%)",
        ),
        "refined": Figure(
            title="Plans refined on the way",
            x="matching",
            y="refined",
            series=("algorithm", "cag"),
        ),
    },
    claims=(
        Claim(
            sentence="Everybody is served, whatever the tree.",
            source="3.1, as a property",
            measure="valid",
            at_least=1.0,
            unit="of the runs",
        ),
        Claim(
            sentence="With refinement, an estimated tree costs at most 2 % more than a discovered one.",
            source=OURS,
            measure="paid",
            table="differences",
            value="percent_mean",
            half_width="percent_half_width",
            where="algorithm = 'estimated, refined'",
            at_most=2.0,
            unit="%",
        ),
        Claim(
            sentence="Refining pays: without it, the plans for estimated trees cost more.",
            source="3.1",
            measure="paid",
            table="differences",
            value="percent_mean",
            half_width="percent_half_width",
            where="algorithm = 'estimated, followed'",
            at_least=0.0,
            unit="%",
        ),
    ),
    quick=Quick(runs=2, parameters={"matching": (0.05, 0.2)}),
)
