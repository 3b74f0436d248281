"""Publishers move and nobody notices: nothing lost or twice, in order, and tables as if they had started there."""

from __future__ import annotations

import random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agents.cases.relocation import CONDITIONS
from protocols.relocation.clients import Subscribing
from protocols.routing.connections import Connections
from protocols.routing.content import ContentRouting, Publication
from runtime.run import simulate
from runtime.scenario import check
from runtime.simulator import Simulator
from runtime.system import World
from tests.checking.standing import drawn, ran, stands


@pytest.mark.parametrize("algorithm", ["none", "pop", "grape"])
def test_publishers_that_are_moved_lose_nothing_under_any_schedule(algorithm: str) -> None:
    """By orders at any time, by POP, or by GRAPE."""
    orders = {} if algorithm == "none" else {"moves": []}
    assert "a-publisher-moves" in stands("relocation", 150, algorithm=algorithm, **orders).sometimes


@pytest.mark.parametrize("after", [1, 3])
def test_subscribers_that_follow_lose_nothing_even_while_publishers_move(after: int) -> None:
    assert "a-subscriber-follows" in stands("relocation", 120, follow_after=after).sometimes


def test_over_channel_losses_duplicates_and_reorderings_change_nothing() -> None:
    stands("relocation", 60, ["drop", "duplicate", "reorder"], size=7)


class Promises:
    """What the table of a publication's first broker promised as it came in: without covering, who will get it."""

    def __init__(self, sim: Simulator) -> None:
        self.made: list[tuple[str, int, str]] = []
        sim.observer = self.observe

    def observe(self, entry: Any) -> None:
        _, _, link, word = entry
        if isinstance(word, Publication) and not word.broker:
            routing = link.target.agent.find(ContentRouting)
            found = routing.index.matching(word.content)
            self.made += [(word.publisher, word.number, name.rpartition("/")[0]) for name in found]

    def broken(self, world: World) -> list[str]:
        readers = world.protocols(Subscribing)
        return [
            f"{name} does not have number {number} of {publisher}, though it was known there"
            for publisher, number, name in dict.fromkeys(self.made)
            if readers[name].wishes[0].until_s is None
            and (publisher not in readers[name].received or number not in readers[name].received[publisher].numbers)
        ]


def test_who_is_known_where_a_publication_comes_in_gets_it() -> None:
    """Also those who subscribed while publishers were on the move."""
    promises: list[Promises] = []
    for case in drawn("relocation", 150, covering=False):
        _, world = ran(case, lambda sim: promises.append(Promises(sim)))
        assert promises[-1].broken(world) == [], case
    assert sum(len(each.made) for each in promises) > 500


# What a migration costs


@given(hops=st.integers(1, 12), subscribers=st.integers(0, 9), covering=st.booleans(), seed=st.integers(0, 99))
@settings(max_examples=60)
def test_a_migration_takes_a_number_of_messages_in_proportion_to_its_path(
    hops: int, subscribers: int, covering: bool, seed: int
) -> None:
    def messages(moves: list[dict[str, Any]]) -> int:
        rng = random.Random(seed)
        only = {"broker": "n1", "contents": [{"x": 5, "y": "a"}], "count": 0}
        readers = {
            f"s{number}": {"broker": f"n{rng.randint(1, hops + 1)}", "where": rng.choice(CONDITIONS)}
            for number in range(subscribers)
        }
        data = {
            "protocol": "relocation",
            "seed": seed,
            "network": {"kind": "line", "nodes": hops + 1},
            "relocation": {"publishers": {"p": only}, "subscribers": readers, "moves": moves, "covering": covering},
        }
        summary = simulate(check(data)).summary()
        assert summary["verdict"] == "valid"
        return int(summary["messages"]) + sum(row["messages"] for row in summary["underlay"].values())

    cost = messages([{"at": 2000.0, "publisher": "p", "to": f"n{hops + 1}"}]) - messages([])
    # The client's part: MoveTo, Migrate, Paused, advertisement, Resume, Disconnect twice.
    # On each link: MUM, MCM, and at most one batch of subscriptions and one of cancellations each way.
    assert 7 + 2 * hops <= cost <= 7 + 5 * hops


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
