"""The scenario's [storage] for stores that manage it on-line."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from agents.replica_gap import How
from agents.replica_problem import Positive, ProblemSettings

Count = Annotated[int, Field(ge=1)]


class ReplicasSettings(ProblemSettings):
    """The scenario's [storage]."""

    writers: Annotated[int, Field(ge=0)] = 1
    period: Positive = 10.0
    clock: Literal["random", "regular"] = "random"
    patience: Positive | Literal["never"] | None = None
    thinking: dict[str, Positive] = Field(default_factory=dict)
    search: Literal["paper", "knapsack"] = "paper"
    replacement_cost: Annotated[float, Field(ge=0)] = 0.0
    load_weight: Annotated[float, Field(ge=0)] = 0.0
    guarded: bool | Literal["auto"] = "auto"
    same_decision_limit: Count = 20
    replacement_limit: Count | None = None
    optimum: How = "none"
