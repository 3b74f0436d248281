"""Figures with matplotlib: error bars are 95 % intervals; markers and dashes tell the series apart without colour."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg")

from matplotlib.axes import Axes
from matplotlib.figure import Figure as Drawing
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from sweeps.sweep import Figure, Sweep, SweepError

# Colours that differ in lightness too, so that they stay apart in grey.
COLOURS = ("#000000", "#0072b2", "#d55e00", "#009e73", "#cc79a7", "#56b4e9", "#e69f00")
MARKERS = "osD^vPX"
DASHES: tuple[Any, ...] = ("-", "--", "-.", ":", (0, (5, 1, 1, 1, 1, 1)), (0, (8, 2)), (0, (1, 3)))
STYLE: Any = {
    "svg.hashsalt": "brokerlab",
    "svg.fonttype": "path",
    "font.size": 10,
    "axes.spines.top": False,
    "axes.spines.right": False,
}
TABLES = {"means": "means", "differences": "differences", "percent": "differences"}

Points = list[dict[str, Any]]


def draw_all(sweep: Sweep, tables: Mapping[str, DataFrame], folder: Path) -> list[Path]:
    """Draw every figure as SVG and PNG; gives the SVG files."""
    folder.mkdir(exist_ok=True)
    drawn = []
    for name, figure in sweep.figures.items():
        rows = rows_of(sweep, name, figure, tables)
        if rows:
            drawn.append(_draw(sweep, figure, _series(sweep, figure, rows), folder / name))
    return drawn


def rows_of(sweep: Sweep, name: str, figure: Figure, tables: Mapping[str, DataFrame]) -> Points:
    by_iteration = figure.kind == "curve" and figure.x == "iteration"
    table = tables.get("curves_by_iteration" if by_iteration else TABLES.get(figure.kind, "curves"))
    if table is None:
        return []
    prefix = "percent_" if figure.kind == "percent" else ""
    subject = "curve" if figure.kind == "curve" else "measure"
    columns = {"x": subject if figure.along else figure.x, "y": f"{prefix}mean", "half": f"{prefix}half_width"}
    try:
        chosen = table.where(F.col(subject).isin(list(figure.along) or [figure.y])).where(figure.where)
        rows = chosen.select(*figure.series, *(F.col(old).alias(new) for new, old in columns.items())).toArrow()
    except PySparkException as problem:
        raise SweepError(f"figures.{name}.where", str(problem).strip().splitlines()[0]) from problem
    found = [row for row in rows.to_pylist() if row["y"] is not None]
    return [{**row, "x": figure.along[row["x"]]} for row in found] if figure.along else found


def _series(sweep: Sweep, figure: Figure, rows: Points) -> dict[str, Points]:
    """The rows of each line of the figure; lines in the order in which the sweep declares them."""
    orders = [
        list(sweep.algorithms) if name == "algorithm" else list(sweep.parameters[name].values) for name in figure.series
    ]
    keys = sorted(
        {tuple(row[name] for name in figure.series) for row in rows},
        key=lambda key: [order.index(value) for order, value in zip(orders, key, strict=True)],
    )
    return {
        ", ".join(_told(sweep, figure, name, value) for name, value in zip(figure.series, key, strict=True)): sorted(
            (row for row in rows if tuple(row[name] for name in figure.series) == key), key=lambda row: row["x"]
        )
        for key in keys
    }


def _told(sweep: Sweep, figure: Figure, name: str, value: Any) -> str:
    named = name == "algorithm" or len(figure.series) == 1  # then the legend's title says what it is
    return str(value) if named else f"{sweep.label(name)}: {value}"


def _draw(sweep: Sweep, figure: Figure, series: Mapping[str, Points], path: Path) -> Path:
    with matplotlib.rc_context(STYLE):
        drawing = Drawing(figsize=(6.4, 4.2), layout="constrained")
        axes = drawing.add_subplot()
        for place, (label, points) in enumerate(series.items()):
            (_curve if figure.kind == "curve" else _line)(axes, place, label, points)
        _label(sweep, figure, axes, [row["x"] for points in series.values() for row in points])
        for suffix, options in ((".svg", {"metadata": {"Date": None}}), (".png", {"dpi": 150})):
            drawing.savefig(path.with_suffix(suffix), **options)
    return path.with_suffix(".svg")


def _line(axes: Axes, place: int, label: str, points: Points) -> None:
    axes.errorbar(
        [row["x"] for row in points],
        [row["y"] for row in points],
        yerr=[row["half"] or 0.0 for row in points],
        label=label,
        marker=MARKERS[place % len(MARKERS)],
        capsize=3,
        **_look(place),
    )


def _curve(axes: Axes, place: int, label: str, points: Points) -> None:
    x, y = [row["x"] for row in points], [row["y"] for row in points]
    half = [row["half"] or 0.0 for row in points]
    look = _look(place)
    marks: dict[str, Any] = {"marker": MARKERS[place % len(MARKERS)], "markevery": max(1, len(x) // 8)}
    axes.plot(x, y, label=label, **marks, **look)
    low, high = [a - b for a, b in zip(y, half, strict=True)], [a + b for a, b in zip(y, half, strict=True)]
    axes.fill_between(x, low, high, color=look["color"], alpha=0.15, linewidth=0)


def _look(place: int) -> dict[str, Any]:
    return {
        "color": COLOURS[place % len(COLOURS)],
        "linestyle": DASHES[place % len(DASHES)],
        "markersize": 5,
        "linewidth": 1.4,
    }


def _label(sweep: Sweep, figure: Figure, axes: Axes, x: Sequence[Any]) -> None:
    axes.set_title(figure.title, fontsize=11)
    units = {"time": "virtual time (s)", "iteration": "iteration"}
    axes.set_xlabel(figure.x_label or units.get(figure.x) or sweep.label(figure.x))
    axes.set_ylabel(figure.y_label or sweep.label(figure.y))
    if not any(isinstance(value, str) for value in x):
        axes.set_xscale(figure.x_scale)
        if figure.x_scale == "log" and figure.kind != "curve":
            ticks = sorted(set(x))
            axes.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
            axes.minorticks_off()
    axes.set_yscale(figure.y_scale)
    if figure.y_scale == "linear" and figure.kind in ("means", "curve"):
        axes.set_ylim(bottom=min(0.0, axes.get_ylim()[0]))
    axes.grid(True, alpha=0.3)
    single = figure.series[0] if len(figure.series) == 1 else "algorithm"
    axes.legend(frameon=False, title=None if single == "algorithm" else sweep.label(single))
