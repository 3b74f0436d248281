"""What plans save at the paper's size, and how far the heuristic is from the optimum (dissemination, 6.3, figure 4)."""

from __future__ import annotations

from typing import Any

from sweeps.sweep import Claim, Figure, Measure, Parameter, Quick, Sweep

OURS = "ours; the paper could not know"
FIGURE_4 = "6.3, figure 4"
MATCHING = Parameter(
    key="dissemination.random.matching", values=(0.05, 0.1, 0.2, 0.5, 0.7), label="part of the brokers that match"
)
VALID = Measure(path="verdict", equals="valid", label="runs in which everybody is served at the planned cost")
GAP = Measure(
    formula="round(100 * (heuristic - optimal) / optimal, 9)",  # the same plan's cost may be summed in another order
    label="heuristic above the optimum (%)",
)
COMPARED = ["optimal", "heuristic", "root", "leaves"]


def base(**settings: Any) -> dict[str, Any]:
    """1024 brokers, and publications whose subscribers and formats are drawn uniformly (6.1)."""
    return {
        "protocol": "dissemination",
        "network": {"kind": "random-graph", "nodes": 1024, "degree": 4.0, "underlay_delay": "uniform(0.02, 0.08)"},
        "dissemination": {"cag": "video", "random": {"matching": 0.1}, **settings},
    }


PLANS = Sweep(
    name="dissemination",
    title="Customized dissemination: what plans save, and how far the heuristic is from the optimum",
    about="One publication among 1024 brokers; every plan for the tree that was discovered. Small CAG: annotated map,"
    " large CAG: video. The savings are those of the optimal plan for the small CAG and of the heuristic for the large"
    " one, as in the paper, after the overhead of discovery and planning.",
    base=base(compare=COMPARED, algorithm="heuristic"),
    parameters={
        "cag": Parameter(key="dissemination.cag", values=("map", "video"), label="CAG"),
        "matching": MATCHING,
    },
    algorithms={  # the same instances under other weights, so that savings can be compared in pairs
        "alpha/beta = 0.1": {"dissemination.alpha": 0.1},
        "alpha/beta = 1": {"dissemination.alpha": 1.0},
        "alpha/beta = 10": {"dissemination.alpha": 10.0},
    },
    seed=1,
    runs=100,
    measures={
        "valid": VALID,
        "optimal": Measure(path="costs.optimal", label="cost of the optimal plan"),
        "heuristic": Measure(path="costs.heuristic", label="cost of the heuristic's plan"),
        "root": Measure(path="costs.root", label="cost with all in root"),
        "leaves": Measure(path="costs.leaves", label="cost with all in leaves"),
        "overhead": Measure(path="overhead", label="cost of discovery and planning"),
        "brokers": Measure(path="brokers_in_trees", label="brokers in the tree"),
        "ccd": Measure(formula="CASE WHEN cag = 'map' THEN optimal ELSE heuristic END", label="cost of CCD"),
        "saved_on_root": Measure(formula="100 * (root - ccd - overhead) / root", label="saved against all in root (%)"),
        "saved_on_leaves": Measure(
            formula="100 * (leaves - ccd - overhead) / leaves", label="saved against all in leaves (%)"
        ),
        "best_on_root": Measure(formula="100 * (root - optimal) / root", label="the most to be saved on root (%)"),
        "gap": GAP,
    },
    figures={
        f"{cag}_{against}": Figure(
            title=f"Figure 4, {cag}: saved against all in {against}",
            x="matching",
            y=f"saved_on_{against}",
            series=("algorithm",),
            where=f"cag = '{cag}'",
        )
        for cag in ("map", "video")
        for against in ("root", "leaves")
    }
    | {
        "gap": Figure(
            title="How far the heuristic is from the optimum, video",
            x="matching",
            y="gap",
            series=("algorithm",),
            where="cag = 'video'",
        ),
    },
    claims=(
        Claim(
            sentence="Every subscriber gets its formats once, and the cost paid is the plan's.",
            source="2.2, as a property",
            measure="valid",
            at_least=1.0,
            unit="of the runs",
        ),
        *(
            Claim(
                sentence=f"CCD algorithms always reduce the cost compared to all in {against} ({kind} CAG).",
                source=FIGURE_4,
                measure=f"saved_on_{against}",
                where=f"cag = '{cag}'",
                at_least=0.0,
                unit="%",
                remark="where all in root is optimal, discovery and planning are spent for nothing"
                if against == "root"
                else "",
            )
            for cag, kind in (("map", "small"), ("video", "large"))
            for against in ("leaves", "root")
        ),
        *(
            Claim(
                sentence=f"At alpha/beta = 0.1 the saving against all in leaves is much higher than that against all in"
                f" root ({cag}): at least twice.",
                source=FIGURE_4,
                measure="saved_on_leaves",
                table="cells",
                value="saved_on_leaves - 2 * saved_on_root",
                where=f"cag = '{cag}' and algorithm = 'alpha/beta = 0.1'",
                at_least=0.0,
                unit="points",
            )
            for cag in ("map", "video")
        ),
        *(
            Claim(
                sentence=f"The saving against all in {against} is {word} at alpha/beta = 10 than at 0.1 ({cag}).",
                source=f"{FIGURE_4}, savings read against each other",
                measure=f"saved_on_{against}",
                table="differences",
                where=f"cag = '{cag}' and algorithm = 'alpha/beta = 10'",
                at_least=0.0 if word == "higher" else None,
                at_most=0.0 if word == "lower" else None,
                unit="points",
            )
            for cag in ("map", "video")
            for against, word in (("root", "higher"), ("leaves", "lower"))
        ),
        *(
            Claim(
                sentence=f"At alpha/beta = 10 the saving against all in root is higher than that against all in leaves"
                f" ({cag}).",
                source=FIGURE_4,
                measure="saved_on_root",
                table="cells",
                value="saved_on_root - saved_on_leaves",
                where=f"cag = '{cag}' and algorithm = 'alpha/beta = 10'",
                at_least=0.0,
                unit="points",
                remark="the sentence can be read in two ways; in these CAGs the original is the largest format, which"
                " all in leaves sends everywhere",
            )
            for cag in ("map", "video")
        ),
        *(
            Claim(
                sentence=f"At alpha/beta = 0.1 the saving against all in root is not significant ({cag}): under 5 %.",
                source=FIGURE_4,
                measure="saved_on_root",
                where=f"cag = '{cag}' and algorithm = 'alpha/beta = 0.1'",
                at_most=5.0,
                unit="%",
            )
            for cag in ("map", "video")
        ),
        Claim(
            sentence="Discovery and planning cost less than 1 % of what they save on the dearer baseline.",
            source="6.1: accounted for",
            measure="overhead",
            table="cells",
            value="100 * overhead / (greatest(root, leaves) - ccd)",
            at_most=1.0,
            unit="%",
        ),
        Claim(
            sentence="The heuristic is within 10 % of the optimum.",
            source=OURS,
            measure="gap",
            where="cag = 'video'",
            at_least=0.0,
            at_most=10.0,
            unit="%",
            remark="the bound was set after a look at single runs",
        ),
    ),
    quick=Quick(runs=2, parameters={"matching": (0.05, 0.2)}),
)
