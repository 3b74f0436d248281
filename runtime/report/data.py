"""What the page's script gets to see: columns of numbers and texts, thinned out where there are too many."""

from __future__ import annotations

import base64
import json
import math
import zlib
from collections.abc import Container, Iterator, Mapping, Sequence
from typing import Any

from runtime.report.layout import Places, layout
from runtime.report.model import Curve, Report
from runtime.report.thinning import LOGGED, STATES, few_points, few_states, shares
from runtime.run import Outcome
from runtime.show import told

DRAWN = 10_000
"""Larger networks are not drawn."""

LINKS = 30_000
ARROWS = 20_000
TOLD = 2_000
"""Characters of one value in the log."""


def packed(data: Mapping[str, Any]) -> str:
    text = json.dumps(data, separators=(",", ":"), ensure_ascii=False)
    return base64.b64encode(zlib.compress(text.encode("utf-8", "surrogatepass"), 6)).decode()


def page_data(outcome: Outcome, report: Report) -> tuple[dict[str, Any], list[str]]:
    """What is drawn, and what had to be left out, in words."""
    network = outcome.scenario.network
    notes: list[str] = []
    names = list(network.neighbours)
    if len(names) > DRAWN:
        notes.append(f"{len(names):,} nodes are too many to draw; the log and the curves are of all of them.")
        names = []
    index = {name: place for place, name in enumerate(names)}
    places = layout(network.graph(), report.places or network.positions) if names else {}
    places |= _beside(report.places, places)
    kinds = [report.kinds.get(name, _kind(network.homes, name)) for name in names]
    sorts = dict.fromkeys(["node", "broker", *report.kinds.values(), "attached"])
    data = {
        "end": number(outcome.tally.now),
        "nodes": names,
        "kinds": kinds,
        "sorts": [kind for kind in sorts if kind in set(kinds)],
        "x": [places[name][0] if name in places else None for name in names],
        "y": [places[name][1] if name in places else None for name in names],
        "given": bool(report.places or network.positions),
        "edges": _edges(outcome, index, notes),
        "home": [index.get(network.homes.get(name, ""), -1) for name in names],
        "homes": _changes([(t, n, index.get(home or "", -1)) for t, n, home in report.homes], index, notes),
        "holding": report.holding,
        "lettered": report.lettered,
        **_held(report, index, notes),
        "texts": _changes(report.texts, index, notes),
        "down": _down(outcome, index),
        "cuts": _cuts(outcome, index),
        "moments": [[number(time), text] for time, text in sorted(report.moments)],
        "spans": [[number(a), None if b is None else number(b), text] for a, b, text in sorted(report.spans, key=str)],
        "layers": _layers(report, index, notes),
        "curves": [_curve(curve) for curve in report.curves],
        "log": _log(outcome, index, notes),
        "ends": _ends(outcome, index),
    }
    return data, notes


def number(value: float) -> float:
    """Nine digits are enough for a picture; rounding keeps the order. What is not finite cannot be drawn."""
    return float(f"{value:.9g}") if math.isfinite(value) else 0.0


def _kind(homes: Mapping[str, str], name: str) -> str:
    return ("attached" if name in homes else "broker") if homes else "node"


def _beside(given: Places, placed: Places) -> Places:
    """Places that were given for others than brokers, in the brokers' frame."""
    ends = [name for name in placed if name in given]
    if len(ends) < len(placed) or not ends:
        return {}
    span = max(max(c) - min(c) for c in zip(*(given[name] for name in ends), strict=True)) or 1.0
    x, y = given[ends[0]]
    return {
        name: (
            round(placed[ends[0]][0] + (there[0] - x) / span, 4),
            round(placed[ends[0]][1] - (there[1] - y) / span, 4),
        )
        for name, there in given.items()
        if name not in placed
    }


def _edges(outcome: Outcome, index: Mapping[str, int], notes: list[str]) -> list[int]:
    network = outcome.scenario.network
    flat = [
        place
        for a in network.brokers
        if a in index
        for b in network.neighbours[a]
        if a < b and b not in network.homes
        for place in (index[a], index[b])
    ]
    if len(flat) > 2 * LINKS:
        notes.append(f"Of {len(flat) // 2:,} links the first {LINKS:,} are drawn.")
        del flat[2 * LINKS :]
    return flat


def _changes(rows: Sequence[tuple[float, str, Any]], index: Mapping[str, int], notes: list[str]) -> dict[str, Any]:
    """Columns of (time, node, what from then on), in the order of time."""
    drawn = [(number(time), index[name], value) for time, name, value in rows if name in index]
    drawn.sort(key=lambda row: row[:2])
    kept = few_states(drawn)
    if len(kept) < len(drawn):
        notes.append(
            f"Nodes changed {len(drawn):,} times; here are {len(kept):,} of them, exact at {STATES:,} moments "
            "and at the end."
        )
    columns = list(zip(*kept, strict=True)) or [(), (), ()]
    return dict(zip(("t", "n", "v"), map(list, columns), strict=True))


def _held(report: Report, index: Mapping[str, int], notes: list[str]) -> dict[str, Any]:
    named = dict.fromkeys(report.items)
    found = sorted({*(item for _, _, items in report.held for item in items), *report.painted.values()} - named.keys())
    items = [*named, *found]
    place = {item: number for number, item in enumerate(items)}
    rows = [(time, name, sorted({place[item] for item in held})) for time, name, held in report.held]
    painted = [[index[name], place[item]] for name, item in report.painted.items() if name in index]
    return {"items": items, "held": _changes(rows, index, notes), "painted": painted}


def _down(outcome: Outcome, index: Mapping[str, int]) -> list[list[Any]]:
    """Nodes and from when to when they were down, or for good."""
    now = outcome.tally.now
    rows: list[list[Any]] = [
        [index[name], number(since), number(until) if until < math.inf else None]
        for name, spans in outcome.scenario.plan.crashes.items()
        for since, until in spans
        if name in index and since <= now
    ]
    known = {place for place, since, until in rows if until is None or until > now}
    gone = [place for name, place in index.items() if name not in outcome.agents and place not in known]
    return [*rows, *([place, number(now), None] for place in gone)]


def _cuts(outcome: Outcome, index: Mapping[str, int]) -> list[list[Any]]:
    found = {
        (*sorted((index[a], index[b])), number(since), number(until) if until < math.inf else None)
        for (a, b), spans in outcome.scenario.plan.cuts.items()
        for since, until in spans
        if a in index and b in index and since <= outcome.tally.now
    }
    return [list(row) for row in sorted(found, key=str)][:LINKS]


def _layers(report: Report, index: Mapping[str, int], notes: list[str]) -> list[dict[str, Any]]:
    layers: list[dict[str, Any]] = []
    for layer in report.layers:
        arrows = [
            [index[a], index[b], label, number(since), None if until is None else number(until)]
            for a, b, label, since, until in layer.arrows
            if a in index and b in index
        ]
        room = ARROWS - sum(len(shown["arrows"]) for shown in layers)
        if len(arrows) > room:
            notes.append(f"Of the {len(arrows):,} arrows of {layer.title} {max(room, 0):,} are drawn.")
        if arrows[: max(room, 0)]:
            layers.append({"title": layer.title, "about": layer.about, "arrows": arrows[: max(room, 0)]})
    return layers


def _curve(curve: Curve) -> dict[str, Any]:
    lines = []
    for name, points in curve.lines.items():
        kept = few_points([(number(time), value) for time, value in points])
        values = [None if value is None or not math.isfinite(value) else number(value) for _, value in kept]
        lines.append({"name": name, "t": [time for time, _ in kept], "v": values})
    return {
        "title": curve.title,
        "unit": curve.unit,
        "stepped": curve.stepped,
        "about": curve.about,
        "lines": lines,
    }


def _log(outcome: Outcome, index: Mapping[str, int], notes: list[str]) -> list[dict[str, Any]]:
    """Each kind of event with its columns; nodes that are not drawn are there by their names."""
    events = outcome.tally.events
    counts = events.counts()
    shown = []
    for event, most in shares(counts, LOGGED).items():
        columns = events.sample(event, most)
        if len(columns["time"]) < counts[event]:
            notes.append(
                f"Of {counts[event]:,} rows of {event} {len(columns['time']):,} are here, evenly spread; "
                f"all are in events/{event}.parquet."
            )
        rest = {name: values for name, values in columns.items() if name not in ("time", "node")}
        shown.append(
            {
                "event": event,
                "count": counts[event],
                "t": [number(time) for time in columns["time"]],
                "n": [index.get(name, name) for name in columns["node"]],
                "fields": list(rest),
                "f": [[_cell(value) for value in values] for values in rest.values()],
            }
        )
    return shown


def _cell(value: Any) -> Any:
    if isinstance(value, float):
        return number(value) if math.isfinite(value) else str(value)
    if value is None or isinstance(value, bool | int):
        return value
    return told(value)[:TOLD]


def _ends(outcome: Outcome, index: Mapping[str, int]) -> dict[str, list[list[str]]]:
    """What the results say of single nodes."""
    found: dict[str, list[list[str]]] = {}
    for key, result in outcome.results.items():
        for words, by_node in _by_node(key, result, index):
            for name, value in by_node.items():
                inner = value.items() if isinstance(value, dict) else [("", value)]
                for label, item in inner:
                    row = [f"{words} {label}".strip().replace("_", " "), told(item)[:TOLD]]
                    found.setdefault(str(index[name]), []).append(row)
    return found


def _by_node(key: str, result: Any, index: Mapping[str, int]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Tables whose rows are nodes, also inside of a result."""
    if not isinstance(result, dict):
        return
    if is_by_node(result, index):
        yield "" if key == "by_node" else key, result
        return
    for inner, value in result.items():
        if is_by_node(value, index):
            yield f"{key} {inner}", value


def is_by_node(result: Any, names: Container[str]) -> bool:
    return isinstance(result, dict) and bool(result) and all(name in names for name in result)
