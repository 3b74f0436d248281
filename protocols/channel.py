"""Channel: what the papers assume of a link (nothing lost, doubled or reordered) over links that do all three.

Between two lives of two neighbours there is one stream in each direction: numbered, acknowledged, sent again
until it is acknowledged. A crash ends a life: the next life's first word ends the old streams and begins new,
empty ones, and the protocols above hear that the neighbour went down and came up. A neighbour that leaves
several attempts unanswered is reported down as well, but as long as it lives nothing meant for it is given up:
it is reported up when it answers, and the stream goes on where it was.

Our own: the papers have no such layer (reading of design, "Channel").
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from runtime.agent import Layer, LinkChanged, Node, Timer, on
from runtime.message import Message, encode, message


@message
class Hello:
    """My life, the life of yours that I know of (0: none), and whether I wait for an answer."""

    mine: int
    yours: int
    asks: bool


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


@dataclass
class Stream:
    """What this node knows of one neighbour; it dies with the node."""

    their_life: int = 0
    up: bool = True
    asking: bool = True
    numbered: int = 0
    unacknowledged: dict[int, Any] = field(default_factory=dict)
    expected: int = 0
    early: dict[int, Any] = field(default_factory=dict)
    attempts: int = 0
    timer: Timer | None = None


class Channel(Layer):
    """Reliable FIFO streams to each neighbour."""

    BACKOFF_LIMIT = 8
    BURST = 32

    def __init__(self, retransmit_after: float = 5.0, suspect_after: int = 6, give_up_after: int = 60) -> None:
        self.retransmit_after = retransmit_after
        self.suspect_after = suspect_after
        self.give_up_after = give_up_after
        self.durable = Durable()
        self.streams: dict[str, Stream] = {}
        self.carried: dict[str, list[int]] = {}
        self.resent = 0

    def started(self, node: Node) -> None:
        self.durable.life += 1
        self.streams = {peer: Stream() for peer in node.neighbours}
        for peer, stream in self.streams.items():
            self._try(node, peer, stream)

    # Sending

    def carry(self, node: Node, peer: str, message: Any) -> None:
        stream = self.streams.get(peer)
        if stream is None:
            node.send(peer, message)  # not a neighbour: the node says so
            return
        counts = self.carried.setdefault(message.tag, [0, 0])
        counts[0] += 1
        counts[1] += len(encode(message))
        stream.unacknowledged[stream.numbered] = message
        stream.numbered += 1
        if stream.their_life and not stream.asking:
            self._send(node, peer, stream, stream.numbered - 1)
        if stream.timer is None:
            stream.attempts = 0
            self._arm(node, peer, stream)

    def _send(self, node: Node, peer: str, stream: Stream, number: int) -> None:
        payload = stream.unacknowledged[number]
        node.send(peer, Data(self.durable.life, stream.their_life, number, payload))

    def _try(self, node: Node, peer: str, stream: Stream) -> None:
        """Say again what waits for an answer, and wait for it."""
        if stream.asking:
            node.send(peer, Hello(self.durable.life, stream.their_life, True))
        else:
            self._send_waiting(node, peer, stream)
        self._arm(node, peer, stream)

    def _send_waiting(self, node: Node, peer: str, stream: Stream) -> None:
        for number in list(stream.unacknowledged)[: self.BURST]:
            self._send(node, peer, stream, number)

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
        if stream.attempts == self.suspect_after and stream.up:
            stream.up = False
            self.above.down(node, timer.peer)
        if stream.attempts < self.give_up_after:
            self.resent += 1
            self._try(node, timer.peer, stream)

    @on(LinkChanged)
    def doubtful(self, node: Node, sender: str, hint: LinkChanged) -> None:
        stream = self.streams[hint.peer]
        stream.asking = True
        stream.attempts = 0
        self._try(node, hint.peer, stream)

    # Receiving

    @on(Hello)
    def greeted(self, node: Node, sender: str, hello: Hello) -> None:
        stream = self.streams[sender]
        if hello.mine < stream.their_life:
            return
        self._heard(node, sender, stream, hello.mine)
        if hello.asks or hello.yours != self.durable.life:
            node.send(sender, Hello(self.durable.life, stream.their_life, False))

    @on(Data)
    def received(self, node: Node, sender: str, data: Data) -> None:
        stream = self.streams[sender]
        if data.mine < stream.their_life:
            return
        if data.yours != self.durable.life:
            # Meant for a life that is over: tell the sender that there is a new one.
            node.send(sender, Hello(self.durable.life, stream.their_life, False))
            return
        self._heard(node, sender, stream, data.mine)
        if data.number >= stream.expected:
            stream.early[data.number] = data.payload
        while stream.expected in stream.early:
            payload = stream.early.pop(stream.expected)
            stream.expected += 1
            self.above.deliver(node, sender, payload)
        node.send(sender, Ack(self.durable.life, stream.their_life, stream.expected))

    @on(Ack)
    def acknowledged(self, node: Node, sender: str, ack: Ack) -> None:
        stream = self.streams[sender]
        if ack.mine != stream.their_life or ack.yours != self.durable.life:
            return
        arrived = [number for number in stream.unacknowledged if number < ack.expected]
        for number in arrived:
            del stream.unacknowledged[number]
        self._heard(node, sender, stream, ack.mine)
        if arrived and stream.timer is not None:
            self._arm(node, sender, stream)

    def _heard(self, node: Node, peer: str, stream: Stream, life: int) -> None:
        """The peer lives; perhaps it is another life than the one this node knew."""
        reopened = stream.asking
        if life != stream.their_life:
            reopened = True
            if stream.their_life:
                self._forget(node, peer, stream)
            stream.their_life = life
            stream.expected = 0
            stream.early.clear()
        stream.asking = False
        stream.attempts = 0
        if not stream.up:
            stream.up = True
            self.above.up(node, peer)
        if reopened:
            self._send_waiting(node, peer, stream)
        if not stream.unacknowledged and stream.timer is not None:
            node.cancel(stream.timer)
            stream.timer = None
        elif stream.unacknowledged and stream.timer is None:
            self._arm(node, peer, stream)

    def _forget(self, node: Node, peer: str, stream: Stream) -> None:
        """The life that the stream led to is over, and with it everything on the way to it."""
        stream.unacknowledged.clear()
        stream.numbered = 0
        if stream.up:
            stream.up = False
            self.above.down(node, peer)
        # What the protocols above said on that occasion was meant for the old life too.
        stream.unacknowledged.clear()
        stream.numbered = 0
