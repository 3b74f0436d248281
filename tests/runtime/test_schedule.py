"""Runs driven by choices, and runs done again from what was recorded."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import permutations
from pathlib import Path
from typing import Any

import msgpack
import networkx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from runtime.agent import Agent, Node, Protocol, on
from runtime.errors import ReplayError
from runtime.faults import Fault, FaultPlan, plan_faults
from runtime.message import message
from runtime.network import Network, from_networkx
from runtime.schedule import STEP, Choose, at_random, steer
from runtime.settings import Settings, Several, parse
from runtime.simnode import Entry
from runtime.simulator import Simulator
from runtime.trace import Recorder, Trace

quick = settings(max_examples=60)


@message(tag="schedule.Note")
class Note:
    number: int


@message(tag="schedule.Alarm")
class Alarm:
    number: int
    due: float = 0.0


class Faults(Settings):
    faults: Several[Fault] = ()


def plan(network: Network, *faults: Mapping[str, Any], seed: int = 0) -> FaultPlan:
    return plan_faults(parse(Faults, {"faults": [dict(fault) for fault in faults]}).faults, network, seed)


class Speaker(Protocol):
    """Says its numbers to all neighbours when it starts, and writes down what it hears."""

    def __init__(self, *numbers: int) -> None:
        self.numbers = numbers
        self.heard: list[tuple[str, int]] = []

    def started(self, node: Node) -> None:
        for number in self.numbers:
            node.broadcast(Note(number))

    @on(Note)
    def hears(self, node: Node, sender: str, note: Note) -> None:
        self.heard.append((sender, note.number))


def star(centre: str, *leaves: str, **options: Any) -> Network:
    return from_networkx(networkx.star_graph([centre, *leaves]), **options)


def speakers(network: Network, words: dict[str, tuple[int, ...]]) -> Simulator:
    return Simulator(network, lambda name: Agent([Speaker(*words.get(name, ()))]))


def heard(sim: Simulator, name: str) -> list[tuple[str, int]]:
    return sim.nodes[name].agent.protocols[0].heard  # type: ignore[attr-defined]


def by(choices: Sequence[int]) -> Choose:
    """Follow these choices, each taken modulo what there is; the first when they run out."""
    remaining = iter(choices)
    return lambda pending: next(remaining, 0) % len(pending)


def every_schedule(make: Callable[[], Simulator], fifo: bool) -> Iterator[Simulator]:
    """All runs that choices can bring about, by trying every option at every step."""
    untried: list[list[int]] = [[]]
    while untried:
        choices = untried.pop()
        taken: list[int] = []

        def choose(pending: Sequence[Entry], prefix: list[int] = choices, taken: list[int] = taken) -> int:
            if len(taken) < len(prefix):
                choice = prefix[len(taken)]
            else:
                choice = 0
                untried.extend([*taken, other] for other in range(1, len(pending)))
            taken.append(choice)
            return choice

        sim = make()
        assert steer(sim, choose, fifo)
        yield sim


# Choosing the next message


@pytest.mark.parametrize("fifo", [True, False])
def test_three_concurrent_messages_arrive_in_every_order(fifo: bool) -> None:
    senders = ("a", "b", "c")
    runs = every_schedule(lambda: speakers(star("hub", *senders), dict.fromkeys(senders, (1,))), fifo)
    orders = [tuple(sender for sender, _ in heard(sim, "hub")) for sim in runs]
    assert sorted(orders) == sorted(permutations(senders))


def test_three_messages_on_one_link_keep_their_order_with_fifo_and_have_every_order_without() -> None:
    def make() -> Simulator:
        return speakers(star("hub", "a"), {"a": (1, 2, 3)})

    orders = {
        fifo: {tuple(n for _, n in heard(sim, "hub")) for sim in every_schedule(make, fifo)} for fifo in (True, False)
    }
    assert orders[True] == {(1, 2, 3)}
    assert orders[False] == set(permutations((1, 2, 3)))


def test_two_links_of_two_messages_interleave_in_every_way_that_keeps_each_links_order() -> None:
    words = {"a": (1, 2), "b": (3, 4)}
    runs = every_schedule(lambda: speakers(star("hub", "a", "b"), words), fifo=True)
    orders = {tuple(number for _, number in heard(sim, "hub")) for sim in runs}
    assert orders == {p for p in permutations((1, 2, 3, 4)) if p.index(1) < p.index(2) and p.index(3) < p.index(4)}


@quick
@given(st.lists(st.integers(0, 50), max_size=80), st.randoms(use_true_random=False))
def test_with_fifo_no_choice_reorders_a_link(choices: list[int], rng: random.Random) -> None:
    network = from_networkx(networkx.complete_graph(["a", "b", "c", "d"]))
    words = dict.fromkeys(network.neighbours, tuple(range(6)))
    for choose in (by(choices), at_random(rng)):
        sim = speakers(network, words)
        assert steer(sim, choose)
        for name, peers in network.neighbours.items():
            for peer in peers:
                assert [n for sender, n in heard(sim, name) if sender == peer] == list(range(6))


@quick
@given(st.lists(st.integers(0, 50), max_size=80))
def test_without_fifo_every_message_still_arrives_once(choices: list[int]) -> None:
    network = from_networkx(networkx.complete_graph(["a", "b", "c", "d"]))
    sim = speakers(network, dict.fromkeys(network.neighbours, tuple(range(6))))
    assert steer(sim, by(choices), fifo=False)
    for name, peers in network.neighbours.items():
        assert sorted(heard(sim, name)) == [(peer, number) for peer in peers for number in range(6)]


@quick
@given(st.lists(st.integers(0, 50), max_size=80), st.booleans())
def test_choices_decide_everything_and_delays_nothing(choices: list[int], fifo: bool) -> None:
    runs = []
    for delay in (1.0, "uniform(0.01, 30)", "exponential(0.5, 9)"):
        network = from_networkx(networkx.complete_graph(["a", "b", "c"]), delay=delay)
        sim = speakers(network, dict.fromkeys(network.neighbours, (1, 2, 3)))
        steer(sim, by(choices), fifo)
        runs.append({name: heard(sim, name) for name in network.neighbours})
    assert runs[0] == runs[1] == runs[2]


def test_a_random_schedule_is_the_same_for_the_same_dice() -> None:
    def run(seed: int) -> list[tuple[str, int]]:
        senders = [f"n{number}" for number in range(8)]
        sim = speakers(star("hub", *senders), dict.fromkeys(senders, (1, 2)))
        steer(sim, at_random(random.Random(seed)))
        return heard(sim, "hub")

    assert run(1) == run(1)
    assert len({tuple(run(seed)) for seed in range(20)}) == 20


def test_a_steered_run_ends_undecided_at_its_limit_and_can_be_continued() -> None:
    sim = speakers(star("hub", "a", "b"), {"a": (1, 2, 3), "b": (4, 5, 6)})
    assert not steer(sim, by([0, 1, 0]), max_events=4)
    assert sim.handled == 4
    assert sim.pending == 2
    assert steer(sim, by([]))
    assert sorted(number for _, number in heard(sim, "hub")) == [1, 2, 3, 4, 5, 6]
    assert [n for s, n in heard(sim, "hub") if s == "a"] == [1, 2, 3]


# Time in a steered run


class Clockwork(Protocol):
    """Sets timers and works; every alarm knows when it was due."""

    def __init__(self) -> None:
        self.rings: list[tuple[float, float]] = []
        self.late: list[float] = []

    def started(self, node: Node) -> None:
        node.work(node.rng.random() * 5)
        node.broadcast(Note(4))
        for number in range(4):
            self.set(node, number)

    def set(self, node: Node, number: int) -> None:
        delay = node.rng.choice([0.0, 0.0001, 0.5, 7.0])
        node.after(delay, Alarm(number, node.now + delay))

    @on(Alarm)
    def rang(self, node: Node, sender: str, alarm: Alarm) -> None:
        self.rings.append((node.now, alarm.due))
        if alarm.number:
            self.set(node, alarm.number - 1)

    @on(Note)
    def hears(self, node: Node, sender: str, note: Note) -> None:
        node.work(node.rng.choice([0.0, 0.0, 3.0]))
        if note.number:
            node.send(sender, Note(note.number - 1))


def events_of(sim: Simulator) -> list[tuple[float, float, str, str]]:
    """Watch a run: (when, when the sender's clock was last known, node, sender) of everything that arrives."""
    seen: list[tuple[float, float, str, str]] = []

    def saw(entry: Entry) -> None:
        arrival, _, link, _ = entry
        seen.append((arrival, sim.nodes[link.source].now if link.source else -math.inf, link.peer, link.source))

    sim.observer = saw
    return seen


@quick
@given(st.lists(st.integers(0, 50), max_size=100), st.booleans(), st.integers(0, 99))
def test_timers_are_never_early_and_time_never_goes_back(choices: list[int], fifo: bool, seed: int) -> None:
    network = from_networkx(networkx.complete_graph(["a", "b", "c"]))
    sim = Simulator(network, lambda name: Agent([Clockwork()]), seed)
    seen = events_of(sim)
    assert steer(sim, by(choices), fifo)
    arrivals = [arrival for arrival, _, _, _ in seen]
    assert arrivals == sorted(set(arrivals))
    for node in sim.nodes.values():
        rings = node.agent.protocols[0].rings  # type: ignore[attr-defined]
        assert len(rings) >= 4
        assert all(rang >= due for rang, due in rings)


@quick
@given(st.lists(st.integers(0, 50), max_size=100), st.booleans(), st.integers(0, 99))
def test_nothing_arrives_before_it_was_sent(choices: list[int], fifo: bool, seed: int) -> None:
    # given: messages that carry the clock of their sender
    @message(tag="schedule.Stamped")
    class Stamped:
        sent: float
        hops: int

    class Stamper(Protocol):
        def __init__(self) -> None:
            self.travels: list[float] = []

        def started(self, node: Node) -> None:
            node.work(node.rng.choice([0.0, 4.0]))
            node.broadcast(Stamped(node.now, 3))

        @on(Stamped)
        def hears(self, node: Node, sender: str, stamped: Any) -> None:
            self.travels.append(node.arrived - stamped.sent)
            node.work(node.rng.choice([0.0, 4.0]))
            if stamped.hops:
                node.send(sender, Stamped(node.now, stamped.hops - 1))

    sim = Simulator(from_networkx(networkx.complete_graph(["a", "b", "c"])), lambda name: Agent([Stamper()]), seed)
    # when
    steer(sim, by(choices), fifo)
    # then
    for node in sim.nodes.values():
        assert min(node.agent.protocols[0].travels) >= STEP * (1 - 1e-6)  # type: ignore[attr-defined]


def test_a_patient_random_schedule_prefers_messages_to_timers() -> None:
    class Impatient(Speaker):
        def started(self, node: Node) -> None:
            super().started(node)
            node.after(0.0, Alarm(0))

        @on(Alarm)
        def rang(self, node: Node, sender: str, alarm: Alarm) -> None:
            self.heard.append(("alarm", 0))

    def first(patience: int) -> int:
        """How often the alarm comes before every message."""
        early = 0
        for seed in range(200):
            sim = Simulator(star("hub", "a"), lambda name: Agent([Impatient(*((1,) if name == "a" else ()))]))
            steer(sim, at_random(random.Random(seed), patience))
            early += heard(sim, "hub")[0] == ("alarm", 0)
        return early

    assert 50 < first(1) < 150
    assert first(20) < first(3) < first(1)


@quick
@given(st.lists(st.integers(0, 50), max_size=60), st.floats(0.1, 9))
def test_a_handler_of_a_steered_run_is_never_cut_in_half(choices: list[int], at: float) -> None:
    # given: a crash that is planned for a time, but comes when it is chosen
    class Worker(Protocol):
        def __init__(self) -> None:
            self.durable = [0, 0]

        def started(self, node: Node) -> None:
            node.broadcast(Note(3))

        @on(Note)
        def hears(self, node: Node, sender: str, note: Note) -> None:
            self.durable[0] += 1
            node.work(2.0)
            self.durable[1] += 1
            if note.number:
                node.send(sender, Note(note.number - 1))

    network = star("a", "b", "c")
    faults = plan(network, {"kind": "crash", "nodes": ["a"], "at": at, "recover_after": 1.0})
    sim = Simulator(network, lambda name: Agent([Worker()]), plan=faults)
    # when
    assert steer(sim, by(choices))
    # then
    for node in sim.nodes.values():
        began, ended = node.agent.protocols[0].durable
        assert began == ended
    assert faults.fired["crash"] == faults.fired["recover"] == 1


# Doing a run again


class Busybody(Protocol):
    """Does everything that a node can do, for some time, by its own dice."""

    def __init__(self) -> None:
        self.durable = {"lives": 0}
        self.heard: list[tuple[float, float, str, Any]] = []

    def started(self, node: Node) -> None:
        self.durable["lives"] += 1
        node.broadcast(Note(5))
        node.after(node.rng.random() * 3, Alarm(4))

    @on(Note, Alarm)
    def hears(self, node: Node, sender: str, word: Any) -> None:
        self.heard.append((node.now, node.arrived, sender, word))
        if not word.number:
            return
        dice, less = node.rng, word.number - 1
        timer = node.after(dice.random() * 2, Alarm(less, node.now))
        if dice.random() < 0.6:
            node.cancel(timer)
        if dice.random() < 0.2:
            node.work(dice.choice([0.0, 0.2, 1.5]))
        if dice.random() < 0.7:
            node.send(dice.choice(node.neighbours), Note(less))
        if dice.random() < 0.1:
            node.broadcast(Note(less), skip=sender)
        if dice.random() < 0.1 and node.id != "a":
            node.send_underlay("a", Note(less))
        node.log("heard", number=word.number)


FAULTS: list[dict[str, Any]] = [
    {"kind": "drop", "probability": 0.2},
    {"kind": "duplicate", "probability": 0.3},
    {"kind": "reorder", "probability": 0.3},
    {"kind": "delay", "probability": 0.3, "by": "exponential(0.1, 2)"},
    {"kind": "partition", "groups": [["a"], ["b", "c"]], "since": 1.5, "until": 4.0},
    {"kind": "partition", "links": [["c", "d"]], "one_way": True, "since": 1.0, "until": 2.0},
    {"kind": "crash", "count": 2, "between": [1, 4], "recover_after": "uniform(0, 3)"},
    {"kind": "crash", "nodes": ["b"], "at": 2.0},
]


@st.composite
def worlds(draw: st.DrawFn) -> tuple[Network, list[dict[str, Any]], int]:
    network = from_networkx(
        networkx.cycle_graph(["a", "b", "c", "d"]),
        delay=draw(st.sampled_from([1.0, "uniform(0.5, 1.5)", "exponential(0.2, 1.0)"])),
        bandwidth=draw(st.sampled_from([None, 100.0])),
        service=draw(st.sampled_from([None, 0.1, "uniform(0, 0.3)"])),
    )
    faults = draw(st.lists(st.sampled_from(FAULTS), max_size=5, unique_by=str))
    return network, faults, draw(st.integers(0, 2**32))


def state(sim: Simulator) -> dict[str, Any]:
    """All that the run left behind in its agents, and what it logged."""
    agents = {name: vars(node.agent.protocols[0]) for name, node in sim.nodes.items()}
    logs = {event: table.to_pylist() for event, table in sim.events.tables().items()}
    return {"agents": agents, "alive": list(sim.alive()), "logs": logs, "now": sim.now, "handled": sim.handled}


def replayed(network: Network, planned: FaultPlan, seed: int, trace: Trace) -> tuple[Simulator, Trace]:
    again = Simulator(network, lambda name: Agent([Busybody()]), seed, planned, trace.recording())
    recorder = Recorder(again, trace.gap)
    assert again.run()
    return again, recorder.trace


@settings(max_examples=120)
@given(worlds())
def test_a_run_done_again_from_its_trace_is_the_same_run(world: tuple[Network, list[dict[str, Any]], int]) -> None:
    network, faults, seed = world
    # given
    sim = Simulator(network, lambda name: Agent([Busybody()]), seed, plan(network, *faults, seed=seed))
    recorder = Recorder(sim)
    assert sim.run()
    # when
    again, trace = replayed(network, plan(network, *faults, seed=seed), seed, recorder.trace)
    # then
    assert again.fingerprint() == sim.fingerprint()
    assert trace.first_difference(recorder.trace) is None
    assert state(again) == state(sim)


@settings(max_examples=120)
@given(worlds(), st.integers(0, 2**32), st.booleans())
def test_a_steered_run_done_again_from_its_trace_is_the_same_run(
    world: tuple[Network, list[dict[str, Any]], int], dice: int, fifo: bool
) -> None:
    network, faults, seed = world
    sim = Simulator(network, lambda name: Agent([Busybody()]), seed, plan(network, *faults, seed=seed))
    recorder = Recorder(sim, gap=STEP)
    assert steer(sim, at_random(random.Random(dice), patience=2), fifo)
    again, trace = replayed(network, plan(network, *faults, seed=seed), seed, recorder.trace)
    assert again.fingerprint() == sim.fingerprint()
    assert trace.first_difference(recorder.trace) is None
    assert state(again) == state(sim)


@pytest.mark.full
@settings(max_examples=3000)
@given(worlds(), st.integers(0, 2**32), st.sampled_from(["timed", "fifo", "any"]))
def test_any_run_done_again_from_its_trace_is_the_same_run(
    world: tuple[Network, list[dict[str, Any]], int], dice: int, kind: str
) -> None:
    if kind == "timed":
        test_a_run_done_again_from_its_trace_is_the_same_run.hypothesis.inner_test(world)  # type: ignore[attr-defined]
    else:
        steered: Any = test_a_steered_run_done_again_from_its_trace_is_the_same_run
        steered.hypothesis.inner_test(world, dice, kind == "fifo")


def test_an_unfinished_run_done_again_comes_to_the_same_point() -> None:
    network = from_networkx(networkx.cycle_graph(["a", "b", "c", "d"]), delay="uniform(0.5, 1.5)")
    sim = Simulator(network, lambda name: Agent([Busybody()]), 5)
    recorder = Recorder(sim)
    assert not sim.run(until=3.0)
    again, _ = replayed(network, FaultPlan(5), 5, recorder.trace)
    assert again.fingerprint() == sim.fingerprint()
    assert state(again)["agents"] == state(sim)["agents"]


# Traces in files


def recorded(seed: int = 1) -> Trace:
    network = from_networkx(networkx.cycle_graph(["a", "b", "c", "d"]), delay="uniform(0.5, 1.5)")
    sim = Simulator(network, lambda name: Agent([Busybody()]), seed, plan(network, FAULTS[0], FAULTS[6], seed=seed))
    recorder = Recorder(sim)
    sim.run()
    return recorder.trace


def test_a_trace_comes_back_from_its_file(tmp_path: Path) -> None:
    trace = recorded()
    trace.save(tmp_path / "trace")
    assert Trace.load(tmp_path / "trace") == trace
    assert len(trace.events) > 20


def test_the_first_difference_of_two_traces_is_found() -> None:
    trace, other = recorded(1), recorded(2)
    assert trace.first_difference(recorded(1)) is None
    found = trace.first_difference(other)
    assert found is not None
    place, mine, theirs = found
    assert trace.events[:place] == other.events[:place]
    assert (mine, theirs) == (trace.events[place], other.events[place])
    shorter = Trace(trace.gap, trace.events[:-1])
    assert trace.first_difference(shorter) == (len(shorter.events), trace.events[-1], None)


def test_an_event_says_what_happened() -> None:
    words = [str(event) for event in recorded().events]
    assert any("from the environment: Crashes()" in word for word in words)
    assert any("schedule.Note(number=5) (number 2)" in word for word in words)


def test_a_damaged_trace_is_refused_by_its_name(tmp_path: Path) -> None:
    path = tmp_path / "trace"
    recorded().save(path)
    whole = path.read_bytes()
    header = msgpack.packb({"format": 1, "gap": 1.0, "names": ["a"]})
    damaged = {
        "nothing": b"",
        "text": b"hello",
        "number": b"\x01",
        "cut off": whole[:-3],
        "other format": msgpack.packb({"format": 99}),
        "no names": msgpack.packb({"format": 1, "gap": 1.0}),
        "unknown node": header + msgpack.packb([1.0, 0, 7, 1, b""]),
        "short row": header + msgpack.packb([1.0, 0]),
        "not a row": header + b"\x07",
        "noise": header + b"\xc1\xc1",
    }
    for what, data in damaged.items():
        path.write_bytes(data)
        with pytest.raises(ReplayError, match="trace"):
            Trace.load(path)
            pytest.fail(what)
    with pytest.raises(ReplayError, match="No such file"):
        Trace.load(tmp_path / "nowhere")


@quick
@given(st.data())
def test_whatever_is_in_a_file_it_is_a_trace_or_a_replay_error(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    path = tmp_path_factory.getbasetemp() / "some trace"
    recorded().save(path)
    wire = bytearray(path.read_bytes())
    for _ in range(data.draw(st.integers(1, 4))):
        place = data.draw(st.integers(0, len(wire)))
        wire[place : place + data.draw(st.integers(0, 3))] = data.draw(st.binary(max_size=3))
    path.write_bytes(wire)
    try:
        Trace.load(path)
    except ReplayError as error:
        assert "some trace" in str(error)
