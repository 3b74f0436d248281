"""Publishers move and nobody notices: nothing lost or twice, in order, and tables as if they had started there."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from protocols.relocation.migration import Migration
from protocols.routing.connections import Connections
from protocols.routing.content import ContentRouting, Subscription, Unsubscription
from runtime.errors import BrokerlabError
from runtime.run import simulate
from runtime.scenario import check
from tests.protocols.relocation_cases import Case, cases

MANY = settings(max_examples=300, deadline=None)
FEWER = settings(max_examples=80, deadline=None)
FULL = settings(max_examples=4000, deadline=None)


@MANY
@given(cases())
def test_migrations_lose_nothing_under_any_schedule(case: Case) -> None:
    assert case.problems() == []


@FEWER
@given(cases(algorithm="pop", moves=0))
def test_publishers_that_pop_moves_lose_nothing(case: Case) -> None:
    assert case.problems() == []


@FEWER
@given(cases(algorithm="grape", moves=0))
def test_publishers_that_grape_moves_lose_nothing(case: Case) -> None:
    assert case.problems() == []


@MANY
@given(
    st.one_of(
        *(cases(algorithm=name, moves=0, follow_after=after) for name in ("pop", "grape") for after in (1, 3)),
        cases(follow_after=1),
    )
)
def test_subscribers_that_follow_lose_nothing_even_while_publishers_move(case: Case) -> None:
    assert case.problems() == []


@settings(max_examples=30, deadline=None)
@given(cases(most_brokers=7, lossy=True, schedule="timed"))
def test_over_channel_losses_duplicates_and_reorderings_change_nothing(case: Case) -> None:
    assert case.problems() == []


@pytest.mark.full
@FULL
@given(st.one_of(cases(), cases(algorithm="pop", moves=0), cases(algorithm="grape", moves=0)))
def test_many_more_cases(case: Case) -> None:
    assert case.problems() == []


# What a migration costs


@given(hops=st.integers(1, 12), subscribers=st.integers(0, 9), covering=st.booleans(), seed=st.integers(0, 99))
@settings(max_examples=60, deadline=None)
def test_a_migration_takes_a_number_of_messages_in_proportion_to_its_path(
    hops: int, subscribers: int, covering: bool, seed: int
) -> None:
    def messages(moves: list[dict[str, Any]]) -> int:
        case = Case(brokers=hops + 1, publishers=1, subscribers=subscribers, seed=seed, covering=covering)
        data = case.scenario()
        data["network"] = {"kind": "line", "nodes": hops + 1}
        only = {"broker": "n1", "contents": [{"x": 5, "y": "a"}], "count": 0}
        data["relocation"] |= {"publishers": {"p": only}, "moves": moves}
        summary = simulate(check(data)).summary()
        assert summary["verdict"] == "valid"
        return int(summary["messages"]) + sum(row["messages"] for row in summary["underlay"].values())

    cost = messages([{"at": 2000.0, "publisher": "p", "to": f"n{hops + 1}"}]) - messages([])
    # The client's part: MoveTo, Migrate, Paused, advertisement, Resume, Disconnect twice.
    # On each link: MUM, MCM, and at most one batch of subscriptions and one of cancellations each way.
    assert 7 + 2 * hops <= cost <= 7 + 5 * hops


# A planted bug in each rule is found


def update_as_the_mum_passes(self, node, update):  # type: ignore[no-untyped-def]
    """What the paper says: the tables change while publications are still on their way."""
    place = update.path.index(node.id)
    self.redirect(node, update.publisher, update.path[place - 1] if place else update.publisher)
    genuine_announce(self, node, update)


def go_at_once(self, node, publisher):  # type: ignore[no-untyped-def]
    """The source does not wait for the publisher's word that nothing more comes."""
    if self.leaving[publisher].update is not None:
        self.leaving[publisher].paused = True
    genuine_complete(self, node, publisher)


def forget_the_covered(self, node, peer, fresh, gone):  # type: ignore[no-untyped-def]
    """When a subscription goes, those that it covered are not told."""
    genuine_tell(self, node, peer, {} if gone else fresh, gone)


def gone_first(self, node, peer, fresh, gone):  # type: ignore[no-untyped-def]
    """Cancellations before what takes their place: for a moment nobody stands for the subscriber."""
    told = self.told[peer]
    for name in gone:
        del told[name]
    told |= fresh
    if gone:
        self.connections.send(node, peer, Unsubscription(tuple(sorted(gone))))
    if fresh:
        self.connections.send(node, peer, Subscription(tuple(sorted(fresh.items()))))


def back_to_the_sender(self, publication, sender):  # type: ignore[no-untyped-def]
    return genuine_route(self, publication, "")


def keep_the_last_hop(self, node, publisher, hop):  # type: ignore[no-untyped-def]
    if hop == publisher:
        genuine_redirect(self, node, publisher, hop)


genuine_announce = Migration.announce
genuine_complete = Migration.complete
genuine_redirect = Migration.redirect
genuine_tell = ContentRouting.tell
genuine_route = ContentRouting.route


@pytest.mark.parametrize(
    ("kind", "rule", "bug"),
    [
        (Migration, "announce", update_as_the_mum_passes),
        (Migration, "complete", go_at_once),
        (Migration, "redirect", keep_the_last_hop),
        (ContentRouting, "tell", forget_the_covered),
        (ContentRouting, "tell", gone_first),
        (ContentRouting, "route", back_to_the_sender),
    ],
)
def test_a_planted_bug_is_caught(monkeypatch: pytest.MonkeyPatch, kind: type, rule: str, bug: object) -> None:
    monkeypatch.setattr(kind, rule, bug)
    assert any(goes_wrong(case) for case in hunt())


def hunt() -> Iterator[Case]:
    for seed in range(1500):
        yield Case(
            brokers=2 + seed % 10,
            publishers=1 + seed % 4,
            subscribers=seed % 10,
            seed=seed,
            moves=seed % 8,
            churn=seed // 3 % 6,
            leaving=seed // 7 % 3,
            covering=seed % 2 == 1,
            schedule=("timed", "random", "priority")[seed % 3],  # type: ignore[arg-type]
        )


def goes_wrong(case: Case) -> bool:
    try:
        return case.problems(limit=20_000) != []
    except (BrokerlabError, AttributeError):
        return True


# Rules one by one


def line(**relocation: Any) -> dict[str, Any]:
    publisher = {"broker": "n1", "contents": [{"x": 1}, {"x": 5}], "count": 10, "every": 1.0, "start": 20.0}
    return {
        "protocol": "relocation",
        "network": {"kind": "line", "nodes": 4},
        "relocation": {"publishers": {"p": publisher}, "subscribers": {}, **relocation},
    }


def test_subscriptions_that_meet_no_advertisement_stay_at_their_broker() -> None:
    who = {"s": {"broker": "n4", "where": [["colour", "=", "red"], ["x", ">", 9]]}}
    data = line(subscribers=who)
    data["relocation"]["publishers"]["p"]["where"] = [["x", "<", 9]]
    summary = simulate(check(data)).summary()
    assert (summary["verdict"], summary["delivered"], summary["by_type"]["ContentSubscription"]["messages"]) == (
        "valid", 0, 1,
    )  # fmt: skip


@pytest.mark.parametrize(("covering", "entries"), [(False, 3 * 4), (True, 3 + 3)])
def test_covered_subscriptions_are_not_passed_on(covering: bool, entries: int) -> None:
    where = [[], [["x", ">", 2]], [["x", "=", 5]]]
    who = {f"s{number}": {"broker": "n4", "where": wish} for number, wish in enumerate(where)}
    summary = simulate(check(line(subscribers=who, covering=covering))).summary()
    assert summary["verdict"] == "valid" and summary["delivered"] == 10 + 5 + 5
    assert summary["table_entries"] == 4 + entries


def test_a_withdrawn_advertisement_takes_the_subscriptions_with_it() -> None:
    data = line(subscribers={"s": {"broker": "n4"}})
    assert simulate(check(data)).summary()["table_entries"] == 4 + 4
    data["relocation"]["publishers"]["p"]["leaves"] = True
    summary = simulate(check(data)).summary()
    assert (summary["verdict"], summary["delivered"], summary["table_entries"]) == ("valid", 10, 1)


def test_on_raw_links_that_lose_messages_the_run_says_what_is_missing() -> None:
    data = line(subscribers={"s": {"broker": "n4"}}) | {"faults": [{"kind": "drop", "probability": 0.1, "since": 15.0}]}
    outcome = simulate(check(data))
    assert any("s has from p not number" in problem for problem in outcome.violations)


def test_matching_and_queues_take_time() -> None:
    desk = Connections(frozenset(("b2",)))
    assert (desk.waiting_s.value, desk.matching_s.value, desk.output_s) == (0.0, 0.0, {})
    slow = line(subscribers={"s": {"broker": "n4"}}, matching={"base": 0.5, "per_subscription": 0.25})
    fast = simulate(check(line(subscribers={"s": {"broker": "n4"}}))).summary()["delivery_delay_s"]
    assert simulate(check(slow)).summary()["delivery_delay_s"] == pytest.approx(fast + 4 * 0.75)
