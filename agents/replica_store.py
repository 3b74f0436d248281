"""A store that manages its storage on-line, holistically or myopically, when a writer says so."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from protocols.presence import Presence
from protocols.storage.replicas.catalogue import Catalogue
from protocols.storage.replicas.clients import Clients
from protocols.storage.replicas.decision import Amounts, Policy
from protocols.storage.replicas.knowledge import Knowledge
from protocols.storage.replicas.own_clock import OwnClock
from protocols.storage.replicas.replacing import Limits, Replacing
from protocols.storage.replicas.writer import Writer
from protocols.storage.replicas.writing import Writing
from runtime.agent import Agent, Layer


@dataclass(frozen=True)
class Turns:
    """How the stores take turns: so many tokens, or none at all and a clock of one's own."""

    writers: int
    patience_s: float | None
    period_s: float
    thinking_s: float = 0.0
    regular: bool = False

    def writer(self, knowledge: Knowledge, replacing: Replacing) -> Writer:
        if not self.writers:
            return OwnClock(knowledge, replacing, self.period_s, self.regular)
        return Writing(knowledge, replacing, self.writers, self.patience_s, self.thinking_s)


def replica_store(
    name: str,
    catalogue: Catalogue,
    items: Sequence[str],
    rates: Amounts,
    capacity: float,
    policy: Policy,
    holistic: bool,
    turns: Turns,
    limits: Limits,
    changes: Sequence[tuple[float, Amounts]] = (),
    layer: Layer | None = None,
) -> Agent:
    knowledge = Knowledge(name, catalogue, tuple(items), rates, shares_rates=holistic)
    replacing = Replacing(knowledge, policy, capacity, limits)
    return Agent(
        [Presence([knowledge]), knowledge, replacing, turns.writer(knowledge, replacing), Clients(knowledge, changes)],
        layer,
    )
