"""A node as an explored agent sees it: what it does is written down, and somebody else decides when it takes effect."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from math import inf
from typing import Any

from runtime.agent import Node, Timer
from runtime.errors import LocalityError, MessageError
from runtime.exploring.canonical import Handle
from runtime.message import encode
from runtime.streams import stream

Pending = tuple[float, int, Any]
"""A timer: when it is due, its handle, its message."""

Sent = tuple[str, bool, Any]
"""To whom, whether past the overlay, and what."""

Logged = tuple[float, str, tuple[tuple[str, Any], ...]]
"""When, which event, and its fields."""


class ExploredNode(Node):
    """One for each node of the network; every handler that is tried finds it as it was in the state tried from."""

    __slots__ = (
        "_clock",
        "_clock_is_read",
        "_known",
        "_seed",
        "dice",
        "handles",
        "id",
        "logged",
        "neighbours",
        "sent",
        "timers",
    )

    def __init__(
        self,
        name: str,
        neighbours: tuple[str, ...],
        known: frozenset[str],
        seed: int,
        clock_is_read: Callable[[], None],
    ) -> None:
        self.id = name
        self.neighbours = neighbours
        self._known = known
        self._seed = seed
        self._clock_is_read = clock_is_read
        self.wake(0.0, (), 0, None)

    def wake(self, clock: float, timers: tuple[Pending, ...], handles: int, dice: random.Random | None) -> None:
        """Be as in this state, with nothing said yet."""
        self._clock = clock
        self.timers = list(timers)
        self.handles = handles
        self.dice = dice
        self.sent: list[Sent] = []
        self.logged: list[Logged] = []

    @property
    def clock(self) -> float:
        """`now`, for whoever is not an agent."""
        return self._clock

    @property
    def now(self) -> float:  # type: ignore[override]
        self._clock_is_read()
        return self._clock

    @property
    def arrived(self) -> float:  # type: ignore[override]
        return self.now

    @property
    def rng(self) -> random.Random:
        if self.dice is None:
            self.dice = stream(self._seed, "node", self.id)
        return self.dice

    def send(self, peer: str, message: object) -> None:
        if peer not in self.neighbours:
            near = ", ".join(self.neighbours) or "none"
            raise LocalityError(f"{self.id} cannot send to {peer}: its neighbours are {near}")
        encode(message)
        self.sent.append((peer, False, message))

    def broadcast(self, message: object, skip: str | None = None, to: Sequence[str] | None = None) -> None:
        for peer in self.neighbours if to is None else to:
            if peer != skip:
                self.send(peer, message)

    def send_underlay(self, peer: str, message: object) -> None:
        if peer not in self._known or peer == self.id:
            why = "that is itself; write after(0, ...)" if peer == self.id else "no node has this name"
            raise LocalityError(f"{self.id} cannot reach {peer} over the underlay: {why}")
        encode(message)
        self.sent.append((peer, True, message))

    def after(self, delay_s: float, message: object) -> Timer:
        if not 0 <= delay_s < inf:
            raise MessageError(f"{self.id}: after({delay_s}, ...): write how many seconds from now, 0 or more")
        encode(message)
        self.handles += 1
        self.timers.append((self._clock + delay_s, self.handles, message))
        self.timers.sort(key=lambda timer: timer[:2])
        return Handle(self.handles)

    def cancel(self, timer: Timer) -> None:
        self.timers = [pending for pending in self.timers if pending[1] != timer]

    def work(self, seconds: float) -> None:
        if not 0 <= seconds < inf:
            raise MessageError(f"{self.id}: work({seconds}): write a number of seconds, 0 or more")
        self._clock += seconds

    def log(self, event: str, **fields: Any) -> None:
        self.logged.append((self._clock, event, tuple(fields.items())))
