"""Channel: what the papers assume of a link (nothing lost, doubled or reordered) over links that do all three.

Between two lives of two neighbours there is one stream in each direction: numbered, acknowledged, sent again
until it is acknowledged. A crash ends a life: the next life's first word ends the old streams and begins new,
empty ones, and the protocols above hear that the neighbour went down and came up. A neighbour that leaves
several attempts unanswered is reported down as well, but as long as it lives nothing meant for it is given up:
it is reported up when it answers, and the stream goes on where it was. Only the answer to a question asked since
counts: what the neighbour said before may still be on its way when it is long dead. Until then what comes from it is
kept and nobody above hears of it.

Our own: the papers have no such layer (reading of design, "Channel").
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from runtime.agent import Layer, LinkChanged, Node, Timer, on
from runtime.message import Message, encode, message


@message
class Hello:
    """My life, the life of yours that I know of (0: none), the question I ask and the one I answer (0: none)."""

    mine: int
    yours: int
    asks: int
    answers: int


@message
class Data:
    mine: int
    yours: int
    number: int
    payload: Message


@message
class Ack:
    """Everything below `expected` has arrived."""

    mine: int
    yours: int
    expected: int


@message
class Resend:
    """A timer: the peer has not answered yet."""

    peer: str


@dataclass
class Durable:
    life: int = 0
    carried: dict[str, list[int]] = field(default_factory=dict)


@dataclass
class Stream:
    """What this node knows of one neighbour; it dies with the node."""

    their_life: int = 0
    up: bool = True
    questions: int = 0
    open_question: int = 0
    numbered: int = 0
    unacknowledged: dict[int, Any] = field(default_factory=dict)
    expected: int = 0
    early: dict[int, Any] = field(default_factory=dict)
    attempts: int = 0
    timer: Timer | None = None

    def wonder(self) -> None:
        self.questions += 1
        self.open_question = self.questions


class Channel(Layer):
    """Reliable FIFO streams to each neighbour."""

    durable: Durable
    BACKOFF_LIMIT = 8
    BURST = 32

    def __init__(self, retransmit_after: float = 5.0, suspect_after: int = 15, give_up_after: int = 60) -> None:
        self.retransmit_after = retransmit_after
        self.suspect_after = suspect_after
        self.give_up_after = give_up_after
        self.durable = Durable()
        self.streams: dict[str, Stream] = {}
        self.resent = 0

    @property
    def carried(self) -> dict[str, list[int]]:
        """Messages and bytes that the protocols above sent, by tag, in all lives."""
        return self.durable.carried

    def started(self, node: Node) -> None:
        self.durable.life += 1
        self.streams = {peer: Stream() for peer in node.neighbours}
        for peer, stream in self.streams.items():
            stream.wonder()
            self._try(node, peer, stream)

    # Sending

    def carry(self, node: Node, peer: str, message: Any) -> None:
        stream = self.streams.get(peer)
        if stream is None:
            node.send(peer, message)  # not a neighbour: the node says so
            return
        size = len(encode(message))
        counts = self.durable.carried.setdefault(message.tag, [0, 0])
        counts[0] += 1
        counts[1] += size
        stream.unacknowledged[stream.numbered] = message
        stream.numbered += 1
        if stream.their_life:
            self._send(node, peer, stream, stream.numbered - 1)
        self._wait(node, peer, stream)

    def _send(self, node: Node, peer: str, stream: Stream, number: int) -> None:
        node.send(peer, Data(self.durable.life, stream.their_life, number, stream.unacknowledged[number]))

    def _send_waiting(self, node: Node, peer: str, stream: Stream) -> None:
        for number in list(stream.unacknowledged)[: self.BURST]:
            self._send(node, peer, stream, number)

    def _try(self, node: Node, peer: str, stream: Stream) -> None:
        """Say again what waits for an answer, and wait for it."""
        if stream.open_question:
            node.send(peer, Hello(self.durable.life, stream.their_life, stream.open_question, 0))
        if stream.their_life:
            self._send_waiting(node, peer, stream)
        self._arm(node, peer, stream)

    def _wait(self, node: Node, peer: str, stream: Stream) -> None:
        """Have a timer running as long as an answer is due, and only then."""
        if stream.unacknowledged or stream.open_question:
            if stream.timer is None:
                stream.attempts = 0 if stream.up else self.suspect_after
                self._arm(node, peer, stream)
        elif stream.timer is not None:
            node.cancel(stream.timer)
            stream.timer = None

    def _arm(self, node: Node, peer: str, stream: Stream) -> None:
        if stream.timer is not None:
            node.cancel(stream.timer)
        wait = self.retransmit_after * min(2**stream.attempts, self.BACKOFF_LIMIT)
        stream.timer = node.after(wait, Resend(peer))

    @on(Resend)
    def unanswered(self, node: Node, sender: str, timer: Resend) -> None:
        stream = self.streams[timer.peer]
        stream.timer = None
        stream.attempts += 1
        if stream.attempts >= self.suspect_after and stream.up:
            stream.up = False
            stream.wonder()
            self.above.down(node, timer.peer)
        if stream.attempts < self.give_up_after:
            self.resent += 1
            self._try(node, timer.peer, stream)

    @on(LinkChanged)
    def doubtful(self, node: Node, sender: str, hint: LinkChanged) -> None:
        stream = self.streams[hint.peer]
        stream.wonder()
        stream.attempts = 0
        self._try(node, hint.peer, stream)

    # Receiving

    @on(Hello)
    def greeted(self, node: Node, sender: str, hello: Hello) -> None:
        stream = self.streams[sender]
        if hello.mine < stream.their_life:
            return
        self._meet(node, sender, stream, hello.mine)
        if hello.answers == stream.open_question != 0 and hello.yours == self.durable.life:
            stream.open_question = 0
            stream.attempts = 0
            self._arm(node, sender, stream)
            if not stream.up:
                self._rise(node, sender, stream)
                self._send_waiting(node, sender, stream)
                self._deliver(node, sender, stream)
        if hello.asks or hello.yours != self.durable.life:
            node.send(sender, Hello(self.durable.life, stream.their_life, 0, hello.asks))
        self._wait(node, sender, stream)

    @on(Data)
    def received(self, node: Node, sender: str, data: Data) -> None:
        stream = self.streams[sender]
        if data.mine < stream.their_life:
            return
        if data.yours != self.durable.life:
            # Meant for a life that is over: tell the sender that there is a new one.
            node.send(sender, Hello(self.durable.life, stream.their_life, 0, 0))
            return
        self._meet(node, sender, stream, data.mine)
        if data.number >= stream.expected:
            stream.early[data.number] = data.payload
        if stream.up:
            self._deliver(node, sender, stream)
        self._wait(node, sender, stream)

    def _deliver(self, node: Node, peer: str, stream: Stream) -> None:
        while stream.expected in stream.early:
            payload = stream.early.pop(stream.expected)
            stream.expected += 1
            self.above.deliver(node, peer, payload)
        node.send(peer, Ack(self.durable.life, stream.their_life, stream.expected))

    @on(Ack)
    def acknowledged(self, node: Node, sender: str, ack: Ack) -> None:
        stream = self.streams[sender]
        if ack.mine != stream.their_life or ack.yours != self.durable.life:
            return
        self._meet(node, sender, stream, ack.mine)
        arrived = [number for number in stream.unacknowledged if number < ack.expected]
        for number in arrived:
            del stream.unacknowledged[number]
        if arrived and stream.timer is not None:
            self._arm(node, sender, stream)
        self._wait(node, sender, stream)

    def _meet(self, node: Node, peer: str, stream: Stream, life: int) -> None:
        """A sign of life. Perhaps it is another life than the one this node knew: then everything begins anew."""
        if stream.up:
            stream.attempts = 0
        if life == stream.their_life:
            return
        if stream.their_life:
            if stream.up:
                stream.up = False
                self.above.down(node, peer)
            # Whatever was on its way to the old life is lost with it.
            stream.unacknowledged.clear()
            stream.numbered = 0
        stream.their_life = life
        stream.expected = 0
        stream.early.clear()
        stream.attempts = 0
        self._rise(node, peer, stream)
        self._send_waiting(node, peer, stream)

    def _rise(self, node: Node, peer: str, stream: Stream) -> None:
        if not stream.up:
            stream.up = True
            self.above.up(node, peer)
