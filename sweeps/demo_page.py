"""The page that the demo ends with: each step with a picture, what it showed, and where more of it is."""

from __future__ import annotations

import io
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import matplotlib
import networkx
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from protocols.relocation.clients import Subscribing
from runtime.run import Outcome
from sweeps.claims import Judged
from sweeps.figures import COLOURS, STYLE
from sweeps.report import inline
from sweeps.store import write_whole

BLUE, ORANGE = COLOURS[1], COLOURS[2]
FILES = {"the run's report": "report.html", "how it was made": "README.md", "its summary": "summary.json"}


@dataclass(frozen=True)
class Step:
    """One step of the demo: what it was, what it showed, how it looked, and how to have it again."""

    title: str
    what: str
    told: str
    again: str
    links: dict[str, str]
    pictures: Sequence[str] = ()
    claims: Sequence[dict[str, Any]] = field(default_factory=tuple)


def kept(folder: Path) -> dict[str, str]:
    """What a run has left in its folder, as seen from the page beside it."""
    return {title: f"{folder.name}/{name}" for title, name in FILES.items() if (folder / name).exists()}


def write_page(path: Path, steps: Sequence[Step], took_s: float) -> None:
    environment = Environment(
        loader=FileSystemLoader(Path(__file__).parent), autoescape=True, undefined=StrictUndefined, trim_blocks=True
    )
    page = environment.get_template("demo.html.j2").render(steps=steps, took=f"{took_s:.0f}")
    write_whole(path, page.encode())


def claims_in_short(claims: Sequence[Judged]) -> list[dict[str, Any]]:
    rows = [each.row() for each in claims]
    return [{key: row[key] for key in ("sentence", "claimed", "measured", "unit", "verdict")} for row in rows]


# Pictures


def traffic(levels: Sequence[tuple[float, float]], end: float, place: int) -> str:
    """The traffic after each replacement, against virtual time."""
    with matplotlib.rc_context(STYLE):
        drawing = Figure(figsize=(7.2, 3.2), layout="constrained")
        axes = drawing.add_subplot()
        times, heights = [time for time, _ in levels], [height for _, height in levels]
        axes.step([*times, end], [*heights, heights[-1]], where="post", color=BLUE, linewidth=1.6)
        axes.set_xlabel("virtual time (s)")
        axes.set_ylabel("overall network traffic")
        axes.set_ylim(bottom=0)
        axes.yaxis.set_major_formatter("{x:,.0f}")
        axes.xaxis.set_major_formatter("{x:,.0f}")
        axes.grid(True, alpha=0.3)
        return _as_svg(drawing, place)


def moved(outcome: Outcome, name: str, before: str, after: str, place: int) -> str:
    """The ways of a publisher's publications before and after its move; numbers are subscribers."""
    network = outcome.scenario.network
    graph = network.graph().subgraph(network.brokers)
    places = networkx.kamada_kawai_layout(graph)
    there = Counter(home for client, home in network.homes.items() if outcome.agents[client].find(Subscribing))
    with matplotlib.rc_context(STYLE):
        drawing = Figure(figsize=(7.2, 3.2), layout="constrained")
        for axes, at, when in zip(drawing.subplots(1, 2), (before, after), ("before", "after"), strict=True):
            _ways(axes, graph, places, at, there)
            hops = networkx.single_source_shortest_path_length(graph, at)
            mean = sum(hops[home] * count for home, count in there.items()) / there.total()
            axes.set_title(f"{when}: {name} at {at}, {mean:.1f} hops to a subscriber", fontsize=10)
        return _as_svg(drawing, place)


def _ways(axes: Axes, graph: networkx.Graph, places: Any, at: str, there: Counter[str]) -> None:
    ways = networkx.bfs_tree(graph, at)
    colours = [ORANGE if name == at else "white" for name in graph]
    networkx.draw_networkx_nodes(graph, places, ax=axes, node_color=colours, edgecolors="black", node_size=620)
    networkx.draw_networkx_edges(ways, places, ax=axes, edge_color=ORANGE, width=1.6, node_size=620)
    labels = {name: f"{name}\n{there[name]}" for name in graph}
    networkx.draw_networkx_labels(graph, places, labels, ax=axes, font_size=7)
    axes.axis("off")
    axes.margins(0.15)


def _as_svg(drawing: Figure, place: int) -> str:
    file = io.StringIO()
    drawing.savefig(file, format="svg", metadata={"Date": None})
    return inline(file.getvalue(), place)
