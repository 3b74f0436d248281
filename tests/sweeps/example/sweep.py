"""The sweep that tests run: small, with every kind of table."""

from sweeps.sweep import Claim, Curve, Figure, Measure, Parameter, Quick, Sweep

SWEEP = Sweep(
    name="rumour",
    title="How a rumour spreads",
    base={
        "protocol": "rumour.py:Spread",
        "network": {"kind": "random-graph", "nodes": 6, "degree": 3.0, "delay": "uniform(0.5, 1.5)"},
    },
    parameters={"nodes": Parameter(key="network.nodes", values=(6, 12))},
    algorithms={"a few": {"settings.fanout": 2}, "all": {"settings": {"fanout": 99}}},
    runs=6,
    seed=10,
    measures={
        "messages": Measure(path="messages"),
        "quiet_after": Measure(path="virtual_time"),
        "learned": Measure(path="logged.learned"),
        "per_node": Measure(formula="messages / nodes"),
        "quiescent": Measure(path="quiescent"),
        "nothing": Measure(path="no.such.thing"),
    },
    curves={
        "sent": Curve(value="messages", iteration="window", points=13),
        "knowing": Curve(event="learned", iteration="round", points=13),
        "gain": Curve(event="learned", value="gain", each="change", points=13, tolerance=0.1),
        "known_gain": Curve(event="learned", value="gain", each="node level", points=13),
    },
    figures={
        "messages": Figure(title="Messages", x="nodes", y="messages"),
        "more": Figure(title="More messages", x="nodes", y="messages", kind="percent"),
        "both": Figure(
            title="Messages, then time",
            along={"messages": 1.0, "quiet_after": 2.5},
            x_label="first one, then the other",
            y_label="how much",
        ),
        "knowing": Figure(title="Who knows", y="knowing", kind="curve", series=("algorithm", "nodes")),
    },
    claims=(
        Claim(sentence="Everyone hears.", source="none", measure="learned", at_least=6, where="algorithm = 'all'"),
    ),
    quick=Quick(runs=2, parameters={"nodes": (6,)}),
)
