"""What one node does when something happens to it: computed once for each state of the node, then looked up.

A network has far fewer states of single nodes than of all nodes together. So a node's state is kept once, under a
number, and what a message does to it is remembered.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

from runtime.agent import Agent, LinkChanged, Unhandled
from runtime.errors import BrokerlabError
from runtime.exploring.canonical import describe, digest_of
from runtime.exploring.copying import pack_agent, unpack_agent
from runtime.exploring.needs import Needs, Unforeseen
from runtime.exploring.node import ExploredNode, Logged, Pending
from runtime.message import Message, encode
from runtime.scenario import Scenario

Status = Literal["up", "down", "dead", "failed"]
OVERLAY, UNDERLAY, COPY = 0, 1, 2
DIGITS = 9
"""Times that differ by less than a nanosecond are the same."""


class Effect(NamedTuple):
    """The node's next state, what it sends (link, message), and what it logs that somebody looks at."""

    node: int
    sends: tuple[tuple[int, int], ...] = ()
    rows: tuple[int, ...] = ()


@dataclass(slots=True)
class Kept:
    """A state of a node. The agent is only looked at; who wants it to act takes a copy."""

    place: int
    status: Status
    agent: Agent
    dice: random.Random | None
    clock: float
    timers: tuple[Pending, ...]
    handles: int
    problem: str = ""
    packed: bytes | None = None


class Machine:
    """The states of all nodes, by number; messages and logged rows have numbers, too."""

    def __init__(self, scenario: Scenario, needs: Needs, fifo: bool) -> None:
        self.scenario = scenario
        self.needs = needs
        self.fifo = fifo
        network = scenario.network
        self.names = sorted(network.neighbours)
        self.places = {name: place for place, name in enumerate(self.names)}
        known = frozenset(self.names)
        self.nodes = [
            ExploredNode(name, network.neighbours[name], known, scenario.seed, self._clock_is_read)
            for name in self.names
        ]
        self.links: list[tuple[int, int]] = []
        self._link_of: dict[tuple[int, int, bool], int] = {}
        self._lay_links()
        self.kept: list[Kept] = []
        self.digests: list[int] = []
        self.views: list[int] = []
        """By a node's state: what an observer sees of it."""

        self.due_in: list[float | None] = []
        """By a node's state: how long its first timer still takes."""

        self._numbers: dict[int, int] = {}
        self._view_numbers: dict[int, int] = {}
        self.messages: list[tuple[Any, int]] = []
        self.message_digests: list[int] = []
        self._message_numbers: dict[tuple[bytes, int], int] = {}
        self.rows: list[tuple[str, Logged]] = []
        self._row_numbers: dict[bytes, int] = {}
        self._known: dict[tuple[Any, ...], Effect] = {}
        self.computed = 0

    def _lay_links(self) -> None:
        network = self.scenario.network
        overlay = {(name, peer) for name in self.names for peer in network.neighbours[name]}
        every = {(a, b) for a in self.names for b in self.names if a != b}
        for a, b in sorted(overlay | (every if self.needs.underlay else set())):
            ends = self.places[a], self.places[b]
            self._link_of[*ends, False] = self._link_of[*ends, True] = len(self.links)
            self.links.append(ends)
            if self.needs.underlay and not self.fifo:
                self._link_of[*ends, True] = len(self.links)  # whose order is kept
                self.links.append(ends)

    def _clock_is_read(self) -> None:
        if not self.needs.clock:
            raise Unforeseen(Needs(clock=True))

    # Numbers

    def number_of(self, message: Any, way: int) -> int:
        wire = encode(message)
        number = self._message_numbers.get((wire, way))
        if number is None:
            number = self._message_numbers[wire, way] = len(self.messages)
            self.messages.append((message, way))
            self.message_digests.append(digest_of(wire, b"%d" % way))
        return number

    def as_copy(self, number: int) -> int:
        return self.number_of(self.messages[number][0], COPY)

    def _keep(self, kept: Kept) -> int:
        """The number of this state, which may be known already."""
        if not self.needs.clock:
            kept.timers = tuple((round(due - kept.clock, DIGITS), *rest) for due, *rest in kept.timers)
            kept.clock = 0.0
        pending = {handle: place for place, (_, handle, _) in enumerate(kept.timers)}
        seen = describe(kept.agent, pending)
        view = digest_of(b"%d" % kept.place, kept.status.encode(), seen)
        timers = [(due, message) for due, _, message in kept.timers]
        digest = digest_of(view.to_bytes(16, "big"), describe((kept.dice, timers, kept.clock, kept.problem)))
        number = self._numbers.get(digest)
        if number is None:
            number = self._numbers[digest] = len(self.kept)
            self.kept.append(kept)
            self.digests.append(digest)
            self.due_in.append(kept.timers[0][0] - kept.clock if kept.timers else None)
            self.views.append(self._view_numbers.setdefault(view, len(self._view_numbers)))
        return number

    # What happens to a node

    def begin(self) -> list[Effect]:
        """Every node starts."""
        return [self._start(place, self._fresh(place), recovered=False) for place in range(len(self.names))]

    def deliver(self, state: int, source: int, message: int) -> Effect:
        key = (state, source, message)
        effect = self._known.get(key)
        if effect is None:
            effect = self._known[key] = self._deliver(state, source, self.messages[message][0])
        return effect

    def suppose(self, state: int, source: int, message: int) -> Effect:
        """What the message would do; it need not have come there."""
        return self._known.get((state, source, message)) or self._deliver(state, source, self.messages[message][0])

    def local_steps(self) -> tuple[dict[int, set[int]], dict[int, set[int]]]:
        """The steps of single nodes that were seen: those of a crash apart."""
        usual: dict[int, set[int]] = {}
        crashes: dict[int, set[int]] = {}
        for (state, what, *_), effect in self._known.items():
            if effect.node != state:
                steps = crashes if what in ("down", "dead", "recover") else usual
                steps.setdefault(state, set()).add(effect.node)
        return usual, crashes

    def _deliver(self, state: int, source: int, message: Any) -> Effect:
        if self.kept[state].status != "up":
            return Effect(state)
        return self._handle(state, self.names[source], message)

    def fire(self, state: int) -> Effect:
        """The first timer comes."""
        key = (state, "fire")
        effect = self._known.get(key)
        if effect is None:
            (due, _, message), *rest = self.kept[state].timers
            name = self.names[self.kept[state].place]
            clock = max(due, self.kept[state].clock)
            effect = self._known[key] = self._handle(state, name, message, (clock, tuple(rest)))
        return effect

    def elapse(self, state: int, seconds: float) -> int:
        """Time passes, and nothing happens."""
        kept = self.kept[state]
        if not seconds or (not kept.timers and not self.needs.clock):
            return state
        key = (state, seconds)
        if key not in self._known:
            later = Kept(
                kept.place, kept.status, kept.agent, kept.dice, kept.clock + seconds, kept.timers, kept.handles
            )
            later.problem, later.packed = kept.problem, kept.packed
            self._known[key] = Effect(self._keep(later))
        return self._known[key].node

    def crash(self, state: int, status: Literal["down", "dead"]) -> Effect:
        key = (state, status)
        if key not in self._known:
            kept = self.kept[state]
            gone = Kept(kept.place, status, kept.agent, kept.dice, kept.clock, (), kept.handles, packed=kept.packed)
            self._known[key] = Effect(self._keep(gone))
        return self._known[key]

    def recover(self, state: int) -> Effect:
        key = (state, "recover")
        if key not in self._known:
            kept = self.kept[state]
            reborn = self._fresh(kept.place)
            reborn.remember(kept.agent)
            self._known[key] = self._start(kept.place, reborn, recovered=True, before=kept)
        return self._known[key]

    def hears_of_links(self, state: int) -> bool:
        return self.kept[state].status == "up" and LinkChanged in self.kept[state].agent.handlers

    def hint(self, state: int, peer: int) -> Effect:
        """Something happened to the link with this peer."""
        if not self.hears_of_links(state):
            return Effect(state)
        key = (state, "hint", peer)
        if key not in self._known:
            self._known[key] = self._handle(state, self.names[peer], LinkChanged(self.names[peer]))
        return self._known[key]

    def _fresh(self, place: int) -> Agent:
        return self.scenario.system.agent(self.names[place])

    def _start(self, place: int, agent: Agent, recovered: bool, before: Kept | None = None) -> Effect:
        node = self.nodes[place]
        dice = None
        if before is not None:
            dice = unpack_agent(self._packed(before))[1]
        node.wake(before.clock if before else 0.0, (), before.handles if before else 0, dice)
        return self._do(place, agent, "its start", lambda: agent.start(node, recovered))

    def _handle(
        self, state: int, sender: str, message: Any, at: tuple[float, tuple[Pending, ...]] | None = None
    ) -> Effect:
        kept = self.kept[state]
        agent, dice = unpack_agent(self._packed(kept))
        clock, timers = at or (kept.clock, kept.timers)
        node = self.nodes[kept.place]
        node.wake(clock, timers, kept.handles, dice)

        def act() -> None:
            handler = agent.handlers.get(message.__class__)
            if handler is None:
                raise Unhandled(node, message, agent.handlers)
            handler(node, sender, message)

        return self._do(kept.place, agent, message, act)

    def _packed(self, kept: Kept) -> bytes:
        if kept.packed is None:
            kept.packed = pack_agent(kept.agent, kept.dice)
        return kept.packed

    def _do(self, place: int, agent: Agent, cause: Any, act: Callable[[], None]) -> Effect:
        self.computed += 1
        node, problem = self.nodes[place], ""
        try:
            act()
        except Unforeseen:
            raise
        except Exception as error:
            told = str(error) if isinstance(error, BrokerlabError) else f"{type(error).__name__}: {error}"
            problem = f"{node.id}, handling {cause}: {told}"
        status: Status = "failed" if problem else "up"
        timers = () if problem else tuple(node.timers)
        number = self._keep(Kept(place, status, agent, node.dice, node.clock, timers, node.handles, problem))
        return Effect(number, tuple(map(self._sent_from(place), node.sent)), self._rows_of(node))

    def _sent_from(self, place: int) -> Callable[[tuple[str, bool, Message]], tuple[int, int]]:
        def on_its_way(sent: tuple[str, bool, Message]) -> tuple[int, int]:
            peer, past_overlay, message = sent
            if past_overlay and not self.needs.underlay:
                raise Unforeseen(Needs(underlay=True))
            link = self._link_of[place, self.places[peer], past_overlay]
            return link, self.number_of(message, UNDERLAY if past_overlay else OVERLAY)

        return on_its_way

    def _rows_of(self, node: ExploredNode) -> tuple[int, ...]:
        return tuple(self._row(node.id, logged) for logged in node.logged if self.needs.wants(logged[1]))

    def _row(self, name: str, logged: Logged) -> int:
        key = describe((name, logged))
        if key not in self._row_numbers:
            self._row_numbers[key] = len(self.rows)
            self.rows.append((name, logged))
        return self._row_numbers[key]
