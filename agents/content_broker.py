"""Brokers of customized content dissemination: nodes of a Tapestry mesh that convert what they pass on."""

from __future__ import annotations

from collections.abc import Sequence

from protocols.dissemination.delivery import Delivery, Planning
from protocols.dissemination.rendezvous import Issue, Rendezvous, Wish
from protocols.dissemination.resources import Resources
from protocols.dissemination.tapestry import Tapestry
from protocols.dissemination.vigil import LinkVigil, Vigil
from runtime.agent import Agent, Layer


def content_broker(
    tapestry: Tapestry,
    resources: Resources,
    planning: Planning,
    wishes: Sequence[Wish] = (),
    issues: Sequence[Issue] = (),
    discover: bool = True,
    patience_s: float = 60.0,
    layer: Layer | None = None,
) -> Agent:
    """A broker in lieu of its clients: it subscribes and publishes for them."""
    rendezvous = Rendezvous(tapestry, resources, wishes, issues, discover, patience_s)
    delivery = Delivery(tapestry, rendezvous, resources, planning)
    vigil = (LinkVigil if layer is None else Vigil)(tapestry, patience_s)
    return Agent([tapestry, vigil, rendezvous, delivery], layer)
