"""How large a case is: what a person has to go through who reads it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from runtime.testing.cases import Case
from runtime.testing.running import QUIET, Shown

NODE = 10
DICE = 30
FAULT = 10
STRIKE = 3
CHOICE = 1
"""In messages: a node is a column of the diagram, a message one of its lines."""


def bulk(case: Case, shown: Shown) -> int:
    """What there is and what happens, however the order came about."""
    restless = shown.violation is not None and shown.violation.name == QUIET
    # What never comes to rest sends until the limit is reached: how much, says nothing.
    messages = 0 if restless else shown.messages
    return NODE * shown.nodes + messages + sum(weight(fault) for fault in case.data.get("faults", ()))


def weight(fault: Mapping[str, Any]) -> int:
    """Whoever reads of a probability does not know what happened."""
    return DICE if "probability" in fault else FAULT + STRIKE * (len(fault["nth"]) - 1 if "nth" in fault else 0)


def choices(case: Case, shown: Shown) -> int:
    """Where not the first pending event was taken. In a timed case the delays choose, and nobody has to follow them."""
    return 0 if case.schedule.way == "timed" else shown.choices


def size_of(case: Case, shown: Shown) -> tuple[int, int]:
    """The smaller of two cases has the smaller size: first by what happens, and then by how much is to be read."""
    return bulk(case, shown) + CHOICE * choices(case, shown), len(repr(case.data))
