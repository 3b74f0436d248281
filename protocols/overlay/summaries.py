"""Summaries: each broker tells all others of its users as of one bigger user (overlay, IV.C and V).

A summary has a version; all brokers acknowledge it before the next one is sent, and what changes meanwhile goes into
that. So whoever waits for a change to be known everywhere waits for one version.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol as Interface

from protocols.overlay.content import ContentSpace, Floats
from protocols.overlay.knowledge import Knowledge, State
from protocols.overlay.messages import Summarize, Summarized
from protocols.overlay.session import Sessions
from runtime.agent import Node, Protocol, on


class Mover(Interface):
    """Who decides which users move, as the broker sees it."""

    def news(self, node: Node) -> None:
        """A summary came, or all have acknowledged the own one."""

    def connected(self, node: Node) -> None:
        """A user that was handed over to this broker is here, and may be moved from now on."""

    def refused(self, node: Node, user: str) -> None:
        """The foreign broker had no room, or there is no user to move any more."""


class Summaries(Protocol):
    """Keeps what this broker knows of the others, and lets them know of its own users."""

    durable: State

    def __init__(
        self,
        brokers: Sequence[str],
        me: str,
        links: Floats,
        capacity: float,
        space: ContentSpace,
        sessions: Sessions,
        redirect_ttl: float | None = None,
    ) -> None:
        self.names = tuple(brokers)
        self.me = self.names.index(me)
        self.links = links
        self.capacity = capacity
        self.space = space
        self.sessions = sessions
        self.redirect_ttl = redirect_ttl
        self.durable = State()
        self.mover: Mover | None = None
        self._knowledge: Knowledge | None = None

    @property
    def knows(self) -> Knowledge:
        if self._knowledge is None or self._knowledge.state is not self.durable:
            self._knowledge = Knowledge(self.durable, self.me, self.links, self.capacity, self.space.channels)
        return self._knowledge

    def change(self, node: Node) -> None:
        """Something about the own users is new: tell all brokers, once they have acknowledged the last summary."""
        self.durable.changed = True
        if not self.durable.missing:
            self.summarize(node)

    def summarize(self, node: Node) -> None:
        state = self.durable
        while state.changed and not state.missing:
            state.changed = False
            state.version += 1
            state.missing = {name: None for name in self.names if name != self.names[self.me]}
            summary = self.knows.summary(state.version)
            for name in state.missing:
                self.sessions.tell(node, name, summary)
            if not state.missing:
                self.settle(node)

    @on(Summarize)
    def summarized(self, node: Node, sender: str, summary: Summarize) -> None:
        broker = self.names.index(sender)
        self.durable.known[broker] = summary
        self.sessions.tell(node, sender, Summarized(summary.version, self.durable.routed.get(broker, 0)))
        self.learned(node)
        if self.mover is not None:
            self.mover.news(node)

    def learned(self, node: Node) -> None:
        """Another broker's summary is known."""

    @on(Summarized)
    def acknowledged(self, node: Node, sender: str, news: Summarized) -> None:
        state = self.durable
        state.missing.pop(sender)
        state.acknowledged[self.names.index(sender)] = news.routed
        if not state.missing:
            self.settle(node)
            self.summarize(node)
            if self.mover is not None:
                self.mover.news(node)

    def settle(self, node: Node) -> None:
        """All brokers know the own summary."""
