"""Effort: seconds that do not depend on the machine, nor on what else it does, so that as much of it gives the same."""

from __future__ import annotations

from dataclasses import dataclass
from time import process_time

TRY_S = 0.01
EVENT_S = 4e-5
"""What a run, and each of its events, takes on a machine that has nothing else to do."""

TOO_SLOW = 3.0
"""Whoever needs so many times as long by the processor's clock is stopped: handlers may take any time they like."""


@dataclass
class Effort:
    """So many seconds, as the runs that were made count them."""

    most_s: float
    spent_s: float = 0.0

    def __post_init__(self) -> None:
        self.whole_s, self.began_s = self.most_s, process_time()

    def spend(self, events: int) -> None:
        self.spent_s += TRY_S + EVENT_S * events
        if process_time() - self.began_s > TOO_SLOW * self.whole_s:
            self.spent_s = max(self.spent_s, self.whole_s)

    @property
    def spent(self) -> bool:
        return self.spent_s >= self.most_s

    def share(self, part: float) -> float:
        """How much will have been spent when this part of what is left has been."""
        return self.spent_s + part * max(0.0, self.most_s - self.spent_s)
