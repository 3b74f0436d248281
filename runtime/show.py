"""What a person sees of a run: tables on standard output, complaints on standard error."""

from __future__ import annotations

import os
import re
import sys
import sysconfig
import traceback
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import click
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table
from rich.text import Text

from runtime.errors import BrokerlabError, ScenarioError
from runtime.run import Outcome

ROWS = 20
WIDTH = 100  # where standard output is no terminal
LONGEST = 200
OWN_FOLDERS = tuple(str(Path(__file__).parent.parent / name) for name in ("runtime", "sweeps"))
PROTOCOLS = tuple(str(Path(__file__).parent.parent / name) for name in ("agents", "protocols"))
LIBRARIES = tuple(sysconfig.get_paths()[name] for name in ("stdlib", "platstdlib", "purelib", "platlib"))
COLOURS = {"valid": "green", "violated": "red", "undecided": "yellow"}

Row = Sequence[str]


def say(text: str) -> None:
    """Print on standard output. A reader who has gone away, as in `| head`, is no error."""
    encoding = sys.stdout.encoding or "utf-8"
    try:
        sys.stdout.write(text.encode(encoding, "replace").decode(encoding))
        sys.stdout.flush()
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def complain(problem: object) -> None:
    click.echo(f"brokerlab: {problem}", err=True)


def blame(problem: Exception) -> None:
    """Say what went wrong and where to look. A mistake of our own goes on: there the whole traceback helps."""
    where = their_part(problem)
    if not where and not isinstance(problem, BrokerlabError):
        raise problem
    complain(problem if isinstance(problem, BrokerlabError) else f"{type(problem).__name__}: {problem}")
    if where:
        click.echo(where, err=True)


def their_part(error: BaseException) -> str:
    """The traceback of what went wrong, without the frames that are brokerlab's runtime: where to look."""
    while error.__cause__ is not None:
        error = error.__cause__
    if isinstance(error, ScenarioError):  # then the place to look at is the scenario
        return ""
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if _is_theirs(frame.filename)]
    return "".join(traceback.format_list(frames)).rstrip()


def _is_theirs(filename: str) -> bool:
    """Is this file a protocol's or an agent's, and not our runtime's or a library's?"""
    if filename.startswith(PROTOCOLS):
        return True
    return not filename.startswith(("<", *OWN_FOLDERS, *LIBRARIES))


def show(outcome: Outcome, rest: str) -> None:
    """The run in short; `rest` says where to see what is left out."""
    summary = outcome.summary()
    parts = [drawn(_overview(outcome, summary))]
    for key, title in _TITLES.items():
        if summary[key]:
            parts.append(table(title, ("type", "messages", "bytes"), _count_rows(summary[key]), rest))
    headings = outcome.scenario.system.headings
    for key, value in outcome.results.items():
        if value and isinstance(value, dict):
            parts.append(table(words(key), *as_rows(value, headings.get(key, ())), rest))
    if outcome.violations:
        rows: list[Row] = [(problem,) for problem in outcome.violations]
        parts.append(table(f"violations ({len(rows)})", ("what should hold and does not",), rows, rest))
    say("\n".join(parts))


_TITLES = {
    "by_type": "messages on the links",
    "underlay": "messages past the overlay",
    "carried": "messages that the reliable links carried",
}


def _overview(outcome: Outcome, summary: Mapping[str, Any]) -> Table:
    verdict = f"{outcome.verdict} (interrupted)" if outcome.interrupted else outcome.verdict
    faults = ", ".join(f"{kind} {count:,}" for kind, count in summary["faults"].items())
    rows = [
        ("protocol", summary["protocol"]),
        ("seed", str(summary["seed"])),
        ("nodes", f"{summary['nodes']:,}, {summary['links']} links"),
        ("verdict", Text(verdict, style=COLOURS[outcome.verdict])),
        ("virtual time", f"{summary['virtual_time']:,.3f} s"),
        ("events", f"{summary['events']:,}"),
        ("messages", f"{summary['messages']:,}"),
        ("bytes", f"{summary['bytes']:,}"),
        ("faults that fired", faults or "none"),
        *((words(key), short(value)) for key, value in outcome.results.items() if not isinstance(value, dict)),
        ("fingerprint", summary["fingerprint"]),
    ]
    return facts(rows)


def facts(rows: Iterable[tuple[str, str | Text]]) -> Table:
    """What there is to say, each with its name in front."""
    grid = Table(box=None, show_header=False, pad_edge=False)
    grid.add_column(style="bold")
    grid.add_column(overflow="fold")
    for row in rows:
        grid.add_row(*row)
    return grid


def table(title: str, columns: Sequence[str], rows: Sequence[Row], rest: str) -> str:
    """The first rows, under a title."""
    grid = Table(box=SIMPLE_HEAD, show_edge=False, pad_edge=False)
    shown = rows[:ROWS]
    for place, column in enumerate(columns):
        numbers = all(is_number(row[place]) for row in shown)
        grid.add_column(column, overflow="fold", justify="right" if numbers else "left")
    for row in shown:
        grid.add_row(*row)
    left_out = len(rows) - len(shown)
    return drawn(Text(title, "bold"), grid, *([f"... {left_out:,} more; {rest}"] if left_out else []))


def drawn(*parts: str | Text | Table) -> str:
    screen = Console(markup=False, highlight=False, emoji=False)
    if not screen.is_terminal and "COLUMNS" not in os.environ:
        screen.width = WIDTH
    with screen.capture() as captured:
        for part in parts:
            screen.print(part)
    return "".join(f"{line.rstrip()}\n" for line in captured.get().splitlines())


def is_number(cell: str) -> bool:
    return re.fullmatch(r"-|-?(inf|[\d,.]+(e[+-]?\d+)?)", cell) is not None


def _count_rows(counts: Mapping[str, Mapping[str, int]]) -> list[Row]:
    return [(tag, f"{row['messages']:,}", f"{row['bytes']:,}") for tag, row in counts.items()]


def as_rows(result: Mapping[str, Any], headings: Sequence[str]) -> tuple[Sequence[str], list[Row]]:
    """A result as a table: what is nested becomes columns where all have the same keys, else rows of its own.

    Headings for three columns ask for rows.
    """
    inner = list(result.values())
    if not all(isinstance(value, dict) for value in inner):
        return _padded(headings, 2), [(str(name), short(value)) for name, value in result.items()]
    if len(headings) < 3 and all(value.keys() == inner[0].keys() for value in inner):
        keys = list(inner[0])
        columns = (*_padded(headings, 1), *(words(str(key)) for key in keys))
        return columns, [(str(name), *(short(value[key]) for key in keys)) for name, value in result.items()]
    rows = [(str(name), str(key), item) for name, inside in result.items() for key, item in inside.items()]
    return _padded(headings, 3), [(name, key, short(item)) for name, key, item in rows]


def _padded(headings: Sequence[str], width: int) -> Sequence[str]:
    return [*headings, *[""] * width][:width]


def words(key: str) -> str:
    return key.replace("_", " ")


def short(value: Any) -> str:
    text = told(value)
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 3]}..."


def told(value: Any) -> str:
    match value:
        case None:
            return "-"
        case bool():
            return str(value).lower()
        case int():
            return f"{value:,}"
        case float():
            return f"{value:g}"
        case [[_, _, *_], *_]:
            return ", ".join(_entry(item) for item in value)
        case list() | tuple():
            return _joined(value)
        case dict():
            return ", ".join(f"{key}: {told(item)}" for key, item in value.items())
    return str(value)


def _entry(item: Any) -> str:
    """The first of several, and the others in brackets: b2 (str1, 4)."""
    match item:
        case [first, _, *_]:
            return f"{told(first)} ({_joined(item[1:])})"
    return told(item)


def _joined(values: Iterable[Any]) -> str:
    return ", ".join(map(told, values))


def show_catalogue(catalogue: Mapping[str, Sequence[Mapping[str, str]]]) -> None:
    """What there is to run, one line each."""
    width = max(len(entry["name"]) for entries in catalogue.values() for entry in entries)
    for title, entries in catalogue.items():
        lines = [f"  {entry['name']:<{width}}  {entry['about']}\n" for entry in entries]
        say(f"{title}\n{''.join(lines)}")
