"""What GRAPE's priority and weight change, and how many publications to trace (relocation, 5.2: figures 5h, 6d-h)."""

from __future__ import annotations

from sweeps.relocation import BASE, BASELINE, MEASURES, MIGRATED, MOVING, POP, compared, grape, of
from sweeps.sweep import Claim, Figure, Measure, Parameter, Quick, Sweep

WEIGHTS = Sweep(
    name="relocation-weights",
    title="GRAPE's priority and weight",
    about="63 brokers, clustered workload: from load100 over load1 = delay100 to delay1.",
    base=BASE,
    parameters={
        "on_brokers": Parameter(key="relocation.stocks.on_brokers", values=(16, 63), label="brokers with subscribers")
    },
    algorithms={
        "baseline": BASELINE,
        **{f"load{weight}": grape("load", float(weight)) for weight in (100, 75, 50, 25, 1)},
        **{f"delay{weight}": grape("delay", float(weight)) for weight in (100, 75, 50, 25, 1)},
    },
    baseline="load100",
    runs=4,
    measures=MEASURES,
    figures={
        "5h": Figure(title="5h: delivery delay", x="on_brokers", y="delivery_delay", x_scale="log"),
        "hops": Figure(title="Hop count", x="on_brokers", y="hop_count", x_scale="log"),
        "rate": Figure(title="Broker message rate", x="on_brokers", y="message_rate", x_scale="log"),
    },
    claims=(
        compared(
            "delay1 is virtually equivalent to load100: message rate.",
            "5.2",
            "message_rate",
            of("delay1"),
            at_least=-5.0,
            at_most=5.0,
            remark="the tolerance is ours",
        ),
        compared(
            "delay1 is virtually equivalent to load100: delivery delay.",
            "5.2",
            "delivery_delay",
            of("delay1"),
            at_least=-5.0,
            at_most=5.0,
            remark="the tolerance is ours",
        ),
        compared(
            "As the weight on load falls, the delivery delay falls.",
            "5.2, fig 5h",
            "delivery_delay",
            "algorithm in ('load50', 'load25', 'load1')",
            at_most=0.0,
        ),
        compared(
            "As the weight on load falls, the hop count falls.",
            "5.2",
            "hop_count",
            "algorithm in ('load50', 'load25', 'load1')",
            at_most=0.0,
        ),
        compared(
            "As the weight on load falls, the message rate grows.",
            "5.2",
            "message_rate",
            "algorithm in ('load50', 'load25', 'load1')",
            at_least=0.0,
        ),
        compared(
            "delay100 has the lowest delay and load1 is virtually identical to it: below load100 alike.",
            "5.2",
            "delivery_delay",
            "algorithm in ('delay100', 'load1')",
            at_most=0.0,
        ),
    ),
    quick=Quick(runs=2, parameters={"on_brokers": (16,)}),
)

THRESHOLDS = Sweep(
    name="relocation-thresholds",
    title="How many publications are traced before a choice",
    about="63 brokers, clustered workload, subscribers on 16 brokers.",
    base={**BASE, "relocation": {**BASE["relocation"], "steady_from": 500.0}},
    parameters={
        "threshold": Parameter(key="relocation.threshold", values=(10, 25, 50, 100, 200), label="traced publications"),
        "quotes": Parameter(key="relocation.stocks.quotes", values=(600,), label="quotes of each publisher"),
    },
    algorithms={
        "baseline": BASELINE,
        "POP": POP,
        "load100": grape("load", 100.0),
        "delay100": grape("delay", 100.0),
    },
    runs=4,
    measures=MEASURES
    | {"response_per_trace": Measure(formula="response_time / threshold", label="response time for each trace (s)")},
    curves=MIGRATED,
    figures={
        "6d": Figure(title="6d: delivery delay in the steady state", x="threshold", y="delivery_delay", x_scale="log"),
        "6e": Figure(title="6e: hop count in the steady state", x="threshold", y="hop_count", x_scale="log"),
        "6f": Figure(title="6f: message rate in the steady state", x="threshold", y="message_rate", x_scale="log"),
        "6gh": Figure(title="6g, 6h: message overhead", x="threshold", y="overhead", where=MOVING, x_scale="log"),
        "response_time": Figure(title="Time to the first move", x="threshold", y="response_time", where=MOVING),
        "response": Figure(
            title="When publishers move, GRAPE load100",
            kind="curve",
            y="migrated",
            series=("threshold",),
            where="algorithm = 'load100'",
        ),
    },
    claims=(
        Claim(
            sentence="POP's message overhead lies between 6 and 57 %.",
            source="3, fig 6h",
            measure="overhead",
            where=of("POP"),
            at_least=0.06,
            at_most=0.57,
        ),
        Claim(
            sentence="GRAPE's message overhead lies between 0 and 46 %.",
            source="4, fig 6g",
            measure="overhead",
            where="algorithm in ('load100', 'delay100')",
            at_most=0.46,
        ),
        compared(
            "With a threshold of 10, GRAPE's message rate is above the baseline's.",
            "5.2, fig 6f",
            "message_rate",
            of("load100", "threshold = 10"),
            at_least=0.0,
        ),
        compared(
            "With a threshold of 100, GRAPE's message rate is below the baseline's.",
            "5.2, fig 6f",
            "message_rate",
            of("load100", "threshold = 100"),
            at_most=0.0,
        ),
        Claim(
            sentence="A larger threshold means a later response: so many seconds, with one publication a second.",
            source="5.2",
            measure="response_per_trace",
            where="algorithm in ('POP', 'load100', 'delay100')",
            at_least=1.0,
            unit="s for each traced publication",
        ),
    ),
    quick=Quick(runs=2, parameters={"threshold": (10, 100)}),
)
