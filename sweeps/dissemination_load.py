"""Brokers and links that differ, or get dearer with their load (dissemination, 5; 6.3, figure 5)."""

from __future__ import annotations

from typing import Any

from sweeps.dissemination import MATCHING, VALID, base
from sweeps.sweep import Claim, Figure, Measure, Parameter, Quick, Sweep

FIGURE_5 = "6.3, figure 5"
BLOCKS = tuple(range(1, 100, 5))
LOAD = {"unit": 1_000_000.0, "node": 15.0, "link": 75.0, "most": 100.0}


def mean_of(first: int, last: int) -> str:
    blocks = [f"from_{block}" for block in BLOCKS if first <= block <= last]
    return f"({' + '.join(blocks)}) / {len(blocks)}"


MIDDLES = {f"from_{first}": first + 2.0 for first in BLOCKS}
LOADED = base(
    algorithm="heuristic",
    heuristic={"initial": "few", "iterations": 0},
    busy=False,
    random={"matching": 0.1, "publications": 100, "start": 10.0, "every": 10.0},
    load=LOAD,
)
REGARD: dict[str, dict[str, Any]] = {
    "without regard to load": {"dissemination.load": {"aware": False}},
    "with regard to load": {"dissemination.load": {"aware": True}},
}
MEASURES = {
    "valid": VALID,
    "total": Measure(path="paid_cost", label="cost paid for all"),
    **{
        f"from_{first}": Measure(path=f"blocks.from_{first}", label=f"cost, from publication {first}")
        for first in BLOCKS
    },
    "sixth_to_30th": Measure(formula=mean_of(6, 30), label="mean cost of publications 6 to 30"),
    "after_the_30th": Measure(formula=mean_of(31, 100), label="mean cost of publications 31 to 100"),
}


def cheaper(sentence: str, measure: str, where: str, at_least: float | None, at_most: float | None) -> Claim:
    """How much cheaper plans are that regard the load, on the same instance."""
    return Claim(
        sentence=sentence,
        source=FIGURE_5,
        measure=measure,
        table="differences",
        value="-percent_mean",
        half_width="percent_half_width",
        where=where,
        at_least=at_least,
        at_most=at_most,
        unit="%",
    )


def cheaper_at_first(where: str) -> Claim:
    sentence = (
        "After the first five publications, regarding the load makes plans 80 to 90 % cheaper at 50 and 70 % matching"
        " (publications 6 to 30)."
    )
    return cheaper(sentence, "sixth_to_30th", where, 80.0, 90.0)


def vanishes(where: str) -> Claim:
    sentence = "After the 30th publication the benefit is almost zero at 70 % matching: under 5 %."
    return cheaper(sentence, "after_the_30th", where, None, 5.0)


CONCURRENT = Sweep(
    name="dissemination-load",
    title="Customized dissemination: concurrent publications with costs that grow with the load",
    about="100 publications in one time unit. What is paid is the same for both: a resource costs the more, the more it"
    " has been used. Plans are made with these costs, or with those without load. The paper names no capacities; here"
    " they are such that an average broker and link are used up by the 30th publication at 70 % matching, as it says.",
    base=LOADED,
    parameters={"matching": MATCHING},
    algorithms=REGARD,
    seed=1,
    runs=100,
    measures=MEASURES,
    figures={
        "figure_5": Figure(
            title="Figure 5: 100 publications in one time unit",
            along=MIDDLES,
            series=("matching",),
            where="algorithm = 'with regard to load'",
            kind="percent",
            x_label="publication",
            y_label="change of the cost by regarding the load (%)",
        ),
        "paid": Figure(
            title="What five publications cost, each, without regard to load",
            along=MIDDLES,
            series=("matching",),
            where="algorithm = 'without regard to load'",
            x_label="publication",
            y_label="cost",
            y_scale="log",
        ),
    },
    claims=(
        cheaper_at_first("matching >= 0.5"),
        vanishes("matching = 0.7"),
        cheaper("Plans are cheaper at 5, 10 and 20 % matching too.", "total", "matching <= 0.2", 0.0, None),
    ),
    quick=Quick(runs=1, parameters={"matching": (0.05, 0.2)}),
)

SATURATION = Sweep(
    name="dissemination-saturation",
    title="Customized dissemination: when resources are used up, and what regarding the load saves then",
    about="Concurrent publications at 70 % matching with other capacities than those of dissemination-load, which the"
    " paper does not name: of brokers, in units of an average operator, and of links, in units of an average format.",
    base=LOADED,
    parameters={
        "links": Parameter(key="dissemination.load.link", values=(75.0, 25.0, 7.5), label="capacity of a link"),
        "brokers": Parameter(key="dissemination.load.node", values=(15.0, 5.0, 1.5), label="capacity of a broker"),
        "matching": Parameter(key=MATCHING.key, values=(0.7,), label=MATCHING.label),
    },
    algorithms=REGARD,
    seed=1,
    runs=4,
    measures=MEASURES,
    figures={
        f"{name}_{place}": Figure(
            title=f"Regarding the load, with capacities of {name} of {value:g}",
            along=MIDDLES,
            series=(other,),
            where=f"{name} = {value} and algorithm = 'with regard to load'",
            kind="percent",
            x_label="publication",
            y_label="change of the cost by regarding the load (%)",
        )
        for name, other, values in (
            ("brokers", "links", (15.0, 5.0, 1.5)),
            ("links", "brokers", (75.0, 25.0, 7.5)),
        )
        for place, value in enumerate(values, start=1)
    },
    claims=(cheaper_at_first("true"), vanishes("true")),
    quick=Quick(runs=1, parameters={"links": (75.0, 7.5), "brokers": (15.0,)}),
)

FACTORS = Sweep(
    name="dissemination-factors",
    title="Customized dissemination: brokers and links that differ",
    about="Every broker's factor, for its conversions and for the links on which it sends, is drawn between a quarter"
    " and four. Optimal plans that regard the factors, or take all for 1; what is paid is the same for both.",
    base=base(factors={"nodes": [0.25, 4.0], "links": [0.25, 4.0]}),
    parameters={
        "cag": Parameter(key="dissemination.cag", values=("map", "video"), label="CAG"),
        "matching": MATCHING,
    },
    algorithms={
        "as if all were alike": {"dissemination.factors": {"aware": False}},
        "with regard to factors": {"dissemination.factors": {"aware": True}},
    },
    seed=1,
    runs=20,
    measures={"valid": VALID, "paid": Measure(path="paid_cost", label="cost paid")},
    figures={
        "saved": Figure(
            title="What regarding the factors changes",
            x="matching",
            y="paid",
            kind="percent",
            series=("cag",),
            where="algorithm = 'with regard to factors'",
            y_label="change of the cost by regarding factors (%)",
        ),
    },
    claims=(
        Claim(
            sentence="Plans that regard the heterogeneity of brokers and links are cheaper.",
            source="5; the paper announces an experiment, but shows none of it alone",
            measure="paid",
            table="differences",
            value="-percent_mean",
            half_width="percent_half_width",
            at_least=0.0,
            unit="%",
        ),
    ),
    quick=Quick(runs=2, parameters={"matching": (0.05, 0.2)}),
)
