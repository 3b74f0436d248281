"""Brokers: nodes of the overlay."""

from __future__ import annotations

from collections.abc import Iterable

from protocols.presence import Presence
from protocols.relocation.grape import Grape, GrapeSettings
from protocols.relocation.migration import Migration
from protocols.relocation.pop import Pop, PopSettings
from protocols.routing.connections import Connections
from protocols.routing.content import ContentRouting
from protocols.routing.topics import Subscriptions
from protocols.storage.coverage import Coverage
from protocols.storage.retrieval import Retrieval
from runtime.agent import Agent, Layer


def storage_broker(attached: Iterable[str], layer: Layer | None = None) -> Agent:
    """A broker of a network with stores: it routes publications, advertisements, requests and responses."""
    attached = tuple(attached)
    coverage, subscriptions = Coverage(attached), Subscriptions(attached)
    presence = Presence([coverage, subscriptions])
    return Agent([presence, subscriptions, coverage, Retrieval(coverage)], layer)


def content_broker(
    connections: Connections,
    algorithm: PopSettings | GrapeSettings | None = None,
    covering: bool = False,
    flooding: bool = False,
    layer: Layer | None = None,
) -> Agent:
    """A broker that routes by content and, with an algorithm, finds better places for its publishers."""
    tracer: Pop | Grape | None = None
    if isinstance(algorithm, PopSettings):
        tracer = Pop(connections, algorithm)
    elif isinstance(algorithm, GrapeSettings):
        tracer = Grape(connections, algorithm)
    routing = ContentRouting(connections, covering, flooding, tracer)
    migration = Migration(connections, routing)
    if tracer is None:
        return Agent([routing, migration], layer)
    tracer.migration = migration
    return Agent([routing, migration, tracer], layer)
