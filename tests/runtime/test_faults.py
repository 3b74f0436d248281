"""Faults: each kind strikes where and when the plan says, is counted, and leaves everything else alone."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Mapping
from itertools import pairwise
from typing import Any

import networkx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from runtime.agent import Agent, LinkChanged, Node, Protocol, on
from runtime.errors import AgentError, ScenarioError
from runtime.faults import Fault, FaultPlan, plan_faults
from runtime.message import message
from runtime.network import Network, from_networkx
from runtime.settings import Settings, Several, parse
from runtime.simulator import Simulator

quick = settings(max_examples=60)


@message(tag="faults.Note")
class Note:
    number: int
    life: int = 1


@message(tag="faults.Alarm")
class Alarm:
    number: int = 0


class Faults(Settings):
    faults: Several[Fault] = ()


def plan(network: Network, *faults: Mapping[str, Any], seed: int = 0) -> FaultPlan:
    return plan_faults(parse(Faults, {"faults": [dict(fault) for fault in faults]}).faults, network, seed)


def refusal(network: Network, *faults: Mapping[str, Any]) -> str:
    with pytest.raises(ScenarioError) as caught:
        plan(network, *faults)
    return str(caught.value)


class Chatter(Protocol):
    """Tells all neighbours a number every second, from `first` on, and writes down everything that it hears."""

    def __init__(self, count: int = 0, every: float = 1.0, first: float = 0.0) -> None:
        self.count, self.every, self.first = count, every, first
        self.heard: list[tuple[float, str, int]] = []

    def started(self, node: Node) -> None:
        if self.count:
            node.after(self.first, Alarm(0))

    @on(Alarm)
    def speaks(self, node: Node, sender: str, alarm: Alarm) -> None:
        node.broadcast(Note(alarm.number))
        if alarm.number + 1 < self.count:
            node.after(self.every, Alarm(alarm.number + 1))

    @on(Note)
    def hears(self, node: Node, sender: str, note: Note) -> None:
        self.heard.append((node.now, sender, note.number))


def line(*names: str, **options: Any) -> Network:
    return from_networkx(networkx.path_graph(list(names)), **options)


def ring(*names: str, **options: Any) -> Network:
    return from_networkx(networkx.cycle_graph(list(names)), **options)


def chat(
    network: Network, *faults: Mapping[str, Any], seed: int = 0, count: int = 20, every: float = 1.0, first: float = 0.0
) -> Simulator:
    """Everybody talks to all neighbours, until all is quiet."""
    sim = Simulator(
        network, lambda name: Agent([Chatter(count, every, first)]), seed, plan(network, *faults, seed=seed)
    )
    assert sim.run()
    return sim


def heard(sim: Simulator, name: str, sender: str) -> list[tuple[float, int]]:
    protocol: Any = sim.nodes[name].agent.protocols[0]
    return [(time, number) for time, source, number in protocol.heard if source == sender]


def numbers(sim: Simulator, name: str, sender: str) -> list[int]:
    return [number for _, number in heard(sim, name, sender)]


# Drops, duplicates, reorderings, delays


def test_dropped_messages_are_lost_as_often_as_asked_for() -> None:
    sim = chat(line("a", "b"), {"kind": "drop", "probability": 0.3}, count=3000)
    arrived = len(numbers(sim, "a", "b")) + len(numbers(sim, "b", "a"))
    assert sim.plan.fired == {"drop": 6000 - arrived}
    assert sim.plan.fired["drop"] / 6000 == pytest.approx(0.3, abs=4 * math.sqrt(0.3 * 0.7 / 6000))


def test_what_is_dropped_on_one_link_says_nothing_about_another() -> None:
    sim = chat(line("a", "b"), {"kind": "drop", "probability": 0.5}, count=2000)
    there, back = set(numbers(sim, "b", "a")), set(numbers(sim, "a", "b"))
    both = len(there & back) / 2000
    assert both == pytest.approx(0.25, abs=4 * math.sqrt(0.25 * 0.75 / 2000))


def test_certain_and_impossible_faults_are_certain_and_impossible() -> None:
    assert numbers(chat(line("a", "b"), {"kind": "drop"}), "b", "a") == []
    assert numbers(chat(line("a", "b"), {"kind": "drop", "probability": 0}), "b", "a") == list(range(20))


def test_a_duplicated_message_arrives_twice() -> None:
    sim = chat(line("a", "b"), {"kind": "duplicate"}, count=10)
    assert numbers(sim, "b", "a") == [number for number in range(10) for _ in "12"]
    assert sim.plan.fired == {"duplicate": 20}


def test_a_duplicate_comes_later_but_before_twice_the_delay() -> None:
    sim = chat(line("a", "b"), {"kind": "duplicate"}, count=10, every=5.0)
    times = [time for time, _ in heard(sim, "b", "a")]
    for first, second in zip(times[::2], times[1::2], strict=True):
        assert first < second < first + 1.0


def test_some_messages_are_duplicated_as_often_as_asked_for() -> None:
    sim = chat(line("a", "b"), {"kind": "duplicate", "probability": 0.2}, count=2000)
    times = Counter(numbers(sim, "b", "a"))
    assert set(times) == set(range(2000))
    twice = sum(count == 2 for count in times.values())
    assert twice / 2000 == pytest.approx(0.2, abs=4 * math.sqrt(0.2 * 0.8 / 2000))
    assert max(times.values()) == 2


def test_reordered_messages_are_overtaken() -> None:
    fault = {"kind": "reorder", "probability": 0.3, "by": "uniform(2, 6)"}
    sim = chat(line("a", "b"), fault, count=200)
    order = numbers(sim, "b", "a")
    assert sorted(order) == list(range(200))
    late = [number for place, number in enumerate(order) if any(other > number for other in order[:place])]
    assert 20 < len(late) <= sim.plan.fired["reorder"]
    # Those that were not struck keep their order among themselves.
    assert [n for n in order if n not in late] == sorted(n for n in order if n not in late)


def test_a_reordered_message_overtakes_slower_ones_too() -> None:
    slow = {"kind": "delay", "by": 5.0, "since": 4.0, "until": 5.0}
    free = {"kind": "reorder", "by": 0.0, "since": 5.0, "until": 6.0}
    sim = chat(line("a", "b"), slow, free, count=8)
    # The message of 4 takes six seconds; that of 5 overtakes it, those behind them must wait for it.
    assert heard(sim, "b", "a") == [(1, 0), (2, 1), (3, 2), (4, 3), (6, 5), (10, 4), (10, 6), (10, 7)]


def test_without_faults_nothing_is_overtaken_however_the_delays_vary() -> None:
    assert numbers(chat(line("a", "b", delay="uniform(0.1, 9)"), count=200), "b", "a") == list(range(200))


def test_delayed_messages_are_late_and_hold_up_those_behind_them() -> None:
    sim = chat(line("a", "b"), {"kind": "delay", "by": 2.5, "since": 5.0, "until": 6.0}, count=10)
    # The message that leaves at 5 takes 3.5; those of 6 and 7 come behind it.
    assert [time for time, _ in heard(sim, "b", "a")] == [1, 2, 3, 4, 5, 8.5, 8.5, 8.5, 9, 10]
    assert numbers(sim, "b", "a") == list(range(10))
    assert sim.plan.fired == {"delay": 2}


def test_a_fault_holds_on_its_links_and_in_its_time_only() -> None:
    fault = {"kind": "drop", "links": [["b", "c"]], "since": 5.0, "until": 8.0}
    sim = chat(line("a", "b", "c"), fault, count=12)
    kept = [number for number in range(12) if not 5 <= number < 8]
    assert numbers(sim, "c", "b") == numbers(sim, "b", "c") == kept
    assert numbers(sim, "a", "b") == numbers(sim, "b", "a") == list(range(12))


def test_a_one_way_fault_holds_in_one_direction() -> None:
    sim = chat(line("a", "b"), {"kind": "drop", "links": [["b", "a"]], "one_way": True}, count=5)
    assert numbers(sim, "b", "a") == list(range(5))
    assert numbers(sim, "a", "b") == []


def test_several_faults_add_up() -> None:
    sim = chat(
        line("a", "b"),
        {"kind": "duplicate"},
        {"kind": "delay", "by": 1.0},
        {"kind": "delay", "by": 2.0},
        count=3,
        every=9,
    )
    times = [time for time, _ in heard(sim, "b", "a")]
    assert times[::2] == [4.0, 13.0, 22.0]
    assert sim.plan.fired == {"duplicate": 6, "delay": 12}


def test_exactly_the_named_messages_of_each_link_are_struck() -> None:
    sim = chat(line("a", "b", "c"), {"kind": "drop", "nth": [1, 4], "links": [["a", "b"]], "one_way": True}, count=6)
    assert numbers(sim, "b", "a") == [1, 2, 4, 5]
    assert numbers(sim, "a", "b") == numbers(sim, "c", "b") == [0, 1, 2, 3, 4, 5]
    assert sim.plan.fired == {"drop": 2}


def test_named_messages_are_struck_on_every_link_if_none_is_named() -> None:
    sim = chat(line("a", "b"), {"kind": "duplicate", "nth": [2]}, {"kind": "drop", "nth": [3]}, count=4, every=5)
    assert numbers(sim, "b", "a") == numbers(sim, "a", "b") == [0, 1, 1, 3]


def test_messages_that_a_partition_swallows_are_counted_too() -> None:
    cut = {"kind": "partition", "groups": [["a"], ["b"]], "since": 0.5, "until": 2.5}
    sim = chat(line("a", "b"), cut, {"kind": "drop", "nth": [4]}, count=6, every=1.0)
    assert numbers(sim, "b", "a") == [4, 5]


@quick
@given(st.integers(0, 99), st.lists(st.integers(1, 30), min_size=1, max_size=5))
def test_a_named_message_does_not_change_what_chance_does_to_the_others(seed: int, nth: list[int]) -> None:
    by_chance = {"kind": "reorder", "probability": 0.3, "by": 3.0}
    plain = chat(line("a", "b"), by_chance, seed=seed)
    struck = chat(line("a", "b"), by_chance, {"kind": "drop", "nth": nth}, seed=seed)
    gone = {number - 1 for number in nth}
    assert heard(struck, "b", "a") == [(time, number) for time, number in heard(plain, "b", "a") if number not in gone]


def test_an_underlay_has_no_such_faults() -> None:
    class Pinger(Protocol):
        def started(self, node: Node) -> None:
            if node.id == "a":
                node.send_underlay("c", Note(1))

        @on(Note)
        def hears(self, node: Node, sender: str, note: Note) -> None:
            node.log("heard", number=note.number)

    network = line("a", "b", "c")
    faults = plan(network, {"kind": "drop"}, {"kind": "partition", "groups": [["a"], ["b", "c"]]})
    sim = Simulator(network, lambda name: Agent([Pinger()]), plan=faults)
    sim.run()
    assert sim.events.counts() == {"heard": 1}


# Partitions


def passed(time: float, since: float, until: float) -> bool:
    """Does a message that leaves now and takes one second get through, if the link is cut in [since, until)?"""
    return not since <= time < until and not since <= time + 1 < until


def test_a_partition_cuts_the_links_between_its_groups_until_it_heals() -> None:
    network = ring("a", "b", "c", "d", "e")
    # d is in no group: its links work.
    fault = {"kind": "partition", "groups": [["a", "b"], ["c"], ["e"]], "since": 5.25, "until": 9.25}
    sim = chat(network, fault)
    through = [number for number in range(20) if passed(number, 5.25, 9.25)]
    assert 0 < len(through) < 20
    cut = {("b", "c"), ("c", "b"), ("a", "e"), ("e", "a")}
    for name, peers in network.neighbours.items():
        for peer in peers:
            assert numbers(sim, name, peer) == (through if (peer, name) in cut else list(range(20)))
    assert sim.plan.fired == {"partition": 4 * (20 - len(through))}


def test_a_partition_can_be_a_list_of_links() -> None:
    fault = {"kind": "partition", "links": [["a", "b"]], "since": 3, "until": 6}
    sim = chat(ring("a", "b", "c"), fault)
    through = [number for number in range(20) if passed(number, 3, 6)]
    assert numbers(sim, "b", "a") == numbers(sim, "a", "b") == through
    assert numbers(sim, "b", "c") == numbers(sim, "a", "c") == list(range(20))


def test_islands_are_drawn_from_the_seed_and_cut_off_from_each_other() -> None:
    network = ring(*"abcdefgh")
    cuts = [plan(network, {"kind": "partition", "islands": 2, "until": 9}, seed=seed).cuts for seed in (1, 1, 2)]
    assert cuts[0] == cuts[1] != cuts[2]
    island = networkx.Graph(network.graph())
    island.remove_edges_from(cuts[0])
    assert not networkx.is_connected(island)
    assert "9 islands, but only 8 brokers" in refusal(network, {"kind": "partition", "islands": 9})


@pytest.mark.parametrize("where", [{"links": [["b", "a"]]}, {"groups": [["a"], ["b"]]}])
def test_a_one_way_partition_lets_one_side_speak_that_hears_nothing(where: dict[str, Any]) -> None:
    # By links: nothing passes from b to a. By groups: the first group hears nothing.
    sim = chat(line("a", "b"), {"kind": "partition", "one_way": True, "since": 3, "until": 6, **where})
    assert numbers(sim, "b", "a") == list(range(20))
    assert numbers(sim, "a", "b") == [number for number in range(20) if passed(number, 3, 6)]


def test_attached_agents_are_on_the_side_of_their_broker() -> None:
    network = line("a", "b").attach({"client": "a"})
    faults = plan(network, {"kind": "partition", "groups": [["a"], ["b"]]})
    assert sorted(faults.cuts) == [("a", "b"), ("b", "a")]
    apart = plan(network, {"kind": "partition", "groups": [["a", "b"], ["client"]]})
    assert sorted(apart.cuts) == [("a", "client"), ("client", "a")]


@quick
@given(
    st.integers(0, 999),
    st.floats(0, 15),
    st.floats(0.5, 8),
    st.lists(
        st.sampled_from(
            [
                {"kind": "delay", "probability": 0.5, "by": "uniform(0, 9)"},
                {"kind": "reorder", "probability": 0.5},
                {"kind": "duplicate", "probability": 0.5},
            ]
        ),
        max_size=2,
    ),
)
def test_nothing_arrives_over_a_link_while_it_is_cut(
    seed: int, since: float, length: float, others: list[dict[str, Any]]
) -> None:
    fault = {"kind": "partition", "links": [["a", "b"]], "since": since, "until": since + length}
    sim = chat(ring("a", "b", "c", delay="uniform(0.2, 3)"), fault, *others, seed=seed, every=0.25, count=80)
    for name, peer in (("a", "b"), ("b", "a")):
        assert not [time for time, _ in heard(sim, name, peer) if since <= time < since + length]
        assert not [number for _, number in heard(sim, name, peer) if since <= number * 0.25 < since + length]
    assert set(numbers(sim, "a", "c")) == set(range(80))


def test_several_partitions_can_follow_and_overlap() -> None:
    sim = chat(
        line("a", "b"),
        {"kind": "partition", "links": [["a", "b"]], "since": 2, "until": 5},
        {"kind": "partition", "groups": [["a"], ["b"]], "since": 4, "until": 7},
        {"kind": "partition", "groups": [["a"], ["b"]], "since": 12, "until": 13},
    )
    through = [number for number in range(20) if passed(number, 2, 7) and passed(number, 12, 13)]
    assert numbers(sim, "a", "b") == numbers(sim, "b", "a") == through


def test_the_plan_knows_which_links_are_cut_when() -> None:
    network = line("a", "b", "c")
    faults = plan(
        network,
        {"kind": "partition", "groups": [["a"], ["b"]], "since": 2, "until": 5},
        {"kind": "partition", "links": [["b", "c"]], "one_way": True, "since": 4},
    )
    assert faults.cut_at(1.9) == set()
    assert faults.cut_at(2) == {("a", "b"), ("b", "a")}
    assert faults.cut_at(4) == {("a", "b"), ("b", "a"), ("b", "c")}
    assert faults.cut_at(5) == faults.cut_at(1e9) == {("b", "c")}


# Crashes


class Survivor(Protocol):
    """Keeps its lives on disk and the rest in memory; ticks every second; remembers what happened in which life."""

    diary: list[tuple[Any, ...]]

    def __init__(self, diary: list[tuple[Any, ...]]) -> None:
        self.diary = diary
        self.durable = {"lives": 0, "kept": []}
        self.memory: list[int] = []

    def started(self, node: Node) -> None:
        self.durable["lives"] += 1
        self.diary.append(("starts", node.now, node.id, self.durable["lives"], list(self.memory)))
        for second in range(1, 6):
            node.after(second, Alarm(10 * self.durable["lives"] + second))
        node.broadcast(Note(0, self.durable["lives"]))

    @on(Alarm)
    def ticks(self, node: Node, sender: str, alarm: Alarm) -> None:
        self.memory.append(alarm.number)
        self.durable["kept"].append(alarm.number)
        self.diary.append(("ticks", node.now, node.id, alarm.number))
        node.broadcast(Note(alarm.number, self.durable["lives"]))

    @on(Note)
    def hears(self, node: Node, sender: str, note: Note) -> None:
        self.diary.append(("hears", node.now, node.id, sender, note.number))

    @on(LinkChanged)
    def wonders(self, node: Node, sender: str, hint: LinkChanged) -> None:
        self.diary.append(("wonders", node.now, node.id, sender, hint.peer))


def lives(
    *faults: Mapping[str, Any], network: Network | None = None, make: Callable[..., Protocol] = Survivor, seed: int = 0
) -> tuple[Simulator, list[tuple[Any, ...]]]:
    network = network or line("a", "b")
    diary: list[tuple[Any, ...]] = []
    sim = Simulator(network, lambda name: Agent([make(diary)]), seed, plan(network, *faults, seed=seed))
    assert sim.run()
    return sim, diary


def of(diary: list[tuple[Any, ...]], what: str, node: str) -> list[tuple[Any, ...]]:
    return [(entry[1], *entry[3:]) for entry in diary if entry[0] == what and entry[2] == node]


def test_a_crashed_node_is_silent_and_deaf_for_ever() -> None:
    sim, diary = lives({"kind": "crash", "nodes": ["a"], "at": 2.5})
    assert of(diary, "ticks", "a") == [(1, 11), (2, 12)]
    # What it said before it died still arrives, what is said to it does not.
    assert of(diary, "hears", "b") == [(1, "a", 0), (2, "a", 11), (3, "a", 12)]
    assert of(diary, "hears", "a") == [(1, "b", 0), (2, "b", 11)]
    assert list(sim.alive()) == ["b"]
    assert sim.plan.fired == {"crash": 1, "lost": 4}


def test_a_recovered_node_keeps_its_durable_state_and_nothing_else() -> None:
    sim, diary = lives({"kind": "crash", "nodes": ["a"], "at": 2.5, "recover_after": 4.0})
    assert of(diary, "starts", "a") == [(0, 1, []), (6.5, 2, [])]
    survivor: Any = sim.nodes["a"].agent.protocols[0]
    assert survivor.memory == [21, 22, 23, 24, 25]
    assert survivor.durable == {"lives": 2, "kept": [11, 12, 21, 22, 23, 24, 25]}
    assert list(sim.alive()) == ["a", "b"]
    assert sim.plan.fired["crash"] == sim.plan.fired["recover"] == 1


def test_a_timer_of_the_old_life_never_rings() -> None:
    _, diary = lives({"kind": "crash", "nodes": ["a"], "at": 2.5, "recover_after": 0.25})
    assert of(diary, "ticks", "a") == [(1, 11), (2, 12), (3.75, 21), (4.75, 22), (5.75, 23), (6.75, 24), (7.75, 25)]


def test_the_new_life_cannot_cancel_what_the_old_life_set_nor_the_old_cancel_the_new() -> None:
    class Canceller(Protocol):
        def __init__(self, diary: list[tuple[Any, ...]]) -> None:
            self.diary = diary
            self.durable: list[int] = []

        def started(self, node: Node) -> None:
            for timer in self.durable:
                node.cancel(timer)
            self.durable = [node.after(3.0, Alarm(n)) for n in range(3)]

        @on(Alarm)
        def ticks(self, node: Node, sender: str, alarm: Alarm) -> None:
            self.diary.append(("ticks", node.now, node.id, alarm.number))

    crash = {"kind": "crash", "nodes": ["a"], "at": 1.0, "recover_after": 1.0}
    _, diary = lives(crash, make=Canceller)
    assert of(diary, "ticks", "a") == [(5, 0), (5, 1), (5, 2)]


def test_messages_on_their_way_from_the_old_life_still_arrive() -> None:
    _, diary = lives(
        {"kind": "crash", "nodes": ["a"], "at": 2.5, "recover_after": 0.1}, network=line("a", "b", delay=5.0)
    )
    notes = [entry[2] for entry in of(diary, "hears", "b")]
    assert notes == [0, 11, 12, 0, 21, 22, 23, 24, 25]


def test_a_message_that_arrives_at_the_moment_of_the_crash_is_lost_and_at_the_recovery_is_not() -> None:
    _, diary = lives({"kind": "crash", "nodes": ["a"], "at": 3.0, "recover_after": 1.0})
    # The environment comes first among simultaneous events: 12 arrives with the crash, 13 with the recovery.
    assert [entry[2] for entry in of(diary, "hears", "a")] == [0, 11, 13, 14, 15]
    assert of(diary, "ticks", "a")[:2] == [(1, 11), (2, 12)]


class Slow(Protocol):
    """Takes four seconds for each message, and says something before and after."""

    def __init__(self, diary: list[tuple[Any, ...]]) -> None:
        self.diary = diary
        self.durable: list[str] = []

    def started(self, node: Node) -> None:
        if node.id == "b":
            for number in range(3):
                node.send("a", Note(number))
        self.diary.append(("starts", node.now, node.id))

    @on(Note)
    def hears(self, node: Node, sender: str, note: Note) -> None:
        if node.id == "b":
            self.diary.append(("hears", node.now, node.id, note.number))
            return
        node.send("b", Note(note.number + 100))
        self.durable.append(f"began {note.number}")
        try:
            node.work(4.0)
        except Exception:
            self.durable.append("cheated death")
        self.durable.append(f"ended {note.number}")
        node.send("b", Note(note.number + 200))
        node.after(0.0, Alarm())

    @on(Alarm)
    def ticks(self, node: Node, sender: str, alarm: Alarm) -> None:
        self.diary.append(("ticks", node.now, node.id))


def test_a_handler_that_works_past_its_nodes_crash_does_and_says_nothing_after_it() -> None:
    # given: three messages arrive at 1; the first is handled from 1 to 5, the second from 5 on; the node dies at 7
    sim, diary = lives({"kind": "crash", "nodes": ["a"], "at": 7.0}, make=Slow)
    # then: the third was in the queue and is lost, and so is the alarm of 5, which had to wait
    assert of(diary, "hears", "b") == [(2, 100), (6, 200), (6, 101)]
    assert sim.nodes["a"].agent.protocols[0].durable == ["began 0", "ended 0", "began 1"]
    assert of(diary, "ticks", "a") == []
    assert sim.plan.fired == {"crash": 1, "lost": 1}


def test_a_handler_that_ends_at_the_moment_of_the_crash_is_cut_off() -> None:
    sim, diary = lives({"kind": "crash", "nodes": ["a"], "at": 5.0}, make=Slow)
    assert of(diary, "hears", "b") == [(2, 100)]
    assert sim.plan.fired == {"crash": 1, "lost": 2}


def test_the_queue_is_empty_and_the_node_free_after_a_recovery() -> None:
    sim, diary = lives({"kind": "crash", "nodes": ["a"], "at": 2.0, "recover_after": 0.5}, make=Slow)
    assert of(diary, "starts", "a") == [(0,), (2.5,)]
    assert of(diary, "hears", "b") == [(2, 100)]
    assert sim.nodes["a"].waited_s == 0
    assert sim.plan.fired == {"crash": 1, "recover": 1, "lost": 2}


def test_nothing_waits_in_a_dead_node() -> None:
    class Late(Slow):
        def started(self, node: Node) -> None:
            super().started(node)
            if node.id == "b":
                node.work(2.0)
                node.send("a", Note(7))

    # The node works from 1 to 5, dies at 2, and the last message arrives at 3.
    sim, _ = lives({"kind": "crash", "nodes": ["a"], "at": 2.0}, make=Late)
    assert sim.nodes["a"].waited_s == 0
    assert sim.plan.fired == {"crash": 1, "lost": 3}


def test_service_does_not_go_on_in_a_dead_node() -> None:
    network = line("a", "b", service=3.0)
    sim, diary = lives({"kind": "crash", "nodes": ["a"], "at": 0.5, "recover_after": 2.0}, network=network, make=Slow)
    assert of(diary, "starts", "a") == [(0,), (2.5,)]
    assert sim.nodes["a"].waited_s == 0
    assert sim.plan.fired["lost"] == 3
    assert sim.nodes["a"].now == 2.5


def test_a_node_that_crashes_while_it_starts_starts_again_when_it_recovers() -> None:
    class LateRiser(Protocol):
        def __init__(self, diary: list[tuple[Any, ...]]) -> None:
            self.diary = diary

        def started(self, node: Node) -> None:
            node.work(2.0)
            self.diary.append(("starts", node.now, node.id))

    _, diary = lives({"kind": "crash", "nodes": ["a"], "at": 1.0, "recover_after": 4.0}, make=LateRiser)
    assert of(diary, "starts", "a") == [(7,)]
    assert of(diary, "starts", "b") == [(2,)]
    _, diary = lives(
        {"kind": "crash", "nodes": ["a"], "at": 1.0, "recover_after": 4.0},
        {"kind": "crash", "nodes": ["a"], "at": 6.0, "recover_after": 4.0},
        make=LateRiser,
    )
    assert of(diary, "starts", "a") == [(12,)]


def test_neighbours_are_told_that_something_happened_to_the_link() -> None:
    _, diary = lives(
        {"kind": "crash", "nodes": ["b"], "at": 2.5, "recover_after": 1.0},
        {"kind": "partition", "groups": [["a", "b"], ["c"]], "since": 4.0, "until": 5.0, "one_way": True},
        network=line("a", "b", "c"),
    )
    assert of(diary, "wonders", "a") == [(2.5, "b", "b")]
    assert of(diary, "wonders", "b") == [(4, "c", "c"), (5, "c", "c")]
    assert of(diary, "wonders", "c") == [(2.5, "b", "b"), (4, "b", "b"), (5, "b", "b")]


def test_a_hint_waits_for_a_busy_node_and_is_lost_if_that_node_crashes_first() -> None:
    class Wondering(Slow):
        @on(LinkChanged)
        def wonders(self, node: Node, sender: str, hint: LinkChanged) -> None:
            self.diary.append(("wonders", node.now, node.id, hint.peer))

    cut = {"kind": "partition", "groups": [["a"], ["c"]], "since": 6.0}
    _, diary = lives(cut, network=ring("a", "b", "c"), make=Wondering)
    assert of(diary, "wonders", "a") == [(13, "c")]  # after the three messages that came before it
    _, diary = lives(cut, {"kind": "crash", "nodes": ["a"], "at": 7.0}, network=ring("a", "b", "c"), make=Wondering)
    assert of(diary, "wonders", "a") == []
    assert of(diary, "wonders", "c") == [(6, "a"), (7, "a")]


def test_an_error_in_a_new_life_names_the_node_and_the_time() -> None:
    class Amnesiac(Protocol):
        def __init__(self, diary: list[tuple[Any, ...]]) -> None: ...

        def recovered(self, node: Node) -> None:
            {}["who am I"]

    with pytest.raises(AgentError, match=r"^a at 3, handling Recovers\(\): KeyError: 'who am I'$"):
        lives({"kind": "crash", "nodes": ["a"], "at": 2.0, "recover_after": 1.0}, make=Amnesiac)


def test_crashes_of_a_node_that_is_down_merge() -> None:
    network = line("a", "b")
    faults = plan(
        network,
        {"kind": "crash", "nodes": ["a"], "at": 10.0, "recover_after": 5.0},
        {"kind": "crash", "nodes": ["a"], "at": 12.0, "recover_after": 10.0},
        {"kind": "crash", "nodes": ["a"], "at": 13.0, "recover_after": 1.0},
        {"kind": "crash", "nodes": ["a"], "at": 2.0, "recover_after": 3.0},
        {"kind": "crash", "nodes": ["b"], "at": 2.0},
        {"kind": "crash", "nodes": ["b"], "at": 4.0, "recover_after": 1.0},
    )
    assert faults.crashes == {"a": [(2, 5), (10, 22)], "b": [(2, math.inf)]}


@quick
@given(
    st.lists(st.tuples(st.integers(0, 40), st.one_of(st.integers(0, 15), st.just(math.inf))), min_size=1, max_size=6)
)
def test_a_node_is_down_exactly_when_some_crash_says_so(spans: list[tuple[int, float]]) -> None:
    faults = [
        {"kind": "crash", "nodes": ["a"], "at": float(at)}
        | ({} if down == math.inf else {"recover_after": float(down)})
        for at, down in spans
    ]
    planned = plan(line("a", "b"), *faults).crashes["a"]
    for instant in range(130):
        time = instant / 2
        down = any(at <= time < at + length for at, length in spans)
        assert any(at <= time < until for at, until in planned) == down
    assert all(until < at for (_, until), (at, _) in pairwise(planned))


def test_a_crash_can_strike_a_number_of_nodes_at_random_times() -> None:
    network = ring(*"abcdefgh")
    fault = {"kind": "crash", "count": 3, "between": [5.0, 9.0], "recover_after": "uniform(1, 2)"}
    plans = [plan(network, fault, seed=seed) for seed in range(40)]
    for planned in plans:
        assert len(planned.crashes) == 3
        for spans in planned.crashes.values():
            [(at, until)] = spans
            assert 5 <= at <= 9
            assert 1 <= until - at <= 2
    assert {name for planned in plans for name in planned.crashes} == set("abcdefgh")


# The same seed, and what faults leave alone

EVERY_KIND: list[dict[str, Any]] = [
    {"kind": "drop", "probability": 0.2},
    {"kind": "duplicate", "probability": 0.2},
    {"kind": "reorder", "probability": 0.2},
    {"kind": "delay", "probability": 0.2, "by": "exponential(0.1, 2)"},
    {"kind": "partition", "groups": [["a"], ["b", "c"]], "since": 4.5, "until": 8.5},
    {"kind": "crash", "count": 2, "between": [2, 12], "recover_after": "uniform(1, 6)"},
]


def test_every_kind_of_fault_strikes_and_is_counted() -> None:
    sim = chat(ring(*"abcde", delay="uniform(0.5, 1.5)"), *EVERY_KIND, seed=1)
    assert set(sim.plan.fired) == {"drop", "duplicate", "reorder", "delay", "partition", "crash", "recover", "lost"}
    assert sim.plan.fired["crash"] == sim.plan.fired["recover"] == 2


@quick
@given(st.integers(0, 2**64), st.lists(st.sampled_from(EVERY_KIND), max_size=4))
def test_the_same_seed_gives_the_same_faults(seed: int, faults: list[dict[str, Any]]) -> None:
    network = ring(*"abcde", delay="uniform(0.5, 1.5)")
    first, again = (chat(network, *faults, seed=seed, count=8) for _ in "12")
    assert first.plan.fired == again.plan.fired
    assert first.fingerprint() == again.fingerprint()
    assert first.plan.crashes == again.plan.crashes


def test_another_seed_gives_other_faults() -> None:
    network = ring(*"abcde")
    runs = [chat(network, {"kind": "drop", "probability": 0.5}, seed=seed) for seed in range(10)]
    assert len({tuple(numbers(sim, "a", "b")) for sim in runs}) == 10


@quick
@given(st.integers(0, 999), st.sampled_from(["drop", "duplicate", "reorder", "delay", "partition"]))
def test_faults_on_one_link_do_not_change_what_happens_on_another(seed: int, kind: str) -> None:
    network = ring(*"abcd", delay="uniform(0.5, 1.5)")
    fault: dict[str, Any] = {"kind": kind, "links": [["a", "b"]]}
    fault |= {"by": 1.5} if kind == "delay" else {}
    fault |= {"until": 9.0} if kind == "partition" else {"probability": 0.5}
    plain, struck = chat(network, seed=seed), chat(network, fault, seed=seed)
    for name, peers in network.neighbours.items():
        for peer in peers:
            if {name, peer} != {"a", "b"}:
                assert heard(plain, name, peer) == heard(struck, name, peer)
    assert struck.plan.fired[kind] > 0
    assert heard(plain, "a", "b") != heard(struck, "a", "b")


@quick
@given(st.integers(0, 999))
def test_the_messages_that_are_not_struck_take_as_long_as_without_faults(seed: int) -> None:
    network = line("a", "b", delay="uniform(0.5, 1.5)")
    plain = chat(network, seed=seed, every=2.0)
    struck = chat(network, {"kind": "drop", "probability": 0.4}, seed=seed, every=2.0)
    without = {number: time for time, number in heard(plain, "b", "a")}
    assert len(heard(struck, "b", "a")) < 20
    for time, number in heard(struck, "b", "a"):
        assert time == pytest.approx(without[number], abs=1e-9)


# What a plan refuses


@pytest.mark.parametrize(
    ("fault", "complaint"),
    [
        ({"kind": "drop", "links": [["a", "x"]]}, "faults[0].links[0]: a and x are not linked; a is linked to b"),
        ({"kind": "drop", "links": [["x", "a"]]}, "faults[0].links[0]: node x is not in [network]"),
        ({"kind": "partition", "groups": [["a"], ["x"]]}, "faults[0].groups[1]: node x is not in [network]"),
        ({"kind": "partition", "groups": [["a"], ["a", "b"]]}, "faults[0].groups[1]: node a is in two groups"),
        ({"kind": "partition"}, "write one of groups = [[...], [...]], links = [[...], ...] and islands = how many"),
        ({"kind": "crash", "nodes": ["b", "x"], "at": 1}, "faults[0].nodes[1]: node x is not in [network]"),
        ({"kind": "crash", "count": 9, "at": 1}, "faults[0].count: 9 crashes, but only 3 nodes"),
        ({"kind": "crash", "at": 1}, "write either nodes = [...] or count = how many at random"),
        ({"kind": "crash", "nodes": ["a"]}, "write either at = a time or between = [from, to]"),
        ({"kind": "drop", "since": 3, "until": 3}, "until = 3.0 is not after since = 3.0"),
        ({"kind": "drop", "probability": 1.5}, "probability"),
        ({"kind": "drop", "probability": 0.5, "nth": [1]}, "write either probability = ... or nth = [...]"),
        ({"kind": "duplicate", "nth": [0]}, "faults[0].nth[0]"),
        ({"kind": "drop", "nth": []}, "faults[0].nth"),
        ({"kind": "flood"}, "flood"),
    ],
)
def test_a_fault_that_cannot_be_is_refused_by_its_key(fault: dict[str, Any], complaint: str) -> None:
    assert complaint in refusal(line("a", "b", "c"), fault)
