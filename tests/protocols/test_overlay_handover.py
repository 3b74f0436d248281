"""Users move while others publish: nothing is lost, nothing doubled, whatever the network does (overlay, V)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings

from protocols.overlay.content import ContentSpace
from protocols.overlay.messages import Ready, Refuse, Register, Replicate, Replicated, Summarize, Update
from protocols.overlay.serving import Serving
from protocols.overlay.session import Sessions
from runtime.errors import BrokerlabError
from runtime.run import simulate
from runtime.scenario import check
from runtime.system import World
from tests.checking.planted_overlay import counts_later_ones_too
from tests.protocols.handover_cases import Handover, handovers

MANY = settings(max_examples=200)
FEWER = settings(max_examples=60)
FULL = settings(max_examples=4000)


@MANY
@given(handovers())
@example(Handover(brokers=2, users=2, seed=2091, movers="many", churn=3))
@example(Handover(brokers=4, users=9, seed=4278, movers="one", churn=2))
def test_nothing_is_lost_or_doubled_in_any_order(case: Handover) -> None:
    assert case.problems() == []


@FEWER
@given(handovers(lossy=True, partitions="some", schedule="timed"))
def test_nothing_is_lost_or_doubled_over_lossy_links_that_are_cut_and_healed(case: Handover) -> None:
    assert case.problems() == []


@FEWER
@given(handovers(lossy=True, schedule="random"))
def test_nothing_is_lost_or_doubled_over_lossy_links_in_any_order(case: Handover) -> None:
    assert case.problems() == []


@FEWER
@given(handovers(lossy=True, crashes="some", partitions="some", schedule="timed"))
def test_nothing_is_lost_or_doubled_when_brokers_and_users_crash_and_recover(case: Handover) -> None:
    assert case.problems() == []


@pytest.mark.full
@FULL
@given(handovers())
def test_many_more_orders(case: Handover) -> None:
    assert case.problems() == []


@pytest.mark.full
@FULL
@given(handovers(lossy=True, crashes="some", partitions="some", schedule="timed"))
def test_many_more_faults(case: Handover) -> None:
    assert case.problems() == []


def test_the_cases_move_users_and_redirect_publications() -> None:
    """They would show nothing if users never moved, or nothing ever arrived too late."""
    moves = redirected = 0
    for case in list(hunt())[:60]:
        scenario, sim, _ = case.run()
        results = scenario.system.results(World(sim.alive(), scenario.network))
        moves += results["moves"]
        redirected += results["redirected"]
    assert moves > 60 and redirected > 10


# A planted bug in each rule is found


def hunt() -> Iterator[Handover]:
    schedules = ("timed", "timed", "random", "timed", "slow", "priority")
    for seed in range(300):
        case = Handover(2 + seed % 5, 2 + seed % 9, seed, ("many", "one")[seed % 2], seed % 4)
        yield replace(case, schedule=schedules[seed % 6])
        if seed % 4 == 0:
            yield replace(case, crashes=3)


def goes_wrong(case: Handover) -> bool:
    try:
        return case.problems(limit=20_000) != []
    except BrokerlabError:
        return True


def do_nothing(self: Any, *ignored: Any) -> None:
    return None


def never(self: Any, *ignored: Any) -> bool:
    return False


def always(self: Any, *ignored: Any) -> bool:
    return True


def without_waiting(self: Serving, node: Any, sender: str, news: Any) -> None:
    """The user connects before all brokers know that it will."""
    resident = self.durable.residents[news.user]
    resident.foreign_since = news.since
    self.ready(node, sender, Ready(news.user))


def ready_twice(self: Serving, node: Any, sender: str, news: Any) -> None:
    if news.user in self.durable.residents:
        ready(self, node, sender, news)


ready = Serving.ready


@pytest.mark.parametrize(
    ("where", "rule", "bug"),
    [
        (Serving, "redirect", do_nothing),
        (Serving, "undecided", never),
        (Serving, "is_foreign", never),
        (Serving, "is_foreign", always),
        (Serving, "is_past", always),
        (Serving, "give_held", do_nothing),
        (Serving, "send_on", do_nothing),
        (Serving, "disconnect", do_nothing),
        (Serving, "redirect_over", do_nothing),
        (Sessions, "again", do_nothing),
    ],
)
def test_a_planted_bug_is_caught(
    monkeypatch: pytest.MonkeyPatch, where: type, rule: str, bug: Callable[..., Any]
) -> None:
    monkeypatch.setattr(where, rule, bug)
    assert any(goes_wrong(case) for case in hunt())


def test_connecting_before_all_know_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Serving, "replicated", without_waiting)
    monkeypatch.setattr(Serving, "ready", ready_twice)
    assert any(goes_wrong(case) for case in hunt())


# A publication that is overtaken by later ones, which were routed over another tree


def overtaken() -> dict[str, Any]:
    """One message from n5 to n4 takes ten seconds, and with it a publication for which u8 is gone meanwhile."""
    return {
        "protocol": "overlay",
        "seed": 3551327876,
        "network": {"kind": "plane", "nodes": 5, "connect": "complete", "delay": 0.1},
        "overlay": {
            "users": 10,
            "capacity": 1e9,
            "movers": "many",
            "begin": 202.0,
            "publish_since": 200.0,
            "publish_until": 210.0,
            "publish_scale": 6.0,
        },
        "faults": [{"kind": "delay", "links": [["n5", "n4"]], "nth": [9], "by": 10.0}],
    }


def test_a_redirection_lasts_until_what_was_overtaken_has_arrived(monkeypatch: pytest.MonkeyPatch) -> None:
    assert simulate(check(overtaken())).violations == []
    monkeypatch.setattr(Serving, "is_past", counts_later_ones_too)
    lost = "nothing-lost-or-doubled: u8 never received publication 9 of u6 at 203.551"
    assert simulate(check(overtaken())).violations == [lost]


# A broker that is asked to take a user over, and has not heard yet that it has room for it


class Heard:
    """A node that keeps what it is to send."""

    id = "n2"
    now = 0.0

    def __init__(self) -> None:
        self.sent: list[tuple[str, Any]] = []

    def send(self, peer: str, what: Any) -> None:
        self.sent.append((peer, what))

    def answers(self) -> list[tuple[str, str]]:
        return [(to, type(what).__name__) for to, what in self.sent if isinstance(what, Replicated | Refuse)]


def others_publish(version: int, rate: float) -> Summarize:
    return Summarize(version, (0,), (rate,), 0.0, (0.0,), 0.0, (0.0, 1.0, 1.0), 1.0)


@pytest.mark.parametrize(("rate", "answer"), [(0.5, "Replicated"), (5.0, "Refuse")])
def test_a_broker_refuses_only_when_it_has_heard_what_the_asking_one_has(rate: float, answer: str) -> None:
    # given: n1 publishes more than n2 could bring to a user, or so n2 has heard
    node: Any = Heard()
    serving = Serving(("n1", "n2", "n3"), "n2", np.array([1.0, 0.0, 1.0]), 1.0, ContentSpace(1, 1), Sessions())
    serving.summarized(node, "n1", others_publish(1, 5.0))
    # when: n3, which knows n1's next summary, asks
    register = Register(1, (0,), (0.0,), (1.0, 1.0, 1.0))
    serving.replicate(node, "n3", Replicate("u1", 1, register, versions=(2, 0, 0)))
    changed = Register(2, (), (0.0,), (1.0, 1.0, 1.0))
    serving.updated(node, "n3", Update("u1", changed))
    assert node.answers() == []
    # then
    serving.summarized(node, "n1", others_publish(2, rate))
    assert node.answers() == [("n3", answer)]
    taken = serving.durable.residents.get("u1")
    assert serving.durable.asked == {} and (taken.register == changed if taken else answer == "Refuse")


# The paper's way to end the redirection


def busy(**overlay: Any) -> dict[str, Any]:
    """Slow links between brokers, and publications all the time: many arrive after their subscriber has gone."""
    return {
        "protocol": "overlay",
        "seed": 3,
        "network": {
            "kind": "plane",
            "nodes": 4,
            "connect": "complete",
            "delay": "exponential(0.1, 4.0)",
            "access_delay": 0.1,
        },
        "overlay": {"users": 20, "movers": "many", "publish_until": 200.0, "publish_scale": 3.0, **overlay},
    }


def test_a_redirection_that_ends_by_the_clock_loses_what_is_slower() -> None:
    exact = simulate(check(busy()))
    assert exact.violations == [] and exact.results["redirected"] > 0
    short = simulate(check(busy(redirect_ttl=0.0)))
    assert any("never received" in problem for problem in short.violations)
    assert simulate(check(busy(redirect_ttl=1000.0))).violations == []
