"""How a run's messages spread over its time, in a few thousand points however long it is."""

from __future__ import annotations

MOST = 2_000


class Pulse:
    """Asked after every window, it takes fewer and fewer of them as there are more."""

    def __init__(self) -> None:
        self.points: list[tuple[float, int]] = []
        self._seen = 0
        self._every = 1

    def is_due(self) -> bool:
        self._seen += 1
        return self._seen % self._every == 0

    def add(self, time: float, messages: int) -> None:
        self.points.append((time, messages))
        if len(self.points) > MOST:
            del self.points[::2]
            self._every *= 2
