"""brokerlab explore: every order of events of a small network, and whether its properties hold in all of them."""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from math import inf
from pathlib import Path
from typing import Any

import click

from runtime.check_command import Names
from runtime.completion import scenarios
from runtime.errors import OutputError, ScenarioError
from runtime.exploring.reduction import REDUCTIONS, Reduction
from runtime.exploring.retelling import Tale, as_case, tell
from runtime.exploring.rules import BACK, TIMERS, Budget, Rules
from runtime.exploring.search import Limits, Report, explore
from runtime.exploring.showing import as_data, show
from runtime.interrupt import interruptible
from runtime.message import message_types
from runtime.progress import Progress
from runtime.rundir import as_json
from runtime.scenario import Scenario, load
from runtime.settings import one_of
from runtime.show import complain, say
from runtime.testing.cases import Case
from runtime.testing.found import Found, keep
from runtime.testing.running import Shown
from runtime.testing.shrinking import shrink

EXIT = {"valid": 0, "violated": 1, "undecided": 3}
INTERRUPTED = 130
STATES = 1_000_000
COUNT = click.IntRange(0)


@click.command("explore")
@click.argument("name", metavar="SCENARIO", shell_complete=scenarios)
@click.option("--set", "overrides", multiple=True, metavar="KEY=VALUE", help="Change one key; can be repeated.")
@click.option("--seed", type=click.IntRange(0), help="Another seed than the scenario's, for what agents draw.")
@click.option("--losses", type=COUNT, default=0, metavar="N", help="At most so many messages are lost.")
@click.option("--duplicates", type=COUNT, default=0, metavar="N", help="At most so many messages arrive twice.")
@click.option("--of", type=Names(), default="", metavar="A,B", help="Only messages of these types are lost or doubled.")
@click.option("--crashes", type=COUNT, default=0, metavar="N", help="At most so many crashes; the node comes back.")
@click.option("--deaths", type=COUNT, default=0, metavar="N", help="At most so many nodes crash for good.")
@click.option("--at", type=Names(), default="", metavar="A,B", help="Only these nodes crash.")
@click.option("--unordered", is_flag=True, help="Messages on a link overtake each other.")
@click.option("--timers", type=click.Choice(list(TIMERS)), default="any", show_default=True, help="When timers fire.")
@click.option("--back", type=click.Choice(list(BACK)), default="any", show_default=True,
              help="When a node is back that has crashed.")  # fmt: skip
@click.option("--reduction", type=click.Choice(list(REDUCTIONS)), help="What need not be tried; see below.")
@click.option("--order", type=click.Choice(["breadth", "depth"]), default="breadth", show_default=True,
              help="Which states come first; breadth finds a shortest way.")  # fmt: skip
@click.option(
    "--states", type=click.IntRange(1), default=STATES, show_default=True, metavar="N", help="At most so many."
)
@click.option("--depth", type=click.IntRange(1), metavar="N", help="At most so many steps from the start.")
@click.option("--seconds", type=click.FloatRange(0), metavar="S", help="At most so long.")
@click.option("--shrink", type=click.FloatRange(0), default=60, show_default=True, metavar="S",
              help="Effort to make a violation smaller, in seconds of a usual machine; 0 leaves it.")  # fmt: skip
@click.option("--out", type=click.Path(path_type=Path), metavar="DIR", help="Of a violation; else runs/explore-NAME.")
@click.option("--json", is_flag=True, help="Print one JSON object and nothing else.")
def explore_scenario(name: str, json: bool, out: Path | None, shrink: float, **how: Any) -> int:
    """Go through every state that SCENARIO can reach, in any order of its messages, timers and faults.

    \b
    brokerlab explore docs/examples/my_flood.toml --set network.nodes=4
    brokerlab explore my.toml --losses 1 --crashes 1 --timers quiet
    brokerlab explore my.toml --states 5000000 --seconds 600 --json

    \b
    --timers any        at any time: nothing is known of delays
    --timers quiet      only when no message is on its way: every message is faster than any time-out
    --timers due        and the first of the whole network first: clocks agree, too

    \b
    --back any          a crashed node is back at any time, or after any number of time-outs
    --back soon         before any time-out, with --timers quiet or due: no node is down for long

    \b
    --reduction sleep       every state, but not every order of steps that commute
    --reduction persistent  every end, but not every state: properties are asked for at the end only
    --reduction none        every order
    Left out, it is persistent where the protocol has only `eventually` properties, else sleep.

    Valid (exit code 0): every state was seen, and nothing is wrong in any. Violated (1): a way to the first state in
    which something is wrong, made small and kept in DIR for brokerlab replay. Undecided (3): a limit was reached first.
    """
    scenario = load(name, how["overrides"], how["seed"])
    _refuse_planned_faults(scenario)
    wish = _wish(scenario, how)
    report, found = _explore(wish, shrink, out or Path("runs") / f"explore-{Path(name).stem}")
    command = _command(name, scenario, how)
    if json:
        say(as_json(as_data(report, found.tale, found.kept, command)))
    else:
        show(report, found.tale, found.kept, command)
    if report.interrupted:
        complain("interrupted; this is what was seen until then")
        return INTERRUPTED
    return EXIT[report.verdict]


@dataclass(frozen=True)
class Wish:
    scenario: Scenario
    rules: Rules
    reduction: Reduction
    order: Any
    limits: Limits


@dataclass(frozen=True)
class Violation:
    """The way to it, and what was kept, if it could be replayed."""

    tale: Tale | None = None
    kept: Found | None = None


def _refuse_planned_faults(scenario: Scenario) -> None:
    plan = scenario.plan
    if plan.rules or plan.cuts or plan.crashes:
        allowed = "write --losses, --duplicates, --crashes or --deaths, and --set 'faults=[]'"
        raise ScenarioError("faults", f"an exploration lets faults strike anywhere, not as planned: {allowed}")


def _wish(scenario: Scenario, how: dict[str, Any]) -> Wish:
    known = message_types()
    for tag in how["of"]:
        if tag not in known:
            raise click.UsageError(f"--of: {one_of(tag, sorted(known))}")
    for node in how["at"]:
        if node not in scenario.network.neighbours:
            raise click.UsageError(f"--at: {one_of(node, sorted(scenario.network.neighbours))}")
    if how["back"] == "soon" and how["timers"] == "any":
        raise click.UsageError("--back soon needs --timers quiet or due: else time-outs outrun everything")
    budget = Budget(how["losses"], how["duplicates"], how["crashes"], how["deaths"])
    struck = frozenset(how["of"]), frozenset(how["at"])
    rules = Rules(how["timers"], not how["unordered"], budget, *struck, how["back"])
    limits = Limits(how["states"], how["depth"] or inf, inf if how["seconds"] is None else how["seconds"])
    return Wish(scenario, rules, how["reduction"] or best_reduction(scenario), how["order"], limits)


def best_reduction(scenario: Scenario) -> Reduction:
    """Whole states may be left out only where nobody asks for what holds in them."""
    only_ends = all(found.kind == "eventually" for found in scenario.system.properties())
    return "persistent" if only_ends else "sleep"


def _explore(wish: Wish, seconds: float, folder: Path) -> tuple[Report, Violation]:
    with Progress() as progress, interruptible() as stop_if_asked:

        def after_some(report: Report) -> None:
            progress.tell(
                f"{report.states:,} states, {report.waiting:,} to go on from, depth {report.depth:,}, "
                f"{report.states_per_s:,.0f} states/s, nothing violated"
            )
            stop_if_asked()

        report = explore(wish.scenario, wish.rules, wish.reduction, wish.order, wish.limits, after_some)
        if report.problem is None:
            return report, Violation()
        tale = tell(report)
        case = as_case(report, tale)
        if case is None:
            return report, Violation(tale)

        small, seen, tries = *case, 0

        def before_try(best: Case, shows: Shown, number: int) -> None:
            nonlocal small, seen, tries
            small, seen, tries = best, shows, number
            progress.tell(f"shrinking: {seen.nodes} nodes, {seen.messages:,} messages after {tries:,} tries")
            stop_if_asked()

        try:
            if seconds:
                small, seen, tries = shrink(*case, seconds, before_try)
        except KeyboardInterrupt:
            report.interrupted = True
    try:
        return report, Violation(tale, keep(folder, small, seen, case[1], tries))
    except OSError as problem:
        raise OutputError(f"{folder}: {problem.strerror}") from None


def _command(name: str, scenario: Scenario, how: dict[str, Any]) -> str:
    words = ["brokerlab", "explore", name]
    for override in how["overrides"]:
        words += ["--set", override]
    for option in ("seed", "losses", "duplicates", "crashes", "deaths", "depth", "seconds", "reduction"):
        if how[option]:
            words += [f"--{option}", f"{how[option]:g}" if isinstance(how[option], float) else str(how[option])]
    for option in ("of", "at"):
        words += [f"--{option}", ",".join(how[option])] if how[option] else []
    words += ["--unordered"] if how["unordered"] else []
    for option, usual in (("timers", "any"), ("back", "any"), ("order", "breadth"), ("states", STATES)):
        if how[option] != usual:
            words += [f"--{option}", str(how[option])]
    return shlex.join(words)
