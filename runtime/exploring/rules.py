"""What may happen in an exploration, and what a state of the network is made of."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, NamedTuple

Timers = Literal["any", "quiet", "due"]
TIMERS: dict[str, str] = {
    "any": "at any time: nothing is known of delays",
    "quiet": "only when no message is on its way: every message is faster than any time-out",
    "due": "only when no message is on its way, the first of the whole network first: clocks agree, too",
}
Back = Literal["any", "soon"]
BACK: dict[str, str] = {
    "any": "at any time, or after any number of time-outs",
    "soon": "before any time-out: no node is down for long",
}


class Budget(NamedTuple):
    """How many faults may strike at most."""

    losses: int = 0
    duplicates: int = 0
    crashes: int = 0
    deaths: int = 0


SPENT = Budget()
Queue = tuple[int, ...]
Hints = tuple[tuple[int, int], ...]
"""Who is still to hear that something happened to the link with whom."""


class State(NamedTuple):
    nodes: tuple[int, ...]
    queues: tuple[Queue, ...]
    left: Budget
    hints: Hints
    history: int
    digest: int


@dataclass(frozen=True)
class Rules:
    """What may happen."""

    timers: Timers = "any"
    fifo: bool = True
    budget: Budget = SPENT
    only: frozenset[str] = frozenset()
    """The types of messages that are lost or doubled; all, where none is named."""

    at: frozenset[str] = frozenset()
    """The nodes that crash or die; all, where none is named."""

    back: Back = "any"
    """When a node is back that has crashed."""
