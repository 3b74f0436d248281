"""Bugs on purpose: each breaks one rule of a protocol, and names the property that is to notice it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest

from runtime.testing.checking import Report, check, subject


@dataclass(frozen=True)
class Planted:
    """`bug` takes the place of `target.attribute`."""

    protocol: str
    name: str
    target: type[Any]
    attribute: str
    bug: Any
    caught_by: str
    within: int = 500
    """So many cases are enough to see it."""

    seed: int = 1
    slow: bool = False
    """It shows when links are slow, and nothing else: only such cases are tried."""

    def __str__(self) -> str:
        return f"{self.protocol} {self.name}"


def nothing(self: Any, *ignored: Any, **more: Any) -> None:
    """A handler or a rule that was forgotten."""


def never(self: Any, *ignored: Any, **more: Any) -> bool:
    return False


def hunt(planted: Planted) -> Report:
    """What a check shows with the bug in place."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(planted.target, planted.attribute, planted.bug)
        what = subject(planted.protocol)
        if planted.slow:
            return check(what, planted.within, planted.seed, ("delay",), ("timed",))
        return check(what, planted.within, planted.seed)
