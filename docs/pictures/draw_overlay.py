"""Draws docs/pictures/overlay.png: who is connected to whom before and after the moves, and how the cost falls."""

from __future__ import annotations

from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
from matplotlib.axes import Axes

from agents.overlay import OverlaySystem
from protocols.overlay.cost import SpanningTrees, total_cost
from protocols.overlay.user import Using
from runtime.run import simulate
from runtime.scenario import load
from runtime.system import World

COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7")


def connections(panel: Axes, system: OverlaySystem, homes: dict[str, str], title: str) -> None:
    assert system.drawn.points is not None
    for name, home in homes.items():
        colour = COLOURS[system.brokers.index(home)]
        (x, y), (bx, by) = system.drawn.points[system.place[name]], system.network.positions[home]
        panel.plot([x, bx], [y, by], color=colour, linewidth=1)
        panel.plot([x], [y], "o", color=colour, markersize=5)
    for colour, name in zip(COLOURS, system.brokers, strict=True):
        x, y = system.network.positions[name]
        panel.plot([x], [y], "s", color=colour, markeredgecolor="black", markersize=14)
        panel.annotate(name, (x, y), ha="center", va="center", fontsize=7, color="white")
    panel.set_title(title)
    panel.set_aspect("equal")
    panel.axis("off")


def main() -> None:
    scenario = load("overlay")
    outcome = simulate(scenario)
    system = scenario.system
    assert isinstance(system, OverlaySystem)
    lives = {n: u.durable for n, u in World(outcome.agents, scenario.network).protocols(Using).items()}
    after = {name: str(life.home) for name, life in lives.items() if life.home and not life.left}
    figure, (first, last, curve) = plt.subplots(1, 3, figsize=(15, 5))
    start = total_cost(system.drawn.beginning, system.assignment, SpanningTrees(system.drawn.instance.core))
    connections(first, system, system.first, f"at random: cost {start:.0f}")
    connections(last, system, after, f"in the end: cost {outcome.results['cost']:.0f}")
    moves = outcome.tally.events.table("move").to_pylist()
    curve.step([0.0, *(row["time"] for row in moves)], [start, *(row["cost"] for row in moves)], where="post")
    churn = system.settings.churn
    assert churn is not None
    curve.axvspan(*churn.between, color="#eeeeee")
    curve.annotate("users join, leave\nand change", (sum(churn.between) / 2, start), ha="center", va="top", fontsize=9)
    curve.set_title("one hand-over after another")
    curve.set_xlabel("virtual time (s)")
    curve.set_ylabel("total cost")
    curve.set_ylim(bottom=0)
    for side in ("top", "right"):
        curve.spines[side].set_visible(False)
    figure.tight_layout()
    figure.savefig(Path(__file__).parent / "overlay.png", dpi=90)


if __name__ == "__main__":
    main()
