"""The race: every contestant floods the same overlay, in turns, and must find every distance.

A contestant's time is its best over all rounds. Rounds alternate, so that a slow moment of the machine hits
everyone, and the garbage collector is off while the clock runs: the kernel quiets it anyway, for the others it
is a gift.
"""

from __future__ import annotations

import gc
from collections.abc import Sequence
from dataclasses import dataclass
from math import inf
from time import perf_counter
from typing import Protocol

from tests.bench.by_hand import HandWritten, HandWrittenBare
from tests.bench.kernel import Brokerlab
from tests.bench.overlay import Distances, Overlay, random_overlay
from tests.bench.with_simpy import SimPyCallbacks, SimPyStores


class Contestant(Protocol):
    name: str

    def __init__(self, overlay: Overlay) -> None: ...
    def run(self) -> int:
        """Flood until nothing is on its way; the number of messages delivered."""
        ...

    def distances(self) -> Distances: ...


CONTESTANTS: tuple[type[Contestant], ...] = (Brokerlab, HandWritten, HandWrittenBare, SimPyStores, SimPyCallbacks)
SECONDS = {120: 4.0, 1_000: 8.0, 10_000: 40.0}
"""How long the rounds of each size go on, about."""
FEWEST_ROUNDS = 3


@dataclass
class Score:
    nodes: int
    contestant: str
    messages: int = 0
    construction_s: float = inf
    run_s: float = inf

    @property
    def messages_per_s(self) -> float:
        return self.messages / self.run_s


def race(nodes: int) -> list[Score]:
    """Each contestant's best."""
    overlay = random_overlay(nodes)
    scores = [Score(nodes, contestant.name) for contestant in CONTESTANTS]
    start, rounds = perf_counter(), 0
    while rounds < FEWEST_ROUNDS or perf_counter() - start < SECONDS[nodes]:
        for contestant, score in zip(CONTESTANTS, scores, strict=True):
            _take_turn(contestant, overlay, score)
        rounds += 1
    return scores


def ratio(scores: Sequence[Score], contestant: str, nodes: int) -> float:
    """How many times as fast as this contestant the kernel is, in messages delivered per second."""
    rates = {score.contestant: score.messages_per_s for score in scores if score.nodes == nodes}
    return rates[Brokerlab.name] / rates[contestant]


def worst_ratio(scores: Sequence[Score], contestant: str) -> float:
    return min(ratio(scores, contestant, nodes) for nodes in {score.nodes for score in scores})


def _take_turn(contestant: type[Contestant], overlay: Overlay, score: Score) -> None:
    gc.collect()
    gc.disable()
    try:
        start = perf_counter()
        entrant = contestant(overlay)
        built = perf_counter()
        score.messages = entrant.run()
        done = perf_counter()
    finally:
        gc.enable()
    score.construction_s = min(score.construction_s, built - start)
    score.run_s = min(score.run_s, done - built)
    if entrant.distances() != overlay.distances:
        raise AssertionError(f"{contestant.name} at {len(overlay.names)} nodes: distances differ from BFS")
