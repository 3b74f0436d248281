"""Brokers: nodes of the overlay."""

from __future__ import annotations

from collections.abc import Iterable

from protocols.presence import Presence
from protocols.routing.topics import Subscriptions
from protocols.storage.coverage import Coverage
from protocols.storage.manager import Metering
from protocols.storage.retrieval import Retrieval
from runtime.agent import Agent, Layer


def storage_broker(attached: Iterable[str], layer: Layer | None = None) -> Agent:
    """A broker of a network with stores: it routes publications, advertisements, requests and responses."""
    attached = tuple(attached)
    coverage, subscriptions = Coverage(attached), Subscriptions(attached)
    presence = Presence([coverage, subscriptions])
    return Agent([presence, subscriptions, coverage, Retrieval(coverage)], layer)


def metering_broker(attached: Iterable[str], report_every_s: float, layer: Layer | None = None) -> Agent:
    """A broker that also tells the manager what its clients request."""
    attached = tuple(attached)
    coverage, subscriptions = Coverage(attached), Subscriptions(attached)
    presence = Presence([coverage, subscriptions])
    metering = Metering(coverage, subscriptions, report_every_s)
    return Agent([presence, subscriptions, coverage, metering], layer)
