"""POP and GRAPE beside a network that leaves its publishers where they are (relocation, 5: figures 5 and 6).

The paper's table of settings (figure 4b) is not in its text; what is not said elsewhere was chosen here: 10 publishers
of one quote a second, 80 subscribers each, link and matching times. Time is scaled down: what the paper reads off after
18 minutes is measured here in the last quarter of a run of seven or so.
"""

from __future__ import annotations

from typing import Any

from sweeps.sweep import Claim, Curve, Figure, Measure, Parameter, Quick, Sweep

QUOTES, STEADY_FROM = 400, 300.0

BASE: dict[str, Any] = {
    "protocol": "relocation",
    "network": {
        "kind": "balanced-tree",
        "branching": 2,
        "height": 5,
        "delay": "uniform(0.02, 0.06)",
        "bandwidth": 100_000.0,
    },
    "relocation": {
        "matching": {"base": 0.01, "per_subscription": 0.0001},
        "stocks": {
            "publishers": 10,
            "subscribers": 80,
            "on_brokers": 16,
            "workload": "clustered",
            "quotes": QUOTES,
            "every": 1.0,
            "start": 10.0,
        },
        "steady_from": STEADY_FROM,
    },
}

ALGORITHM, PRIORITY, WEIGHT = "relocation.algorithm", "relocation.grape.priority", "relocation.grape.weight"
BASELINE = {ALGORITHM: "none"}
POP = {ALGORITHM: "pop"}


def grape(priority: str, weight: float) -> dict[str, Any]:
    return {ALGORITHM: "grape", PRIORITY: priority, WEIGHT: weight}


MEASURES = {
    "valid": Measure(path="verdict", equals="valid", label="runs without a violation"),
    "message_rate": Measure(path="message_rate", label="messages per broker and second"),
    "input_utilisation": Measure(path="input_utilisation", label="input utilisation of a broker"),
    "output_utilisation": Measure(path="output_utilisation", label="output utilisation of a broker"),
    "delivery_delay": Measure(path="delivery_delay_s", label="delivery delay (s)"),
    "hop_count": Measure(path="hop_count", label="hops between brokers to a delivery"),
    "overhead": Measure(path="message_overhead", label="control messages per publication handled"),
    "trace_bytes": Measure(path="trace_bytes", label="bytes of trace information"),
    "table_entries": Measure(path="table_entries", label="table entries"),
    "selection_time": Measure(path="selection_s", label="time to choose a broker (s)"),
    "wait_time": Measure(path="publisher_wait_s", label="time that a publisher is paused (s)"),
    "path_hops": Measure(path="path_hops", label="hops of a migration path"),
    "wait_per_hop": Measure(formula="wait_time / path_hops", label="pause for each hop of the path (s)"),
    "migrations": Measure(path="migrations", label="migrations"),
}
MIGRATED = {"migrated": Curve(event="migrated", label="migrations")}

WORKLOAD = Parameter(key="relocation.stocks.workload", values=("clustered", "random"), label="workload")
ON_BROKERS = Parameter(
    key="relocation.stocks.on_brokers", values=(1, 2, 4, 8, 16, 32, 63), label="brokers with subscribers"
)
CLUSTERED = "workload = 'clustered'"
RANDOM = "workload = 'random'"
MOVING = "algorithm != 'baseline'"


def against_brokers(title: str, y: str, where: str) -> Figure:
    return Figure(title=title, x="on_brokers", y=y, where=where, x_scale="log")


def reduction(who: str, measure: str, percent: float, sentence: str, source: str, **more: Any) -> Claim:
    """A reduction that the paper gives as its best: ours at the place where it is largest, all on one broker."""
    return Claim(
        sentence=sentence,
        source=source,
        measure=measure,
        table="differences",
        where=f"algorithm = '{who}' and {CLUSTERED} and on_brokers = 1",
        value="percent_mean",
        half_width="percent_half_width",
        at_most=-percent,
        unit="%",
        **more,
    )


SWEEP = Sweep(
    name="relocation",
    title="Moving publishers to their subscribers: POP and GRAPE against subscribers' distribution",
    about="63 brokers in a balanced binary tree; the subscribers of each publisher are on X brokers.",
    base=BASE,
    parameters={"workload": WORKLOAD, "on_brokers": ON_BROKERS},
    algorithms={
        "baseline": BASELINE,
        "POP": POP,
        "load100": grape("load", 100.0),
        "delay100": grape("delay", 100.0),
        "delay1": grape("delay", 1.0),
        "delay100, following": grape("delay", 100.0) | {"relocation.follow_after": 10},
    },
    runs=4,
    measures=MEASURES,
    curves=MIGRATED,
    figures={
        "5a": against_brokers("5a: broker message rate, clustered", "message_rate", CLUSTERED),
        "5b": against_brokers("5b: input utilisation, clustered", "input_utilisation", CLUSTERED),
        "5c": against_brokers("5c: delivery delay, clustered", "delivery_delay", CLUSTERED),
        "5d": against_brokers("5d: hop count, clustered", "hop_count", CLUSTERED),
        "5e": against_brokers("5e: trace information, clustered", "trace_bytes", f"{CLUSTERED} and {MOVING}"),
        "5f": against_brokers("5f: message overhead, clustered", "overhead", f"{CLUSTERED} and {MOVING}"),
        "5g": against_brokers("5g: delivery delay, random", "delivery_delay", RANDOM),
        "rate_random": against_brokers("Broker message rate, random", "message_rate", RANDOM),
        "overhead_random": against_brokers("Message overhead, random", "overhead", f"{RANDOM} and {MOVING}"),
        "6ab": against_brokers("6a, 6b: time to choose a broker", "selection_time", f"{CLUSTERED} and {MOVING}"),
        "6c": against_brokers("6c: pause of a publisher for each hop", "wait_per_hop", f"{CLUSTERED} and {MOVING}"),
        "moving": Figure(
            title="When publishers move (16 brokers, clustered)",
            kind="curve",
            y="migrated",
            where=f"{CLUSTERED} and on_brokers = 16 and {MOVING}",
        ),
    },
    claims=(),
    quick=Quick(runs=2, parameters={"on_brokers": (1, 16)}),
)

WEIGHTS = Sweep(
    name="relocation-weights",
    title="GRAPE's priority and weight",
    about="63 brokers, clustered workload: from load100 over load1 = delay100 to delay1.",
    base=BASE,
    parameters={
        "on_brokers": Parameter(
            key="relocation.stocks.on_brokers", values=(4, 16, 63), label="brokers with subscribers"
        )
    },
    algorithms={
        "baseline": BASELINE,
        **{f"load{weight}": grape("load", float(weight)) for weight in (100, 75, 50, 25, 1)},
        **{f"delay{weight}": grape("delay", float(weight)) for weight in (100, 75, 50, 25, 1)},
    },
    runs=4,
    measures=MEASURES,
    figures={
        "5h": Figure(title="5h: delivery delay", x="on_brokers", y="delivery_delay", x_scale="log"),
        "hops": Figure(title="Hop count", x="on_brokers", y="hop_count", x_scale="log"),
        "rate": Figure(title="Broker message rate", x="on_brokers", y="message_rate", x_scale="log"),
    },
    claims=(),
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
    measures=MEASURES,
    curves=MIGRATED,
    figures={
        "6d": Figure(title="6d: delivery delay in the steady state", x="threshold", y="delivery_delay", x_scale="log"),
        "6e": Figure(title="6e: hop count in the steady state", x="threshold", y="hop_count", x_scale="log"),
        "6f": Figure(title="6f: message rate in the steady state", x="threshold", y="message_rate", x_scale="log"),
        "6gh": Figure(title="6g, 6h: message overhead", x="threshold", y="overhead", where=MOVING, x_scale="log"),
        "response": Figure(
            title="When publishers move, GRAPE load100",
            kind="curve",
            y="migrated",
            series=("threshold",),
            where="algorithm = 'load100'",
        ),
    },
    claims=(),
    quick=Quick(runs=2, parameters={"threshold": (10, 100)}),
)
