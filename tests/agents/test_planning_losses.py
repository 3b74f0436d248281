"""Plans, what stores say to them, and requests can be lost: so all are said until they are heard."""

from __future__ import annotations

from typing import Any

import pytest

from protocols.routing.topics import Publish, Subscriptions
from protocols.storage.browsing import Browsing
from protocols.storage.following import Following
from protocols.storage.manager import Managing
from protocols.storage.retrieval import Retrieval
from protocols.storage.store import Storing
from runtime.agent import Node
from runtime.testing.cases import Case, Schedule
from runtime.testing.running import run_case
from tests.checking.planted import nothing
from tests.checking.standing import ran

RULE = "stores-follow-the-plan"
KINDS = ["plan", "way", "word", "manager", "subscription"]
MOVING = {
    "topics": 3,
    "stores": 2,
    "capacity": 2,
    "publications": 2,
    "rate": 0.5,
    "popularity": 1.0,
    "begin": 8.0,
    "until": 14.0,
    "report_every": 1.5,
    "changes": {"other": {"at": 11.0}},
}
ASKING = {"topics": 1, "rate": 1.0, "begin": 400.0, "until": 406.0}


def case(
    schedule: Schedule, seed: int, delay: float | str, planning: dict[str, Any], *faults: Any, **more: Any
) -> Case:
    network = {"edges": [["n1", "n2"]], "delay": delay}
    parts = {"network": network, "planning": {"react": "either", **planning}, "faults": [*faults]}
    return Case({"protocol": "planning", "seed": seed, **parts, **more}, schedule)


def crash(node: str, at: float, recover_after: float) -> dict[str, Any]:
    return {"kind": "crash", "nodes": [node], "at": at, "recover_after": recover_after}


THE_PLAN = case(
    Schedule("deviations", deviations={25: 4, 75: 1}, since_s=8.0), 3942891841, 1.0, MOVING, crash("n1", 12.0, 1.0)
)
"""The second plan goes down with the manager's broker; the next finds it back, but without its subscriptions."""

THE_WAY = case(
    *(Schedule("deviations", since_s=409.0, fifo=False), 1887169622, "uniform(0.01, 0.3)", ASKING),
    *(crash("n1", 404.0, 2.0), {"kind": "duplicate"}),
    links="reliable",
)
"""A store is ready while its broker has cancelled the manager's subscription, and has not heard of a new one."""

THE_WORD = case(Schedule(), 3942891841, 0.05, {**MOVING, "patience": 0.12}, crash("n2", 11.08, 1.0))
"""A store is late, and as it says that it is ready its broker goes down."""

THE_MANAGER = case(Schedule(), 3942891841, 0.05, MOVING, crash("manager", 10.7, 1.0))
"""The manager goes down between the two plans of a move."""

FEW_WANT_IT = {
    "topics": 4,
    "capacity": 2,
    "stores": 2,
    "react": "replan",
    "patience": 15.0,
    "begin": 14.9,
    "until": 18.0,
    "rates": {"n1": {"t1": 0.0, "t2": 0.1, "t3": 0.12, "t4": 0.12}},
}
THE_SUBSCRIPTION = case(
    Schedule("deviations", held=((9, 0, 11), (41, 0, 86), (60, 1, 111), (75, 2, 146)), since_s=14.9),
    *(5, 1.0, FEW_WANT_IT, crash("n1", 15.0, 1.0)),
)
"""A broker that was away hears so late of a store's subscription that plans are no longer said again."""

follow = Following.follow


def only_news(self: Following, node: Node, plan: Publish) -> None:
    """A store that hears a plan again has nothing to say."""
    if plan.number > self.durable.plan:
        follow(self, node, plan)


def violation_in(case: Case) -> str | None:
    violation = run_case(case).violation
    return violation and f"{violation.name}: {violation.problem}"


@pytest.mark.parametrize("lost", [THE_PLAN, THE_WAY, THE_WORD, THE_MANAGER, THE_SUBSCRIPTION], ids=KINDS)
def test_stores_follow_the_plan_whatever_is_lost(lost: Case) -> None:
    assert violation_in(lost) is None


FORGETS = (Subscriptions, "retain", nothing)
STILL_WAITS = f"{RULE}: the manager still waits for store-n2, which holds all that it is to hold"


@pytest.mark.parametrize(
    ("lost", "bugs", "told"),
    [
        (
            THE_PLAN,
            [FORGETS],
            f"{RULE}: store-n2 holds ['t1', 't2', 't3'], not ['t2', 't3']",
        ),
        (THE_WAY, [(Managing, "advertise", Storing.advertise), FORGETS], STILL_WAITS),
        (THE_WORD, [(Following, "follow", only_news)], STILL_WAITS),
        (THE_MANAGER, [(Managing, "say_again", nothing)], f"{RULE}: a move has not come to its end"),
        (THE_SUBSCRIPTION, [FORGETS], STILL_WAITS),
    ],
    ids=KINDS,
)
def test_without_the_rule_that_is_about_it_a_loss_is_noticed(
    monkeypatch: pytest.MonkeyPatch, lost: Case, bugs: list[tuple[Any, str, Any]], told: str
) -> None:
    for target, name, bug in bugs:
        monkeypatch.setattr(target, name, bug)
    assert violation_in(lost) == told


IMPATIENT = case(
    *(Schedule(), 3, 0.05, {"topics": 1, "rate": 1.0, "begin": 20.0, "until": 60.0, "retry_after": 0.5}),
    crash("n1", 30.0, 20.0),
)
"""A broker is down for longer than its clients try."""


@pytest.mark.parametrize(
    ("target", "rule", "who"), [(Browsing, "introduce", "client-n1"), (Retrieval, "neighbour_down", "client-n2")]
)
def test_a_broker_that_is_back_is_asked_again(
    monkeypatch: pytest.MonkeyPatch, target: type[Any], rule: str, who: str
) -> None:
    assert violation_in(IMPATIENT) is None
    monkeypatch.setattr(target, rule, nothing)
    assert (violation_in(IMPATIENT) or "").startswith(f"requests-are-answered: {who} was never told what it asked for")


def test_a_request_of_which_nobody_notices_that_it_is_lost_is_made_again(monkeypatch: pytest.MonkeyPatch) -> None:
    lost = {"kind": "drop", "links": [["client-n1", "n1"]], "one_way": True, "nth": [2]}
    asking = {"topics": 1, "rate": 1.0, "begin": 20.0, "until": 40.0}
    dropped = case(Schedule(), 3, 0.05, asking, lost)
    assert violation_in(dropped) is None
    monkeypatch.setattr(Browsing, "recheck", nothing)
    never = "requests-are-answered: client-n1 was never told what it asked for: request 2 for t1"
    assert violation_in(dropped) == never


def test_nobody_can_get_a_topic_that_only_a_store_has_which_is_down_for_good() -> None:
    gone = {**ASKING, "react": "replan", "failures": {"gone": {"at": 402.0, "count": 1}}}
    shown, world = ran(case(Schedule(), 3, 0.05, gone))
    stores = world.protocols(Following)
    assert [[*store.durable.acquiring] for store in stores.values() if not store.failed] == [["t1"]]
    assert shown.violation is None
