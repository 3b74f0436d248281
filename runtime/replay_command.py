"""brokerlab replay: a run that was kept, or a violation that was found, once more; step by step if one likes."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import click

from runtime.replay import replay
from runtime.rundir import as_json
from runtime.show import complain, say, show
from runtime.simulator import Simulator
from runtime.stepping import Stepper
from runtime.testing.decisions import load
from runtime.testing.running import Shown, run_case

FINE, FAILED = 0, 1


@click.command("replay")
@click.argument("place", metavar="DIR|FILE", type=click.Path(path_type=Path))
@click.option("--step", is_flag=True, help="Show every event and what it changes; Enter goes on.")
@click.option("--node", "nodes", multiple=True, metavar="NAME", help="With --step: only this node's; can be repeated.")
@click.option("--json", is_flag=True, help="Print one JSON object and nothing else.")
def replay_kept(place: Path, step: bool, nodes: tuple[str, ...], json: bool) -> int:
    """Run what DIR or FILE keeps once more on the simulator, every event as it was.

    DIR is from `brokerlab run ... --out DIR --trace`, or from a free run on Ray, which is always recorded. The
    exit code is 0 if the fingerprint is the same as then.

    FILE is a decision file that `brokerlab check` or `brokerlab explore` has written: a case in which a property
    is violated. The exit code is 1 as long as one is.

    \b
    brokerlab replay runs/first
    brokerlab replay runs/check-coverage/decisions.toml --step
    brokerlab replay runs/first --step --node n1 < /dev/null      all of n1's steps at once
    """
    if json and step:
        raise click.UsageError("--json prints one object; --step talks")
    if nodes and not step:
        raise click.UsageError("--node needs --step")
    stepper = Stepper(nodes, sys.stdin.isatty()) if step else None
    return _decisions(place, stepper, json) if place.is_file() else _run(place, stepper, json)


def _run(folder: Path, stepper: Stepper | None, json: bool) -> int:
    outcome, then = replay(folder, stepper)
    if stepper is not None:
        stepper.finish()
    now = outcome.summary()
    same = now["fingerprint"] == then["fingerprint"]
    if json:
        say(as_json(now | {"fingerprint_then": then["fingerprint"], "same": same}))
    else:
        show(outcome, f"see {folder / 'summary.json'}")
        say("the same run: its fingerprint is the one of then\n" if same else "")
    if not same:
        complain(f"not the same run: the fingerprint was {then['fingerprint']} and is now {now['fingerprint']}")
    return FINE if same else FAILED


def _decisions(file: Path, stepper: Stepper | None, json: bool) -> int:
    case, name = load(file)

    def watch(sim: Simulator) -> None:
        if stepper is not None:
            stepper(sim)

    shown = run_case(case, watch)
    if stepper is not None:
        stepper.finish()
    if json:
        say(as_json(_as_data(shown, name)))
    else:
        say(f"{shown.nodes} nodes, {shown.messages:,} messages, {shown.events:,} events, {shown.virtual_s:g} s\n")
    if shown.violation is None:
        say("" if json else f"nothing is violated any more; {name} was\n")
        return FINE
    other = "" if shown.violation.name == name else f" (then it was {name})"
    told = f"violated: {shown.violation.name}: {shown.violation.problem}{other}"
    complain(f"{told}, seen after event {shown.violation.events}")
    return FAILED


def _as_data(shown: Shown, name: str) -> dict[str, Any]:
    violation = shown.violation
    return {
        "nodes": shown.nodes,
        "messages": shown.messages,
        "events": shown.events,
        "virtual_time": shown.virtual_s,
        "violated_then": name,
        "violated": None if violation is None else violation.name,
        "problem": None if violation is None else violation.problem,
    }
