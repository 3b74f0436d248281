"""A node of the simulated network: what its agent may do, and the way of a message out of it."""

from __future__ import annotations

import random
from collections.abc import Sequence
from heapq import heappush
from math import inf
from typing import TYPE_CHECKING, Any
from zlib import crc32

from runtime.agent import Agent, Handler, Node, Timer
from runtime.errors import LocalityError, MessageError
from runtime.links import COPIES, MODULUS, MULTIPLIER, Link
from runtime.message import encode, pack
from runtime.streams import stream

if TYPE_CHECKING:
    from runtime.simulator import Simulator

Entry = tuple[float, int, Link, Any]
"""An event: arrival, place among simultaneous events, link, message."""


class Died(BaseException):
    """Ends a handler at the moment at which its node crashes; no `except Exception` of its own can hold it."""


class SimNode(Node):
    """A node of the simulated network. Its clock never goes back: what arrives while it is busy waits."""

    __slots__ = (
        "_count",
        "_links",
        "_out",
        "_own",
        "_rng",
        "_sim",
        "_underlay",
        "agent",
        "arrived",
        "handlers",
        "id",
        "index",
        "neighbours",
        "now",
        "said",
        "waited_s",
    )

    def __init__(self, sim: Simulator, name: str, index: int, neighbours: tuple[str, ...]) -> None:
        self.id = name
        self.index = index
        self.neighbours = neighbours
        self.now = 0.0
        self.arrived = 0.0
        self.said = 0
        self.waited_s = 0.0
        self._count = 0
        self._sim = sim
        self._rng: random.Random | None = None
        self._links: dict[str, Link] = {}
        self._out: tuple[Link, ...] = ()
        self._underlay: dict[str, Link] | None = None
        self.agent: Agent
        self.handlers: dict[type[Any], Handler]
        self._own: Link

    def live(self, agent: Agent, links: dict[str, Link], own: Link) -> None:
        """Give the node its agent, its links, and the link to itself on which timers come."""
        self.agent = agent
        self.handlers = agent.handlers
        self._own = own
        self._links = links
        self._out = tuple(links.values())

    def state(self) -> dict[str, Any]:
        """What must be kept for the node to go on in another process."""
        return {
            "agent": self.agent,
            "clock": (self.now, self.arrived, self.waited_s),
            "said": (self.said, self._count),
            "rng": self._rng,
            "links": [link.memory() for link in self._out],
            "underlay": {peer: link.memory() for peer, link in (self._underlay or {}).items()},
        }

    def restore(self, state: dict[str, Any]) -> None:
        self.agent = state["agent"]
        self.handlers = self.agent.handlers
        self.now, self.arrived, self.waited_s = state["clock"]
        self.said, self._count = state["said"]
        self._rng = state["rng"]
        for link, memory in zip(self._out, state["links"], strict=True):
            link.recall(memory)
        self._underlay = {peer: self._sim.underlay_link(self, peer) for peer in state["underlay"]}
        for peer, memory in state["underlay"].items():
            self._underlay[peer].recall(memory)

    @property
    def rng(self) -> random.Random:
        if self._rng is None:
            self._rng = stream(self._sim.seed, "node", self.id)
        return self._rng

    def send(self, peer: str, message: object) -> None:
        self._emit((self._link(peer),), None, message, self._sim.sent)

    def broadcast(self, message: object, skip: str | None = None, to: Sequence[str] | None = None) -> None:
        links = self._out if to is None else tuple(map(self._link, to))
        self._emit(links, skip, message, self._sim.sent)

    def send_underlay(self, peer: str, message: object) -> None:
        if self._underlay is None:
            self._underlay = {}
        link = self._underlay.get(peer)
        if link is None:
            link = self._underlay[peer] = self._sim.underlay_link(self, peer)
        self._emit((link,), None, message, self._sim.sent_underlay)

    def _link(self, peer: str) -> Link:
        try:
            return self._links[peer]
        except KeyError:
            raise LocalityError(
                f"{self.id} cannot send to {peer}: its neighbours are {', '.join(self.neighbours) or 'none'}"
            ) from None

    def _emit(self, links: Sequence[Link], skip: str | None, message: Any, sent: dict[type[Any], list[int]]) -> None:
        """Encode once, then give each link its copy. This is the hot path: everything plain is inline."""
        sim = self._sim
        kind = message.__class__
        if kind in sent:
            wire = pack(message)
            counts = sent[kind]
        else:
            wire = encode(message)
            counts = sent[kind] = [0, 0]
        self._count = count = self._count + COPIES
        self.said = crc32(wire, self.said)
        now = self.now
        rate = sim.rate
        number = 0
        for link in links:
            if link.peer == skip:
                continue
            number += 1
            if (special := link.special) is not None:
                sim.transmit(link, special, message, len(wire), (count, now))
                continue
            link.state = state = link.state * MULTIPLIER % MODULUS
            arrival = now + link.low + state * link.scale
            if arrival < link.last:
                arrival = link.last
            link.last = arrival
            window = int(arrival * rate)
            try:
                link.windows[window].append((arrival, link.order + count, link, message))
            except KeyError:
                sim.windows[window] = [(arrival, link.order + count, link, message)]
                heappush(sim.window_heap, window)
        counts[0] += number
        counts[1] += number * len(wire)

    def after(self, delay_s: float, message: object) -> Timer:
        if not 0 <= delay_s < inf:
            raise MessageError(f"{self.id}: after({delay_s}, ...): write how many seconds from now, 0 or more")
        self._count = count = self._count + COPIES
        self.said = crc32(encode(message), self.said)
        due: float | None = self.now + delay_s
        if self._sim.recording is not None:
            due = self._sim.recording.arrivals.get((self.id, self.id), {}).get(count)
        if due is not None:
            heappush(self._sim.timers, (due, self._own.order + count, self._own, message))
        return self._own.order + count

    def cancel(self, timer: Timer) -> None:
        if timer > self._own.order and timer <= self._own.order + self._count:
            self._sim.cancelled.add(timer)

    def work(self, seconds: float) -> None:
        if not 0 <= seconds < inf:
            raise MessageError(f"{self.id}: work({seconds}): write a number of seconds, 0 or more")
        started, self.now = self.now, self.now + seconds
        if self._sim.crash_times and self._sim.crashes_between(self.id, started, self.now):
            raise Died

    def log(self, event: str, **fields: Any) -> None:
        self._sim.events.add(self.now, self.id, event, fields)
