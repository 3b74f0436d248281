"""What a protocol is made of and all that it may touch: the interface between protocols and the runtime.

A protocol keeps its own state and handles messages; an agent is a named node made of protocols; a `Node`
is the world as one agent sees it. Nothing here knows how the network is run.
"""

from __future__ import annotations

import copy
import random
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, ClassVar, TypeVar

from runtime.errors import WiringError
from runtime.message import Message, message

Handler = Callable[["Node", str, Any], None]
F = TypeVar("F", bound=Callable[..., None])
P = TypeVar("P")
Timer = int


@message
class LinkChanged:
    """The environment hints that something happened to the link with this peer; what, is to be found out.

    It stands in for the heartbeats of an idle link, which would keep every run from ever becoming quiet. Only
    agents that handle it are told: those with a layer such as Channel.
    """

    peer: str


class Unhandled(WiringError):
    """A message reached a node that has no handler for it."""

    def __init__(self, node: Node, message: Any, handlers: Iterable[type[Any]]) -> None:
        handled = ", ".join(sorted(kind.__name__ for kind in handlers)) or "nothing"
        super().__init__(f"{node.id} has no handler for {message!r}; it handles {handled}")


class Node(ABC):
    """The world as one agent sees it: its name, its neighbours, its clock, its dice, its voice.

    `now` is the time at which the current message is being handled, `arrived` the time at which it came
    in (earlier, if the node was busy). Whatever `work` adds delays what is sent afterwards.
    """

    __slots__ = ()
    id: str
    neighbours: tuple[str, ...]
    now: float
    arrived: float

    @property
    @abstractmethod
    def rng(self) -> random.Random:
        """This node's own dice, derived from the run's seed and the node's name."""

    @abstractmethod
    def send(self, peer: str, message: object) -> None:
        """Send to an overlay neighbour, an attached agent or the home broker; else LocalityError."""

    @abstractmethod
    def broadcast(self, message: object, skip: str | None = None, to: Sequence[str] | None = None) -> None:
        """Send one message to all neighbours (or to those in `to`) but `skip`; it is encoded once."""

    @abstractmethod
    def send_underlay(self, peer: str, message: object) -> None:
        """Send past the overlay to any node (a ping, a new connection); counted apart."""

    @abstractmethod
    def after(self, delay_s: float, message: object) -> Timer:
        """Get this message from oneself later."""

    @abstractmethod
    def cancel(self, timer: Timer) -> None:
        """The timer's message will not be handled; no effect if it has been."""

    @abstractmethod
    def work(self, seconds: float) -> None:
        """Spend service time: what comes in meanwhile waits, what is sent from here on leaves later."""

    @abstractmethod
    def log(self, event: str, **fields: Any) -> None:
        """Write a row into the run's table of this event."""


def on(*messages: type[Any]) -> Callable[[F], F]:
    """Mark a method as the handler of these messages."""

    def mark(method: F) -> F:
        for kind in messages:
            if not (isinstance(kind, type) and issubclass(kind, Message)) or kind is Message:
                raise WiringError(f"@on({kind!r}): not a message; declare it with @message")
        method.handles = (*messages, *getattr(method, "handles", ()))  # type: ignore[attr-defined]
        return method

    return mark


class Protocol:
    """A component with its own state and handlers.

    `durable` is the part of the state that survives a crash; everything else dies with it.
    """

    handlers: ClassVar[dict[type[Any], str]] = {}
    durable: Any = None

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        handlers: dict[type[Any], str] = {}
        for base in reversed(cls.__mro__):
            marked = {name: member.handles for name, member in vars(base).items() if hasattr(member, "handles")}
            handlers = {kind: name for kind, name in handlers.items() if name not in marked}
            own: dict[type[Any], str] = {}
            for name, kinds in marked.items():
                for kind in kinds:
                    if own.setdefault(kind, name) != name:
                        torn = f"{base.__name__}.{own[kind]} and {base.__name__}.{name}"
                        raise WiringError(f"{torn} both handle {kind.__name__}")
            handlers |= own
        cls.handlers = handlers

    def started(self, node: Node) -> None:
        """The node starts, at time 0."""

    def recovered(self, node: Node) -> None:
        """The node is back after a crash, with `durable` as it was and the rest as new."""
        self.started(node)

    def neighbour_up(self, node: Node, peer: str) -> None:
        """A neighbour answers again, possibly with its memory lost (told by a layer such as Channel)."""

    def neighbour_down(self, node: Node, peer: str) -> None:
        """A neighbour no longer answers (told by a layer such as Channel)."""


class Layer(Protocol):
    """A protocol below the others: what they send goes through it, what it delivers reaches them.

    The agent sets `above`; the layer calls `above.deliver`, `above.up` and `above.down`.
    """

    above: Above

    def carry(self, node: Node, peer: str, message: Any) -> None:
        """Bring this message to the neighbour."""
        raise WiringError(f"{type(self).__name__} is a layer without carry()")


class Carrier(Protocol):
    """A protocol that brings messages to brokers that are not linked; the agent sets `arrived`, for what comes here."""

    next_hop: Mapping[str, str]
    """Over which neighbour each broker is reached."""

    arrived: Callable[[Node, str, Any], None]

    def send(self, node: Node, target: str, what: Any) -> None:
        """Send this on its way."""
        raise WiringError(f"{type(self).__name__} is a carrier without send()")


class Agent:
    """A named node made of protocols; a message type is handled by exactly one of them."""

    __slots__ = ("handlers", "layer", "protocols")

    def __init__(self, protocols: Iterable[Protocol], layer: Layer | None = None) -> None:
        self.protocols = tuple(protocols)
        self.layer = layer
        self.handlers: dict[type[Any], Handler] = {}
        if layer is not None:
            layer.above = Above(self)
            self._wire(layer, lambda handler: handler)
        for protocol in self.protocols:
            self._wire(protocol, layer.above.lift if layer is not None else lambda handler: handler)

    def _wire(self, protocol: Protocol, lift: Callable[[Handler], Handler]) -> None:
        for kind, name in protocol.handlers.items():
            if kind in self.handlers:
                raise WiringError(f"{kind.__name__} is handled by {type(protocol).__name__} and another protocol")
            self.handlers[kind] = lift(self.view(protocol, getattr(protocol, name)))

    def view(self, protocol: Protocol, handler: Handler) -> Handler:
        """The protocol's handler, told of the node as this protocol sees it."""
        return handler

    def seen_by(self, protocol: Protocol, node: Node) -> Node:
        """The node as this protocol sees it."""
        return node

    def knows(self, protocol: Protocol, peer: str) -> bool:
        """Is this neighbour one of the protocol's?"""
        return True

    def find(self, kind: type[P]) -> P | None:
        """The agent's protocol of this class, if it has one."""
        return next((protocol for protocol in self.everything() if isinstance(protocol, kind)), None)

    def everything(self) -> tuple[Protocol, ...]:
        return self.protocols if self.layer is None else (self.layer, *self.protocols)

    def start(self, node: Node, recovered: bool = False) -> None:
        if self.layer is not None:
            (self.layer.recovered if recovered else self.layer.started)(node)
            node = self.layer.above.seen(node)
        for protocol in self.protocols:
            (protocol.recovered if recovered else protocol.started)(self.seen_by(protocol, node))

    def remember(self, before: Agent) -> None:
        """Take over the durable state of the agent that crashed."""
        for mine, old in zip(self.everything(), before.everything(), strict=True):
            if old.durable is not None:
                mine.durable = copy.deepcopy(old.durable)


class Above:
    """The protocols above a layer, as the layer sees them."""

    __slots__ = ("_agent", "_node")

    def __getstate__(self) -> tuple[None, dict[str, Any]]:
        return None, {"_agent": self._agent, "_node": None}  # an agent can move; the node it saw stays

    def __init__(self, agent: Agent) -> None:
        self._agent = agent
        self._node: LayeredNode | None = None

    def seen(self, node: Node) -> Node:
        """The node as the protocols above see it: with a voice that goes through the layer."""
        if self._node is None or self._node.below is not node:
            assert self._agent.layer is not None
            self._node = LayeredNode(node, self._agent.layer)
        return self._node

    def lift(self, handler: Handler) -> Handler:
        return lambda node, sender, message: handler(self.seen(node), sender, message)

    def deliver(self, node: Node, sender: str, message: Any) -> None:
        handler = self._agent.handlers.get(message.__class__)
        if handler is None:
            raise Unhandled(node, message, self._agent.handlers)
        handler(node, sender, message)

    def up(self, node: Node, peer: str) -> None:
        for protocol in self._agent.protocols:
            if self._agent.knows(protocol, peer):
                protocol.neighbour_up(self._agent.seen_by(protocol, self.seen(node)), peer)

    def down(self, node: Node, peer: str) -> None:
        for protocol in self._agent.protocols:
            if self._agent.knows(protocol, peer):
                protocol.neighbour_down(self._agent.seen_by(protocol, self.seen(node)), peer)


class NodeAbove(Node):
    """A node seen through something that stands between it and its protocols; here, all is as it is below."""

    __slots__ = ("below",)

    def __init__(self, below: Node) -> None:
        self.below = below

    @property
    def id(self) -> str:  # type: ignore[override]
        return self.below.id

    @property
    def neighbours(self) -> tuple[str, ...]:  # type: ignore[override]
        return self.below.neighbours

    @property
    def now(self) -> float:  # type: ignore[override]
        return self.below.now

    @property
    def arrived(self) -> float:  # type: ignore[override]
        return self.below.arrived

    @property
    def rng(self) -> random.Random:
        return self.below.rng

    def send(self, peer: str, message: object) -> None:
        self.below.send(peer, message)

    def broadcast(self, message: object, skip: str | None = None, to: Sequence[str] | None = None) -> None:
        self.below.broadcast(message, skip, to)

    def send_underlay(self, peer: str, message: object) -> None:
        self.below.send_underlay(peer, message)

    def after(self, delay_s: float, message: object) -> Timer:
        return self.below.after(delay_s, message)

    def cancel(self, timer: Timer) -> None:
        self.below.cancel(timer)

    def work(self, seconds: float) -> None:
        self.below.work(seconds)

    def log(self, event: str, **fields: Any) -> None:
        self.below.log(event, **fields)


class LayeredNode(NodeAbove):
    """A node whose neighbours are reached through a layer; all else is the node below."""

    __slots__ = ("layer",)

    def __init__(self, below: Node, layer: Layer) -> None:
        super().__init__(below)
        self.layer = layer

    def send(self, peer: str, message: object) -> None:
        self.layer.carry(self.below, peer, message)

    def broadcast(self, message: object, skip: str | None = None, to: Sequence[str] | None = None) -> None:
        for peer in self.below.neighbours if to is None else to:
            if peer != skip:
                self.layer.carry(self.below, peer, message)
