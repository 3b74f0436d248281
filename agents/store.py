"""Stores: attached to a broker, they keep what is published on their topics."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from protocols.presence import Presence
from protocols.storage.following import Following
from protocols.storage.store import Order, Storing
from runtime.agent import Agent, Layer


def store(
    home: str, topics: Iterable[str], orders: Sequence[tuple[float, Order]] = (), layer: Layer | None = None
) -> Agent:
    storing = Storing(home, topics, orders)
    return Agent([Presence([storing]), storing], layer)


def planned_store(
    home: str,
    topics: Iterable[str],
    orders: Sequence[tuple[float, Order]],
    managed: bool,
    patience_s: float,
    layer: Layer | None = None,
) -> Agent:
    """A store of a plan; a managed one follows the plans to come."""
    following = Following(home, topics, orders, managed, patience_s)
    return Agent([Presence([following]), following], layer)
