"""The manager: attached to a broker, it decides when topics are to move."""

from __future__ import annotations

from agents.planning_settings import PlanningSettings
from protocols.presence import Presence
from protocols.storage.assignment import Plan, Planner
from protocols.storage.manager import Managing, Names
from runtime.agent import Agent, Layer


def manager(
    home: str, planner: Planner, names: Names, first: Plan, settings: PlanningSettings, layer: Layer | None = None
) -> Agent:
    managing = Managing(
        home, planner, names, first, settings.react, settings.threshold, settings.decide_every, settings.patience
    )
    return Agent([Presence([managing]), managing], layer)
