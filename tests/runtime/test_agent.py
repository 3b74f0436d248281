"""Agents: each message has one handler, protocols fit together or are refused, layers sit below the rest."""

from __future__ import annotations

from typing import Any

import networkx
import pytest

from runtime.agent import Agent, Layer, LayeredNode, Node, Protocol, on
from runtime.errors import AgentError, LocalityError, MessageError, WiringError
from runtime.message import Message, message
from runtime.network import from_networkx
from runtime.simulator import Simulator


@message(tag="agent.Ping")
class Ping:
    number: int = 0


@message(tag="agent.Pong")
class Pong:
    number: int = 0


@message(tag="agent.Frame")
class Frame:
    """What the layer below wraps around everything."""

    content: Message


@message(tag="agent.Tick")
class Tick:
    pass


class Diary(Protocol):
    """Writes down what reaches it."""

    def __init__(self) -> None:
        self.heard: list[tuple[str, str, Any]] = []

    @on(Ping)
    def pinged(self, node: Node, sender: str, ping: Ping) -> None:
        self.heard.append(("pinged", sender, ping))


class Caller(Protocol):
    """Sends these messages to its neighbours when it starts."""

    def __init__(self, *calls: Any) -> None:
        self.calls = calls

    def started(self, node: Node) -> None:
        for call in self.calls:
            node.broadcast(call)


def two_nodes(a: Agent, b: Agent, **options: Any) -> Simulator:
    agents = {"a": a, "b": b}
    return Simulator(from_networkx(networkx.Graph([("a", "b")])), agents.__getitem__, **options)


# One handler for each message


def test_a_message_reaches_its_handler_with_its_sender() -> None:
    diary = Diary()
    assert two_nodes(Agent([Caller(Ping(7))]), Agent([diary])).run()
    assert diary.heard == [("pinged", "a", Ping(7))]


def test_one_method_can_handle_several_messages() -> None:
    class Both(Diary):
        @on(Ping, Pong)
        def pinged(self, node: Node, sender: str, ping: Any) -> None:
            self.heard.append(("both", sender, ping))

    diary = Both()
    two_nodes(Agent([Caller(Ping(1), Pong(2))]), Agent([diary])).run()
    assert [word for _, _, word in diary.heard] == [Ping(1), Pong(2)]


def test_marks_add_up() -> None:
    class Both(Protocol):
        @on(Ping)
        @on(Pong)
        def heard(self, node: Node, sender: str, word: Any) -> None: ...

    assert Both.handlers == {Ping: "heard", Pong: "heard"}


def test_two_methods_of_a_protocol_cannot_handle_the_same_message() -> None:
    with pytest.raises(WiringError, match=r"Torn\.first and Torn\.second both handle Ping"):

        class Torn(Protocol):
            @on(Ping)
            def first(self, node: Node, sender: str, ping: Ping) -> None: ...

            @on(Ping)
            def second(self, node: Node, sender: str, ping: Ping) -> None: ...


def test_two_protocols_of_an_agent_cannot_handle_the_same_message() -> None:
    class Rival(Diary):
        pass

    with pytest.raises(WiringError, match="Ping is handled by Rival and another protocol"):
        Agent([Diary(), Rival()])
    with pytest.raises(WiringError, match="Ping is handled by Diary and another protocol"):
        Agent([Diary()], layer=LayerThatPings())


@pytest.mark.parametrize("kind", [int, Message, "Ping", None, Ping(1)])
def test_only_messages_can_be_handled(kind: Any) -> None:
    with pytest.raises(WiringError, match="declare it with @message"):
        on(kind)(lambda node, sender, message: None)


def test_an_unhandled_message_is_an_error_that_names_the_node_and_the_message() -> None:
    with pytest.raises(WiringError) as caught:
        two_nodes(Agent([Caller(Pong(3))]), Agent([Diary()])).run()
    assert str(caught.value) == "b has no handler for agent.Pong(number=3); it handles Ping"


def test_an_unhandled_timer_is_an_error_too() -> None:
    class Forgetful(Protocol):
        def started(self, node: Node) -> None:
            node.after(1.0, Tick())

    with pytest.raises(WiringError) as caught:
        two_nodes(Agent([Forgetful()]), Agent([])).run()
    assert str(caught.value) == "a has no handler for agent.Tick(); it handles nothing"


def test_a_missing_key_inside_a_handler_is_not_taken_for_a_missing_handler() -> None:
    class Clumsy(Protocol):
        @on(Ping)
        def heard(self, node: Node, sender: str, ping: Ping) -> None:
            {}[Ping]

    with pytest.raises(AgentError, match=r"b at 1, handling agent\.Ping\(number=0\): KeyError"):
        two_nodes(Agent([Caller(Ping())]), Agent([Clumsy()])).run()


# Inheritance


class Base(Protocol):
    def __init__(self) -> None:
        self.log: list[str] = []

    @on(Ping)
    def heard(self, node: Node, sender: str, ping: Ping) -> None:
        self.log.append("base")

    @on(Pong)
    def answered(self, node: Node, sender: str, pong: Pong) -> None:
        self.log.append("answer")


def log_of(protocol: Any) -> list[str]:
    two_nodes(Agent([Caller(Ping(), Pong())]), Agent([protocol])).run()
    return protocol.log


def test_handlers_are_inherited() -> None:
    class Heir(Base):
        pass

    assert log_of(Heir()) == ["base", "answer"]


def test_an_overridden_handler_stays_the_handler_without_a_new_mark() -> None:
    class Heir(Base):
        def heard(self, node: Node, sender: str, ping: Ping) -> None:
            self.log.append("heir")
            super().heard(node, sender, ping)

    assert log_of(Heir()) == ["heir", "base", "answer"]


def test_an_heir_can_handle_a_message_by_another_method() -> None:
    class Heir(Base):
        @on(Ping)
        def mine(self, node: Node, sender: str, ping: Ping) -> None:
            self.log.append("mine")

    assert log_of(Heir()) == ["mine", "answer"]
    assert Base.handlers == {Ping: "heard", Pong: "answered"}


def test_an_overridden_handler_with_a_new_mark_handles_what_the_mark_says() -> None:
    class Heir(Base):
        @on(Tick)
        def heard(self, node: Node, sender: str, tick: Any) -> None:
            self.log.append("tick")

    assert Heir.handlers == {Tick: "heard", Pong: "answered"}


def test_protocols_can_be_mixed_from_several_classes() -> None:
    class Other(Protocol):
        @on(Tick)
        def ticked(self, node: Node, sender: str, tick: Tick) -> None: ...

    class Mixed(Base, Other):
        pass

    assert Mixed.handlers == {Ping: "heard", Pong: "answered", Tick: "ticked"}


# Agents


def test_an_agent_finds_its_protocols_by_class() -> None:
    diary, caller, layer = Diary(), Caller(), Envelopes()
    agent = Agent([diary, caller], layer)
    assert agent.find(Diary) is diary
    assert agent.find(Caller) is caller
    assert agent.find(Layer) is layer
    assert agent.find(Base) is None
    assert agent.everything() == (layer, diary, caller)


def test_protocols_start_in_their_order_after_the_layer() -> None:
    order: list[str] = []

    class First(Protocol):
        def started(self, node: Node) -> None:
            order.append("first")

    class Second(Protocol):
        def started(self, node: Node) -> None:
            order.append("second")

    class Below(Layer):
        def started(self, node: Node) -> None:
            order.append("below")

    two_nodes(Agent([First(), Second()], Below()), Agent([])).run()
    assert order == ["below", "first", "second"]


def test_recovering_means_starting_unless_a_protocol_says_otherwise() -> None:
    calls: list[str] = []

    class Plain(Protocol):
        def started(self, node: Node) -> None:
            calls.append("plain started")

    class Special(Protocol):
        def started(self, node: Node) -> None:
            calls.append("special started")

        def recovered(self, node: Node) -> None:
            calls.append("special recovered")

    sim = two_nodes(Agent([Plain(), Special()]), Agent([]))
    sim.nodes["a"].agent.start(sim.nodes["a"], recovered=True)
    assert calls == ["plain started", "special recovered"]


def test_a_new_agent_remembers_a_copy_of_what_was_durable_and_nothing_else() -> None:
    class Keeper(Protocol):
        def __init__(self) -> None:
            self.durable = {"numbers": [1]}
            self.volatile = [1]

    before, after = Agent([Caller(), Keeper()], Envelopes()), Agent([Caller(), Keeper()], Envelopes())
    old, new = before.find(Keeper), after.find(Keeper)
    assert old is not None
    assert new is not None
    old.durable["numbers"].append(2)
    old.volatile.append(2)
    after.remember(before)
    assert new.durable == {"numbers": [1, 2]}
    assert new.volatile == [1]
    old.durable["numbers"].append(3)
    assert new.durable == {"numbers": [1, 2]}


# Layers


class LayerThatPings(Layer):
    @on(Ping)
    def heard(self, node: Node, sender: str, ping: Ping) -> None: ...


class Envelopes(Layer):
    """Wraps what is sent and unwraps what comes; tells up and down when it is pinged."""

    def __init__(self) -> None:
        self.carried: list[tuple[str, Any]] = []

    def carry(self, node: Node, peer: str, message: Any) -> None:
        self.carried.append((peer, message))
        node.send(peer, Frame(message))

    @on(Frame)
    def unwrap(self, node: Node, sender: str, frame: Frame) -> None:
        self.above.deliver(node, sender, frame.content)

    @on(Tick)
    def flicker(self, node: Node, sender: str, tick: Tick) -> None:
        self.above.down(node, sender)
        self.above.up(node, sender)


class Upper(Protocol):
    """Answers pings; keeps what it saw of its node."""

    def __init__(self, *peers: str) -> None:
        self.peers = peers
        self.heard: list[tuple[str, Any]] = []
        self.told: list[tuple[str, str, Node]] = []
        self.nodes: list[Node] = []

    def started(self, node: Node) -> None:
        self.nodes.append(node)
        for peer in self.peers:
            node.send(peer, Ping(1))

    @on(Ping)
    def pinged(self, node: Node, sender: str, ping: Ping) -> None:
        self.nodes.append(node)
        node.send(sender, Pong(ping.number + 1))

    @on(Pong)
    def ponged(self, node: Node, sender: str, pong: Pong) -> None:
        self.heard.append((sender, pong))

    def neighbour_up(self, node: Node, peer: str) -> None:
        self.told.append(("up", peer, node))

    def neighbour_down(self, node: Node, peer: str) -> None:
        self.told.append(("down", peer, node))


def test_what_protocols_send_goes_through_the_layer_and_back_up() -> None:
    a, b = Agent([Upper("b")], Envelopes()), Agent([Upper()], Envelopes())
    sim = two_nodes(a, b)
    assert sim.run()
    assert a.find(Upper).heard == [("b", Pong(2))]
    assert a.find(Envelopes).carried == [("b", Ping(1))]
    assert b.find(Envelopes).carried == [("a", Pong(2))]
    assert sim.sent.keys() == {Frame}
    assert sim.sent[Frame][0] == 2


def test_protocols_above_a_layer_see_one_node_that_is_the_world_below() -> None:
    upper = Upper()
    sim = two_nodes(Agent([Upper("b")], Envelopes()), Agent([upper], Envelopes()))
    sim.run()
    first, second = upper.nodes
    assert first is second
    assert isinstance(first, LayeredNode)
    below = sim.nodes["b"]
    assert (first.id, first.neighbours, first.now, first.arrived) == ("b", ("a",), below.now, below.arrived)
    assert first.rng is below.rng


def test_a_broadcast_goes_through_the_layer_to_everyone_but_the_skipped() -> None:
    class Crier(Protocol):
        def started(self, node: Node) -> None:
            node.broadcast(Ping(1), skip="b")
            node.broadcast(Ping(2), to=["b"])
            node.broadcast(Ping(3), skip="c", to=["b", "c"])

    layer = Envelopes()
    agents = {"a": Agent([Crier()], layer), **{name: Agent([Diary()], Envelopes()) for name in "bcd"}}
    Simulator(from_networkx(networkx.star_graph(["a", "b", "c", "d"])), agents.__getitem__).run()
    assert layer.carried == [("c", Ping(1)), ("d", Ping(1)), ("b", Ping(2)), ("b", Ping(3))]


def test_timers_work_and_underlay_go_past_the_layer() -> None:
    class Busy(Protocol):
        def __init__(self) -> None:
            self.ticks: list[float] = []

        def started(self, node: Node) -> None:
            node.work(1.0)
            node.cancel(node.after(1.0, Pong(0)))
            node.after(2.0, Pong(1))
            node.send_underlay("b", Ping(5))
            node.log("busy", level=1)

        @on(Pong)
        def ticked(self, node: Node, sender: str, pong: Pong) -> None:
            assert isinstance(node, LayeredNode)
            self.ticks.append(node.now)

    layer, busy = Envelopes(), Busy()
    sim = two_nodes(Agent([busy], layer), Agent([Diary()], Envelopes()))
    sim.run()
    assert busy.ticks == [3.0]
    assert layer.carried == []
    assert sim.sent_underlay[Ping][0] == 1
    assert sim.nodes["b"].agent.find(Diary).heard == [("pinged", "a", Ping(5))]
    assert sim.events.counts() == {"busy": 1}


def test_a_layer_tells_every_protocol_above_it_of_up_and_down() -> None:
    told: list[tuple[str, str]] = []

    class Listener(Protocol):
        def neighbour_up(self, node: Node, peer: str) -> None:
            told.append(("up", peer))

        def neighbour_down(self, node: Node, peer: str) -> None:
            told.append(("down", peer))

    upper = Upper()
    two_nodes(Agent([Caller(Tick())]), Agent([upper, Listener()], Envelopes())).run()
    assert [(what, peer) for what, peer, _ in upper.told] == told == [("down", "a"), ("up", "a")]
    assert all(isinstance(node, LayeredNode) for _, _, node in upper.told)


def test_a_message_that_nobody_above_the_layer_handles_is_named() -> None:
    with pytest.raises(WiringError, match=r"b has no handler for agent\.Ping\(number=1\); it handles Frame, Tick"):
        two_nodes(Agent([Upper("b")], Envelopes()), Agent([], Envelopes())).run()


def test_a_layer_without_carry_is_refused_when_it_is_used() -> None:
    with pytest.raises(AgentError, match="Below is a layer without carry"):

        class Below(Layer):
            pass

        two_nodes(Agent([Upper("b")], Below()), Agent([])).run()


def test_a_layer_does_not_lift_locality() -> None:
    with pytest.raises(AgentError, match="a cannot send to c: its neighbours are b") as caught:
        two_nodes(Agent([Upper("c")], Envelopes()), Agent([Upper()], Envelopes())).run()
    assert isinstance(caught.value.__cause__, LocalityError)


@pytest.mark.parametrize("word", ["text", None, ("agent.Ping", 1)])
def test_what_is_no_message_cannot_be_sent(word: Any) -> None:
    with pytest.raises(AgentError, match="is not a message: declare its class with @message") as caught:
        two_nodes(Agent([Caller(word)]), Agent([Diary()])).run()
    assert isinstance(caught.value.__cause__, MessageError)
