"""The report as one HTML page that needs nothing else."""

from __future__ import annotations

import base64
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from runtime.errors import AgentError, BrokerlabError
from runtime.properties import Property
from runtime.report.common import add_what_every_run_shows
from runtime.report.data import is_by_node, packed, page_data
from runtime.report.model import Panel, Report
from runtime.run import Outcome
from runtime.show import as_rows, is_number, told, words

PAGE = Path(__file__).parent / "page"
SCRIPTS = ("format.js", "run.js", "marks.js", "map.js", "look.js", "chart.js", "side.js", "main.js")
ROWS = 200
LISTED = 8
LONGEST = 300
WIDE = 5


def report_of(outcome: Outcome) -> tuple[Report, AgentError | None]:
    """What the system says of its run with what every run shows, and what is wrong in the system's own part."""
    scenario = outcome.scenario
    known: dict[str, Any] = {
        "results": outcome.results,
        "nodes": scenario.network.neighbours,
        "crashes": scenario.plan.crashes,
    }
    report, mistake = Report(**known), None
    try:
        scenario.system.report(outcome.world, report)
    except Exception as problem:
        told = str(problem) if isinstance(problem, BrokerlabError) else f"{type(problem).__name__}: {problem}"
        report, mistake = Report(**known), AgentError(f"the protocol's own part of the report: {told}")
        mistake.__cause__ = problem
    add_what_every_run_shows(outcome, report)
    return report, mistake


def page(
    outcome: Outcome,
    report: Report,
    summary: Mapping[str, Any],
    command: str,
    versions: Sequence[str],
    mistake: AgentError | None = None,
) -> str:
    """The whole page."""
    data, notes = page_data(outcome, report)
    if mistake is not None:
        notes.append(f"What is missing: {mistake}")
    environment = Environment(
        loader=FileSystemLoader(PAGE), autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    environment.filters["count"] = lambda value: f"{value:,}"
    return environment.get_template("report.html.j2").render(
        title=_title(outcome),
        outcome=outcome,
        summary=summary,
        ended="quiet" if outcome.quiescent else "interrupted" if outcome.interrupted else "stopped by a limit",
        faults=", ".join(f"{kind} {count:,}" for kind, count in summary["faults"].items()) or "none",
        past=sum(row["messages"] for row in summary["underlay"].values()),
        command=command,
        versions=versions,
        properties=[_judged(outcome, found) for found in outcome.scenario.system.properties()],
        messages=list(_messages(summary)),
        facts=list(_facts(outcome)),
        tables=[*map(_panel, report.panels), *_tables(outcome)],
        notes=notes,
        has=_has(data),
        style=Markup((PAGE / "report.css").read_text("utf-8")),
        script=Markup("\n".join((PAGE / name).read_text("utf-8") for name in SCRIPTS)),
        data=packed(data),
    )


def _title(outcome: Outcome) -> str:
    name = outcome.scenario.name.removesuffix(".toml")
    protocol = outcome.scenario.protocol
    return protocol if name in (protocol, "scenario") else f"{name}: {protocol}"


def _has(data: Mapping[str, Any]) -> dict[str, bool]:
    return {
        "map": bool(data["nodes"]),
        "items": bool(data["items"]),
        "layers": bool(data["layers"]),
        "moments": bool(data["moments"]),
        "log": bool(data["log"]),
    }


def _judged(outcome: Outcome, found: Property) -> dict[str, Any]:
    """A property and what became of it in this run."""
    problems = [told for told in outcome.violations if told.startswith(f"{found.name}: ")]
    if found.kind == "sometimes":
        came = outcome.scenario.system.come_about(found, outcome.world)
        verdict = "came about" if came else "did not come about"
    elif problems:
        verdict = "violated"
    else:
        verdict = "held" if outcome.quiescent else "not judged"
    return {"name": found.name, "kind": found.kind, "about": found.about, "verdict": verdict}


def _messages(summary: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Tables of what was sent, each row with its shares of the largest."""
    titles = {
        "by_type": "Messages on the links",
        "underlay": "Messages past the overlay",
        "carried": "Messages that the reliable links carried",
    }
    for key, title in titles.items():
        rows = summary[key]
        if rows:
            most = {what: max(row[what] for row in rows.values()) or 1 for what in ("messages", "bytes")}
            yield {
                "title": title,
                "rows": [
                    {"type": tag, **row, "shares": {what: 100 * row[what] / most[what] for what in most}}
                    for tag, row in sorted(rows.items(), key=lambda pair: (-pair[1]["messages"], pair[0]))
                ],
                "messages": sum(row["messages"] for row in rows.values()),
                "bytes": sum(row["bytes"] for row in rows.values()),
            }


def _facts(outcome: Outcome) -> Iterator[tuple[str, str]]:
    """The results that are single values."""
    for key, value in outcome.results.items():
        if isinstance(value, dict):
            continue
        if isinstance(value, list | tuple) and len(value) > LISTED:
            yield words(key), f"{len(value):,} entries, in summary.json"
        else:
            yield words(key), _cut(told(value))


def _tables(outcome: Outcome) -> Iterator[dict[str, Any]]:
    headings, names = outcome.scenario.system.headings, outcome.scenario.network.neighbours
    for key, value in outcome.results.items():
        if value and isinstance(value, dict):
            if not is_by_node(value, names):
                value = {
                    label: f"{len(item):,} values, with each node" if is_by_node(item, names) else item
                    for label, item in value.items()
                }
            columns, rows = as_rows(value, headings.get(key, ()))
            yield _table(words(key).capitalize(), columns, rows, "all of them are in summary.json")


def _panel(panel: Panel) -> dict[str, Any]:
    if panel.kind == "svg":
        drawing = base64.b64encode(panel.content.encode()).decode()
        return {
            "wide": False,
            "title": panel.title,
            "about": panel.about,
            "svg": f"data:image/svg+xml;base64,{drawing}",
        }
    if panel.kind == "bars":
        values, unit = panel.content
        most = max((abs(value) for value in values.values()), default=0.0) or 1.0
        bars = [(name, told(value), 100 * abs(value) / most) for name, value in values.items()]
        return {"wide": False, "title": panel.title, "about": panel.about, "bars": bars[:ROWS], "unit": unit}
    columns, rows = panel.content
    return _table(panel.title, columns, [[told(cell) for cell in row] for row in rows], "", panel.about)


def _table(
    title: str, columns: Sequence[str], rows: Sequence[Sequence[str]], rest: str, about: str = ""
) -> dict[str, Any]:
    shown = rows[:ROWS]
    numbers = [all(is_number(row[place]) for row in shown) for place in range(len(columns))]
    return {
        "wide": len(columns) > WIDE,
        "title": title,
        "about": about,
        "columns": list(zip(columns, numbers, strict=True)),
        "rows": [list(zip(map(_cut, row), numbers, strict=True)) for row in shown],
        "left_out": len(rows) - len(shown),
        "rest": rest,
    }


def _cut(text: str) -> str:
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 3]}..."
