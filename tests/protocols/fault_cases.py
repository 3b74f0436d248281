"""Faults for cases: drawn by the case's seed, in the words of a scenario."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

Fault = dict[str, Any]


def crash(rng: random.Random, names: Sequence[str], before: float, down: float | None = None) -> Fault:
    """One of these nodes crashes before this time, for at most so long, or for ever."""
    fault = {"kind": "crash", "nodes": [rng.choice(names)], "at": rng.uniform(0, before)}
    return fault if down is None else fault | {"recover_after": rng.uniform(0.1, down)}


def losses(rng: random.Random, most: float) -> list[Fault]:
    """Messages are lost, doubled and reordered, each with at most this probability."""
    return [{"kind": kind, "probability": rng.uniform(0, most)} for kind in ("drop", "duplicate", "reorder")]


def partition(rng: random.Random, names: Sequence[str], before: float, lengths: Sequence[float]) -> Fault:
    """The nodes fall into two groups before this time, for one of these lengths."""
    names = rng.sample(names, len(names))
    cut, since = rng.randint(1, len(names) - 1), rng.uniform(0, before)
    until = since + rng.choice(lengths)
    return {"kind": "partition", "groups": [names[:cut], names[cut:]], "since": since, "until": until}
