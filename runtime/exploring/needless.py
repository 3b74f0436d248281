"""Messages that do nothing and never will: they are taken at once, so that states do not differ by them alone.

In a flood most messages tell what is known already. Such a message changes nothing at its node, and nothing is sent
for it. If that is so in every state that the node can still get into, it does not matter when it comes. Whether it is
so is found out afterwards, by trying it in each state of the node that was reached from there; if it is not, the search
begins anew and lets such a message wait like any other. No way to a violation depends on it: each can be replayed.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from runtime.exploring.machine import Effect, Machine

MOST_TRIALS = 100_000
"""More than so many are not worth the trouble: then those messages wait like any other."""


PATIENCE = 20
"""After so many new beginnings, all messages of a type wait as soon as one of them has to."""


class Needless(NamedTuple):
    """A message from this source at this node; `crashes` if the node may still crash or is down."""

    place: int
    source: int
    message: int
    crashes: bool


Kind = tuple[str, bool]
"""All messages with this tag."""


class Mistaken(Exception):
    """Some messages were taken too early; now it is known which."""


class Watch:
    """Which messages were taken at once, and where."""

    def __init__(self, machine: Machine) -> None:
        self._machine = machine
        self._taken: dict[Needless, set[int]] = {}
        self._wait: set[Needless | Kind] = set()
        self._mistakes = 0
        self._tried: dict[tuple[int, int, int], bool] = {}
        self._checked = 0

    def does_nothing(self, node: int, source: int, message: int, may_crash: bool) -> bool:
        """May this message be taken at once by the node in this state?"""
        kept = self._machine.kept[node]
        crashes = kept.status == "down" or (may_crash and kept.status == "up")
        needless = Needless(kept.place, source, message, crashes)
        if needless in self._wait or self._kind(needless) in self._wait:
            return False
        if self._machine.deliver(node, source, message) != Effect(node):
            return False
        self._taken.setdefault(needless, set()).add(node)
        return True

    def check(self) -> None:
        """Raises Mistaken if a message that was taken would do something after all."""
        states = len(self._machine.kept)
        if states == self._checked:
            return
        self._checked = states
        edges, crashes = self._machine.local_steps()
        trials = 0
        wrong: set[Needless | Kind] = set()
        for needless, nodes in self._taken.items():
            kind = self._kind(needless)
            if kind in wrong:
                continue
            for node in _reached(nodes, edges, crashes if needless.crashes else {}):
                trials += 1
                if trials > MOST_TRIALS or not self._does_nothing(node, needless):
                    # A node that forgets in a crash what it knew makes most of them wrong.
                    wrong.add(kind if needless.crashes or self._mistakes > PATIENCE else needless)
                    break
        if wrong:
            self._wait |= wrong
            self._mistakes += 1
            self._taken.clear()
            self._checked = 0
            raise Mistaken

    def _kind(self, needless: Needless) -> Kind:
        return self._machine.messages[needless.message][0].tag, needless.crashes

    def _does_nothing(self, node: int, needless: Needless) -> bool:
        key = (node, needless.source, needless.message)
        if key not in self._tried:
            self._tried[key] = self._machine.suppose(*key) == Effect(node)
        return self._tried[key]


def _reached(nodes: set[int], *maps: dict[int, set[int]]) -> Iterator[int]:
    seen = set(nodes)
    queue = list(nodes)
    for node in queue:
        yield node
        for edges in maps:
            for other in edges.get(node, ()):
                if other not in seen:
                    seen.add(other)
                    queue.append(other)
