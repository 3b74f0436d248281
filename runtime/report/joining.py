"""One page for several systems on one network: what each of them says, under its name."""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Iterator, Mapping
from dataclasses import replace
from typing import TypeVar

from runtime.report.model import Report

Said = TypeVar("Said")


def apart(report: Report, prefix: str) -> Report:
    """An empty report for one of several systems, which sees only its own of the run's results."""
    own = {key.removeprefix(prefix): value for key, value in report.results.items() if key.startswith(prefix)}
    return Report(results=own, nodes=report.nodes, crashes=report.crashes)


def join(report: Report, parts: Mapping[str, Report], guests: Container[str]) -> None:
    """What the parts have said, all of it in `report`. Of a broker, which they share, none alone says what it is."""
    for name, part in parts.items():
        report.curves += [replace(curve, title=f"{name}: {curve.title}") for curve in part.curves]
        report.panels += [replace(panel, title=f"{name}: {panel.title}") for panel in part.panels]
        report.layers += [replace(layer, title=f"{name}: {layer.title}") for layer in part.layers]
        report.moments += [(time, f"{name}: {text}") for time, text in part.moments]
        report.spans += [(since, until, f"{name}: {text}") for since, until, text in part.spans]
        report.homes += part.homes
        report.places |= part.places
        report.kinds |= {node: kind for node, kind in part.kinds.items() if node in guests}
    lettered = {name: part for name, part in parts.items() if part.lettered}
    called = _items(lettered)
    report.items += [called[name, item] for name, part in lettered.items() for item in part.items]
    held = {name: part.held for name, part in lettered.items()}
    for time, node, each in _together(held):
        report.held.append((time, node, tuple(called[name, item] for name, items in each.items() for item in items)))
    texts = {name: part.texts for name, part in parts.items()}
    for time, node, lines in _together(texts):
        report.texts.append((time, node, "\n".join(f"{name}: {text}" for name, text in lines.items() if text)))


def _items(parts: Mapping[str, Report]) -> dict[tuple[str, str], str]:
    """What each part's items are called: with the part's name, where another has one of that name."""
    known = {
        name: dict.fromkeys([*part.items, *(item for _, _, items in part.held for item in items)])
        for name, part in parts.items()
    }
    common = Counter(item for items in known.values() for item in items)
    return {
        (name, item): f"{name} {item}" if common[item] > 1 else item for name, items in known.items() for item in items
    }


def _together(said: Mapping[str, list[tuple[float, str, Said]]]) -> Iterator[tuple[float, str, dict[str, Said]]]:
    """At each change of a node, what all parts say of it from then on."""
    changes = sorted(
        ((time, node, place, name, value) for place, name in enumerate(said) for time, node, value in said[name]),
        key=lambda change: (change[0], change[2]),
    )
    now: dict[str, dict[str, Said]] = {}
    for time, node, _, name, value in changes:
        now.setdefault(node, {})[name] = value
        yield time, node, {part: now[node][part] for part in said if part in now[node]}
