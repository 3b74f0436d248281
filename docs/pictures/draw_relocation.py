"""Draws docs/pictures/relocation.png: the shipped scenario, before and after its publisher has moved."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import networkx

from protocols.relocation.clients import Subscribing
from runtime.run import Outcome, simulate
from runtime.scenario import load

PLACES = {
    "B1": (1, 1),
    "B2": (0.2, 1.6),
    "B3": (-0.7, 1.6),
    "B4": (0.2, 0.4),
    "B5": (2, 1),
    "B6": (3, 1),
    "B7": (3.8, 1.6),
    "B8": (3.8, 0.4),
}
PUBLISHER, WAY, QUIET = "#d95f02", "#d95f02", "#cccccc"


def main() -> None:
    stays = simulate(load("relocation", ["relocation.algorithm=none"]))
    moves = simulate(load("relocation", ["relocation.steady_from=4.0"]))
    figure, panels = plt.subplots(1, 2, figsize=(12, 4))
    for panel, outcome, title in zip(panels, (stays, moves), ("P stays at B1", "P has moved to B6"), strict=True):
        draw(panel, outcome, title)
    figure.tight_layout()
    figure.savefig(Path(__file__).parent / "relocation.png", dpi=110)


def draw(panel: plt.Axes, outcome: Outcome, title: str) -> None:
    summary, network = outcome.summary(), outcome.scenario.network
    at = summary["publishers"]["P"]["now at"]
    subscribers = Counter(home for name, home in network.homes.items() if outcome.agents[name].find(Subscribing))
    graph = network.graph()
    ways = networkx.bfs_tree(graph, at)
    networkx.draw_networkx_edges(graph, PLACES, ax=panel, edge_color=QUIET, width=2)
    networkx.draw_networkx_edges(
        ways, PLACES, ax=panel, edge_color=WAY, width=2, arrowsize=18, node_size=1300, arrows=True
    )
    colours = [PUBLISHER if name == at else "white" for name in graph]
    networkx.draw_networkx_nodes(graph, PLACES, ax=panel, node_color=colours, edgecolors="black", node_size=1300)
    labels = {name: f"{name}\n{subscribers[name]}" for name in graph}
    networkx.draw_networkx_labels(graph, PLACES, labels, ax=panel, font_size=9)
    panel.set_title(f"{title}: {summary['hop_count']:.2f} hops to a delivery, {summary['delivery_delay_s']:.3f} s")
    panel.axis("off")
    panel.margins(0.12)


if __name__ == "__main__":
    main()
