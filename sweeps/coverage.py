"""What advertisement coverage costs: messages, bytes and time to quiescence against network size and stores.

The paper (planning, 4.1) describes the protocol and gives no numbers for it, so the claims here are our own.
"""

from __future__ import annotations

from sweeps.sweep import Claim, Curve, Figure, Measure, Parameter, Quick, Sweep

OURS = "ours; the paper gives no number"
DEGREE = 3.0
LINKS = f"round(brokers * {DEGREE} / 2)"
RAW = "algorithm = 'raw links'"

SWEEP = Sweep(
    name="coverage",
    title="Advertisement coverage: cost and time against network size and number of stores",
    about="Every store advertises one topic in a random network of average degree 3 until nothing moves any more.",
    base={
        "protocol": "coverage",
        "network": {"kind": "random-graph", "nodes": 50, "degree": DEGREE, "delay": "uniform(0.5, 1.5)"},
        "storage": {"random_stores": {"count": 1, "topics": ["a"]}},
    },
    parameters={
        "brokers": Parameter(key="network.nodes", values=(25, 50, 100, 200, 400), label="number of brokers"),
        "stores": Parameter(key="storage.random_stores.count", values=(1, 5, 20), label="number of stores"),
    },
    algorithms={"raw links": {"links": "raw"}, "reliable links": {"links": "reliable"}},
    seed=1,
    runs=20,
    measures={
        "valid": Measure(path="verdict", equals="valid", label="runs in which every table is right"),
        "messages": Measure(path="messages", label="messages"),
        "bytes": Measure(path="bytes", label="bytes"),
        "quiet_after": Measure(path="virtual_time", label="time to quiescence (s)"),
        "advertisements": Measure(path="by_type.Advertise.messages"),
        "subscriptions": Measure(path="by_type.Subscribe.messages"),
        # A store's word to its own broker crosses no link between brokers.
        "advertisements_per_link": Measure(formula=f"(advertisements - stores) / ({LINKS})"),
        "subscriptions_per_link": Measure(formula=f"(subscriptions - stores) / ({LINKS}) / stores"),
        "time_per_doubling": Measure(formula="quiet_after / log2(brokers)"),
        "farthest": Measure(path="farthest_hops", label="hops to the farthest broker"),
    },
    curves={
        "messages_sent": Curve(value="messages", iteration="window", label="messages sent"),
    },
    figures={
        "messages": Figure(
            title="Messages until quiescence",
            x="brokers",
            y="messages",
            series=("stores",),
            where=RAW,
            x_scale="log",
            y_scale="log",
        ),
        "bytes": Figure(
            title="Bytes until quiescence",
            x="brokers",
            y="bytes",
            series=("stores",),
            where=RAW,
            x_scale="log",
            y_scale="log",
        ),
        "time": Figure(
            title="Time to quiescence",
            x="brokers",
            y="quiet_after",
            series=("stores",),
            where=RAW,
            x_scale="log",
        ),
        "reliability": Figure(
            title="What reliable links cost: messages beyond raw links, on the same instances",
            x="brokers",
            y="messages",
            kind="percent",
            series=("stores",),
            x_scale="log",
            y_label="further messages (%)",
        ),
        "spreading": Figure(
            title="How the news spreads among 100 brokers",
            y="messages_sent",
            kind="curve",
            series=("stores",),
            where=f"{RAW} and brokers = 100",
        ),
    },
    claims=(
        Claim(
            sentence="At quiescence each broker's table holds exactly the nearest stores.",
            source="4.1, as a property",
            measure="valid",
            at_least=1.0,
            unit="of the runs",
        ),
        Claim(
            sentence="Coverage stops what is not nearer: an advertisement crosses a link about once each way at most,"
            " whatever the number of stores.",
            source=OURS,
            measure="advertisements_per_link",
            where=RAW,
            at_most=2.0,
            unit="per link and topic",
        ),
        Claim(
            sentence="Subscriptions are flooded: one crosses a link once each way at most.",
            source=OURS,
            measure="subscriptions_per_link",
            where=RAW,
            at_most=2.0,
            unit="per link and store",
        ),
        Claim(
            sentence="Time to quiescence grows like the logarithm of the network: at most two mean delays for each"
            " doubling.",
            source=OURS,
            measure="time_per_doubling",
            where=RAW,
            at_most=2.0,
            unit="s",
            remark="the bound was set after a look at first runs: it describes, it does not predict",
        ),
        Claim(
            sentence="Reliable links add one acknowledgement to each message.",
            source=OURS,
            measure="messages",
            table="differences",
            value="percent_mean",
            half_width="percent_half_width",
            at_most=100.0,
            unit="%",
            remark="every link also opens a session with four greetings, however little it carries then",
        ),
    ),
    quick=Quick(runs=5, parameters={"brokers": (25, 50, 100), "stores": (1, 5)}),
)
