"""Content reaches every subscriber once, in its formats, at the planned cost (dissemination, 2 to 5)."""

from __future__ import annotations

from typing import Any
from unittest.mock import Mock

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agents.dissemination import DisseminationSystem
from protocols.dissemination.content_messages import Moved, Subscribed
from protocols.dissemination.delivery import Delivery
from protocols.dissemination.identifiers import distance
from protocols.dissemination.mesh_messages import Contact
from protocols.dissemination.optimal import optimal
from protocols.dissemination.refinement import estimated_hops, followed, refined, tree_of
from protocols.dissemination.rendezvous import Rendezvous, Wish
from protocols.dissemination.resources import Capacity, Resources
from protocols.dissemination.tapestry import Tapestry
from runtime.agent import Node
from runtime.run import Outcome, simulate
from runtime.scenario import check, load
from tests.checking.standing import stands
from tests.protocols.dissemination_cases import Instance, instances

MANY = settings(max_examples=150)


def test_everybody_is_served_once_at_the_planned_cost_in_any_order() -> None:
    stands("dissemination", 150, size=14)


def test_nobody_is_served_twice_while_brokers_come_and_go() -> None:
    stands("dissemination", 150, ["crash", "death"], size=14)


def test_the_mesh_survives_lossy_acquaintances_over_channel() -> None:
    stands("dissemination", 60, ["drop", "duplicate", "reorder", "crash"], size=8)


def test_publications_after_a_crash_reach_all_who_are_left() -> None:
    """The rendezvous point dies between two publications; subscriptions go to the next root."""
    data: dict[str, Any] = {
        "protocol": "dissemination",
        "seed": 11,
        "network": {"kind": "complete", "nodes": 10},
        "dissemination": {
            "cag": {"formats": {"a": 2.0, "b": 1.0}, "operators": {"a": {"b": 1.0}}},
            "random": {"matching": 0.9, "publications": 1, "start": 2000.0},
        },
    }

    def planned_at(outcome: Outcome) -> dict[tuple[str, int], str]:
        found = {name: agent.find(Delivery) for name, agent in outcome.agents.items()}
        return {publication: name for name, d in found.items() if d is not None for publication in d.planned}

    calm = planned_at(simulate(check(data)))
    (publication, root) = next(iter(calm.items()))
    assert publication[0] != root, "choose another seed: the publisher is to live"
    outcome = simulate(check(data | {"faults": [{"kind": "crash", "nodes": [root], "at": 500.0}]}))
    assert outcome.violations == []
    (heir,) = planned_at(outcome).values()
    assert heir != root
    delivery = outcome.agents[heir].find(Delivery)
    wanted = delivery.planned[publication].wanted
    assert len(wanted) >= 8 - 1
    for name, formats in wanted.items():
        assert outcome.agents[name].find(Delivery).delivered[publication] == [formats]


# Subscriptions, wherever their root goes


def subscribed(roots: list[str], **more: Any) -> dict[str, Any]:
    """n2 wants a topic whose root is the first of these brokers; without it, the next; and so on."""
    data: dict[str, Any] = {
        "protocol": "dissemination",
        "seed": 3,
        "network": {"kind": "complete", "nodes": 3},
        "dissemination": {
            "cag": {"formats": {"a": 1.0}},
            "tapestry": more.pop("tapestry", {}),
            "publications": [{"at": 9000.0, "broker": "n2", "topic": "any", "format": "a"}],
        },
    } | more
    system = check(data).system
    assert isinstance(system, DisseminationSystem)
    base, known = system.settings.tapestry.base, system.identifiers

    def order(topic: str) -> list[str]:
        return sorted(known, key=lambda name: distance(system.key(topic), known[name], base))

    topic = next(topic for topic in map(str, range(1000)) if order(topic)[: len(roots)] == roots)
    wish = {"broker": "n2", "topic": topic, "formats": ["a"], "at": 10.0}
    data["dissemination"] |= {"subscriptions": [wish]}
    data["dissemination"]["publications"][0]["topic"] = topic
    return data


def reaches_n2(data: dict[str, Any]) -> bool:
    outcome = simulate(check(data))
    assert outcome.quiescent and outcome.violations == []
    return outcome.agents["n2"].find(Delivery).delivered == {("n2", 0): [1]}


def test_a_root_that_leaves_while_it_is_asked_is_not_believed() -> None:
    """n2 hears that n1 has left before n1, which did not know of the subscription when it left, can answer."""
    assert reaches_n2(subscribed(["n1", "n2"], tapestry={"leaves": {"n1": 10.5}}))


def test_a_subscription_that_is_lost_on_its_way_to_the_next_root_is_made_again() -> None:
    """n3 joins and is the root from then on, but fails before the subscription reaches it."""
    death = {"kind": "crash", "nodes": ["n3"], "at": 51.5}
    assert reaches_n2(subscribed(["n3", "n1"], tapestry={"joins": {"n3": 50.0}}, faults=[death]))


def test_late_news_of_a_broker_s_last_life_void_nothing_that_it_wants_in_this_one() -> None:
    """n2 is back and has subscribed over the underlay long before the link tells n1 of its crash."""
    crash = {"kind": "crash", "nodes": ["n2"], "at": 100.0, "recover_after": 5.0}
    loss = {"kind": "drop", "since": 99.0, "until": 150.0}
    assert reaches_n2(subscribed(["n1"], links="reliable", faults=[crash, loss]))


def test_who_leaves_while_it_looks_for_the_tree_leaves_the_plan_to_the_next_root() -> None:
    data = subscribed(["n1", "n2"], tapestry={"leaves": {"n1": 9001.5}})
    outcome = simulate(check(data))
    assert outcome.quiescent and outcome.violations == []
    planned = {name: [*agent.find(Delivery).planned] for name, agent in outcome.agents.items()}
    assert planned == {"n1": [], "n2": [("n2", 0)], "n3": []}
    assert outcome.agents["n1"].find(Rendezvous).looking == {}
    assert outcome.agents["n2"].find(Delivery).delivered == {("n2", 0): [1]}


def test_an_answer_that_is_older_than_the_move_says_nothing() -> None:
    """What a root says of a subscription and that it has sent it on may come in any order."""
    tapestry = Tapestry("1000", 4, [("2000", "n1"), ("3000", "n3")])
    desk = Rendezvous(tapestry, Resources(1.0, 1.0), [Wish(0.0, "news", "2000", ("a",))])
    node = Mock(spec=Node, id="n2", now=1.0)
    me, first, second = tapestry.me(node), Contact("2000", "n1", 1), Contact("3000", "n3", 1)
    desk.subscribe(node, 0)
    desk.moved(node, "n1", Moved(me, 0, placing=2))
    desk.acknowledged(node, "n1", Subscribed(first, me, 0, placing=1))
    assert desk.waiting and not desk.rendezvous
    desk.acknowledged(node, "n3", Subscribed(second, me, 0, placing=2))
    assert not desk.waiting and desk.rendezvous == {0: second}
    desk.moved(node, "n1", Moved(me, 0, placing=2))
    assert not desk.waiting and desk.rendezvous == {0: second}


def test_an_answer_of_a_root_that_is_gone_says_nothing() -> None:
    """The news that it failed may overtake what it said."""
    tapestry = Tapestry("1000", 4, [("2000", "n1")])
    desk = Rendezvous(tapestry, Resources(1.0, 1.0), [Wish(0.0, "news", "2000", ("a",))])
    node = Mock(spec=Node, id="n2", now=1.0)
    desk.subscribe(node, 0)
    tapestry.gone["n1"] = 1
    for life, waits in ((1, True), (2, False)):
        desk.acknowledged(node, "n1", Subscribed(Contact("2000", "n1", life), tapestry.me(node), 0, placing=1))
        assert bool(desk.waiting) is waits


# Refining (Algorithm 1)


@MANY
@given(instances(5, 10), st.integers(0, 2**32), st.sampled_from([0.0, 0.5]))
def test_refining_never_raises_the_cost(instance: Instance, seed: int, threshold: float) -> None:
    """A plan for one tree, followed or refined on another one for the same receivers."""
    rates, old = instance.rates, instance.tree
    other = Instance(instance.formats, instance.brokers, seed).tree
    wanted = dict(zip(old.names, old.wanted, strict=True))
    parents = {other.names[v]: other.names[p] for v, p in enumerate(other.parents) if v}
    tree = tree_of(old.names[0], parents, wanted, {})
    plan = optimal(old, rates, 1)
    as_received = followed(plan, tree, rates)
    assert as_received.problems(rates) == []
    better, changed = refined(plan, tree, rates, optimal, threshold)
    assert better.problems(rates) == []
    assert better.cost(rates) <= as_received.cost(rates) + 1e-9
    assert changed == (as_received.cost(rates) - optimal(tree, rates, 1).cost(rates) > threshold)


@MANY
@given(instances(5, 10))
def test_a_plan_is_followed_to_the_letter_on_its_own_tree(instance: Instance) -> None:
    rates, tree = instance.rates, instance.tree
    plan = optimal(tree, rates, 1)
    assert followed(plan, tree, rates).cost(rates) == pytest.approx(plan.cost(rates), abs=1e-9)


def test_an_estimate_with_full_knowledge_is_the_tree() -> None:
    """The first hop comes from the table; the others are right if everybody on the way is known."""
    first = {"1100": "1000", "1111": "1000", "1000": "1000", "2000": "2000"}
    hops = estimated_hops("0000", first, ["1000", "1100", "1111"], 4)
    assert hops == {"1000": "0000", "1100": "1000", "1111": "1100", "2000": "0000"}


identifiers = st.text("012", min_size=3, max_size=3)


@MANY
@given(st.dictionaries(identifiers, identifiers, max_size=6), st.lists(identifiers, max_size=6))
def test_whatever_the_table_says_an_estimate_is_a_tree(first: dict[str, str], known: list[str]) -> None:
    """While brokers come and go, the first hop to a receiver may be one from which the way seems to lead back."""
    own = "000"
    first = {receiver: hop for receiver, hop in first.items() if own not in (receiver, hop)}
    hops = estimated_hops(own, first, [*known, own], 3)
    assert first.keys() <= hops.keys()
    for identifier in hops:
        way = [identifier]
        while way[-1] != own:
            assert len(way) <= len(hops)
            way.append(hops[way[-1]])


# Demands that cannot be met


def test_a_demand_without_a_way_is_refused_and_the_rest_is_served() -> None:
    outcome = simulate(load("dissemination"))
    assert outcome.violations == []
    # The second publication is an svg, from which no gis can be made.
    assert outcome.results["refused"] == {"n1 gis": "n9 0", "n23 gis": "n9 0"}
    told = outcome.agents["n23"].find(Rendezvous).refused
    assert [(refusal.original, refusal.wanted) for refusal in told] == [("svg", "gis")]


def test_of_several_publications_each_refusal_is_named() -> None:
    svg = '{at = %s, broker = "n9", topic = "fire", format = "svg", content = {severity = 9}}'
    override = f"dissemination.publications=[{svg % 10.0}, {svg % 60.0}]"
    assert simulate(load("dissemination", [override])).results["refused"] == {
        "n1 gis": "n9 0, n9 1",
        "n23 gis": "n9 0, n9 1",
    }


# Load (section 5)


def test_a_resource_costs_the_more_the_more_it_is_used() -> None:
    resources = Resources(2.0, 3.0, capacity=Capacity(unit_s=100.0, node=10.0, link=20.0, most=50.0))
    assert resources.node_factor(0.0) == 2.0
    resources.use_node(5.0, 1.0)
    assert resources.node_factor(1.0) == 2.0 * 10 / (10 - 5)
    resources.use_node(4.9, 2.0)
    assert resources.node_factor(2.0) == 2.0 * 50  # 10 / 0.1 is beyond the most
    resources.use_node(1.0, 3.0)
    assert resources.node_factor(3.0) == 2.0 * 50
    resources.use_link("a", 15.0, 3.0)
    assert resources.link_factor("a", 3.0) == 3.0 * 20 / (20 - 15)
    assert resources.link_factor("b", 3.0) == 3.0
    # With the next time unit everything begins anew.
    assert resources.node_factor(100.0) == 2.0
    assert resources.link_factor("a", 100.0) == 3.0


def test_without_regard_to_load_plans_see_the_cost_without_it() -> None:
    resources = Resources(2.0, 3.0, capacity=Capacity(100.0, 10.0, 20.0, 50.0, aware=False))
    resources.use_node(5.0, 1.0)
    assert resources.told_node_factor(1.0) == 2.0
    assert resources.node_factor(1.0) == 4.0


def test_without_regard_to_factors_plans_see_brokers_that_are_alike() -> None:
    resources = Resources(2.0, 3.0, aware=False, capacity=Capacity(100.0, 10.0, 20.0, 50.0))
    assert (resources.told_node_factor(1.0), resources.told_link_factor("a", 1.0)) == (1.0, 1.0)
    assert (resources.node_factor(1.0), resources.link_factor("a", 1.0)) == (2.0, 3.0)
    resources.use_node(5.0, 1.0)  # the load is regarded all the same
    assert (resources.told_node_factor(1.0), resources.node_factor(1.0)) == (2.0, 4.0)


def test_regarding_factors_pays() -> None:
    factors = "dissemination.factors={nodes = [0.2, 5.0], links = [0.2, 5.0], aware = %s}"
    paid = {aware: simulate(load("dissemination", [factors % aware])) for aware in ("true", "false")}
    assert all(outcome.violations == [] for outcome in paid.values())
    assert paid["true"].results["paid_cost"] < paid["false"].results["paid_cost"]
    assert paid["false"].results["paid_cost"] != pytest.approx(paid["false"].results["planned_cost"])
