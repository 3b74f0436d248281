"""The distributed algorithm of the overlay paper beside the centralised ones and the exact optimum.

The paper evaluates neither: it has no numbers for the distributed version and no optimum.
"""

from __future__ import annotations

from typing import Any

from sweeps.sweep import Claim, Curve, Figure, Measure, Parameter, Quick, Sweep

OURS = "ours; the paper gives no number"
ONE: dict[str, Any] = {"overlay.movers": "one", "overlay.assignment": "random"}
# Many movers may send a user to and fro on old news: its patience ends that.
MANY: dict[str, Any] = {"overlay.movers": "many", "overlay.assignment": "random", "overlay.patience": 20}
CENTRAL: dict[str, dict[str, Any]] = {
    name: {"overlay.assignment": name} for name in ("packing", "clustering", "mixing")
}
MEASURES = {
    "valid": Measure(path="verdict", equals="valid", label="runs that are valid"),
    "cost": Measure(path="cost", label="total cost"),
    "moves": Measure(path="moves", label="moves"),
    "rises": Measure(path="rises", label="moves after which the total cost was higher"),
    "rises_per_move": Measure(formula="case when moves > 0 then 100 * rises / moves end"),
}
NEVER_RISES = Claim(
    sentence="With one mover at a time the total cost never rises.",
    source=OURS,
    measure="rises",
    where="algorithm like '%one mover'",
    at_most=0.0,
    unit="moves after which it was higher",
)
RISES_WITH_MANY = Claim(
    sentence="With many movers, who decide on old news, the total cost rises after few moves.",
    source=OURS,
    measure="rises_per_move",
    where="algorithm = 'many movers'",
    at_most=5.0,
    unit="% of the moves",
)
DISTRIBUTED = "algorithm in ('one mover', 'many movers')"

OPTIMUM = Sweep(
    name="overlay-optimum",
    title="Minimum-cost overlays: how far from the exact optimum on small instances",
    about="Twelve users on four brokers, few enough for the integer program; everything else as in the sweep overlay.",
    base={
        "protocol": "overlay",
        "network": {"kind": "plane", "nodes": 4, "connect": "complete", "delay": "uniform(0.5, 1.5)"},
        "overlay": {"users": 12, "intervals": 5, "capacity_factor": 3.0},
    },
    parameters={
        "ratio": Parameter(
            key="overlay.access_to_core", values=(0.1, 0.3, 1.0, 3.0, 10.0), label="access-to-core link cost ratio"
        ),
        "access_costs": Parameter(key="overlay.access_costs", values=("uniform", "plane"), label="access links cost"),
    },
    algorithms={
        "optimum": {"overlay.assignment": "optimum"},
        "random": {"overlay.assignment": "random"},
        **CENTRAL,
        "one mover": ONE,
        "many movers": MANY,
        "packing, then one mover": {"overlay.movers": "one", "overlay.assignment": "packing"},
    },
    seed=1,
    runs=50,
    measures=MEASURES,
    figures={
        f"gap_{costs}": Figure(
            title=f"Cost beyond the optimum, {told}",
            x="ratio",
            y="cost",
            kind="percent",
            where=f"access_costs = '{costs}' and algorithm != 'random'",
            x_scale="log",
            y_label="cost beyond the optimum (%)",
        )
        for costs, told in (("uniform", "independent access costs"), ("plane", "users in the plane"))
    },
    claims=(
        Claim(
            sentence="Every run is valid: one broker for each user, within capacity, and no hand-over left open.",
            source="II.A and V, as a property",
            measure="valid",
            at_least=1.0,
            unit="of the runs",
        ),
        Claim(
            sentence="No algorithm costs less than the optimum.",
            source="II.B, as a property",
            measure="cost",
            table="differences",
            value="percent_mean",
            half_width="percent_half_width",
            at_least=-0.001,
            unit="% beyond the optimum",
        ),
        *(
            Claim(
                sentence=f"Mixing produces better results than the two-stage schemes: than {other}.",
                source="IV.B",
                measure="cost",
                table="differences",
                where=f"algorithm in ('mixing', '{other}')",
                value="case when algorithm = 'mixing' then percent_mean - max(case when algorithm != 'mixing' then"
                " percent_mean end) over (partition by ratio, access_costs) end",
                at_most=0.0,
                unit="% of the optimum that mixing costs more",
            )
            for other in ("packing", "clustering")
        ),
        NEVER_RISES,
        RISES_WITH_MANY,
        Claim(
            sentence="One mover at a time ends within 20 % of the optimum where access links cost as much or more.",
            source=OURS,
            measure="cost",
            table="differences",
            where="algorithm = 'one mover' and ratio >= 1.0",
            value="percent_mean",
            half_width="percent_half_width",
            at_most=20.0,
            unit="% beyond the optimum",
        ),
    ),
    quick=Quick(runs=2, parameters={"ratio": (0.1, 1.0)}),
)

SWEEP = Sweep(
    name="overlay-distributed",
    title="Minimum-cost overlays: the distributed algorithm as agents, one mover at a time and many",
    about="Users begin on random brokers and are handed over while they publish; a move is decided by their broker on"
    " what it has heard from the others.",
    base={
        "protocol": "overlay",
        "network": {"kind": "plane", "nodes": 10, "connect": "complete", "delay": "uniform(0.5, 1.5)"},
        "overlay": {"users_per_broker": 20, "publish_until": 100.0, "publish_scale": 0.05},
    },
    parameters={
        "brokers": Parameter(key="network.nodes", values=(5, 10, 20), label="number of brokers (20 users each)"),
        "ratio": Parameter(
            key="overlay.access_to_core", values=(0.1, 1.0, 10.0), label="access-to-core link cost ratio"
        ),
    },
    algorithms={**CENTRAL, "one mover": ONE, "many movers": MANY},
    baseline="packing",
    seed=1,
    runs=20,
    measures=MEASURES
    | {
        "random_cost": Measure(path="random_cost"),
        "crr": Measure(formula="random_cost / cost", label="cost reduction ratio (random cost over cost)"),
        "users": Measure(path="users"),
        "moves_per_user": Measure(formula="moves / users"),
        "promised": Measure(path="promised_saving"),
        "kept_promises": Measure(formula="case when promised > 0 then (random_cost - cost) / promised end"),
        "quiet_after": Measure(path="virtual_time", label="time to quiescence (s)"),
        "messages": Measure(path="messages"),
    },
    curves={
        "total_cost": Curve(event="cost", value="total", label="total cost"),
    },
    figures={
        "crr": Figure(
            title="The distributed algorithm beside the centralised ones: 200 users",
            x="ratio",
            y="crr",
            where="brokers = 10",
            x_scale="log",
            y_label="cost reduction ratio",
        ),
        "time": Figure(
            title="Time until nobody moves any more",
            x="brokers",
            y="quiet_after",
            where=f"{DISTRIBUTED} and ratio = 1.0",
        ),
        "cost_over_time": Figure(
            title="How the cost falls: 10 brokers, 200 users, ratio 1",
            kind="curve",
            y="total_cost",
            where=f"{DISTRIBUTED} and brokers = 10 and ratio = 1.0",
        ),
    },
    claims=(
        Claim(
            sentence="The hand-over loses and doubles nothing, and every run becomes quiet.",
            source="V, as a property",
            measure="valid",
            at_least=1.0,
            unit="of the runs",
        ),
        NEVER_RISES,
        RISES_WITH_MANY,
        Claim(
            sentence="With one mover at a time the cost falls by what the moves promised.",
            source=OURS,
            measure="kept_promises",
            where="algorithm = 'one mover'",
            at_least=0.999999,
            at_most=1.000001,
            unit="of what was promised",
        ),
        Claim(
            sentence="With many movers too the cost falls by what the moves promised, though they decide on old news.",
            source=OURS,
            measure="kept_promises",
            where="algorithm = 'many movers'",
            at_least=0.99,
            at_most=1.01,
            unit="of what was promised",
        ),
        Claim(
            sentence="The distributed algorithm stays near the centralised result: at most 1 % above packing.",
            source="IV.C; the 1 % are ours",
            measure="cost",
            table="differences",
            where=DISTRIBUTED,
            value="percent_mean",
            half_width="percent_half_width",
            at_most=1.0,
            unit="% beyond packing",
        ),
        Claim(
            sentence="From a random assignment, each user moves about once.",
            source=OURS,
            measure="moves_per_user",
            where=DISTRIBUTED,
            at_most=1.5,
            unit="moves for each user",
        ),
    ),
    quick=Quick(runs=2, parameters={"brokers": (5,), "ratio": (1.0, 10.0)}),
)
