"""Results of pure functions, kept for agents in the same process that ask for the same.

Nothing passes from one agent to another here: whoever finds a result could have computed it from what it knows.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import Generic, TypeVar

K = TypeVar("K")
V = TypeVar("V")


class Shared(Generic[K, V]):
    """The most recently used results."""

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self._known: OrderedDict[K, V] = OrderedDict()

    def get(self, key: K) -> V | None:
        found = self._known.get(key)
        if found is not None:
            self._known.move_to_end(key)
        return found

    def put(self, key: K, value: V) -> None:
        self._known[key] = value
        while len(self._known) > self.limit:
            self._known.popitem(last=False)
