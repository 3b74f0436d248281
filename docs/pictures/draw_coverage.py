"""Draws docs/pictures/coverage.png: who sends requests for a topic where, in the shipped scenario."""

from __future__ import annotations

from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import networkx

from runtime.run import simulate
from runtime.scenario import load

STORES = {"a": "#d95f02", "b": "#1b9e77"}


def main() -> None:
    scenario = load("coverage")
    tables = simulate(scenario).summary()["at"]
    network = scenario.network
    graph = network.graph()
    places = networkx.kamada_kawai_layout(graph)
    stores = {name: home for name, home in network.homes.items() if name.startswith("str")}
    figure, panels = plt.subplots(1, 2, figsize=(11, 5))
    for panel, topic in zip(panels, ("a", "b"), strict=True):
        networkx.draw_networkx_edges(graph, places, ax=panel, edge_color="#cccccc", width=2)
        ways = networkx.DiGraph()
        for name, table in tables.items():
            ways.add_edges_from((name, hop) for hop, _, _ in table.get(topic, []) if hop in graph)
        networkx.draw_networkx_edges(
            ways, places, ax=panel, edge_color=STORES[topic], width=2, arrowsize=18, node_size=700
        )
        homes = {home for name, home in stores.items() if topic in scenario.system.stores[name].topics}
        colours = [STORES[topic] if name in homes else "white" for name in graph]
        networkx.draw_networkx_nodes(graph, places, ax=panel, node_color=colours, edgecolors="black", node_size=700)
        labels = {name: f"{name}\n{tables[name][topic][0][2]}" for name in graph}
        networkx.draw_networkx_labels(graph, places, labels, ax=panel, font_size=8)
        panel.set_title(f"requests for topic {topic}: next hops, and hops to the nearest store")
        panel.axis("off")
        panel.margins(0.12)
    figure.tight_layout()
    figure.savefig(Path(__file__).parent / "coverage.png", dpi=110)


if __name__ == "__main__":
    main()
