"""Clients that request stored content again and again, at random times (planning, 6)."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from protocols.presence import Watcher
from protocols.storage.retrieval import Request, Response
from runtime.agent import Node, Timer, on
from runtime.message import message

ATTEMPTS = 6
"""How often a request is sent, since the broker was last heard to be new, before the client gives up."""


@message
class PhaseBegins:
    """A timer: the demand changes."""

    phase: int


@message
class AskNow:
    """A timer: time to ask for something."""


@message
class RecheckRequests:
    """A timer: which requests have no answer yet?"""


class Phase(NamedTuple):
    """From `begin` to `end` topics are requested at these rates; requests from `measured_from` on are measured."""

    begin: float
    measured_from: float
    end: float
    rates: tuple[tuple[str, float], ...]


@dataclass
class Hops:
    """The hop distances of answered requests: how many, their sum, the sum of their squares."""

    count: int = 0
    total: int = 0
    squares: int = 0

    def add(self, hops: int) -> None:
        self.count += 1
        self.total += hops
        self.squares += hops * hops


@dataclass
class Asked:
    """A request and what became of it."""

    topic: str
    phase: int | None
    """None: it is not measured."""

    due: float
    """When it is sent again, if there is no answer by then."""

    attempts: int = 1
    most: int = ATTEMPTS
    responses: int = 0


@dataclass
class Numbered:
    """How many requests there were; a crash must not make the client use a number again."""

    requests: int = 0


class Browsing(Watcher):
    """Stands for all clients of one broker: requests are a Poisson process for each topic, with rate r_i^t.

    A request that stays without an answer is sent again: the store that had it may have failed. How often is limited,
    but the broker may be down for longer than that takes: when it is back, it is asked all that is open once more.
    """

    durable: Numbered

    def __init__(self, home: str, phases: Sequence[Phase], retry_after_s: float = 10.0) -> None:
        self.home = home
        self.phases = tuple(phases)
        self.retry_after_s = retry_after_s
        self.phase = 0
        self.timer: Timer | None = None
        self.asked: dict[int, Asked] = {}
        self.open: dict[int, Asked] = {}
        self.hops = [Hops() for _ in self.phases]
        self.served: dict[tuple[str, str], int] = {}
        """By topic and store: how many requests."""
        self.repeated = 0
        self.checking = False
        self.durable = Numbered()

    def started(self, node: Node) -> None:
        for place, phase in enumerate(self.phases):
            if phase.end > node.now:
                node.after(max(phase.begin - node.now, 0.0), PhaseBegins(place))

    @on(PhaseBegins)
    def begins(self, node: Node, sender: str, news: PhaseBegins) -> None:
        if self.timer is not None:
            node.cancel(self.timer)
        self.phase = news.phase
        rates = self.phases[news.phase].rates
        self.topics = [topic for topic, _ in rates]
        self.cumulated = list(itertools.accumulate(rate for _, rate in rates))
        self.wait(node)

    def wait(self, node: Node) -> None:
        """The time to the next request of a Poisson process is exponential, and forgets what was."""
        self.timer = None
        if self.cumulated and self.cumulated[-1] > 0:
            pause = node.rng.expovariate(self.cumulated[-1])
            if node.now + pause < self.phases[self.phase].end:
                self.timer = node.after(pause, AskNow())

    @on(AskNow)
    def ask(self, node: Node, sender: str, now: AskNow) -> None:
        topic = node.rng.choices(self.topics, cum_weights=self.cumulated)[0]
        measured = node.now >= self.phases[self.phase].measured_from
        self.durable.requests += 1
        number = self.durable.requests
        self.asked[number] = self.open[number] = Asked(
            topic, self.phase if measured else None, node.now + self.retry_after_s
        )
        node.send(self.home, Request(node.id, number, topic, (), ()))
        if not self.checking:
            self.check_later(node)
        self.wait(node)

    @on(Response)
    def answered(self, node: Node, sender: str, response: Response) -> None:
        request = self.asked.get(response.number)
        if request is None:  # asked for before a crash
            return
        request.responses += 1
        if self.open.pop(response.number, None) is None:
            return
        if request.phase is not None:
            self.hops[request.phase].add(response.distance_hops)
        server = (request.topic, response.store)
        self.served[server] = self.served.get(server, 0) + 1

    def check_later(self, node: Node) -> None:
        self.checking = True
        node.after(self.retry_after_s, RecheckRequests())

    @on(RecheckRequests)
    def recheck(self, node: Node, sender: str, now: RecheckRequests) -> None:
        self.checking = False
        for number, request in self.open.items():
            if request.attempts < request.most and request.due <= node.now:
                self.ask_again(node, number, request)
        if any(request.attempts < request.most for request in self.open.values()):
            self.check_later(node)

    def ask_again(self, node: Node, number: int, request: Asked) -> None:
        request.attempts += 1
        request.due += self.retry_after_s
        self.repeated += 1
        node.send(self.home, Request(node.id, number, request.topic, (), ()))

    def introduce(self, node: Node, peer: str) -> None:
        for number, request in self.open.items():
            request.due, request.most = node.now, request.attempts + ATTEMPTS
            self.ask_again(node, number, request)
        if self.open and not self.checking:
            self.check_later(node)
