"""The simulator: what happens when, in which order, until when, and what is counted on the way."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from heapq import heappop, heappush
from pathlib import Path
from typing import Any

import networkx
import pyarrow.parquet as pq
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from runtime.agent import Agent, Node, Protocol, on
from runtime.errors import AgentError, LocalityError, MessageError, WiringError
from runtime.message import encode, message
from runtime.network import Network, from_networkx
from runtime.simulator import Simulator
from runtime.streams import derive


@message(tag="simulator.Note")
class Note:
    number: int = 0
    text: str = ""


@message(tag="simulator.Alarm")
class Alarm:
    number: int = 0


class Actor(Protocol):
    """Does at its start what it is told to, and writes down everything that it hears."""

    def __init__(self, act: Callable[[Node], None] | None = None) -> None:
        self.act = act
        self.heard: list[tuple[float, str, Any]] = []
        self.arrived: list[float] = []

    def started(self, node: Node) -> None:
        if self.act is not None:
            self.act(node)

    @on(Note, Alarm)
    def hears(self, node: Node, sender: str, word: Any) -> None:
        self.heard.append((node.now, sender, word))
        self.arrived.append(node.arrived)


def line(*names: str, **options: Any) -> Network:
    return from_networkx(networkx.path_graph(list(names)), **options)


def star(centre: str, *leaves: str, **options: Any) -> Network:
    return from_networkx(networkx.star_graph([centre, *leaves]), **options)


def cast(network: Network, acts: Mapping[str, Any], seed: int = 0) -> Simulator:
    """A simulator whose nodes act as told and write down what they hear."""
    agents = {
        name: Agent([acts[name] if isinstance(acts.get(name), Protocol) else Actor(acts.get(name))])
        for name in network.neighbours
    }
    return Simulator(network, agents.__getitem__, seed)


def heard(sim: Simulator, name: str) -> list[tuple[float, str, Any]]:
    return sim.nodes[name].agent.protocols[0].heard  # type: ignore[attr-defined]


# The order of simultaneous events


def test_simultaneous_messages_are_ordered_by_sender_and_then_as_they_were_sent() -> None:
    # given: many senders, in an order of names that is not the order of numbers
    leaves = ["n10", "n2", "n1", "m", "z"]

    def two(node: Node) -> None:
        node.send("hub", Note(1))
        node.send("hub", Note(2))

    # when: all their messages arrive at the same time
    sim = cast(star("hub", *leaves), dict.fromkeys(leaves, two))
    assert sim.run()
    # then
    assert heard(sim, "hub") == [(1.0, leaf, Note(number)) for leaf in sorted(leaves) for number in (1, 2)]


def test_a_timer_takes_its_place_among_simultaneous_messages_by_its_owners_name() -> None:
    def call(node: Node) -> None:
        node.send("b", Note())

    sim = cast(star("b", "a", "c"), {"a": call, "b": lambda node: node.after(1.0, Alarm()), "c": call})
    sim.run()
    assert [sender for _, sender, _ in heard(sim, "b")] == ["a", "b", "c"]


def test_simultaneous_events_at_different_nodes_are_ordered_by_node() -> None:
    order: list[str] = []

    class Witness(Actor):
        def hears(self, node: Node, sender: str, word: Any) -> None:
            order.append(node.id)

    leaves = ["n3", "n20", "n1"]
    sim = cast(star("hub", *leaves), {leaf: Witness() for leaf in leaves} | {"hub": lambda n: n.broadcast(Note())})
    sim.run()
    assert order == sorted(leaves)


# Links: order, delays, bandwidth


class Chatter(Actor):
    """Sends a numbered message to every neighbour each `every` seconds."""

    def __init__(self, count: int, every: float) -> None:
        super().__init__()
        self.count, self.every, self.sent_at = count, every, []

    def started(self, node: Node) -> None:
        node.after(0.0, Alarm(0))

    @on(Alarm)
    def speaks(self, node: Node, sender: str, alarm: Alarm) -> None:
        self.sent_at.append(node.now)
        node.broadcast(Note(alarm.number))
        if alarm.number + 1 < self.count:
            node.after(self.every, Alarm(alarm.number + 1))


DELAYS = ["uniform(0.5, 1.5)", "exponential(0.5, 2.0)", "uniform(0.01, 20)", 1.0]


@settings(max_examples=40)
@given(st.integers(0, 2**64), st.sampled_from(DELAYS), st.sampled_from([None, 50.0]), st.sampled_from([0.0, 0.3]))
def test_a_link_never_changes_the_order_of_messages(
    seed: int, delay: Any, bandwidth: float | None, every: float
) -> None:
    network = star("hub", "a", "b", "c", delay=delay, bandwidth=bandwidth)
    sim = cast(network, {name: Chatter(25, every) for name in network.neighbours}, seed)
    assert sim.run()
    for name, peers in network.neighbours.items():
        notes = heard(sim, name)
        assert [time for time, _, _ in notes] == sorted(time for time, _, _ in notes)
        for peer in peers:
            assert [word.number for _, sender, word in notes if sender == peer] == list(range(25))


def delays_on_links(delay: str, every: float, count: int, seed: int = 7) -> dict[tuple[str, str], list[float]]:
    """What each link took for each message, with so much time between them that none waits for another."""
    network = line("a", "b", "c", delay=delay)
    talkers = {name: Chatter(count, every) for name in network.neighbours}
    sim = cast(network, talkers, seed)
    assert sim.run()
    taken: dict[tuple[str, str], list[float]] = {}
    for name in network.neighbours:
        for time, sender, word in heard(sim, name):
            taken.setdefault((sender, name), []).append(time - talkers[sender].sent_at[word.number])
    return taken


def farthest_from(distribution: Callable[[float], float], sample: list[float]) -> float:
    """The Kolmogorov-Smirnov distance between a sample and a distribution function."""
    ordered, n = sorted(sample), len(sample)
    steps = ((place, distribution(value)) for place, value in enumerate(ordered))
    return max(max(abs(p - place / n), abs(p - (place + 1) / n)) for place, p in steps)


def correlation(xs: list[float], ys: list[float]) -> float:
    mean_x, mean_y = sum(xs) / len(xs), sum(ys) / len(ys)
    covariance = sum((x - mean_x) * (y - mean_y) for x, y in zip(xs, ys, strict=True))
    return covariance / math.sqrt(sum((x - mean_x) ** 2 for x in xs) * sum((y - mean_y) ** 2 for y in ys))


DRAWS = 3000
ONE_IN_A_THOUSAND = 1.95 / math.sqrt(DRAWS)  # how far a good sample strays once in a thousand times


def test_uniform_delays_are_uniform_on_every_link() -> None:
    for sample in delays_on_links("uniform(0.5, 1.5)", every=2.0, count=DRAWS).values():
        assert 0.5 - 1e-9 <= min(sample) < 0.51
        assert 1.49 < max(sample) <= 1.5 + 1e-9
        assert sum(sample) / DRAWS == pytest.approx(1.0, abs=4 * math.sqrt(1 / 12 / DRAWS))
        assert farthest_from(lambda t: t - 0.5, sample) < ONE_IN_A_THOUSAND


def test_exponential_delays_have_their_floor_their_mean_and_their_tail() -> None:
    for sample in delays_on_links("exponential(0.5, 2.0)", every=100.0, count=DRAWS).values():
        assert 0.5 - 1e-9 <= min(sample) < 0.51
        assert sum(sample) / DRAWS == pytest.approx(2.0, abs=4 * 1.5 / math.sqrt(DRAWS))
        assert farthest_from(lambda t: 1 - math.exp(-(t - 0.5) / 1.5), sample) < ONE_IN_A_THOUSAND


def test_no_link_draws_what_another_draws() -> None:
    samples = list(delays_on_links("uniform(0.5, 1.5)", every=2.0, count=DRAWS).values())
    assert len(samples) == 4
    for place, one in enumerate(samples):
        assert abs(correlation(one[1:], one[:-1])) < 4 / math.sqrt(DRAWS)
        for other in samples[:place]:
            assert abs(correlation(one, other)) < 4 / math.sqrt(DRAWS)


def test_the_first_delays_of_many_links_are_uniform_too() -> None:
    names = [f"n{number}" for number in range(55)]
    network = from_networkx(networkx.complete_graph(names), delay="uniform(0, 1)".replace("0,", "1e-6,"))
    sim = cast(network, dict.fromkeys(names, lambda node: node.broadcast(Note())))
    sim.run()
    sample = [time for name in names for time, _, _ in heard(sim, name)]
    assert len(sample) == 55 * 54
    assert farthest_from(lambda t: t, sample) < 1.95 / math.sqrt(len(sample))


def test_another_seed_gives_other_delays_and_the_same_seed_the_same() -> None:
    first, again, other = (delays_on_links("uniform(0.5, 1.5)", 2.0, 5, seed) for seed in (1, 1, 2))
    assert first == again
    assert all(first[link] != other[link] for link in first)


def test_a_message_leaves_a_link_with_bandwidth_when_those_before_it_have_left() -> None:
    # given: 4 bytes a second; a short message of 18 bytes and a long one of 24
    network = line("a", "b", delay=1.0, bandwidth=4.0)
    short, long = Note(0), Note(0, "sixsix")
    assert (len(encode(short)), len(encode(long))) == (18, 24)

    def talk(node: Node) -> None:
        node.send("b", short)  # on the wire from 0 to 4.5
        node.send("b", long)  # from 4.5 to 10.5
        node.work(9.0)
        node.send("b", short)  # from 10.5 to 15
        node.work(31.0)
        node.send("b", long)  # from 40, when the link has been idle for long, to 46

    sim = cast(network, {"a": talk, "b": lambda node: node.send("a", short)})
    # when
    sim.run()
    # then
    assert heard(sim, "b") == [(5.5, "a", short), (11.5, "a", long), (16.0, "a", short), (47.0, "a", long)]
    assert heard(sim, "a") == [(40.0, "b", short)]  # it had arrived at 5.5, while the node was busy
    assert sim.nodes["a"].waited_s == 40.0 - 5.5


# Nodes: the input queue


def test_messages_wait_in_a_queue_while_the_node_serves_others() -> None:
    # given: every message takes 2 seconds of service
    network = star("hub", "a", "b", "c", delay=1.0, service=2.0)

    def late(node: Node) -> None:
        node.work(1.0)
        node.send("hub", Note(3))

    sim = cast(network, {"a": lambda n: n.send("hub", Note(1)), "b": lambda n: n.send("hub", Note(2)), "c": late})
    # when: they arrive at 1, 1 and 2
    sim.run()
    # then: they are served from 1 to 3, from 3 to 5 and from 5 to 7
    assert heard(sim, "hub") == [(3.0, "a", Note(1)), (5.0, "b", Note(2)), (7.0, "c", Note(3))]
    assert sim.nodes["hub"].agent.protocols[0].arrived == [1.0, 1.0, 2.0]
    assert sim.nodes["hub"].waited_s == 0 + 2 + 3


def test_work_delays_what_is_sent_afterwards_and_what_comes_next() -> None:
    class Worker(Actor):
        def hears(self, node: Node, sender: str, word: Any) -> None:
            super().hears(node, sender, word)
            node.send("z", Note(10))
            node.work(5.0)
            node.send("z", Note(11))
            node.after(1.0, Alarm())

        @on(Alarm)
        def rings(self, node: Node, sender: str, alarm: Alarm) -> None:
            self.heard.append((node.now, sender, alarm))

    def two(node: Node) -> None:
        node.send("m", Note(1))
        node.work(1.0)
        node.send("m", Note(2))

    sim = cast(line("a", "m", "z"), {"a": two, "m": Worker()})
    sim.run()
    # The first is handled from 1 to 6, the second (there since 2) from 6 to 11, the alarms of 7 and 12 when it is idle.
    assert heard(sim, "m") == [(1.0, "a", Note(1)), (6.0, "a", Note(2)), (11.0, "m", Alarm()), (12.0, "m", Alarm())]
    assert [(time, word.number) for time, _, word in heard(sim, "z")] == [(2.0, 10), (7.0, 11), (7.0, 10), (12.0, 11)]


@pytest.mark.parametrize("seconds", [-1.0, math.nan, math.inf])
def test_work_must_be_a_time(seconds: float) -> None:
    with pytest.raises(AgentError, match=r"a: work\(.*\)") as caught:
        cast(line("a", "b"), {"a": lambda node: node.work(seconds)}).run()
    assert isinstance(caught.value.__cause__, MessageError)


def test_a_broadcast_reaches_all_neighbours_but_the_skipped_and_only_those_asked_for() -> None:
    def cry(node: Node) -> None:
        node.broadcast(Note(1))
        node.broadcast(Note(2), skip="b")
        node.broadcast(Note(3), to=["b", "c"])
        node.broadcast(Note(4), to=["b", "c"], skip="b")
        node.broadcast(Note(5), to=[])

    sim = cast(star("a", "b", "c", "d"), {"a": cry})
    sim.run()
    numbers = {name: [word.number for _, _, word in heard(sim, name)] for name in "bcd"}
    assert numbers == {"b": [1, 3], "c": [1, 2, 3, 4], "d": [1, 2]}


# Against a reference: one heap, one event after the other, as simple as can be


@message(tag="simulator.Token")
class Token:
    """Tells its receiver to run this script; the tokens that it makes run out after `ttl` generations."""

    ttl: int
    script: int
    pad: str


Action = tuple[Any, ...]
Script = list[Action]
Happening = tuple[float, float, str, str, Token]
"""When it arrived, when it was handled, where, from whom, what."""


@dataclass(frozen=True)
class Play:
    """A network and what its nodes do with the tokens that they get."""

    edges: dict[tuple[str, str], tuple[Any, float | None]]
    scripts: list[Script]
    starters: dict[str, int]
    service: float | None = None
    underlay: float = 1.0
    seed: int = 0

    def network(self) -> Network:
        graph = networkx.Graph()
        for (a, b), (delay, bandwidth) in self.edges.items():
            graph.add_edge(a, b, delay=delay, **({} if bandwidth is None else {"bandwidth": bandwidth}))
        return from_networkx(graph, service=self.service, underlay_delay=self.underlay)

    def child(self, token: Token, script: int) -> Token:
        return Token(token.ttl - 1, script % len(self.scripts), "x" * (script % 5))


class Performer(Protocol):
    """Performs the play on a node of the simulator."""

    def __init__(self, play: Play, name: str, happenings: list[Happening]) -> None:
        self.play, self.name, self.happenings = play, name, happenings
        self.timers: list[int] = []

    def started(self, node: Node) -> None:
        if self.name in self.play.starters:
            self.perform(node, Token(3, self.play.starters[self.name], ""))

    @on(Token)
    def got(self, node: Node, sender: str, token: Token) -> None:
        self.happenings.append((node.arrived, node.now, node.id, sender, token))
        self.perform(node, token)

    def perform(self, node: Node, token: Token) -> None:
        everyone = sorted({name for edge in self.play.edges for name in edge} - {node.id})
        for action in self.play.scripts[token.script] if token.ttl else []:
            match action:
                case "work", seconds:
                    node.work(seconds)
                case "send", which, script:
                    node.send(node.neighbours[which % len(node.neighbours)], self.play.child(token, script))
                case "broadcast", which, script:
                    skip = node.neighbours[which % len(node.neighbours)]
                    node.broadcast(self.play.child(token, script), skip=skip)
                case "underlay", which, script:
                    node.send_underlay(everyone[which % len(everyone)], self.play.child(token, script))
                case "after", seconds, script:
                    self.timers.append(node.after(seconds, self.play.child(token, script)))
                case "cancel", which:
                    if self.timers:
                        node.cancel(self.timers[which % len(self.timers)])


@dataclass
class Reference:
    """The same play, event by event from one heap of (time, node, sender, count, ...)."""

    play: Play
    happenings: list[Happening] = field(default_factory=list)

    def __post_init__(self) -> None:
        neighbours: dict[str, list[str]] = defaultdict(list)
        for a, b in self.play.edges:
            neighbours[a].append(b)
            neighbours[b].append(a)
        self.neighbours = {name: sorted(peers) for name, peers in sorted(neighbours.items())}
        self.heap: list[Any] = []
        self.clock: dict[str, float] = dict.fromkeys(self.neighbours, 0.0)
        self.count: dict[str, int] = dict.fromkeys(self.neighbours, 0)
        self.timers: dict[str, list[tuple[str, int]]] = {name: [] for name in self.neighbours}
        self.cancelled: set[tuple[str, int]] = set()
        self.link_free: dict[tuple[str, str], float] = defaultdict(float)
        self.link_last: dict[tuple[str, str, bool], float] = defaultdict(float)
        self.dice = {(a, b): dice(self.play.seed, a, b) for a in self.neighbours for b in self.neighbours}

    def run(self) -> list[Happening]:
        for name in self.neighbours:
            if name in self.play.starters:
                self.perform(name, Token(3, self.play.starters[name], ""))
        while self.heap:
            time, node, sender, count, token = heappop(self.heap)
            if (sender, count) in self.cancelled and sender == node:
                continue
            self.clock[node] = max(self.clock[node], time)
            if self.play.service is not None and sender != node:
                self.clock[node] += self.play.service
            self.happenings.append((time, self.clock[node], node, sender, token))
            self.perform(node, token)
        return self.happenings

    def perform(self, node: str, token: Token) -> None:
        peers, everyone = self.neighbours[node], [name for name in self.neighbours if name != node]
        for action in self.play.scripts[token.script] if token.ttl else []:
            self.count[node] += 1
            match action:
                case "work", seconds:
                    self.clock[node] += seconds
                case "send", which, script:
                    self.transmit(node, peers[which % len(peers)], self.play.child(token, script))
                case "broadcast", which, script:
                    for peer in peers:
                        if peer != peers[which % len(peers)]:
                            self.transmit(node, peer, self.play.child(token, script))
                case "underlay", which, script:
                    peer = everyone[which % len(everyone)]
                    self.arrive(node, peer, self.clock[node] + self.play.underlay, self.play.child(token, script), True)
                case "after", seconds, script:
                    self.timers[node].append((node, self.count[node]))
                    child = self.play.child(token, script)
                    heappush(self.heap, (self.clock[node] + seconds, node, node, self.count[node], child))
                case "cancel", which:
                    if self.timers[node]:
                        self.cancelled.add(self.timers[node][which % len(self.timers[node])])

    def transmit(self, source: str, target: str, token: Token) -> None:
        delay, bandwidth = self.play.edges.get((source, target)) or self.play.edges[target, source]
        depart = self.clock[source]
        if bandwidth is not None:
            depart = max(depart, self.link_free[source, target]) + len(encode(token)) / bandwidth
            self.link_free[source, target] = depart
        if isinstance(delay, str):
            low, high = map(float, delay.removeprefix("uniform(").removesuffix(")").split(","))
            delay = low + next(self.dice[source, target]) * (high - low)
        self.arrive(source, target, depart + delay, token, False)

    def arrive(self, source: str, target: str, time: float, token: Token, underlay: bool) -> None:
        time = max(time, self.link_last[source, target, underlay])
        self.link_last[source, target, underlay] = time
        heappush(self.heap, (time, target, source, self.count[source], token))


def dice(seed: int, source: str, target: str) -> Iterator[float]:
    """Park and Miller's generator with the link's own seed."""
    modulus = 2**31 - 1
    state = derive(seed, "link", source, target) % (modulus - 1) + 1
    while True:
        state = state * 48271 % modulus
        yield state / modulus


def eighths(low: int, high: int) -> st.SearchStrategy[float]:
    """Times that add up exactly, and meet often."""
    return st.integers(low, high).map(lambda number: number / 8)


numbers = st.integers(0, 7)
actions = st.one_of(
    st.tuples(st.just("work"), eighths(0, 16)),
    st.tuples(st.just("send"), numbers, numbers),
    st.tuples(st.just("send"), numbers, numbers),
    st.tuples(st.just("broadcast"), numbers, numbers),
    st.tuples(st.just("underlay"), numbers, numbers),
    st.tuples(st.just("after"), eighths(0, 16), numbers),
    st.tuples(st.just("after"), st.sampled_from([0.0, 1.0]), numbers),
    st.tuples(st.just("cancel"), numbers),
)


@st.composite
def plays(draw: st.DrawFn, delays: st.SearchStrategy[Any]) -> Play:
    size = draw(st.integers(2, 6))
    names = [f"n{number}" for number in draw(st.permutations(range(8, 8 + size)))]  # n10 comes before n8
    pairs = {(draw(st.sampled_from(names[:place])), names[place]) for place in range(1, size)}
    for a, b in draw(st.lists(st.tuples(st.sampled_from(names), st.sampled_from(names)), max_size=4)):
        if a != b and (b, a) not in pairs:
            pairs.add((a, b))
    widths = st.sampled_from([None, None, 8.0, 64.0])
    return Play(
        edges={pair: (draw(delays), draw(widths)) for pair in sorted(pairs)},
        scripts=[draw(st.lists(actions, min_size=2, max_size=3)) for _ in range(4)],
        starters={name: draw(numbers) % 4 for name in names[: draw(st.integers(1, 3))]},
        service=draw(st.sampled_from([None, None, 0.0, 0.25, 1.5])),
        underlay=draw(eighths(1, 12)),
        seed=draw(st.integers(0, 99)),
    )


def performed(play: Play) -> list[Happening]:
    happenings: list[Happening] = []
    sim = Simulator(play.network(), lambda name: Agent([Performer(play, name, happenings)]), play.seed)
    assert sim.run()
    assert sim.handled == len(happenings)
    return happenings


DELIVER_AND_RING = Play(
    # A message, a timer that is set while it is handled and another message, all at the same time.
    edges={("n8", "n9"): (1.0, None), ("n10", "n9"): (1.0, None)},
    scripts=[[("send", 0, 1), ("send", 1, 1), ("after", 1.0, 1)], [("after", 0.0, 2), ("work", 0.5)], []],
    starters={"n8": 0, "n9": 0, "n10": 0},
)


@settings(max_examples=500)
@given(plays(eighths(1, 12)))
@example(DELIVER_AND_RING)
def test_everything_happens_when_and_where_a_plain_event_loop_says(play: Play) -> None:
    assert performed(play) == Reference(play).run()


@settings(max_examples=200)
@given(plays(st.sampled_from(["uniform(0.5, 1.5)", "uniform(0.1, 9.0)"])))
def test_everything_happens_in_the_order_of_a_plain_event_loop_with_random_delays(play: Play) -> None:
    # Node by node: events at two nodes that are simultaneous but for rounding may change places.
    here, there = (sorted(run, key=lambda happening: happening[2]) for run in (performed(play), Reference(play).run()))
    assert [happening[2:] for happening in here] == [happening[2:] for happening in there]
    assert [happening[:2] for happening in here] == [pytest.approx(happening[:2], abs=1e-9) for happening in there]


@pytest.mark.full
@settings(max_examples=5000)
@given(plays(eighths(1, 12)))
def test_everything_happens_when_and_where_a_plain_event_loop_says_many_times(play: Play) -> None:
    assert performed(play) == Reference(play).run()


# Timers


def test_timers_ring_in_the_order_of_their_times_and_then_as_they_were_set() -> None:
    def set_some(node: Node) -> None:
        for number, delay in enumerate([3.0, 1.0, 2.0, 1.0, 0.0]):
            node.after(delay, Alarm(number))

    sim = cast(line("a", "b"), {"a": set_some})
    sim.run()
    assert [(time, word.number) for time, _, word in heard(sim, "a")] == [(0, 4), (1, 1), (1, 3), (2, 2), (3, 0)]
    assert {sender for _, sender, _ in heard(sim, "a")} == {"a"}


def test_a_timer_of_no_delay_rings_after_the_handler_and_before_time_goes_on() -> None:
    class Eager(Actor):
        @on(Note)
        def hears(self, node: Node, sender: str, word: Any) -> None:
            node.after(0.0, Alarm(word.number))
            self.heard.append((node.now, "note", word.number))

        @on(Alarm)
        def rings(self, node: Node, sender: str, alarm: Alarm) -> None:
            self.heard.append((node.now, "alarm", alarm.number))

    def two(node: Node) -> None:
        node.send("b", Note(1))
        node.work(0.125)
        node.send("b", Note(2))

    sim = cast(line("a", "b"), {"a": two, "b": Eager()})
    sim.run()
    assert heard(sim, "b") == [(1, "note", 1), (1, "alarm", 1), (1.125, "note", 2), (1.125, "alarm", 2)]


def test_a_cancelled_timer_never_rings() -> None:
    def set_and_cancel(node: Node) -> None:
        node.cancel(node.after(1.0, Alarm(1)))
        node.after(1.0, Alarm(2))
        late = node.after(5.0, Alarm(3))
        node.cancel(late)
        node.cancel(late)

    sim = cast(line("a", "b"), {"a": set_and_cancel})
    assert sim.run()
    assert [word.number for _, _, word in heard(sim, "a")] == [2]
    assert sim.handled == 1


def test_cancelling_what_has_rung_or_is_anothers_or_never_was_has_no_effect() -> None:
    timers: dict[str, int] = {}

    class Meddler(Actor):
        def started(self, node: Node) -> None:
            timers[node.id] = node.after(1.0, Alarm(1))
            node.after(2.0, Alarm(2))

        @on(Alarm)
        def rings(self, node: Node, sender: str, alarm: Alarm) -> None:
            self.heard.append((node.now, sender, alarm))
            node.cancel(timers[node.id])  # it has just rung
            node.cancel(timers["a"] if node.id == "b" else timers["b"])
            node.cancel(timers[node.id] + 1000)
            node.cancel(-1)
            if alarm.number == 2:
                node.after(0.5, Alarm(3))

    sim = cast(line("a", "b"), {"a": Meddler(), "b": Meddler()})
    sim.run()
    for name in "ab":
        assert [word.number for _, _, word in heard(sim, name)] == [1, 2, 3]


@pytest.mark.parametrize("delay", [-1.0, -1e-9, math.nan, math.inf])
def test_a_timer_must_be_set_for_a_time_to_come(delay: float) -> None:
    with pytest.raises(AgentError, match=r"a: after\(.*\)") as caught:
        cast(line("a", "b"), {"a": lambda node: node.after(delay, Alarm())}).run()
    assert isinstance(caught.value.__cause__, MessageError)


def test_a_timer_carries_a_message_and_nothing_else() -> None:
    with pytest.raises(AgentError, match="is not a message"):
        cast(line("a", "b"), {"a": lambda node: node.after(1.0, "text")}).run()


# Quiescence and limits


def test_a_network_where_nobody_speaks_is_quiet_at_once() -> None:
    sim = cast(line("a", "b"), {})
    assert sim.run()
    assert (sim.handled, sim.pending, sim.now) == (0, 0, 0.0)


def test_a_quiet_run_has_nothing_left_and_stays_quiet() -> None:
    sim = cast(line("a", "b"), {"a": Chatter(5, 1.0), "b": Chatter(5, 1.0)})
    assert sim.run()
    assert sim.pending == 0
    before = (sim.handled, sim.now, sim.fingerprint())
    assert sim.run()
    assert (sim.handled, sim.now, sim.fingerprint()) == before


class Forever(Actor):
    """Never falls silent."""

    def __init__(self, pause: float) -> None:
        super().__init__()
        self.pause = pause

    def started(self, node: Node) -> None:
        node.after(self.pause, Alarm())
        node.broadcast(Note())

    @on(Note)
    def hears(self, node: Node, sender: str, word: Any) -> None:
        node.send(sender, Note())

    @on(Alarm)
    def rings(self, node: Node, sender: str, alarm: Alarm) -> None:
        node.after(self.pause, Alarm())


@pytest.mark.parametrize("pause", [1.0, 0.0, 1e-12])
def test_a_run_that_never_gets_quiet_ends_at_the_limit_of_events(pause: float) -> None:
    sim = cast(line("a", "b"), {"a": Forever(pause), "b": Forever(pause)})
    assert not sim.run(max_events=1000)
    assert 1000 <= sim.handled <= 1010
    assert sim.pending > 0


def test_a_run_that_never_gets_quiet_ends_at_the_limit_of_time() -> None:
    sim = cast(line("a", "b"), {"a": Forever(1.0), "b": Forever(0.3)})
    assert not sim.run(until=100.0)
    assert 99 < sim.now <= 100.0
    assert sim.pending > 0


def test_what_happens_exactly_at_the_limit_of_time_still_happens() -> None:
    def call(node: Node) -> None:
        node.send("b", Note(1))
        node.after(1.0, Alarm(1))
        node.work(0.5)
        node.send("b", Note(2))

    sim = cast(line("a", "b"), {"a": call})
    assert not sim.run(until=1.0)
    assert [word.number for _, _, word in heard(sim, "b")] == [1]
    assert sim.run(until=1.5)
    assert [word.number for _, _, word in heard(sim, "b")] == [1, 2]


class Gossip(Actor):
    """Passes on what it hears for some hops, with timers and work in between."""

    def started(self, node: Node) -> None:
        node.broadcast(Note(6))
        node.after(0.7, Alarm(6))

    @on(Note, Alarm)
    def hears(self, node: Node, sender: str, word: Any) -> None:
        super().hears(node, sender, word)
        if word.number == 0:
            return
        if node.rng.random() < 0.7:
            node.send(node.rng.choice(node.neighbours), Note(word.number - 1))
        timer = node.after(node.rng.random(), Alarm(word.number - 1))
        if node.rng.random() < 0.3:
            node.cancel(timer)
        node.work(node.rng.choice([0.0, 0.01]))


def gossip(seed: int) -> Simulator:
    network = from_networkx(networkx.cycle_graph(["a", "b", "c", "d", "e"]), delay="uniform(0.5, 1.5)", service=0.01)
    return cast(network, {name: Gossip() for name in network.neighbours}, seed)


@settings(max_examples=40)
@given(st.integers(0, 1000), st.lists(st.floats(0, 12), max_size=6))
def test_a_run_continued_after_limits_of_time_is_the_run_without_limits(seed: int, stops: list[float]) -> None:
    # given
    whole, pieces = gossip(seed), gossip(seed)
    assert whole.run()
    # when
    for stop in sorted(stops):
        quiet = pieces.run(until=stop)
        assert quiet == (pieces.pending == 0)
        assert pieces.now <= stop
    assert pieces.run()
    # then
    assert pieces.fingerprint() == whole.fingerprint()
    assert (pieces.handled, pieces.now) == (whole.handled, whole.now)
    assert all(heard(pieces, name) == heard(whole, name) for name in whole.nodes)


@settings(max_examples=40)
@given(st.integers(0, 1000), st.lists(st.integers(0, 300), max_size=6))
def test_a_run_continued_after_limits_of_events_is_the_run_without_limits(seed: int, stops: list[int]) -> None:
    whole, pieces = gossip(seed), gossip(seed)
    assert whole.run()
    for stop in sorted(stops):
        pieces.run(max_events=stop)
    assert pieces.run()
    assert pieces.fingerprint() == whole.fingerprint()
    assert (pieces.handled, pieces.now) == (whole.handled, whole.now)
    assert all(heard(pieces, name) == heard(whole, name) for name in whole.nodes)


def test_a_fingerprint_covers_what_has_happened_and_nothing_that_is_still_to_come() -> None:
    # given: two runs that part after time 1.2
    def call(number: int) -> Callable[[Node], None]:
        def act(node: Node) -> None:
            node.send("b", Note(1))
            node.after(1.2, Alarm(number))

        return act

    first, second = (cast(line("a", "b", delay="uniform(0.9, 1.1)"), {"a": call(n)}) for n in (1, 1))
    first.run(until=1.15)
    second.run(until=1.19)
    assert first.fingerprint() == second.fingerprint()
    second.run()
    assert first.fingerprint() != second.fingerprint()


def test_progress_is_shown_while_the_run_goes_on() -> None:
    seen: list[int] = []
    sim = gossip(1)
    sim.run(progress=lambda running: seen.append(running.handled))
    assert seen == sorted(seen)
    assert len(seen) > 5
    assert seen[-1] == sim.handled


# What is counted


def test_messages_and_bytes_are_counted_by_type_and_once_for_each_link() -> None:
    spoken: list[Any] = []

    def speak(node: Node) -> None:
        for number in (0, 200, 70_000):
            spoken.extend([Note(number, "x" * number)] * 3 + [Alarm(number)])
            node.broadcast(Note(number, "x" * number))
            node.send("b", Alarm(number))

    sim = cast(star("hub", "a", "b", "c"), {"hub": speak})
    sim.run()
    for kind in (Note, Alarm):
        words = [word for word in spoken if isinstance(word, kind)]
        assert sim.sent[kind] == [len(words), sum(len(encode(word)) for word in words)]
    assert sim.handled == len(spoken)


def test_timers_are_not_counted_as_messages() -> None:
    sim = cast(line("a", "b"), {"a": lambda node: node.after(1.0, Alarm())})
    sim.run()
    assert sim.sent == sim.sent_underlay == {}
    assert sim.handled == 1


def test_the_underlay_reaches_any_node_and_is_counted_apart() -> None:
    def ping(node: Node) -> None:
        node.send_underlay("d", Note(1))
        node.send_underlay("d", Note(2))
        node.send_underlay("b", Note(3))
        node.send("b", Note(4))

    sim = cast(line("a", "b", "c", "d", underlay_delay=0.25), {"a": ping})
    sim.run()
    assert heard(sim, "d") == [(0.25, "a", Note(1)), (0.25, "a", Note(2))]
    assert heard(sim, "b") == [(0.25, "a", Note(3)), (1.0, "a", Note(4))]
    assert sim.sent_underlay[Note] == [3, 3 * len(encode(Note(1)))]
    assert sim.sent[Note] == [1, len(encode(Note(4)))]


def test_the_underlay_keeps_the_order_of_messages() -> None:
    def ping(node: Node) -> None:
        for number in range(30):
            node.send_underlay("c", Note(number))
            node.work(0.05)

    sim = cast(line("a", "b", "c", underlay_delay="exponential(0.1, 2.0)"), {"a": ping})
    sim.run()
    assert [word.number for _, _, word in heard(sim, "c")] == list(range(30))


@pytest.mark.parametrize("peer", ["nobody", "a"])
def test_the_underlay_leads_to_other_nodes_only(peer: str) -> None:
    with pytest.raises(AgentError, match=f"a cannot reach {peer} over the underlay") as caught:
        cast(line("a", "b"), {"a": lambda node: node.send_underlay(peer, Note())}).run()
    assert isinstance(caught.value.__cause__, LocalityError)


# Errors


def test_an_error_in_a_handler_names_the_node_the_time_and_the_message() -> None:
    class Faulty(Actor):
        @on(Note, Alarm)
        def hears(self, node: Node, sender: str, word: Any) -> None:
            raise ValueError("cannot be")

    with pytest.raises(AgentError) as caught:
        cast(line("a", "b", delay=1.5), {"a": lambda node: node.send("b", Note(3)), "b": Faulty()}).run()
    assert str(caught.value) == "b at 1.5, handling simulator.Note(number=3, text=''): ValueError: cannot be"
    assert isinstance(caught.value.__cause__, ValueError)
    with pytest.raises(AgentError, match=r"^b at 0, handling simulator.Alarm\(number=0\): ValueError: cannot be$"):

        class Impatient(Faulty):
            def started(self, node: Node) -> None:
                node.after(0.0, Alarm())

        cast(line("a", "b"), {"b": Impatient()}).run()


def test_an_error_at_the_start_names_the_node() -> None:
    def fail(node: Node) -> None:
        raise KeyError("nothing there")

    with pytest.raises(AgentError, match=r"^b at 0, handling its start: KeyError: 'nothing there'$"):
        cast(line("a", "b"), {"b": fail}).run()


# The event log


class Logger(Actor):
    @on(Note, Alarm)
    def hears(self, node: Node, sender: str, word: Any) -> None:
        node.work(0.5)
        node.log("heard", number=word.number, sender=sender)


def logged() -> Simulator:
    def call(node: Node) -> None:
        node.broadcast(Note(1))
        node.broadcast(Note(2))

    return cast(star("hub", "z", "a"), {"hub": call, "a": Logger(), "z": Logger()})


EXPECTED = [
    {"time": 1.5, "node": "a", "number": 1, "sender": "hub"},
    {"time": 1.5, "node": "z", "number": 1, "sender": "hub"},
    {"time": 2.0, "node": "a", "number": 2, "sender": "hub"},
    {"time": 2.0, "node": "z", "number": 2, "sender": "hub"},
]


def test_logged_rows_are_tables_in_the_order_of_time_and_node() -> None:
    sim = logged()
    sim.run()
    assert sim.events.counts() == {"heard": 4}
    assert sim.events.table("heard").to_pylist() == EXPECTED
    assert list(sim.events.tables()) == ["heard"]


def test_each_kind_of_event_becomes_a_parquet_file(tmp_path: Path) -> None:
    sim = logged()
    sim.run()
    sim.events.write(tmp_path / "events")
    assert [path.name for path in (tmp_path / "events").iterdir()] == ["heard.parquet"]
    assert pq.read_table(tmp_path / "events" / "heard.parquet").to_pylist() == EXPECTED


def test_simultaneous_rows_of_one_node_stay_as_they_were_logged() -> None:
    def log(node: Node) -> None:
        for number in (3, 1, 2):
            node.log("row", number=number)

    sim = cast(line("a", "b"), {"a": log, "b": log})
    sim.run()
    assert sim.events.table("row")["number"].to_pylist() == [3, 1, 2, 3, 1, 2]


@pytest.mark.parametrize(
    ("rows", "complaint"),
    [
        ([{"a": 1, "b": 2}, {"a": 1}], r"fields \['a'\], but before \['a', 'b'\]"),
        ([{"a": 1}, {"a": 1, "z": 2}], r"fields \['a', 'z'\], but before \['a'\]"),
        ([{"a": 1}, {"b": 1}], "field 'b' was not there before"),
        ([{"time": 1}], "time is already a column of every event"),
        ([{"a": 1}, {"node": 1}], "node is already a column of every event"),
        ([{"a": 1}, {"time": 1}], "time is already a column of every event"),
    ],
)
def test_all_rows_of_an_event_have_the_same_fields(rows: list[dict[str, int]], complaint: str) -> None:
    def log(node: Node) -> None:
        for row in rows:
            node.log("thing", **row)

    with pytest.raises(AgentError, match=f"event thing: {complaint}") as caught:
        cast(line("a", "b"), {"a": log}).run()
    assert isinstance(caught.value.__cause__, WiringError)


def test_an_event_has_a_name_that_can_be_a_files_name() -> None:
    with pytest.raises(AgentError, match=r"event '\.\./x': write a name of letters, digits and _"):
        cast(line("a", "b"), {"a": lambda node: node.log("../x", a=1)}).run()


def test_a_column_of_several_kinds_is_refused_by_its_name() -> None:
    def log(node: Node) -> None:
        node.log("thing", size=1)
        node.log("thing", size="large")

    sim = cast(line("a", "b"), {"a": log})
    sim.run()
    with pytest.raises(WiringError, match="event thing: field size"):
        sim.events.tables()
