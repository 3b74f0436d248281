"""Draws docs/pictures/dissemination.png: the optimal plan for the first publication of the shipped scenario."""

from __future__ import annotations

from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt

from protocols.dissemination.baselines import all_in_leaves, all_in_root
from protocols.dissemination.delivery import Delivery
from protocols.dissemination.optimal import optimal
from protocols.dissemination.plan import Plan
from runtime.run import simulate
from runtime.scenario import load

COLOURS = {"gis": "#1b9e77", "svg": "#d95f02", "png": "#7570b3", "jpeg": "#e7298a", "text": "#666666"}
LABEL = {"facecolor": "white", "edgecolor": "none", "pad": 0.5}


def planned() -> list[Plan]:
    """The plans that the rendezvous point considers, caught as it makes them."""
    trees = []
    make = Delivery.perform

    def catch(self, node, publication, plan, exact, brokers):  # type: ignore[no-untyped-def]
        if publication in self.planned:
            trees.append((plan.tree, self.planning.rates, plan.arrives[0]))
        make(self, node, publication, plan, exact, brokers)

    Delivery.perform = catch  # type: ignore[method-assign]
    simulate(load("dissemination"))
    Delivery.perform = make  # type: ignore[method-assign]
    return [planner(*trees[0]) for planner in (all_in_root, all_in_leaves, optimal)]


def places(plan: Plan) -> list[tuple[float, float]]:
    """Leaves side by side, every other broker over the middle of those below it."""
    tree, across, down = plan.tree, [0.0] * len(plan.tree), [0] * len(plan.tree)
    for place, parent in enumerate(tree.parents[1:], start=1):
        down[place] = down[parent] + 1
    taken = 0.0

    def put(place: int) -> None:
        nonlocal taken
        for child in tree.children[place]:
            put(child)
        if tree.children[place]:
            across[place] = sum(across[child] for child in tree.children[place]) / len(tree.children[place])
        else:
            across[place], taken = taken, taken + 1.0

    put(0)
    return [(x, -float(y)) for x, y in zip(across, down, strict=True)]


def main() -> None:
    system = load("dissemination").system
    cag, rates = system.cag, system.rates
    figure, panels = plt.subplots(1, 3, figsize=(16, 5.2))
    for panel, plan, title in zip(panels, planned(), ("all in root", "all in leaves", "optimal"), strict=True):
        spots = places(plan)
        for place, parent in enumerate(plan.tree.parents[1:], start=1):
            carried = cag.names(plan.arrives[place])
            (x0, y0), (x1, y1) = spots[parent], spots[place]
            for number, name in enumerate(carried):
                shift = 0.11 * (number - (len(carried) - 1) / 2)
                panel.plot([x0 + shift, x1 + shift], [y0, y1], color=COLOURS[name], linewidth=1.5, zorder=1)
        for place, (x, y) in enumerate(spots):
            made = [cag.formats[target] for _, target in plan.operators[place]]
            wanted = cag.names(plan.tree.wanted[place])
            panel.scatter([x], [y], s=430, color="#fff3b0" if made else "white", edgecolors="black", zorder=2)
            panel.text(x, y, plan.tree.names[place], ha="center", va="center", fontsize=8, zorder=3)
            if wanted:
                panel.text(x, y - 0.2, "\n".join(wanted), ha="center", va="top", fontsize=7, zorder=3, bbox=LABEL)
        panel.set_title(
            f"{title}: transmission {plan.transmission_cost(rates):.0f}, conversion {plan.conversion_cost(rates):.1f}",
            fontsize=10,
        )
        panel.axis("off")
        panel.margins(0.08, 0.2)
    lines = [plt.Line2D([], [], color=colour, label=name) for name, colour in COLOURS.items()]
    figure.legend(handles=lines, loc="lower center", ncol=5, title="formats on the links; yellow brokers convert")
    figure.tight_layout(rect=(0, 0.1, 1, 1))
    figure.savefig(Path(__file__).parent / "dissemination.png", dpi=90)


if __name__ == "__main__":
    main()
