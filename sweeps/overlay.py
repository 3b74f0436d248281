"""How much cheaper than a random assignment: figures 9 and 10 of the overlay paper, and what its claims come to.

The paper does not say how access links cost. Only the links between brokers are said to keep the triangle
inequality, so `uniform` draws access costs independently; `plane` makes users points among the brokers.
"""

from __future__ import annotations

from typing import Any

from sweeps.sweep import Claim, Figure, Measure, Parameter, Quick, Sweep

FIG_9, FIG_10 = "VI.B, fig. 9", "VI.B, fig. 10"
OURS = "ours; the paper gives no number"
COSTS = Parameter(key="overlay.access_costs", values=("uniform", "plane"), label="access links cost")
ALGORITHMS: dict[str, dict[str, Any]] = {
    "clustering": {"overlay.assignment": "clustering"},
    "packing": {"overlay.assignment": "packing"},
    "mixing": {"overlay.assignment": "mixing"},
}
MEASURES = {
    "valid": Measure(path="verdict", equals="valid", label="runs in which every user is on one broker with room"),
    "crr": Measure(path="cost_reduction_ratio", label="cost reduction ratio (random cost over cost)"),
    "cost": Measure(path="cost", label="total cost"),
    "core": Measure(path="core_cost", label="cost between brokers"),
    "bound": Measure(path="least_cost"),
    "above_bound": Measure(formula="cost / bound", label="cost over the least that any assignment can cost"),
    "core_share": Measure(formula="100 * core / cost", label="share of the cost that is between brokers (%)"),
    "users": Measure(path="users"),
    "random_cost": Measure(path="random_cost", label="cost of a random assignment"),
}
VALID = Claim(
    sentence="Every user is connected to exactly one broker, within its capacity.",
    source="II.A, as a property",
    measure="valid",
    at_least=1.0,
    unit="of the runs",
)


def base(**overlay: Any) -> dict[str, Any]:
    return {
        "protocol": "overlay",
        "network": {"kind": "plane", "nodes": 100, "connect": "complete"},
        "overlay": {"users_per_broker": 100, **overlay},
    }


SWEEP = Sweep(
    name="overlay",
    title="Minimum-cost overlays: cost reduction against the size of the network",
    about="Users with random quadratic generating functions and random intervals as subscriptions are assigned to"
    " brokers; brokers can bear twice the traffic. Access links cost as much on average as links between brokers.",
    base=base(),
    parameters={
        "brokers": Parameter(key="network.nodes", values=(10, 20, 50, 100), label="number of brokers"),
        "per_broker": Parameter(key="overlay.users_per_broker", values=(10, 100), label="users for each broker"),
        "access_costs": COSTS,
    },
    algorithms=ALGORITHMS,
    baseline="clustering",
    seed=1,
    runs=100,
    measures=MEASURES,
    figures={
        f"figure_9_{costs}": Figure(
            title=f"Figure 9: 100 users for each broker, {told}",
            x="brokers",
            y="crr",
            where=f"per_broker = 100 and access_costs = '{costs}'",
            x_label="brokers (100 users each: 1000 to 10000 users)",
            y_label="cost reduction ratio",
        )
        for costs, told in (("uniform", "independent access costs"), ("plane", "users in the plane"))
    }
    | {
        "few_users": Figure(
            title="Cost reduction with 10 users for each broker, independent access costs",
            x="brokers",
            y="crr",
            where="per_broker = 10 and access_costs = 'uniform'",
            x_label="brokers (10 users each: 100 to 1000 users)",
            y_label="cost reduction ratio",
        ),
        "above_bound": Figure(
            title="Cost over a lower bound, 100 users each, independent access costs",
            x="brokers",
            y="above_bound",
            where="per_broker = 100 and access_costs = 'uniform'",
            y_label="cost over a lower bound",
        ),
    },
    claims=(
        VALID,
        Claim(
            sentence="All three algorithms cost less than a random assignment.",
            source=FIG_9,
            measure="crr",
            at_least=1.0,
            unit="times",
            remark="with users in the plane, mixing sends all of a publisher's subscribers to the publisher's broker",
        ),
        Claim(
            sentence="Clustering reduces the cost more than greedy packing.",
            source=FIG_9,
            measure="cost",
            table="differences",
            where="algorithm = 'packing'",
            value="percent_mean",
            half_width="percent_half_width",
            at_least=0.0,
            unit="% that packing costs beyond clustering",
            remark="packing is close to the least that is possible, see below",
        ),
        Claim(
            sentence="Steiner-tree mixing reduces the cost more than clustering.",
            source=FIG_9,
            measure="cost",
            table="differences",
            where="algorithm = 'mixing'",
            value="percent_mean",
            half_width="percent_half_width",
            at_most=0.0,
            unit="% that mixing costs beyond clustering",
        ),
        Claim(
            sentence="With 100 users for each broker, access links are most of the cost, so there is little to gain"
            " beyond packing: no assignment costs less than this part of what packing costs.",
            source=OURS,
            measure="above_bound",
            where="algorithm = 'packing' and per_broker = 100",
            value="1 / mean",
            at_least=0.8,
            unit="of packing's cost",
            remark="the bound has every user on its cheapest link and nothing between brokers",
        ),
        Claim(
            sentence="Random assignment produces costs that grow linearly with the number of clients.",
            source="VI.B",
            measure="random_cost",
            where="algorithm = 'packing' and per_broker = 100",
            value="mean / brokers / (avg(mean / brokers) over (partition by access_costs))",
            at_least=0.9,
            at_most=1.1,
            unit="cost for each user, over its average",
            remark="it grows with the square: more users publish, and each publication has more subscribers",
        ),
    ),
    quick=Quick(runs=3, parameters={"brokers": (10, 20), "per_broker": (10, 100)}),
)

RATIO = Sweep(
    name="overlay-ratio",
    title="Minimum-cost overlays: cost reduction against the cost of access links over that of links between brokers",
    about="As the sweep overlay, with 10000 users on 100 brokers.",
    base=base(),
    parameters={
        "ratio": Parameter(
            key="overlay.access_to_core", values=(0.1, 0.3, 1.0, 3.0, 10.0), label="access-to-core link cost ratio"
        ),
        "access_costs": COSTS,
    },
    algorithms=ALGORITHMS,
    baseline="mixing",
    seed=1,
    runs=100,
    measures=MEASURES,
    figures={
        f"figure_10_{costs}": Figure(
            title=f"Figure 10: 10000 users, 100 brokers, {told}",
            x="ratio",
            y="crr",
            where=f"access_costs = '{costs}'",
            x_scale="log",
            y_label="cost reduction ratio",
        )
        for costs, told in (("uniform", "independent access costs"), ("plane", "users in the plane"))
    },
    claims=(
        VALID,
        Claim(
            sentence="The curve of Steiner-tree mixing almost does not change.",
            source=FIG_10,
            measure="crr",
            where="algorithm = 'mixing'",
            value="mean / avg(mean) over (partition by access_costs)",
            at_least=0.9,
            at_most=1.1,
            unit="of its average",
            remark="where links between brokers are dear, its trees avoid them and give users dear access links",
        ),
        Claim(
            sentence="As links between brokers become cheap, the other two algorithms converge to mixing: packing.",
            source=FIG_10,
            measure="cost",
            table="differences",
            where="algorithm = 'packing' and ratio = 10.0",
            value="percent_mean",
            half_width="percent_half_width",
            at_least=-5.0,
            at_most=5.0,
            unit="% beyond mixing",
            remark="it is mixing that converges to packing",
        ),
        Claim(
            sentence="As links between brokers become cheap, the other two algorithms converge to mixing: clustering.",
            source=FIG_10,
            measure="cost",
            table="differences",
            where="algorithm = 'clustering' and ratio = 10.0",
            value="percent_mean",
            half_width="percent_half_width",
            at_least=-5.0,
            at_most=5.0,
            unit="% beyond mixing",
        ),
        Claim(
            sentence="If links between brokers are cheap enough, they can be ignored: packing, which does, is then"
            " within 5 % of the least possible cost with independent access costs.",
            source=f"{FIG_10}; the 5 % are ours",
            measure="above_bound",
            where="algorithm = 'packing' and ratio = 10.0 and access_costs = 'uniform'",
            at_most=1.05,
            unit="times the bound",
        ),
    ),
    quick=Quick(runs=2, parameters={"ratio": (0.1, 10.0)}),
)
