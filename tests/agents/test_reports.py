"""What a report says of a node at some time is what the node was when a run was stopped at that time."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest

from protocols.dissemination.delivery import Delivery
from protocols.overlay.user import Using
from protocols.relocation.clients import Publishing, Subscribing
from protocols.storage.following import Following
from protocols.storage.replicas.knowledge import Knowledge
from protocols.storage.store import Storing
from runtime.run import Outcome, simulate
from runtime.scenario import Scenario, load
from runtime.system import World
from tests.runtime.reported import Shown, shown

CRASH = 'faults=[{kind="crash", nodes=["n2"], at=6.0, recover_after=4.0}]'
LOSSY = 'faults=[{kind="drop", probability=0.1}]'
STORES = """storage={stores={str1={broker="b6", topics=["a", "b"]}, str2={broker="b2", topics=["a", "c"]}}, events=[
    {at=20.0, store="str1", do="withdraw", topics=["b"]}, {at=40.0, store="str2", do="fail"},
    {at=60.0, store="str1", do="advertise"}, {at=70.0, store="str2", do="recover"}]}"""
DEMAND = """storage={capacity=2, items={count=12, ratio=4.0}, popularity="zipf(0.7)", spread="random",
    changes=[{at=150.0, moved_ranks=5}]}"""
ON_A_TREE = """relocation={algorithm="grape", threshold=10, follow_after=5,
    stocks={publishers=3, subscribers=8, on_brokers=4, quotes=40}}"""
STOCKS = ('network={kind="random-tree", nodes=12, delay=0.05}', ON_A_TREE)
AT_ONCE = ("dissemination.planning=0.0", "dissemination.busy=false")  # what takes time is logged when it is done
MOMENT = 1e-4

Held = dict[str, Any]


def stores(world: World) -> Held:
    return {n: [] if s.failed else sorted(s.durable.topics) for n, s in world.protocols(Storing).items()}


def replicas(world: World) -> Held:
    return {name: sorted(known.durable.items) for name, known in world.protocols(Knowledge).items()}


def topics(world: World) -> Held:
    return {n: [] if s.failed else sorted(s.durable.topics) for n, s in world.protocols(Following).items()}


def clients(world: World) -> Held:
    parts = {**world.protocols(Publishing), **world.protocols(Subscribing)}
    return {name: part.broker for name, part in parts.items()}


def users(world: World) -> Held:
    lives = {name: using.durable for name, using in world.protocols(Using).items()}
    return {name: None if life.left else life.home for name, life in lives.items()}


def formats(world: World) -> Held:
    def names(delivery: Delivery) -> list[str]:
        cag = delivery.planning.cag
        return sorted({name for got in delivery.delivered.values() for bits in got for name in cag.names(bits)})

    return {name: names(delivery) for name, delivery in world.protocols(Delivery).items()}


def shared(world: World) -> Held:
    """What brokers hold that are stores of items and get content in formats."""
    return {name: sorted({*replicas(world).get(name, []), *formats(world).get(name, [])}) for name in replicas(world)}


def held(page: Shown, time: float) -> Held:
    return {name: sorted(items) for name, items in page.held(time).items()}


def held_by_brokers(page: Shown, time: float) -> Held:
    return {name: items for name, items in held(page, time).items() if name.startswith("b") and name[1:].isdigit()}


def homes(page: Shown, time: float) -> Held:
    return dict(page.homes(time))


CASES: list[Any] = [
    pytest.param("coverage", (), stores, held, id="coverage"),
    pytest.param("coverage", (STORES,), stores, held, id="stores that fail and change their minds"),
    pytest.param("holistic", (), replicas, held, id="holistic"),
    pytest.param("holistic", ("links=reliable", LOSSY, CRASH), replicas, held, id="holistic with a crash"),
    pytest.param("many-stores", ("network.nodes=20", DEMAND), replicas, held, id="demand that changes"),
    pytest.param("many-stores", ("network.nodes=12", "protocol=myopic", DEMAND), replicas, held, id="myopic"),
    pytest.param("planning", (), topics, held, id="planning"),
    pytest.param("relocation", (), clients, homes, id="relocation"),
    pytest.param("relocation", STOCKS, clients, homes, id="publishers that move and subscribers that follow"),
    pytest.param("overlay", (), users, homes, id="overlay"),
    pytest.param("dissemination", AT_ONCE, formats, held, id="dissemination"),
    pytest.param("together", AT_ONCE, shared, held_by_brokers, id="together"),
]


def changed(name: str, changes: Sequence[str]) -> Scenario:
    return load(name, [" ".join(change.split()) for change in changes])  # in TOML such a table is one line


def stopped(name: str, changes: tuple[str, ...], at: float) -> Outcome:
    return simulate(changed(name, [*changes, f"limits.time={at}"]))


@pytest.mark.parametrize(("name", "changes", "is_so", "is_shown"), CASES)
def test_at_any_time_a_node_is_what_the_page_says(
    name: str,
    changes: tuple[str, ...],
    is_so: Callable[[World], Held],
    is_shown: Callable[[Shown, float], Held],
) -> None:
    outcome = simulate(changed(name, changes))
    page = shown(outcome)
    assert is_shown(page, page.data["end"]) == is_so(outcome.world)
    end = outcome.tally.now
    changes_at = sorted({time for what in ("held", "homes") for time in page.data[what]["t"] if 0 < time < end})
    one = changes_at[len(changes_at) // 2]
    states = []
    for time in (0.1 * end, 0.33 * end, 0.61 * end, 0.85 * end, one - MOMENT, one + MOMENT):
        states.append(is_so(stopped(name, changes, time).world))
        said = is_shown(page, time)
        # Who was down or had not begun when the run was stopped is not compared.
        assert {node: said[node] for node in states[-1]} == states[-1], time
    assert any(state != is_so(outcome.world) for state in states), "nothing ever changed: this shows nothing"


@pytest.mark.parametrize(("name", "curve", "line", "result"), [
    ("many-stores", "traffic", "overall network traffic", "ont"),
    ("dissemination", "cost", "paid", "paid_cost"),
    ("planning", "mean hop distance of requests", "for the stores and demand of the moment", "analytic"),
])  # fmt: skip
def test_a_curve_ends_where_the_result_is(name: str, curve: str, line: str, result: str) -> None:
    changes = ["network.nodes=20", DEMAND] if name == "many-stores" else []
    outcome = simulate(changed(name, changes))
    assert shown(outcome).line(curve, line)[-1][1] == pytest.approx(outcome.results[result])


def test_the_traffic_rises_when_clients_ask_for_other_things() -> None:
    outcome = simulate(changed("many-stores", ["network.nodes=20", DEMAND]))
    points = shown(outcome).line("traffic", "overall network traffic")
    before = [value for time, value in points if time < 150.0][-1]
    at_once = dict(points)[150.0]
    assert before is not None and at_once is not None and at_once != before


def test_a_publication_has_its_tree_with_formats() -> None:
    outcome = simulate(load("dissemination"))
    layers = shown(outcome).data["layers"]
    assert len(layers) == len(outcome.results["publications"]) == 2
    for layer, row in zip(layers, outcome.results["publications"].values(), strict=True):
        reached = {arrow[1] for arrow in layer["arrows"]} | {arrow[0] for arrow in layer["arrows"]}
        assert len(reached) == row["brokers in the tree"] + 1  # and the publisher
        assert all(arrow[2] for arrow in layer["arrows"])
