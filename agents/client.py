"""Clients: attached to a broker, they publish, request and subscribe."""

from __future__ import annotations

from collections.abc import Sequence

from protocols.presence import Presence
from protocols.relocation.clients import Program, Publishing, Subscribing, Wish
from protocols.routing.filters import Content, Filter
from protocols.storage.browsing import Browsing, Phase
from protocols.storage.client import Asking
from runtime.agent import Agent, Layer


def client(
    home: str,
    publications: Sequence[tuple[float, str, Content]] = (),
    requests: Sequence[tuple[float, str, Filter]] = (),
    layer: Layer | None = None,
) -> Agent:
    asking = Asking(home, publications, requests)
    return Agent([Presence(), asking], layer)


def publisher(
    home: str, program: Program, moves: Sequence[tuple[float, tuple[str, ...]]] = (), layer: Layer | None = None
) -> Agent:
    return Agent([Publishing(home, program, moves)], layer)


def subscriber(home: str, wishes: Sequence[Wish], counted_from_s: float = 0.0, layer: Layer | None = None) -> Agent:
    return Agent([Subscribing(home, wishes, counted_from_s)], layer)


def browsing_client(home: str, phases: Sequence[Phase], retry_after_s: float, layer: Layer | None = None) -> Agent:
    """All clients of one broker: they request at random times."""
    browsing = Browsing(home, phases, retry_after_s)
    return Agent([Presence([browsing]), browsing], layer)
