"""Brokers: nodes of the overlay."""

from __future__ import annotations

from collections.abc import Iterable

from protocols.presence import Presence
from protocols.relocation.following import Following
from protocols.relocation.grape import Grape, GrapeSettings
from protocols.relocation.migration import Migration
from protocols.relocation.pop import Pop, PopSettings
from protocols.routing.connections import Connections
from protocols.routing.content import ContentRouting
from protocols.routing.topics import Subscriptions
from protocols.storage.coverage import Coverage
from protocols.storage.following import PLAN, READY
from protocols.storage.manager import Metering
from protocols.storage.retrieval import Retrieval
from runtime.agent import Agent, Layer


def storage_broker(attached: Iterable[str], layer: Layer | None = None) -> Agent:
    """A broker of a network with stores: it routes publications, advertisements, requests and responses."""
    attached = tuple(attached)
    coverage, subscriptions = Coverage(attached), Subscriptions(attached)
    retrieval = Retrieval(coverage)
    presence = Presence([coverage, subscriptions, retrieval])
    return Agent([presence, subscriptions, coverage, retrieval], layer)


def relocation_broker(
    connections: Connections,
    algorithm: PopSettings | GrapeSettings | None = None,
    covering: bool = False,
    flooding: bool = False,
    follow_after: int | None = None,
    layer: Layer | None = None,
) -> Agent:
    """A broker that routes by content and, with an algorithm, finds better places for its publishers.

    Its subscribers follow their publications if it is said after how many deliveries.
    """
    tracer: Pop | Grape | None = None
    if isinstance(algorithm, PopSettings):
        tracer = Pop(connections, algorithm)
    elif isinstance(algorithm, GrapeSettings):
        tracer = Grape(connections, algorithm)
    following = None if follow_after is None else Following(connections, follow_after)
    delivered = None if following is None else following.delivered
    routing = ContentRouting(connections, covering, flooding, tracer, delivered)
    migration = Migration(connections, routing)
    if tracer is not None:
        tracer.migration = migration
    return Agent([part for part in (routing, migration, tracer, following) if part is not None], layer)


def metering_broker(attached: Iterable[str], report_every_s: float, layer: Layer | None = None) -> Agent:
    """A broker that also tells the manager what its clients request."""
    attached = tuple(attached)
    coverage, subscriptions = Coverage(attached), Subscriptions(attached, retained=(PLAN, READY))
    metering = Metering(coverage, subscriptions, report_every_s)
    presence = Presence([coverage, subscriptions, metering])
    return Agent([presence, subscriptions, coverage, metering], layer)
