"""Channel: whatever the links do, neighbours that live hear each other exactly once and in order."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import networkx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from protocols.channel import Ack, Channel, Data, Hello
from runtime.agent import Agent, Node, Protocol, on
from runtime.errors import AgentError, LocalityError, MessageError
from runtime.faults import Fault, FaultPlan, plan_faults
from runtime.message import encode, message
from runtime.network import Network, from_networkx
from runtime.schedule import at_random, steer
from runtime.settings import Settings, Several, parse
from runtime.simulator import Simulator

MANY = settings(max_examples=300)
FULL = settings(max_examples=4000)
ENOUGH_EVENTS = 300_000


@message(tag="channel.Word")
class Word:
    """The sender, which of its lives, and the number of the word among all that it ever said to anyone."""

    sender: str
    life: int
    number: int
    echoes: int = 0


@message(tag="channel.Speak")
class Speak:
    """A timer: say something to this neighbour."""

    peer: str


@dataclass
class Said:
    """A word as its sender knows it: to whom, and which life of that neighbour it had met by then (0: none)."""

    peer: str
    their_life: int
    word: Word


class Talker(Protocol):
    """Speaks when it is told to, answers some words, and comments on neighbours that come and go."""

    def __init__(self, channel: Channel | None, orders: Sequence[tuple[float, str]], ledger: Ledger) -> None:
        self.channel, self.orders, self.ledger = channel, orders, ledger
        self.durable = {"number": 0, "life": 0}

    def started(self, node: Node) -> None:
        self.durable["life"] += 1
        for at, peer in self.orders:
            if at >= node.now:
                node.after(at - node.now, Speak(peer))

    @on(Speak)
    def speak(self, node: Node, sender: str, order: Speak) -> None:
        self.say(node, order.peer, echoes=2)

    @on(Word)
    def hear(self, node: Node, sender: str, word: Word) -> None:
        between = node.id, self.durable["life"], sender
        self.ledger.heard.setdefault(between, []).append(word)
        if self.ledger.told.get(between, [("up", 0)])[-1][0] == "down":
            self.ledger.from_beyond.append((between, word))
        if word.echoes and word.number % 3 == 0:
            self.say(node, sender, word.echoes - 1)

    def neighbour_up(self, node: Node, peer: str) -> None:
        self.tell(node, peer, "up")
        self.say(node, peer)

    def neighbour_down(self, node: Node, peer: str) -> None:
        self.tell(node, peer, "down")
        self.say(node, peer)

    def tell(self, node: Node, peer: str, what: str) -> None:
        self.ledger.told.setdefault((node.id, self.durable["life"], peer), []).append((what, self.met(peer)))

    def say(self, node: Node, peer: str, echoes: int = 0) -> None:
        self.durable["number"] += 1
        word = Word(node.id, self.durable["life"], self.durable["number"], echoes)
        said = self.ledger.said.setdefault((node.id, self.durable["life"], peer), [])
        said.append(Said(peer, self.met(peer), word))
        node.send(peer, word)

    def met(self, peer: str) -> int:
        return 0 if self.channel is None else self.channel.streams[peer].their_life


Between = tuple[str, int, str]
"""A node, one of its lives, and a neighbour."""


class Ledger:
    """What everybody said, heard and was told: kept by the test, beyond all crashes."""

    def __init__(self) -> None:
        self.said: dict[Between, list[Said]] = {}
        self.heard: dict[Between, list[Word]] = {}
        self.told: dict[Between, list[tuple[str, int]]] = {}
        self.from_beyond: list[tuple[Between, Word]] = []
        """Heard of a neighbour that was told to be down."""

    def session(self, sender: str, life: int, receiver: str, their_life: int, first_met: int) -> list[Word]:
        """What one life said for another to hear: since they met, or before it had met anyone."""
        return [
            said.word
            for said in self.said.get((sender, life, receiver), [])
            if said.their_life == their_life or (said.their_life == 0 and their_life == first_met)
        ]

    def first_met(self, node: str, life: int, peer: str, last: int) -> int:
        """The first life of the peer that this life met; if it kept no record of it, it met one at most."""
        records = [said.their_life for said in self.said.get((node, life, peer), [])]
        records += [met for _, met in self.told.get((node, life, peer), [])]
        hearers = (
            their_life
            for (name, their_life, sender), words in self.heard.items()
            if (name, sender) == (peer, node) and any(word.life == life for word in words)
        )
        return min((record for record in records if record), default=last or min(hearers, default=0))


class Faults(Settings):
    faults: Several[Fault] = ()


def plan(network: Network, faults: Sequence[Mapping[str, Any]], seed: int) -> FaultPlan:
    return plan_faults(parse(Faults, {"faults": [dict(fault) for fault in faults]}).faults, network, seed)


@dataclass(frozen=True)
class Story:
    """Who is linked to whom, who speaks to whom and when, and what goes wrong."""

    edges: tuple[tuple[str, str], ...]
    orders: tuple[tuple[float, str, str], ...]
    faults: tuple[Mapping[str, Any], ...] = ()
    seed: int = 0
    delay: str = "uniform(0.5, 1.5)"
    patience: tuple[float, int, int] = (2.0, 15, 60)
    steered: bool = False
    fifo: bool = False
    reliable: bool = True

    def run(self) -> tuple[Simulator, Ledger]:
        network = from_networkx(networkx.Graph(self.edges), delay=self.delay)
        ledger = Ledger()

        def agent(name: str) -> Agent:
            channel = Channel(*self.patience) if self.reliable else None
            return Agent([Talker(channel, [(at, b) for at, a, b in self.orders if a == name], ledger)], channel)

        sim = Simulator(network, agent, self.seed, plan(network, self.faults, self.seed))
        if self.steered:
            quiet = steer(sim, at_random(random.Random(self.seed)), self.fifo, ENOUGH_EVENTS)
        else:
            quiet = sim.run(max_events=ENOUGH_EVENTS)
        assert quiet, f"not quiet after {sim.handled} events"
        return sim, ledger


def channel_of(sim: Simulator, name: str) -> Channel:
    channel = sim.nodes[name].agent.find(Channel)
    assert channel is not None
    return channel


def last_life(sim: Simulator, name: str) -> int:
    return channel_of(sim, name).durable.life


def links(sim: Simulator) -> list[tuple[str, str]]:
    return [(name, peer) for name, node in sim.nodes.items() for peer in node.neighbours]


def assert_nothing_lost_doubled_or_reordered(sim: Simulator, ledger: Ledger) -> None:
    """Between lives that both last: exactly what was said; where one ended: a beginning of it; else nothing."""
    alive = sim.alive()
    for sender, receiver in links(sim):
        seen = last_life(sim, sender)
        for their_life in range(1, last_life(sim, receiver) + 1):
            heard = ledger.heard.get((receiver, their_life, sender), [])
            rest = heard
            for life in range(1, seen + 1):
                last = channel_of(sim, sender).streams[receiver].their_life if life == seen else 0
                first = ledger.first_met(sender, life, receiver, last)
                wanted = ledger.session(sender, life, receiver, their_life, first)
                got = [word for word in rest if word.life == life]
                assert rest[: len(got)] == got, "words of an earlier life come after those of a later one"
                rest = rest[len(got) :]
                assert got == wanted[: len(got)], (
                    f"{receiver}/{their_life} heard {got} of {wanted} from {sender}/{life}"
                )
                lasting = {sender, receiver} <= alive.keys() and life == seen
                if lasting and their_life == last_life(sim, receiver):
                    assert got == wanted, f"{receiver} never heard {wanted[len(got) :]} of {sender}"
            assert not rest


def assert_up_and_down_alternate_and_end_as_it_is(sim: Simulator, ledger: Ledger) -> None:
    alive = sim.alive()
    for (name, life, peer), told in ledger.told.items():
        words = [what for what, _ in told]
        assert words == (["down", "up"] * len(words))[: len(words)], f"{name}/{life} was told of {peer}: {words}"
    for name, peer in links(sim):
        if name in alive:
            told = ledger.told.get((name, last_life(sim, name), peer), [])
            believed = not told or told[-1][0] == "up"
            assert believed == (peer in alive), f"{name} believes that {peer} is {'up' if believed else 'down'}"
            assert channel_of(sim, name).streams[peer].up == believed


def assert_nothing_left(sim: Simulator) -> None:
    """Between live neighbours nothing waits any more, nor does a timer run."""
    alive = sim.alive()
    for name, peer in links(sim):
        if {name, peer} <= alive.keys():
            stream = channel_of(sim, name).streams[peer]
            assert not stream.unacknowledged
            assert not stream.early
            assert not stream.open_question
            assert stream.timer is None


def check(story: Story) -> tuple[Simulator, Ledger]:
    sim, ledger = story.run()
    assert_nothing_lost_doubled_or_reordered(sim, ledger)
    assert_up_and_down_alternate_and_end_as_it_is(sim, ledger)
    assert_nothing_left(sim)
    assert ledger.from_beyond == []
    return sim, ledger


# Stories

OVERLAYS = [
    (("a", "b"),),
    (("a", "b"), ("b", "c")),
    (("a", "b"), ("b", "c"), ("a", "c")),
    (("a", "b"), ("a", "c"), ("a", "d"), ("c", "d")),
]
LAST = 60.0
"""When the last word is said, and the last fault on single messages ends."""

times = st.floats(0, LAST)
durations = st.sampled_from(["uniform(0, 3)", "exponential(0.5, 4)", "uniform(5, 20)"])


@st.composite
def message_faults(draw: st.DrawFn) -> list[dict[str, Any]]:
    """Faults on single messages, for as long as anyone speaks."""
    faults: list[dict[str, Any]] = []
    if draw(st.booleans()):
        faults.append({"kind": "drop", "probability": draw(st.floats(0, 0.6)), "until": LAST})
    if draw(st.booleans()):
        faults.append({"kind": "duplicate", "probability": draw(st.floats(0, 1)), "until": LAST})
    if draw(st.booleans()):
        faults.append({"kind": "reorder", "probability": draw(st.floats(0, 1)), "by": draw(durations), "until": LAST})
    if draw(st.booleans()):
        faults.append({"kind": "delay", "probability": draw(st.floats(0, 1)), "by": draw(durations), "until": LAST})
    return faults


@st.composite
def partitions(draw: st.DrawFn, edges: Sequence[tuple[str, str]], longest: float) -> list[dict[str, Any]]:
    """Cuts that heal, some of them in one direction only."""
    cuts = []
    for _ in range(draw(st.integers(0, 3))):
        since = draw(times)
        cut = draw(st.lists(st.sampled_from(sorted(edges)), min_size=1, unique=True))
        ends = [list(draw(st.permutations(edge))) for edge in cut]
        until = since + draw(st.floats(0.1, longest))
        cuts.append(
            {"kind": "partition", "links": ends, "since": since, "until": until, "one_way": draw(st.booleans())}
        )
    return cuts


@st.composite
def crashes(draw: st.DrawFn, names: Sequence[str], deadly: bool) -> list[dict[str, Any]]:
    found = []
    for _ in range(draw(st.integers(1, 3))):
        fault = {"kind": "crash", "nodes": [draw(st.sampled_from(names))], "at": draw(times)}
        if not (deadly and draw(st.booleans())):
            fault["recover_after"] = draw(st.sampled_from([0.0, 0.3, 2.0, 20.0, 200.0]))
        found.append(fault)
    return found


@st.composite
def stories(
    draw: st.DrawFn,
    lossy: bool = False,
    cuts: float = 0.0,
    crashing: bool = False,
    deadly: bool = False,
    **options: Any,
) -> Story:
    edges = draw(st.sampled_from(OVERLAYS))
    names = sorted({name for edge in edges for name in edge})
    ways = sorted({*edges, *((b, a) for a, b in edges)})
    orders = draw(st.lists(st.tuples(times, st.sampled_from(ways)), min_size=1, max_size=25))
    faults: list[dict[str, Any]] = draw(message_faults()) if lossy else []
    faults += draw(partitions(edges, cuts)) if cuts else []
    faults += draw(crashes(names, deadly)) if crashing else []
    return Story(
        edges,
        tuple((at, a, b) for at, (a, b) in orders),
        tuple(faults),
        seed=draw(st.integers(0, 2**32)),
        delay=draw(st.sampled_from(["uniform(0.5, 1.5)", "exponential(0.1, 1)"])),
        **{name: draw(value) if isinstance(value, st.SearchStrategy) else value for name, value in options.items()},
    )


IMPATIENT = (1.0, 3, 6)
"""Gives up after half a minute of silence."""


@MANY
@given(stories(lossy=True))
def test_every_word_arrives_once_and_in_order_over_links_that_lose_double_and_reorder(story: Story) -> None:
    check(story)


@MANY
@given(stories(lossy=True, cuts=100.0))
def test_every_word_arrives_once_and_in_order_after_partitions_heal(story: Story) -> None:
    check(story)


@MANY
@given(stories(cuts=300.0, patience=IMPATIENT))
def test_every_word_arrives_after_partitions_that_outlast_the_patience_of_the_channel(story: Story) -> None:
    check(story)


@MANY
@given(stories(lossy=True, cuts=60.0, crashing=True))
def test_a_new_life_hears_what_was_said_to_it_and_nothing_that_was_said_to_the_old_one(story: Story) -> None:
    check(story)


@MANY
@given(stories(lossy=True, cuts=60.0, crashing=True, deadly=True))
def test_those_who_live_go_on_when_others_die(story: Story) -> None:
    check(story)


@MANY
@given(stories(cuts=300.0, crashing=True, deadly=True, patience=IMPATIENT))
def test_an_impatient_channel_finds_out_who_lives_too(story: Story) -> None:
    check(story)


@MANY
@given(stories(lossy=True, cuts=60.0, crashing=True, deadly=True, steered=True, fifo=st.booleans()))
def test_no_schedule_makes_the_channel_lose_double_or_reorder(story: Story) -> None:
    check(story)


@pytest.mark.full
@FULL
@given(
    stories(
        lossy=True,
        cuts=200.0,
        crashing=True,
        deadly=True,
        steered=st.booleans(),
        fifo=st.booleans(),
    )
)
def test_no_schedule_makes_the_channel_lose_double_or_reorder_many_times(story: Story) -> None:
    check(story)


# Single cases


def test_the_lost_are_sent_again() -> None:
    story = Story(
        (("a", "b"),),
        tuple((float(n), "a", "b") for n in range(10)),
        ({"kind": "drop", "probability": 0.5, "until": 60.0},),
    )
    sim, ledger = check(story)
    assert [word.number for word in ledger.heard["b", 1, "a"]] == [
        said.word.number for said in ledger.said["a", 1, "b"]
    ]
    assert channel_of(sim, "a").resent > 0


def test_a_crash_is_told_as_down_and_up_even_if_nobody_noticed_the_silence() -> None:
    crash = {"kind": "crash", "nodes": ["b"], "at": 5.0, "recover_after": 0.1}
    _, ledger = check(Story((("a", "b"),), ((1.0, "a", "b"),), (crash,)))
    assert [what for what, _ in ledger.told["a", 1, "b"]] == ["down", "up"]
    assert ("b", 2, "a") not in ledger.told


def test_a_dead_neighbour_is_told_once_and_for_all() -> None:
    _, ledger = check(Story((("a", "b"),), ((1.0, "a", "b"),), ({"kind": "crash", "nodes": ["b"], "at": 5.0},)))
    assert [what for what, _ in ledger.told["a", 1, "b"]] == ["down"]


def test_a_neighbour_that_was_never_there_is_told_down() -> None:
    _, ledger = check(Story((("a", "b"),), ((1.0, "a", "b"),), ({"kind": "crash", "nodes": ["b"], "at": 0.0},)))
    assert [what for what, _ in ledger.told["a", 1, "b"]] == ["down"]


def test_a_partition_is_told_as_down_and_up_on_both_sides_and_loses_nothing() -> None:
    cut = {"kind": "partition", "groups": [["a"], ["b"]], "since": 5.0, "until": 1000.0}
    _, ledger = check(Story((("a", "b"),), ((1.0, "a", "b"), (10.0, "a", "b"), (20.0, "b", "a")), (cut,)))
    for name, peer in (("a", "b"), ("b", "a")):
        assert [what for what, _ in ledger.told[name, 1, peer]] == ["down", "up"]
        assert len(ledger.heard[name, 1, peer]) == len(ledger.said[peer, 1, name])


def test_what_is_said_to_a_crashed_neighbour_is_not_kept_for_its_next_life() -> None:
    crash = {"kind": "crash", "nodes": ["b"], "at": 10.0, "recover_after": 20.0}
    _, ledger = check(
        Story((("a", "b"),), ((5.0, "a", "b"), (15.0, "a", "b"), (45.0, "a", "b")), (crash,), delay="constant(1)")
    )
    # The third word of a is its comment on `down`, the fourth on `up`.
    assert [word.number for word in ledger.heard["b", 1, "a"]] == [1]
    assert [word.number for word in ledger.heard["b", 2, "a"]] == [4, 5]


def test_what_came_early_from_a_life_that_is_over_is_forgotten() -> None:
    # given: the first of two words is lost, so the second waits for it; then their sender crashes
    lost = {"kind": "drop", "links": [["a", "b"]], "one_way": True, "since": 9.9, "until": 10.1}
    crash = {"kind": "crash", "nodes": ["a"], "at": 11.0, "recover_after": 0.1}
    orders = ((10.0, "a", "b"), (10.2, "a", "b"), (20.0, "a", "b"), (25.0, "a", "b"))
    # when
    _, ledger = check(Story((("a", "b"),), orders, (lost, crash), delay="constant(0.1)"))
    # then: what the second life says arrives, and no word of the first
    assert len(ledger.heard["b", 1, "a"]) >= 2
    assert {word.life for word in ledger.heard["b", 1, "a"]} == {2}


def test_a_late_acknowledgement_of_an_earlier_life_acknowledges_nothing() -> None:
    # given: acknowledgements of the first life that arrive when the second life waits for its own
    late = {"kind": "reorder", "links": [["b", "a"]], "one_way": True, "by": 20.0, "since": 5.05, "until": 6.0}
    crash = {"kind": "crash", "nodes": ["a"], "at": 7.0, "recover_after": 0.1}
    lost = {"kind": "drop", "links": [["a", "b"]], "one_way": True, "since": 24.9, "until": 25.1}
    orders = (*((5.0, "a", "b") for _ in range(9)), (25.0, "a", "b"))
    # when
    sim, ledger = check(Story((("a", "b"),), orders, (late, crash, lost), delay="constant(0.1)"))
    # then
    assert len(ledger.heard["b", 1, "a"]) >= 10
    assert channel_of(sim, "a").resent > 0


def test_a_late_answer_to_an_earlier_life_is_no_sign_that_the_neighbour_lives() -> None:
    late = {"kind": "reorder", "links": [["b", "a"]], "one_way": True, "by": 30.0, "until": 1.0}
    crash = {"kind": "crash", "nodes": ["a"], "at": 11.0, "recover_after": 0.1}
    death = {"kind": "crash", "nodes": ["b"], "at": 10.0}
    _, ledger = check(Story((("a", "b"),), (), (late, crash, death), delay="constant(0.1)"))
    assert ledger.told["a", 2, "b"][-1][0] == "down"


def test_the_last_words_of_a_dead_neighbour_are_not_heard_once_it_is_told_down() -> None:
    late = {"kind": "reorder", "links": [["b", "a"]], "one_way": True, "by": 500.0, "since": 4.9, "until": 5.1}
    death = {"kind": "crash", "nodes": ["b"], "at": 6.0}
    sim, ledger = check(Story((("a", "b"),), ((5.0, "b", "a"),), (late, death), delay="constant(0.1)"))
    assert sim.now > 500
    assert [what for what, _ in ledger.told["a", 1, "b"]] == ["down"]
    assert ("a", 1, "b") not in ledger.heard


def test_a_neighbour_that_answers_now_and_then_is_not_reported_down() -> None:
    drop = {"kind": "drop", "probability": 0.3, "until": 300.0}
    orders = tuple((float(second), "a", "b") for second in range(300))
    sim, ledger = check(Story((("a", "b"),), orders, (drop,)))
    assert ledger.told == {}
    assert channel_of(sim, "a").resent > 50


# What it costs


def raw_and_reliable(orders: Sequence[tuple[float, str, str]], seed: int) -> tuple[tuple[Simulator, Ledger], ...]:
    plain = Story(OVERLAYS[3], tuple(orders), seed=seed, reliable=False)
    return plain.run(), Story(OVERLAYS[3], tuple(orders), seed=seed, patience=(5.0, 15, 60)).run()


ways = sorted({*OVERLAYS[3], *((b, a) for a, b in OVERLAYS[3])})


@settings(max_examples=40)
@given(st.lists(st.tuples(times, st.sampled_from(ways)).map(lambda o: (o[0], *o[1])), max_size=30), st.integers(0, 99))
def test_without_faults_the_channel_delivers_the_same_and_its_cost_is_counted_apart(
    orders: list[tuple[float, str, str]], seed: int
) -> None:
    (plain, bare), (sim, ledger) = raw_and_reliable(orders, seed)
    # The same words over each link; which word gets which number may differ, since answers come at other times.
    for name, peer in links(sim):
        heard = ledger.heard.get((name, 1, peer), [])
        assert heard == [said.word for said in ledger.said.get((peer, 1, name), [])]
    assert not ledger.told
    # What was carried is what was said, by number and by bytes.
    carried: Counter[str] = Counter()
    for name in sim.nodes:
        for tag, (count, size) in channel_of(sim, name).carried.items():
            carried.update({tag: count, f"{tag} bytes": size})
    words = [said.word for between in ledger.said.values() for said in between]
    assert carried == Counter({"channel.Word": len(words), "channel.Word bytes": sum(len(encode(w)) for w in words)})
    # On the links it was one Data and one Ack for each, and the greetings.
    assert sim.sent.keys() <= {Hello, Data, Ack}
    assert sim.sent.get(Data, [0])[0] == sim.sent.get(Ack, [0])[0] == len(words)
    assert sim.sent[Hello][0] == 2 * len(links(sim))
    assert sum(channel_of(sim, name).resent for name in sim.nodes) == 0
    # Without the channel there is nothing but the words.
    assert plain.sent.keys() <= {Word}
    assert plain.sent.get(Word, [0])[0] == sum(map(len, bare.said.values()))


def test_many_words_that_waited_for_a_partition_to_heal_all_arrive() -> None:
    cut = {"kind": "partition", "groups": [["a"], ["b"]], "since": 0.0, "until": 50.0}
    _, ledger = check(Story((("a", "b"),), tuple((1 + n / 100, "a", "b") for n in range(300)), (cut,)))
    assert len(ledger.heard["b", 1, "a"]) >= 300


def test_a_channel_reaches_neighbours_only() -> None:
    with pytest.raises(AgentError, match="a cannot send to c: its neighbours are b") as caught:
        Story((("a", "b"), ("b", "c")), (), reliable=True).run()[0].nodes["a"].agent.protocols[0]  # all is quiet
        network = from_networkx(networkx.path_graph(["a", "b", "c"]))
        agents = {name: Agent([Stranger()], Channel()) for name in network.neighbours}
        Simulator(network, agents.__getitem__).run()
    assert isinstance(caught.value.__cause__, LocalityError)


class Stranger(Protocol):
    """Speaks to somebody who is not its neighbour."""

    def started(self, node: Node) -> None:
        if node.id == "a":
            node.send("c", Speak("c"))


def test_a_channel_carries_messages_only() -> None:
    class Mumbler(Protocol):
        def started(self, node: Node) -> None:
            node.broadcast("text")

    network = from_networkx(networkx.path_graph(["a", "b"]))
    with pytest.raises(AgentError, match="is not a message: declare its class with @message") as caught:
        Simulator(network, lambda name: Agent([Mumbler()], Channel())).run()
    assert isinstance(caught.value.__cause__, MessageError)
