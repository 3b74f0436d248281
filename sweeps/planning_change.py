"""Reassignment when popularity or locality change: figures 10 and 11 of the paper.

A plan is made for one exponent, and then requests follow another. For two seconds everything stays as it was (the
phase `left`), while brokers report what is requested; then the manager moves topics between the stores (`reassign`) or
plans stores and topics anew (`replan`), by messages, while requests go on; and the last phase, `acted`, is measured
again. So the gain is that of one run, on the same stores, with the demand as it was estimated from reports.
"""

from __future__ import annotations

from sweeps.sweep import Claim, Figure, Measure, Parameter, Quick, Sweep

AFTER = (-1.0, -0.75, -0.5, -0.25, 0.0, 0.25, 0.5, 0.75, 1.0)
POPULARITY = "planned_popularity = -1.0"
LOCALITY = "planned_locality = -1.0"
REASSIGN = "algorithm = 'reassign'"
GAIN = "gain of the reassignment (%)"

SWEEP = Sweep(
    name="planning-change",
    title="Storage planning: popularity and locality change",
    about="Planned for exponent -1; what happens when the requests follow another?",
    base={
        "protocol": "planning",
        "network": {"kind": "random-tree", "nodes": 100, "delay": "uniform(0.0005, 0.0015)"},
        "planning": {
            "topics": 10,
            "stores": 20,
            "begin": 0.2,
            "until": 4.2,
            "settle": 0.05,
            "threshold": 0.0,
            "report_every": 2.0,
            "decide_every": 0.6,
            "patience": 1.0,
            "retry_after": 1.0,
            # The second and third begin a phase and change nothing: the move falls into the second.
            "changes": {"left": {"at": 0.25}, "moving": {"at": 2.2}, "acted": {"at": 3.3}},
        },
    },
    parameters={
        "planned_popularity": Parameter(key="planning.popularity", values=(0.0, -1.0)),
        "planned_locality": Parameter(key="planning.locality", values=(0.0, -1.0)),
        "popularity": Parameter(
            key="planning.changes.left.popularity",
            values=(0.0, *(s for s in AFTER if s)),
            label="exponent of popularity",
        ),
        "locality": Parameter(
            key="planning.changes.left.locality", values=(0.0, *(s for s in AFTER if s)), label="exponent of locality"
        ),
        "assignment": Parameter(key="planning.algorithm", values=("seq", "wrr")),
    },
    studies={
        "popularity": {"planned_popularity": (-1.0,), "popularity": AFTER, "assignment": ("seq", "wrr")},
        "locality": {"planned_locality": (-1.0,), "locality": AFTER, "assignment": ("seq", "wrr")},
    },
    algorithms={name: {"planning.react": name} for name in ("replan", "reassign")},
    seed=1,
    runs=5,
    measures={
        "valid": Measure(path="verdict", equals="valid", label="runs without a violation"),
        "left": Measure(path="phases.left.mean_hop_distance", label="mean hop distance if nothing is done"),
        "acted": Measure(path="phases.acted.mean_hop_distance", label="mean hop distance"),
        "gain": Measure(formula="100 * (1 - acted / left)", label=GAIN),
        "foreseen": Measure(path="moved.1.gain_percent", label="gain that the manager expected (%)"),
        "optimism": Measure(formula="foreseen - gain", label="expected minus measured gain (%)"),
        "repeated": Measure(path="requests_repeated"),
        "moves": Measure(path="moves"),
        "agrees": Measure(path="phases.left.within", equals=True),
        "fetched": Measure(path="by_type.FetchTopic.messages"),
    },
    figures={
        "figure_10": Figure(
            title="Fig. 10: after the change of popularity, planned for -1",
            x="popularity",
            y="acted",
            series=("assignment", "algorithm"),
            where=POPULARITY,
        ),
        "figure_10_left": Figure(
            title="Fig. 10: the same without doing anything",
            x="popularity",
            y="left",
            series=("assignment",),
            where=f"{POPULARITY} and {REASSIGN}",
        ),
        "figure_10_gain": Figure(
            title="Fig. 10: gain of the reassignment, planned for popularity -1",
            x="popularity",
            y="gain",
            series=("assignment",),
            where=f"{POPULARITY} and {REASSIGN}",
        ),
        "figure_11": Figure(
            title="Fig. 11: after the change of locality, planned for -1",
            x="locality",
            y="acted",
            series=("assignment", "algorithm"),
            where=LOCALITY,
        ),
        "figure_11_left": Figure(
            title="Fig. 11: the same without doing anything",
            x="locality",
            y="left",
            series=("assignment",),
            where=f"{LOCALITY} and {REASSIGN}",
        ),
        "figure_11_gain": Figure(
            title="Fig. 11: gain of the reassignment, planned for locality -1",
            x="locality",
            y="gain",
            series=("assignment",),
            where=f"{LOCALITY} and {REASSIGN}",
        ),
    },
    claims=(
        Claim(
            sentence="No request is lost while topics move, and each is answered by a store that holds the topic.",
            source="ours, as a property",
            measure="valid",
            at_least=1.0,
            unit="of the runs",
        ),
        Claim(
            sentence="No request has to be sent again while topics move.",
            source="ours, as a property",
            measure="repeated",
            at_most=0.0,
            unit="requests",
        ),
        Claim(
            sentence="With inverted popularity, reassignment alone takes away up to 55 % of the hops.",
            source="6.2, Fig. 10",
            measure="gain",
            where=f"{POPULARITY} and {REASSIGN} and popularity = 1.0",
            at_least=0.0,
            at_most=55.0,
            unit="%",
        ),
        Claim(
            sentence="With inverted locality, reassignment alone takes away up to 55 % of the hops.",
            source="6.2, Fig. 11",
            measure="gain",
            where=f"{LOCALITY} and {REASSIGN} and locality = 1.0",
            at_least=0.0,
            at_most=55.0,
            unit="%",
        ),
        Claim(
            sentence="Reassignment is less than 8 % worse than planning anew.",
            source="6.2",
            measure="acted",
            table="differences",
            value="percent_mean",
            half_width="percent_half_width",
            where=REASSIGN,
            at_most=8.0,
            unit="% of replan",
        ),
        Claim(
            sentence="When the popularity changes up to 50 %, reassignment wins less than 10 %.",
            source="6.2, Fig. 10",
            measure="gain",
            where=f"{POPULARITY} and {REASSIGN} and popularity <= -0.5",
            at_most=10.0,
            unit="%",
        ),
        Claim(
            sentence="When the locality changes more than 25 %, reassignment wins at least 15 %.",
            source="6.2, Fig. 11",
            measure="gain",
            where=f"{LOCALITY} and {REASSIGN} and locality > -0.75",
            at_least=15.0,
            unit="%",
        ),
        Claim(
            sentence="What the manager expects from its reports is what is measured, within 5 points.",
            source="ours; the rule of 6.2 needs it",
            measure="optimism",
            where=REASSIGN,
            at_least=-5.0,
            at_most=5.0,
            unit="% of the hops",
        ),
    ),
    quick=Quick(runs=2, parameters={"popularity": (0.0, -0.5, 1.0), "locality": (0.0, -0.5, 1.0)}),
)
