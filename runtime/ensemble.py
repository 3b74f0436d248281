"""All hosts of a run together, as whoever looks at its end sees them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from typing import Any

import ray

from runtime.agent import Agent
from runtime.hosts import unpickled
from runtime.tally import Tally, total


class Ensemble(ABC):
    """Hosts that can be asked the same question; what becomes of one that died is for each kind to say."""

    @abstractmethod
    def _ask_all(self, question: str) -> list[Any]:
        """Every host's answer."""

    @abstractmethod
    def _actors(self) -> Iterable[Any]: ...

    def tally(self) -> Tally:
        return total(self._ask_all("tally"))

    def agents(self) -> dict[str, Agent]:
        """The agents that are up, in name order."""
        found: dict[str, Agent] = {}
        for agents in self._ask_all("agents"):
            found |= unpickled(agents)
        return dict(sorted(found.items()))

    def close(self) -> None:
        for actor in self._actors():
            ray.kill(actor)
