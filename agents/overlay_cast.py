"""Brokers and users of a content-based overlay."""

from __future__ import annotations

from collections.abc import Sequence

from protocols.overlay.content import ContentSpace, Floats
from protocols.overlay.mover import Movers, Moving
from protocols.overlay.serving import Serving
from protocols.overlay.session import Sessions
from protocols.overlay.user import Planned, Using
from runtime.agent import Agent, Layer, Protocol


def overlay_broker(
    brokers: Sequence[str],
    name: str,
    links: Floats,
    capacity: float,
    space: ContentSpace,
    redirect_ttl: float | None,
    moving: tuple[Movers, float, float] | None,
    layer: Layer | None = None,
) -> Agent:
    """A broker; with `moving` it also decides which of its users should move: who may, from when on, how often."""
    sessions = Sessions(lasting=layer is not None)
    serving = Serving(brokers, name, links, capacity, space, sessions, redirect_ttl)
    above: list[Protocol] = [serving]
    if moving is not None:
        movers, begin, period = moving
        above.append(Moving(serving, movers, begin, period))
    sessions.above = above
    return Agent([sessions, *above], layer)


def overlay_user(
    brokers: Sequence[str],
    costs: Sequence[float],
    space: ContentSpace,
    first: str | None,
    plans: Sequence[Planned],
    publishing: tuple[float, float, float],
    patience: int | None,
    layer: Layer | None = None,
) -> Agent:
    sessions = Sessions(lasting=layer is not None)
    using = Using(brokers, costs, space, sessions, first, plans, publishing, patience)
    sessions.above = [using]
    return Agent([sessions, using], layer)
