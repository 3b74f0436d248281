"""Draws docs/pictures/planning.png: the shipped scenario before and after topics have moved, and what that did."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import networkx

from agents.planning_view import holders_at
from runtime.run import simulate
from runtime.scenario import load
from runtime.system import World

TOPICS = {"a": "#d95f02", "b": "#7570b3", "c": "#1b9e77"}
PANELS = {"planned": "planned: west asks for a, east for c", "reassigned": "after the change, reassigned"}
PLACES = {"b1": (0, 2), "b3": (0, 0), "b2": (1, 1), "b4": (2, 1), "b5": (3, 1), "b6": (3, 2), "b7": (4, 1)}
PLACES |= {"b8": (5, 1), "b9": (6, 2), "b10": (6, 0)}


def main() -> None:
    scenario = load("planning")
    outcome = simulate(scenario)
    system: Any = scenario.system
    world = World(outcome.agents, scenario.network)
    figure, panels = plt.subplots(1, 3, figsize=(14, 4.6), gridspec_kw={"width_ratios": [3, 3, 2]})
    graph = scenario.network.graph()
    places = PLACES
    for panel, (name, title) in zip(panels, PANELS.items(), strict=False):
        period = next(period for period in system.periods if period.name == name)
        held = holders_at(system.installed, world, period.end)
        networkx.draw_networkx_edges(graph, places, ax=panel, edge_color="#bbbbbb", width=2)
        wanted = [system.names.topics[period.demand[:, place].argmax()] for place in range(len(graph))]
        networkx.draw_networkx_nodes(
            graph,
            places,
            nodelist=list(system.names.brokers),
            ax=panel,
            node_color=[TOPICS[topic] for topic in wanted],
            edgecolors="black",
            node_size=600,
            alpha=0.75,
        )
        networkx.draw_networkx_labels(graph, places, ax=panel, font_size=9)
        for place, broker in enumerate(system.names.brokers):
            topics = [topic for topic, stores in zip(system.names.topics, held, strict=True) if place in stores]
            if topics:
                panel.annotate(
                    " ".join(topics),
                    places[broker],
                    xytext=(0, -30),
                    textcoords="offset points",
                    ha="center",
                    fontsize=10,
                    weight="bold",
                    bbox={"boxstyle": "round", "facecolor": "#ffffcc"},
                )
        panel.set_title(f"{title}\n(in yellow: what the store there holds)", fontsize=11)
        panel.axis("off")
        panel.margins(0.15)
    for topic, colour in TOPICS.items():
        panels[0].scatter([], [], color=colour, s=80, label=f"asks mostly for {topic}")
    panels[0].legend(frameon=False, loc="lower center", fontsize=9)
    phases = outcome.results["phases"]
    panels[2].errorbar(
        list(phases),
        [phase["mean_hop_distance"] for phase in phases.values()],
        yerr=[phase["half_width"] for phase in phases.values()],
        fmt="o",
        capsize=4,
        color="black",
        label="measured, 95 %",
    )
    panels[2].plot(
        list(phases),
        [phase["analytic"] for phase in phases.values()],
        "_",
        ms=26,
        color="#d95f02",
        label="by (3), at its end",
    )
    panels[2].set_ylim(bottom=0)
    panels[2].set_title("mean hop distance, phase by phase", fontsize=11)
    panels[2].tick_params(axis="x", rotation=30)
    panels[2].legend(frameon=False, fontsize=9)
    figure.tight_layout()
    figure.savefig(Path(__file__).parent / "planning.png", dpi=110)


if __name__ == "__main__":
    main()
