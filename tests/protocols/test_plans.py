"""Plans: the optimum is the optimum, the heuristic lies between it and its initial plan (dissemination, 2 to 4)."""

from __future__ import annotations

import dataclasses

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import protocols.dissemination.multilayer as multilayer
import protocols.dissemination.optimal as optimal_module
from protocols.dissemination.baselines import all_in_leaves, all_in_root
from protocols.dissemination.cag import make_cag, members, weigh
from protocols.dissemination.heuristic import INITIAL, Heuristic, Refining
from protocols.dissemination.making import making
from protocols.dissemination.multilayer import Multilayer
from protocols.dissemination.optimal import TooManyFormatsError, optimal, optimal_carrying
from protocols.dissemination.plan import InfeasibleDemandError, Plan, check_demands, make_tree, tidied
from tests.protocols.dissemination_cases import Instance, all_plans, instances, least_cost

MANY = settings(max_examples=300)
FEW = settings(max_examples=40)


def near(cost: float) -> object:
    return pytest.approx(cost, rel=1e-9, abs=1e-9)


# The example of the paper's introduction (figure 1): a video in mpeg4 at A

FIGURE_1 = {
    "names": ("A", "B", "C", "D", "G", "H", "I", "J", "K", "L"),
    "parents": (-1, 0, 0, 1, 3, 3, 3, 2, 2, 2),
}
VIDEO = make_cag({"mpeg4": 4.0, "avi": 3.5, "flv": 3.0, "3gp": 1.0}, {"mpeg4": {"avi": 0.1, "flv": 0.1, "3gp": 0.1}})


def demand(**formats: str) -> list[int]:
    return [VIDEO.set_of([formats[name]] if name in formats else []) for name in FIGURE_1["names"]]


def made_at(plan: Plan) -> dict[str, list[str]]:
    names = zip(plan.tree.names, plan.operators, strict=True)
    return {name: [VIDEO.formats[target] for _, target in operators] for name, operators in names if operators}


def test_different_formats_below_one_broker_are_made_there() -> None:
    # "could be prevented if the published video is sent to broker D in the original format" (section 1)
    tree = make_tree(**FIGURE_1, wanted=demand(G="avi", H="flv", I="3gp"))
    plan = optimal(tree, weigh(VIDEO, normalised=False), 1)
    assert made_at(plan) == {"D": ["avi", "flv", "3gp"]}
    assert plan.arrives[1] == plan.arrives[3] == VIDEO.set_of(["mpeg4"])


def test_the_same_format_below_one_broker_is_made_once_before_the_links() -> None:
    # "by performing the conversion once at broker A or C" (section 1)
    tree = make_tree(**FIGURE_1, wanted=demand(J="3gp", K="3gp", L="3gp"))
    plan = optimal(tree, weigh(VIDEO, normalised=False), 1)
    assert made_at(plan) == {"A": ["3gp"]}
    assert plan.cost(weigh(VIDEO, normalised=False)) == near(0.1 * 4.0 + 4 * 1.0)


def test_costs_by_hand() -> None:
    tree = make_tree(**FIGURE_1, wanted=demand(G="avi", H="flv", I="3gp", J="3gp", K="3gp", L="3gp"))
    rates = weigh(VIDEO, alpha=2.0, beta=3.0, normalised=False)
    root, leaves = all_in_root(tree, rates, 1), all_in_leaves(tree, rates, 1)
    # Links A-B and B-D carry avi, flv and 3gp; D-G, D-H, D-I one each; A-C, C-J, C-K, C-L carry 3gp.
    assert root.transmission_cost(rates) == near(2.0 * (2 * (3.5 + 3 + 1) + (3.5 + 3 + 1) + 4 * 1))
    assert root.conversion_cost(rates) == near(3.0 * 3 * 0.4)
    # Nine links carry mpeg4, six brokers convert.
    assert leaves.transmission_cost(rates) == near(2.0 * 9 * 4)
    assert leaves.conversion_cost(rates) == near(3.0 * 6 * 0.4)


def test_normalised_costs_have_an_average_of_one() -> None:
    rates = weigh(VIDEO)
    assert sum(rates.transmission) / 4 == near(1.0)
    assert sum(c for row in rates.conversion for c in row if 0 < c < 9e9) / 3 == near(1.0)


# The optimum


@FEW
@given(st.one_of(instances(2, 3), instances(3, 2)))
def test_no_plan_is_cheaper_than_the_optimal_one(instance: Instance) -> None:
    tree, rates = instance.tree, instance.rates
    plan = optimal(tree, rates, 1)
    assert plan.problems(rates) == []
    assert plan.cost(rates) == near(min(every.cost(rates) for every in all_plans(tree, rates, 1)))


@MANY
@given(instances(4, 6), st.integers(1, 15))
def test_the_optimum_is_what_the_papers_recursion_finds(instance: Instance, more: int) -> None:
    tree, rates = instance.tree, instance.rates
    available = 1 | more & ((1 << instance.formats) - 1)
    plan = optimal(tree, rates, available)
    assert plan.problems(rates) == []
    assert plan.cost(rates) == near(least_cost(tree, rates, available))


@MANY
@given(instances(6, 12))
def test_plans_are_valid_and_none_is_below_the_optimum(instance: Instance) -> None:
    tree, rates = instance.tree, instance.rates
    least = optimal(tree, rates, 1).cost(rates)
    for planner in (all_in_root, all_in_leaves, optimal_carrying):
        plan = planner(tree, rates, 1)
        assert plan.problems(rates) == []
        assert plan.cost(rates) >= least - 1e-9
    if instance.formats <= 6:
        assert optimal_carrying(tree, rates, 1).cost(rates) == near(least)


@MANY
@given(instances(5, 1), st.integers(0, 31))
def test_formats_are_made_in_the_cheapest_way(instance: Instance, wanted: int) -> None:
    rates = instance.rates
    wanted &= (1 << instance.formats) - 1
    tree = make_tree([-1], [wanted])
    plan = Plan(tree, (1,), (making(rates, 1).operators(wanted),))
    assert plan.problems(rates) == []
    assert plan.cost(rates) == near(least_cost(tree, rates, 1))


def test_long_arrays_are_gone_through_like_short_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    instance = Instance(formats=10, brokers=9, seed=5)
    first = optimal(instance.tree, instance.rates, 1)
    monkeypatch.setattr("protocols.dissemination.making.LONG", 1024)
    assert optimal(instance.tree, instance.rates, 1) == first


@pytest.mark.parametrize("setting", ["AT_A_TIME", "KEPT"])
@FEW
@given(instance=instances(6, 30))
def test_plans_do_not_depend_on_how_many_nodes_are_looked_at_together_or_kept(setting: str, instance: Instance) -> None:
    tree, rates = instance.tree, instance.rates
    plans = optimal(tree, rates, 1), optimal_carrying(tree, rates, 1, most=3)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(optimal_module, setting, 0)
        assert (optimal(tree, rates, 1), optimal_carrying(tree, rates, 1, most=3)) == plans


def test_the_tests_find_an_optimum_that_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(optimal_module, "make_before", lambda costs, rates, factors: costs)
    instance = Instance(formats=3, brokers=4, seed=1)
    assert optimal(instance.tree, instance.rates, 1).cost(instance.rates) != near(
        least_cost(instance.tree, instance.rates, 1)
    )


# The heuristic


@MANY
@given(
    instances(6, 12),
    st.builds(
        Heuristic,
        st.sampled_from(sorted(INITIAL)),
        st.sampled_from([None, 0, 1, 3]),
        st.integers(1, 3),
        st.sampled_from(["best", "nearest"]),
    ),
)
def test_the_heuristic_lies_between_the_optimum_and_its_initial_plan(instance: Instance, heuristic: Heuristic) -> None:
    tree, rates = instance.tree, instance.rates
    before = INITIAL[heuristic.initial](tree, rates, 1)
    plan = heuristic.plan(tree, rates, 1)
    assert plan.problems(rates) == []
    assert optimal(tree, rates, 1).cost(rates) - 1e-9 <= plan.cost(rates) <= before.cost(rates) + 1e-9


@FEW
@given(instances(5, 8), st.integers(1, 2), st.sampled_from(["best", "nearest"]))
def test_every_iteration_makes_the_plan_cheaper(instance: Instance, depth: int, steiner: str) -> None:
    tree, rates = instance.tree, instance.rates
    refining = Refining(all_in_leaves(tree, rates, 1), rates, Heuristic(depth=depth, steiner=steiner))
    costs = [all_in_leaves(tree, rates, 1).cost(rates)]
    while refining.promises:
        top, subplan = refining.select_node()
        if subplan is not None:
            refining.refine_plan(top, subplan)
            plan = Plan(tree, tuple(refining.arrives), tuple(refining.operators))
            assert plan.problems(rates) == []
            costs.append(plan.cost(rates))
    assert costs == sorted(costs, reverse=True)
    assert len(set(costs)) == len(costs)


def steiner(instance: Instance, how: str = "best") -> Plan:
    """The subplan for the whole tree."""
    tree, rates = instance.tree, instance.rates
    subplan = Multilayer(tree, range(len(tree)), rates).steiner(1, tree.wanted, how)
    plan = Plan(tree, subplan.arrives, subplan.operators)
    assert plan.problems(rates) == []
    return plan


@MANY
@given(instances(4, 4))
def test_with_few_formats_a_steiner_tree_is_the_best_subplan(instance: Instance) -> None:
    assert steiner(instance).cost(instance.rates) == near(least_cost(instance.tree, instance.rates, 1))


@MANY
@given(instances(4, 4))
def test_the_nearest_terminal_first_is_the_best_for_few_and_near_to_it_for_more(
    instance: Instance,
) -> None:
    tree, rates = instance.tree, instance.rates
    terminals = sum(len(list(members(wanted))) for wanted in tree.wanted)
    cost, least = steiner(instance, "nearest").cost(rates), least_cost(tree, rates, 1)
    assert cost >= least - 1e-9
    if terminals <= multilayer.MOST_TERMINALS:
        assert cost == near(least)


def test_the_better_one_of_two_approximations_is_taken() -> None:
    """Connecting the nearest terminal first, or the best plan whose links carry what most brokers need."""
    better = {"nearest": 0, "carrying": 0}
    for seed in range(20):
        instance = Instance(formats=20, brokers=5, seed=seed, density=0.3)
        taken = steiner(instance).cost(instance.rates)
        carrying = optimal_carrying(instance.tree, instance.rates, 1).cost(instance.rates)
        nearest = steiner(instance, "nearest").cost(instance.rates)
        assert taken == near(min(nearest, carrying))
        better["nearest"] += nearest < carrying
        better["carrying"] += carrying < nearest
    assert min(better.values()) > 5


def test_a_cag_of_any_size_gets_a_plan() -> None:
    instance = Instance(formats=24, brokers=40, seed=3, density=0.2)
    tree, rates = instance.tree, instance.rates
    with pytest.raises(TooManyFormatsError, match="24 formats"):
        optimal(tree, rates, 1)
    initial = INITIAL["few"](tree, rates, 1)
    plan = Heuristic("few", depth=2).plan(tree, rates, 1)
    assert plan.problems(rates) == []
    assert plan.cost(rates) < initial.cost(rates)


# Validity


def test_an_invalid_plan_is_told() -> None:
    tree = make_tree([-1, 0], [0, 0b10], names=["a", "b"])
    rates = weigh(make_cag({"x": 1.0, "y": 1.0, "z": 1.0}, {"x": {"y": 1.0}}))
    assert Plan(tree, (1, 1), ((), ((0, 1),))).problems(rates) == []
    assert Plan(tree, (1, 1), ((), ())).problems(rates) == ["b does not get all that it wants"]
    assert Plan(tree, (1, 2), ((), ())).problems(rates) == ["a sends b what it does not have"]
    assert Plan(tree, (1, 1), ((), ((0, 1), (2, 0)))).problems(rates) == [
        "b converts format 2, which it does not have",
        "b uses an undefined operator, 2 to 0",
    ]


def test_infeasible_demands_are_refused_with_the_broker_and_the_format() -> None:
    cag = make_cag({"large": 2.0, "small": 1.0}, {"large": {"small": 1.0}})
    tree = make_tree([-1, 0], [0, cag.set_of(["large"])], names=["hub", "b7"])
    check_demands(tree, cag, cag.set_of(["large"]))
    with pytest.raises(InfeasibleDemandError, match="broker b7 wants large, which cannot be made from small"):
        check_demands(tree, cag, cag.set_of(["small"]))


@FEW
@given(instances(4, 6))
def test_tidying_takes_away_only_what_nobody_needs(instance: Instance) -> None:
    tree, rates = instance.tree, instance.rates
    plan = all_in_leaves(tree, rates, 1)
    everything = tuple((*own, *((0, f) for f in range(1, instance.formats))) for own in plan.operators)
    wasteful = dataclasses.replace(plan, arrives=(1,) * len(tree), operators=everything)
    assert wasteful.problems(rates) == []
    assert tidied(wasteful).problems(rates) == []
    assert tidied(wasteful).cost(rates) <= wasteful.cost(rates) + 1e-9
