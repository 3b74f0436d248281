"""What a person, or a program, sees of an exploration."""

from __future__ import annotations

from typing import Any

from rich.text import Text

from runtime.exploring.retelling import Tale
from runtime.exploring.rules import BACK, TIMERS
from runtime.exploring.search import Report
from runtime.show import COLOURS, Row, complain, drawn, facts, say, table
from runtime.testing.found import Found
from runtime.testing.running import BUILT_IN, QUIET

MOST_STEPS = 60


def extent(report: Report) -> str:
    return "complete" if report.complete else "bounded"


def as_data(report: Report, tale: Tale | None, kept: Found | None, command: str) -> dict[str, Any]:
    rules = report.rules
    return {
        "scenario": report.scenario.name,
        "protocol": report.scenario.protocol,
        "verdict": report.verdict,
        "extent": extent(report),
        "undecided_because": report.doubts() if report.verdict == "undecided" else [],
        "states": report.states,
        "transitions": report.transitions,
        "depth": report.depth,
        "quiet_states": report.quiet,
        "node_states": report.node_states,
        "handlers_called": report.handled,
        "seconds": report.took_s,
        "states_per_s": report.states_per_s,
        "reduction": report.reduction,
        "timers": rules.timers,
        "back": rules.back,
        "fifo": rules.fifo,
        "faults": rules.budget._asdict() | {"of": sorted(rules.only), "at": sorted(rules.at)},
        "in_the_state": _in_the_state(report),
        "properties": {name: said for name, _, said, _ in _judged(report)},
        "violation": None if report.problem is None else _violation(report, tale, kept),
        "repeat": command,
    }


def _violation(report: Report, tale: Tale | None, kept: Found | None) -> dict[str, Any]:
    assert report.problem is not None
    return {
        "property": report.problem[0],
        "problem": report.problem[1],
        "steps": [] if tale is None else tale.words,
        "shrunk": None if kept is None else kept.as_data(),
    }


def _in_the_state(report: Report) -> list[str]:
    """What somebody looks at beside the agents."""
    needs = report.needs
    return (["clocks"] if needs.clock else []) + [f"log of {event}" for event in sorted(needs.events)]


def _judged(report: Report) -> list[tuple[str, str, str, str]]:
    """Each property, its kind, what was found, and what it says."""
    rows: list[tuple[str, str, str, str]] = []
    name = None if report.problem is None else report.problem[0]
    for found in report.properties:
        if found.kind == "sometimes":
            said = "seen" if found.name in report.sometimes else "not seen"
            said = "not asked" if found.name in report.unasked else said
        else:
            said = "violated" if found.name == name else "held"
        rows.append((found.name, found.kind, said, found.about))
    told = BUILT_IN | {QUIET: "A quiet state can be reached; whether every way leads to one is not decided."}
    for key, about in told.items():
        kind, fine = ("sometimes", "seen" if report.quiet else "not seen") if key == QUIET else ("always", "held")
        rows.append((key, kind, "violated" if key == name else fine, about))
    return rows


def show(report: Report, tale: Tale | None, kept: Found | None, command: str) -> None:
    rules = report.rules
    faults = [f"{amount} {name}" for name, amount in rules.budget._asdict().items() if amount]
    only = f", of {', '.join(sorted(rules.only))}" if rules.only else ""
    only += f", at {', '.join(sorted(rules.at))}" if rules.at else ""
    overview: list[tuple[str, str | Text]] = [
        ("protocol", report.scenario.protocol),
        ("verdict", Text(f"{report.verdict} ({extent(report)})", style=COLOURS[report.verdict])),
        ("states", f"{report.states:,} in {report.took_s:,.1f} s ({report.states_per_s:,.0f}/s)"),
        ("transitions", f"{report.transitions:,}, reduction: {report.reduction}"),
        ("depth", f"{report.depth:,}"),
        ("quiet states", f"{report.quiet:,}"),
        ("states of a node", f"{report.node_states:,}, handlers called {report.handled:,} times"),
        ("timers", f"{rules.timers}: {TIMERS[rules.timers]}"),
        ("links", "in order" if rules.fifo else "messages overtake each other"),
        ("faults, at most", (", ".join(faults) or "none") + only),
    ]
    if rules.budget.crashes:
        overview.append(("a crashed node", f"is back {BACK[rules.back]}"))
    if looked_at := _in_the_state(report):
        overview.append(("also in the state", ", ".join(looked_at)))
    rows: list[Row] = [*_judged(report)]
    say(
        "\n".join(
            [drawn(facts(overview)), table("properties", ("name", "kind", "", "what it says"), rows, "see --json")]
        )
    )
    if report.problem is not None:
        _show_violation(report, tale, kept)
    for doubt in report.doubts() if report.verdict == "undecided" and not report.interrupted else ():
        complain(f"undecided: {doubt}")
    if report.reached and rules.timers == "any":
        complain("time-outs may outrun the network here; if no message takes that long: --timers quiet, or due")
    say(f"\nto repeat it: {command}\n")


def _show_violation(report: Report, tale: Tale | None, kept: Found | None) -> None:
    assert report.problem is not None
    lines = [] if tale is None else [f"{number:>4}  {word}" for number, word in enumerate(tale.words, start=1)]
    more = len(lines) - MOST_STEPS
    lines = lines[:MOST_STEPS] + ([f"      and {more:,} more; see --json"] if more > 0 else [])
    name, problem = report.problem
    say("".join(f"{line}\n" for line in ["", f"violated: {name}: {problem}", "after", *lines, ""]))
    if kept is not None:
        say(kept.told())
    else:
        complain("the simulator does not show this violation in the same order; the steps above are all there is")
