"""A broker's connections and what passes over them: the resource model (relocation, 5).

Every message waits in the broker's input queue and takes matching time, a publication more the larger the table is. On
its way out it waits in the output queue of its connection, as long as those before it need at this bandwidth. A
client that has moved here is reached over the underlay; neighbours and attached clients over their links.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field

from runtime.agent import Node
from runtime.message import encode

NEWEST = 0.05
"""The weight of the newest value in the averages that a broker keeps of its delays."""


@dataclass
class Average:
    """A running average; as long as there are few values, the mean of them."""

    value: float = 0.0
    count: int = 0

    def add(self, value: float) -> None:
        self.count += 1
        self.value += max(NEWEST, 1 / self.count) * (value - self.value)


@dataclass(frozen=True)
class Resources:
    """How fast a broker is, and from when on its work is counted."""

    matching_s: float = 0.0
    """What every message takes."""

    per_subscription_s: float = 0.0
    """What a publication takes beyond that for each subscription in the table."""

    bandwidth: float | None = None
    """Bytes per second of each connection; None: a message's size does not matter."""

    begins_s: float = 0.0
    """From then on work counts."""

    steady_s: float = 0.0
    """From then on it counts as that of the steady state."""


@dataclass
class Work:
    """What a broker has done."""

    publications: int = 0
    """That were handled; likewise control messages."""

    control: int = 0
    sent: int = 0
    bytes_out: int = 0
    busy_s: float = 0.0


@dataclass
class Connections:
    """Sends, receives and counts for all protocols of a broker."""

    brokers: frozenset[str]
    """The neighbours that are brokers."""

    attached: frozenset[str] = frozenset()
    """The clients with a link to this broker, wherever they are connected now."""

    resources: Resources = Resources()
    setting_up: Work = field(default_factory=Work)
    """What was done before publishing began; then, before the steady state; and in it."""

    settling: Work = field(default_factory=Work)
    steady: Work = field(default_factory=Work)
    waiting_s: Average = field(default_factory=Average)
    """In the input queue."""

    matching_s: Average = field(default_factory=Average)
    free_at: dict[str, float] = field(default_factory=dict)
    output_s: dict[str, Average] = field(default_factory=dict)
    """In the output queue of each neighbour, and under the broker's own name of all clients."""

    def received(self, node: Node, subscriptions: int | None = None) -> None:
        """A message came in: a publication to be matched with so many subscriptions, or control if None."""
        resources, work = self.resources, self.work(node.now)
        waited_s, matching_s = node.now - node.arrived, resources.matching_s
        if subscriptions is None:
            work.control += 1
        else:
            work.publications += 1
            matching_s += resources.per_subscription_s * subscriptions
            self.waiting_s.add(waited_s)
            self.matching_s.add(matching_s)
        work.busy_s += matching_s
        if matching_s:
            node.work(matching_s)

    def work(self, now: float) -> Work:
        """Where work at this time is counted."""
        if now < self.resources.begins_s:
            return self.setting_up
        return self.steady if now >= self.resources.steady_s else self.settling

    def send(self, node: Node, peer: str, message: object) -> None:
        """Send one control message."""
        self._queue(node, (peer,), len(encode(message)))
        if peer in self.brokers or peer in self.attached:
            node.send(peer, message)
        else:
            node.send_underlay(peer, message)

    def broadcast(self, node: Node, message: object, skip: str | None = None) -> None:
        """Send one control message to all neighbouring brokers but one."""
        for peer in sorted(self.brokers):
            if peer != skip:
                self.send(node, peer, message)

    def spread(self, node: Node, publication: object, brokers: Sequence[str], clients: Iterable[str]) -> None:
        """Send a publication on its way to these brokers and clients."""
        here: list[str] = [*brokers]
        moved: list[str] = []
        for client in clients:
            (here if client in self.attached else moved).append(client)
        self._queue(node, here + moved, len(encode(publication)))
        if here:
            node.broadcast(publication, to=here)
        for client in moved:
            node.send_underlay(client, publication)

    def _queue(self, node: Node, peers: Collection[str], size: int) -> None:
        work = self.work(node.now)
        work.sent += len(peers)
        work.bytes_out += size * len(peers)
        if (bandwidth := self.resources.bandwidth) is None:
            return
        now, free_at = node.now, self.free_at
        for peer in peers:
            free_at[peer] = until = max(now, free_at.get(peer, 0.0)) + size / bandwidth
            queue = peer if peer in self.brokers else node.id
            if queue not in self.output_s:
                self.output_s[queue] = Average()
            self.output_s[queue].add(until - now)
