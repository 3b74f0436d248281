"""brokerlab check: a protocol under random and adversarial schedules and faults, judged by its properties."""

from __future__ import annotations

import secrets
import shlex
from pathlib import Path
from typing import Any

import click
from rich.text import Text

from runtime.completion import protocols
from runtime.errors import OutputError
from runtime.interrupt import interruptible
from runtime.progress import Progress
from runtime.rundir import as_json
from runtime.show import COLOURS, Row, complain, drawn, facts, say, table
from runtime.testing.cases import Case, Way
from runtime.testing.checking import WAYS, Report, Subject, check, subject
from runtime.testing.found import Found, keep
from runtime.testing.running import BUILT_IN, Shown, Violation
from runtime.testing.shrinking import shrink

EXIT = {"valid": 0, "violated": 1, "undecided": 3}
INTERRUPTED = 130


class Names(click.ParamType[tuple[str, ...]]):
    """Several names in one word, with commas between them."""

    name = "names"

    def __init__(self, allowed: tuple[str, ...] = ()) -> None:
        self.allowed = allowed

    def convert(self, value: Any, param: Any, ctx: Any) -> tuple[str, ...]:
        names = tuple(name.strip() for name in value.split(",") if name.strip() and value != "none")
        for name in names:
            if self.allowed and name not in self.allowed:
                self.fail(f"{name!r} is none of: {', '.join(self.allowed)}", param, ctx)
        return names


@click.command("check")
@click.argument("protocol", metavar="PROTOCOL", shell_complete=protocols)
@click.option("--examples", type=click.IntRange(1), default=1000, show_default=True, metavar="N", help="Cases to run.")
@click.option("--faults", type=Names(), metavar="A,B", help="What the network does; or none. Else all it tolerates.")
@click.option("--schedules", type=Names(WAYS), default=",".join(WAYS), metavar="A,B", help="Who decides the order.")
@click.option("--size", type=click.IntRange(1), metavar="N", help="At most so many brokers.")
@click.option("--seed", type=click.IntRange(0), help="Of an earlier check, to have its cases again; else fresh.")
@click.option("--shrink", "seconds", type=click.FloatRange(0), default=60, show_default=True, metavar="S",
              help="Effort to make a violation smaller, in seconds of a usual machine; 0 leaves it.")  # fmt: skip
@click.option("--out", type=click.Path(path_type=Path), metavar="DIR", help="Of a violation; else runs/check-PROTOCOL.")
@click.option("--json", is_flag=True, help="Print one JSON object and nothing else.")
def check_protocol(protocol: str, seconds: float, out: Path | None, json: bool, seed: int | None, **how: Any) -> int:
    """Check the properties of PROTOCOL in many small networks, under every kind of schedule and fault.

    PROTOCOL is one that comes with brokerlab, my_file.py:MyProtocol (with a static case(draw)), or a scenario file,
    which is then run with other seeds, schedules and faults.

    \b
    brokerlab check coverage
    brokerlab check coverage --faults drop,crash --examples 10000
    brokerlab check my.toml --faults none --schedules priority,delays

    Schedules: timed (as the delays have it), random, priority (links that starve), delays (few, at random moments).
    Faults: drop, duplicate, reorder, delay, partition, crash (and recover), death.

    It is valid if no property was violated and every handler, every fault and every `sometimes` property was
    exercised; if some was not, it is undecided (exit code 3). A violation (exit code 1) is made as small as possible
    and kept in DIR: decisions.toml for brokerlab replay, a test, and diagrams.
    """
    chosen = secrets.randbelow(1 << 32) if seed is None else seed
    report, found = _check(subject(protocol), chosen, seconds, out, how)
    command = _command(protocol, chosen, how)
    if json:
        say(as_json(_as_data(report, found, command)))
    else:
        _show(report, found, command)
    if report.interrupted:
        complain("interrupted; this is what was seen until then")
        return INTERRUPTED
    return EXIT[report.verdict]


def _check(
    what: Subject, seed: int, seconds: float, out: Path | None, how: dict[str, Any]
) -> tuple[Report, Found | None]:
    examples = how["examples"]
    with Progress() as progress, interruptible() as stop_if_asked:

        def after_case(report: Report) -> None:
            speed = report.cases / report.took_s if report.took_s else 0
            progress.tell(f"{report.cases:,} of {examples:,} cases, {speed:,.0f}/s, nothing violated")
            stop_if_asked()

        ways: tuple[Way, ...] = how["schedules"] or WAYS
        report = check(what, examples, seed, how["faults"], ways, how["size"], after_case)
        if report.violated is None:
            return report, None
        case, shown = report.violated

        small, seen, tries = case, shown, 0

        def before_try(best: Case, shows: Shown, number: int) -> None:
            nonlocal small, seen, tries
            small, seen, tries = best, shows, number
            progress.tell(f"shrinking: {seen.nodes} nodes, {seen.messages:,} messages after {tries:,} tries")
            stop_if_asked()

        try:
            if seconds:
                small, seen, tries = shrink(case, shown, seconds, before_try, what)
        except KeyboardInterrupt:
            report.interrupted = True
    folder = out or Path("runs") / f"check-{Path(what.name.partition(':')[0]).stem}"
    try:
        return report, keep(folder, small, seen, shown, tries)
    except OSError as problem:
        raise OutputError(f"{folder}: {problem.strerror}") from None


def _command(protocol: str, seed: int, how: dict[str, Any]) -> str:
    words = ["brokerlab", "check", protocol, "--seed", str(seed), "--examples", str(how["examples"])]
    if how["faults"] is not None:
        words += ["--faults", ",".join(how["faults"]) or "none"]
    if how["schedules"] != WAYS:
        words += ["--schedules", ",".join(how["schedules"])]
    return shlex.join(words + ([] if how["size"] is None else ["--size", str(how["size"])]))


def _as_data(report: Report, found: Found | None, command: str) -> dict[str, Any]:
    return {
        "protocol": report.subject.name,
        "verdict": report.verdict,
        "undecided_because": report.doubts() if report.verdict == "undecided" else [],
        "seed": report.seed,
        "faults_asked_for": sorted(report.faults),
        "cases": report.cases,
        "quiet": report.quiet,
        "events": report.events,
        "messages": report.messages,
        "properties": {name: said for name, _, said, _ in _judged(report)},
        "handlers": dict(sorted(report.handled.items())),
        "faults": dict(sorted(report.fired.items())),
        "schedules": dict(report.ways),
        "violation": None if found is None else found.as_data(),
        "repeat": command,
    }


def _judged(report: Report) -> list[tuple[str, str, str, str]]:
    """Each property, its kind, what was found, and what it says."""
    violation = None if report.violated is None else report.violated[1].violation
    rows: list[tuple[str, str, str, str]] = []
    for found in report.properties:
        if found.kind == "sometimes":
            said = "seen" if found.name in report.sometimes else "not seen"
        else:
            said = _held(found.name, violation)
        rows.append((found.name, found.kind, said, found.about))
    return rows + [(name, "always", _held(name, violation), about) for name, about in BUILT_IN.items()]


def _held(name: str, violation: Violation | None) -> str:
    return "violated" if violation is not None and violation.name == name else "held"


def _show(report: Report, found: Found | None, command: str) -> None:
    speed = report.cases / report.took_s if report.took_s else 0.0
    ways = ", ".join(f"{way} {count:,}" for way, count in report.ways.items())
    overview: list[tuple[str, str | Text]] = [
        ("protocol", report.subject.name),
        ("verdict", Text(report.verdict, style=COLOURS[report.verdict])),
        ("cases", f"{report.cases:,} in {report.took_s:,.1f} s ({speed:,.0f}/s), {report.quiet:,} came to rest"),
        ("events", f"{report.events:,}"),
        ("schedules", ways or "none"),
        ("faults asked for", ", ".join(sorted(report.faults)) or "none"),
        ("seed", str(report.seed)),
    ]
    parts = [drawn(facts(overview))]
    rest = "see --json"
    parts.append(table("properties", ("name", "kind", "", "what it says"), _judged(report), rest))
    fired: list[Row] = [(fault, f"{count:,}") for fault, count in sorted(report.fired.items()) if count]
    if fired:
        parts.append(table("faults that struck", ("fault", "times"), fired, rest))
    called = sorted(report.reachable().items(), key=lambda row: row[1])
    calls: list[Row] = [(name, f"{count:,}") for name, count in called]
    parts.append(table("handlers, the least called first", ("handler", "calls"), calls, rest))
    say("\n".join(parts))
    if found is not None:
        say(f"\n{found.told()}")
    for doubt in report.doubts() if report.verdict == "undecided" and not report.interrupted else ():
        complain(f"undecided: {doubt}")
    say(f"\nto repeat it: {command}\n")
