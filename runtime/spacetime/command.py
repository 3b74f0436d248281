"""brokerlab trace: the space-time diagram of a run that was kept with its trace."""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import suppress
from difflib import get_close_matches
from math import inf
from pathlib import Path
from typing import Any

import click

from runtime.errors import OutputError, ReplayError
from runtime.interrupt import interruptible
from runtime.progress import Progress
from runtime.rundir import as_json
from runtime.settings import one_of
from runtime.show import say
from runtime.simulator import Simulator
from runtime.spacetime.ascii import text_of
from runtime.spacetime.model import SpaceTime
from runtime.spacetime.page import page
from runtime.spacetime.rerun import draw
from runtime.spacetime.svg import svg_of

MOST_ON_PAGE, MOST_IN_SVG, MOST_IN_TEXT = 1_000_000, 3_000, 500
WIDEST_TEXT, MOST_NAMES = 40, 30


@click.command("trace")
@click.argument("folder", metavar="DIR", type=click.Path(path_type=Path))
@click.option("--out", type=click.Path(path_type=Path), metavar="FILE", help="Where the page goes (DIR/trace.html).")
@click.option(
    "--svg",
    is_flag=False,
    flag_value="",
    metavar="[FILE]",
    help="An SVG picture instead, in DIR/trace.svg or FILE.",
)
@click.option("--ascii", "as_text", is_flag=True, help="Print it as text instead.")
@click.option("--node", "nodes", multiple=True, metavar="NAME", help="Only this node; can be repeated.")
@click.option("--type", "types", multiple=True, metavar="TYPE", help="Only this type of message; can be repeated.")
@click.option("--since", type=float, metavar="T", help="Only what happened from this virtual time on.")
@click.option("--until", type=float, metavar="T", help="Only what happened until this virtual time.")
@click.option("--no-states", is_flag=True, help="Leave out what each event changed: much faster for long runs.")
@click.option("--json", is_flag=True, help="Print one JSON object and nothing else.")
def trace(
    folder: Path,
    out: Path | None,
    svg: str | None,
    as_text: bool,
    nodes: tuple[str, ...],
    types: tuple[str, ...],
    since: float | None,
    until: float | None,
    no_states: bool,
    json: bool,
) -> None:
    """Draw the run that DIR keeps as a space-time diagram: one HTML page that needs nothing else.

    \b
    brokerlab run coverage --out runs/first --trace
    brokerlab trace runs/first                        runs/first/trace.html
    brokerlab trace runs/first --svg --until 20       runs/first/trace.svg
    brokerlab trace runs/first --ascii --node b1 --node b2 --type Advertise

    On the page --node and --type only set its filters, which the reader can change; --since and --until cut.

    DIR is from `brokerlab run ... --out DIR --trace`, or from a free run on Ray, which is always recorded.
    """
    if as_text and (svg is not None or out is not None or json):
        raise click.UsageError("--ascii prints to standard output: leave out --svg, --out and --json")
    if svg is not None and out is not None:
        raise click.UsageError("--out is for the page; write --svg FILE")
    low, high = -inf if since is None else since, inf if until is None else until
    if low > high:
        raise click.UsageError(f"--since {since:g} is after --until {until:g}")
    path = out or folder / "trace.html" if svg is None else Path(svg) if svg else folder / "trace.svg"
    if not as_text and folder.is_dir():
        _check_place(path)
    seen = _drawn(folder, not (no_states or as_text or svg is not None))
    _check_names("--node", nodes, seen.nodes)
    _check_names("--type", types, list(seen.types()))
    if since is not None or until is not None:
        seen = seen.between(low, high)
    if as_text or svg is not None:
        seen = seen.of(nodes or None, types or None)
    if as_text:
        _check_size(seen, MOST_IN_TEXT, "for text", WIDEST_TEXT)
        click.echo(text_of(seen), nl=False)
        return
    if svg is not None:
        _check_size(seen, MOST_IN_SVG, "for an SVG picture")
        _write(path, svg_of(seen))
    else:
        _check_size(seen, MOST_ON_PAGE, "for a page")
        preset = {"nodes": list(nodes) or None, "types": list(types) or None}
        _write(path, page(seen, preset))
    _tell(seen, path, json)


def _drawn(folder: Path, states: bool) -> SpaceTime:
    with Progress() as progress, interruptible() as stop_if_asked:

        def after_window(sim: Simulator) -> None:
            stop_if_asked()
            progress(sim)

        return draw(folder, states, after_window)


def _check_names(option: str, asked: Sequence[str], known: Sequence[str]) -> None:
    for name in asked:
        if name not in known:
            near = known if len(known) <= MOST_NAMES else get_close_matches(name, known, MOST_NAMES, 0.3)
            raise click.UsageError(f"{option} {one_of(name, near)}")


def _check_size(seen: SpaceTime, most: int, what: str, lines: int | None = None) -> None:
    narrower = "narrow it with --node NAME, --type TYPE, --since T, --until T"
    if seen.events > most:
        raise ReplayError(f"{seen.events:,} events are too many {what}, which takes {most:,}: {narrower}")
    if lines is not None and len(seen.nodes) > lines:
        raise ReplayError(f"{len(seen.nodes)} nodes are too many {what}, which takes {lines}: choose some with --node")


def _check_place(path: Path) -> None:
    """Say before the work that the result cannot be written."""
    if path.is_dir():
        raise OutputError(f"{path}: a folder; write the name of a file")
    if not path.parent.is_dir():
        raise OutputError(f"{path}: there is no folder {path.parent}; make it first")
    if not os.access(path.parent, os.W_OK):
        raise OutputError(f"{path}: Permission denied; choose another place")


def _write(path: Path, text: str) -> None:
    """A whole file or none."""
    unfinished = path.with_name(f".{path.name}.partial")
    try:
        unfinished.write_text(text, encoding="utf-8", newline="\n")
        unfinished.replace(path)
    except OSError as problem:
        raise OutputError(f"{path}: {problem.strerror}; choose another place") from None
    finally:
        with suppress(OSError):
            unfinished.unlink(missing_ok=True)


def _tell(seen: SpaceTime, path: Path, json: bool) -> None:
    counts: dict[str, Any] = {
        "nodes": len(seen.nodes),
        "events": seen.events,
        "messages": sum(not arrow.timer for arrow in seen.arrows),
        "lost": sum(arrow.lost for arrow in seen.arrows),
        "late": sum(bool(arrow.late) and not arrow.lost for arrow in seen.arrows),
        "crashes": sum(found.kind == "crash" for found in seen.happenings),
        "bytes": path.stat().st_size,
    }
    if json:
        say(as_json({"file": str(path), **counts}))
        return
    words = ", ".join(f"{counts[name]:,} {name}" for name in ("nodes", "events", "messages", "lost", "late", "crashes"))
    say(f"{words}\ndrawn in {path} ({counts['bytes'] / 1e6:.1f} MB)\n")
