"""The algorithms of minimum-cost overlays: Table 1 of the paper, and the ratio to its pseudo-code by the letter."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from random import Random
from typing import Any

import numpy as np
from rich.table import Table

from protocols.overlay.clustering import two_stage_clustering
from protocols.overlay.content import Instance
from protocols.overlay.cost import total_cost
from protocols.overlay.mixing import link_weights, steiner_mixing
from protocols.overlay.packing import greedy_packing, random_assignment
from tests.protocols import overlay_by_the_letter as letter
from tests.protocols.overlay_cases import Small

TABLE_1 = {"random": 0.9, "packing": 91.445, "clustering": 100.235, "mixing": 179.654}
"""Seconds in the paper: C++ without optimisation, 10000 users, 100 brokers."""

AIM_S = 10.0
ALGORITHMS: dict[str, Callable[[Instance], Any]] = {
    "random": lambda instance: random_assignment(instance, Random(1)),
    "packing": greedy_packing,
    "clustering": two_stage_clustering,
    "mixing": lambda instance: steiner_mixing(instance, Random(1)),
}
LETTERS: dict[str, tuple[Callable[[Instance], Any], Callable[[Instance], Any]]] = {
    "packing": (greedy_packing, letter.greedy_packing),
    "clustering": (two_stage_clustering, letter.two_stage_clustering),
    "mixing": (link_weights, letter.link_weights),
}


@dataclass(frozen=True)
class OverlayScore:
    algorithm: str
    users: int
    brokers: int
    assign_s: float
    cost_s: float
    paper_s: float
    small_s: float | None
    letter_s: float | None

    @property
    def ratio(self) -> float | None:
        """How many times as fast as the pseudo-code by the letter, on the small size."""
        return None if not self.small_s or self.letter_s is None else self.letter_s / self.small_s


def overlay_race(quick: bool) -> list[OverlayScore]:
    """Each algorithm at the paper's size, and beside the paper's pseudo-code at a size that this can bear."""
    users, brokers = (2_000, 20) if quick else (10_000, 100)
    large = Small(users, brokers, seed=1, intervals=10).instance()
    small = Small(60, 6, seed=1, intervals=5).instance()
    scores = []
    for name, algorithm in ALGORITHMS.items():
        assign_s, assignment = _timed(algorithm, large)
        cost_s, _ = _timed(lambda instance, found=assignment: total_cost(instance, found), large)
        small_s = letter_s = None
        if name in LETTERS:
            fast, slow = LETTERS[name]
            small_s, found = _timed(fast, small)
            letter_s, wanted = _timed(slow, small)
            assert np.allclose(found, wanted), f"{name} is not what the paper's pseudo-code finds"
        scores.append(OverlayScore(name, users, brokers, assign_s, cost_s, TABLE_1[name], small_s, letter_s))
    return scores


def _timed(algorithm: Callable[[Instance], Any], instance: Instance) -> tuple[float, Any]:
    """The best of three: what else the machine does only makes it slower."""
    best, found = float("inf"), None
    for _ in range(3):
        started = time.perf_counter()
        found = algorithm(instance)
        best = min(best, time.perf_counter() - started)
    return best, found


def overlay_table(scores: list[OverlayScore]) -> Table:
    first = scores[0]
    title = f"Overlays, Table 1: {first.users:,} users, {first.brokers} brokers; pseudo-code: 60 users, 6 brokers"
    table = Table(title=title, title_justify="left")
    for column in ("algorithm", "assigned, s", "cost, s", "paper, s", "by the letter is", "aim: under 10 s"):
        table.add_column(column, justify="left" if column == "algorithm" else "right", no_wrap=True)
    for score in scores:
        table.add_row(
            score.algorithm,
            f"{score.assign_s:.3f}",
            f"{score.cost_s:.3f}",
            f"{score.paper_s:g}",
            "-" if score.ratio is None else f"{score.ratio:,.1f} x slower",
            "met" if score.assign_s + score.cost_s < AIM_S else "not met",
        )
    return table
