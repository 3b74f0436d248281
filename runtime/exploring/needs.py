"""What of a run must be part of its state, because an agent or a property looks at it.

Clocks and logs make states differ that are otherwise the same. So they are left out until somebody looks at them;
then the exploration begins anew with them in it.
"""

from __future__ import annotations

from dataclasses import dataclass

EVERYTHING = "*"


@dataclass(frozen=True)
class Needs:
    clock: bool = False
    underlay: bool = False
    events: frozenset[str] = frozenset()

    def wants(self, event: str) -> bool:
        return event in self.events or EVERYTHING in self.events

    def __or__(self, other: Needs) -> Needs:
        return Needs(
            self.clock or other.clock or bool(self.events | other.events),
            self.underlay or other.underlay,
            self.events | other.events,
        )


NOTHING = Needs()


class Unforeseen(BaseException):
    """Somebody looked at what was left out; no `except Exception` of a handler can hide it."""

    def __init__(self, needs: Needs) -> None:
        super().__init__(needs)
        self.needs = needs
