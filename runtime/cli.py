"""The command line: brokerlab run, list, and the verbs that are loaded when they are asked for."""

from __future__ import annotations

import inspect
import shlex
import sys
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import click

from runtime.completion import scenarios
from runtime.determinism import Difference, differs
from runtime.errors import OutputError, ReplayError, ScenarioError
from runtime.interrupt import interruptible
from runtime.progress import Progress, Seen
from runtime.run import Outcome, simulate
from runtime.rundir import REPORT, as_json, claim, repeat, save, version_of
from runtime.scenario import Scenario, load, shipped_scenarios
from runtime.show import blame, complain, say, show, show_catalogue
from runtime.simulator import Simulator
from runtime.system import load_attribute, shipped

FINE, FAILED, BAD_INPUT, UNDECIDED, INTERRUPTED = 0, 1, 2, 3, 130


ELSEWHERE = {
    "check": "runtime.check_command:check_protocol",
    "completion": "runtime.completion:completion",
    "demo": "sweeps.demo:demo",
    "doctor": "runtime.doctor:doctor",
    "explore": "runtime.exploring.command:explore_scenario",
    "replay": "runtime.replay_command:replay_kept",
    "sweep": "sweeps.command:sweep",
    "trace": "runtime.spacetime.command:trace",
}
"""Verbs that are loaded when they are asked for: what they stand on takes a second to import."""


IN_SHORT = {
    "check": "Look for a case in which a property of a protocol does not hold, and make it small.",
    "completion": "Print what makes bash, zsh or fish complete commands and names.",
    "demo": "Show what brokerlab does, in about two minutes.",
    "doctor": "Look at what this machine has, and say what to do if it lacks something.",
    "explore": "Go through every order of events that a small network allows.",
    "list": "Show the protocols, scenarios, sweeps and properties that are shipped.",
    "replay": "Run once more what was kept, every event as it was.",
    "run": "Run a scenario: a file, or a shipped one.",
    "sweep": "Run a grid of scenarios; aggregate, draw and judge them.",
    "trace": "Draw a kept run as a space-time diagram.",
}
"""A line for each verb in the list of them, so that nothing has to be loaded for it."""


class Verbs(click.Group):
    """The verbs of the command line. Whatever goes wrong in one ends as a line and an exit code."""

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, self._in_short(ctx, name)) for name in sorted(self.list_commands(ctx))])

    def _in_short(self, ctx: click.Context, name: str) -> str:
        if name in IN_SHORT:
            return IN_SHORT[name]
        command = self.get_command(ctx, name)
        return command.get_short_help_str(80) if command is not None else ""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return [*super().list_commands(ctx), *ELSEWHERE]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name in ELSEWHERE:
            command: click.Command = load_attribute(ELSEWHERE[cmd_name])
            return command
        return super().get_command(ctx, cmd_name)

    def main(self, *words: Any, **options: Any) -> Any:
        options["standalone_mode"] = False
        options["prog_name"] = "brokerlab"
        sys.exit(self._end(*words, **options))

    def _end(self, *words: Any, **options: Any) -> int:
        try:
            return super().main(*words, **options) or FINE
        except click.exceptions.NoArgsIsHelpError as nothing:
            nothing.show()
            return BAD_INPUT
        except click.UsageError as problem:
            asked = problem.ctx.command_path if problem.ctx else "brokerlab"
            complain(f"{' '.join(problem.format_message().split())} (see {asked} --help)")
            return BAD_INPUT
        except (ScenarioError, OutputError, ReplayError) as problem:
            blame(problem)
            return BAD_INPUT
        except (click.Abort, KeyboardInterrupt):
            complain("interrupted")
            return INTERRUPTED
        except Exception as problem:
            blame(problem)
            return FAILED


@click.group(cls=Verbs, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(version_of("brokerlab"), message="%(prog)s %(version)s")
def main() -> None:
    """An emulator for distributed algorithms on broker overlays.

    \b
    brokerlab demo                           what it does, in two minutes
    brokerlab list                           what there is to run
    brokerlab run coverage                   run a shipped scenario
    brokerlab run my.toml --out runs/first   run your own, and keep what it shows
    brokerlab run coverage --on ray          the same as Ray actors
    brokerlab replay runs/first              run it again as it was recorded (with --trace)
    brokerlab check coverage                 properties under any schedule and faults; violations made small
    brokerlab explore my.toml                every state of a small network, in any order of its events
    brokerlab trace runs/first               draw it as a space-time diagram (with --trace)
    brokerlab sweep coverage --quick         many runs, aggregated, drawn and judged

    Exit codes: 0 fine, 1 the run failed or a property is violated, 2 bad input, 3 undecided (a limit was
    reached first), 130 interrupted.
    """


@dataclass(frozen=True)
class Wish:
    """What `run` was asked for."""

    name: str
    overrides: tuple[str, ...]
    out: Path | None
    json: bool
    check: bool
    on: str
    clock: str | None
    agents_per_actor: int | None
    ray_address: str | None
    time_scale: float | None

    def command(self, scenario: Scenario) -> str:
        return " ".join([repeat(self.name, scenario.seed, self.overrides), *self._where()])

    def _where(self) -> list[str]:
        options = {
            "--on": None if self.on == "sim" else self.on,
            "--clock": self.clock,
            "--agents-per-actor": self.agents_per_actor,
            "--ray-address": self.ray_address,
            "--time-scale": self.time_scale,
        }
        return [shlex.join([option, str(value)]) for option, value in options.items() if value is not None]

    def refuse_what_does_not_fit(self, trace: bool) -> None:
        if trace and self.out is None:
            raise click.UsageError("--trace needs --out DIR, to write trace.msgpack into")
        if self.on == "sim" and self._where():
            raise click.UsageError(f"{self._where()[0]} needs --on ray")
        if self.time_scale is not None and self.clock != "free":
            raise click.UsageError("--time-scale needs --clock free")
        if self.on == "ray" and self.check:
            raise click.UsageError("--check-determinism is for the simulator; a lock-step run has its fingerprint")
        if self.on == "ray" and trace and self.clock != "free":
            raise click.UsageError("--trace is for the simulator and for --clock free; lock-step has the same trace")


@main.command()
@click.argument("name", metavar="SCENARIO", shell_complete=scenarios)
@click.option("--seed", type=int, help="Another seed than the scenario's: other delays, draws and faults.")
@click.option("--set", "overrides", multiple=True, metavar="KEY=VALUE", help="Change one key; can be repeated.")
@click.option("--out", type=click.Path(path_type=Path), metavar="DIR", help="Keep the run in this folder.")
@click.option("--force", is_flag=True, help="Let --out replace a run of another scenario.")
@click.option("--json", is_flag=True, help="Print one JSON object and nothing else.")
@click.option("--trace", is_flag=True, help="With --out: also keep every event, in trace.msgpack.")
@click.option("--check-determinism", "check", is_flag=True, help="Run twice; name the first event that differs.")
@click.option("--on", type=click.Choice(["sim", "ray"]), default="sim", help="On the simulator, or as Ray actors.")
@click.option("--clock", type=click.Choice(["lockstep", "free"]), help="On Ray: virtual time (default), or real time.")
@click.option(
    "--agents-per-actor", type=click.IntRange(1), metavar="N", help="On Ray: 1 gives each agent its own actor."
)
@click.option("--ray-address", metavar="A", help="On Ray: a cluster that runs already; else one is started here.")
@click.option(
    "--time-scale", type=click.FloatRange(0), metavar="S", help="Free: real seconds for a virtual one (0.01)."
)
def run(seed: int | None, force: bool, trace: bool, **asked: Any) -> int:
    """Run SCENARIO: a .toml file, or the name of a shipped scenario.

    \b
    brokerlab run coverage
    brokerlab run coverage --seed 3 --json
    brokerlab run coverage --set links=reliable --set 'faults=[{kind="drop", probability=0.1}]'
    brokerlab run coverage --set network.delay="exponential(0.1, 1.0)" --out runs/slow
    brokerlab run my.toml --set limits.events=1000000 --set limits.time=500

    A key is written with dots, a value as in TOML. A run that reaches limits.events or limits.time before
    it is quiet ends as undecided, with exit code 3.

    \b
    brokerlab run coverage --on ray                        the same trace, on as many actors as there are cores
    brokerlab run coverage --on ray --agents-per-actor 1   every broker and store its own actor
    brokerlab run coverage --on ray --clock free --time-scale 0.001 --out runs/free

    A free run is as asynchronous as the machines are. With --out it is recorded: brokerlab replay DIR runs it
    again on the simulator.

    DIR holds report.html, a page to look at the run, scenario.toml, summary.json, events/*.parquet and a
    README.md that says how to run it again.
    """
    wish = Wish(**asked)
    wish.refuse_what_does_not_fit(trace)
    scenario = load(wish.name, wish.overrides, seed)
    if wish.out is not None:
        claim(wish.out, scenario, force)
    try:
        return _run(wish, scenario, trace)
    except (OutputError, click.ClickException):
        raise
    except Exception as problem:
        blame(problem)
        _say_how_to_repeat(wish, scenario)
        return FAILED


def _run(wish: Wish, scenario: Scenario, trace: bool) -> int:
    outcome = _simulate(scenario, trace or wish.check) if wish.on == "sim" else _on_ray(wish, scenario)
    compared = wish.check and not outcome.interrupted
    difference: Difference | None = None
    if not compared:
        _print(wish, outcome)
    if wish.out is not None:
        save(outcome, wish.out, wish.command(scenario))
    if compared:
        difference = differs(outcome, wish.name, wish.overrides)
        where = None if difference is None else vars(difference)
        _print(wish, outcome, {"deterministic": difference is None, "first_difference": where})
    if wish.out is not None and not wish.json:
        say(f"kept in {wish.out}; to look at: {wish.out / REPORT}\n")
    return _exit_code(wish, outcome, difference)


def _simulate(scenario: Scenario, trace: bool) -> Outcome:
    with Progress() as progress, interruptible() as stop_if_asked:

        def after_window(sim: Simulator) -> None:
            stop_if_asked()
            progress(sim)

        return simulate(scenario, after_window, trace)


def _on_ray(wish: Wish, scenario: Scenario) -> Outcome:
    from runtime.onray import RayOptions, run_on_ray  # Ray takes a second to import

    options = RayOptions(wish.clock or "lockstep", wish.agents_per_actor, wish.ray_address)
    if wish.time_scale is not None:
        options = replace(options, time_scale=wish.time_scale)
    with Progress() as progress, interruptible() as stop_if_asked:

        def after_step(seen: Seen) -> None:
            stop_if_asked()
            progress(seen)

        return run_on_ray(scenario, options, after_step, progress.note)


def _print(wish: Wish, outcome: Outcome, compared: Mapping[str, Any] | None = None) -> None:
    text = as_json(outcome.summary() | dict(compared or {}))  # what has no JSON is an error in every run
    if wish.json:
        say(text)
        return
    show(outcome, f"see {wish.out / 'summary.json'}" if wish.out else "see summary.json, with --out DIR")
    if compared and compared["deterministic"]:
        say(f"deterministic: two runs, one fingerprint, {outcome.tally.fingerprint()}\n")


def _exit_code(wish: Wish, outcome: Outcome, difference: Difference | None) -> int:
    """The exit code, and on standard error why it is not 0."""
    if outcome.interrupted:
        complain("interrupted; this is what happened until then")
        return INTERRUPTED
    if difference is not None:
        complain(f"not deterministic: {difference}")
    if outcome.violations:
        complain(f"violated: {outcome.violations[0]}")
    if difference is not None or outcome.violations:
        _say_how_to_repeat(wish, outcome.scenario)
        return FAILED
    if not outcome.quiescent:
        limits = outcome.scenario.limits
        key = "limits.events" if outcome.tally.handled >= limits.events else "limits.time"
        reached = limits.events if key == "limits.events" else limits.time
        complain(f"undecided: {key} = {reached} was reached before it was quiet; for more: --set {key}=...")
        return UNDECIDED
    return FINE


def _say_how_to_repeat(wish: Wish, scenario: Scenario) -> None:
    check = " --check-determinism" if wish.check else ""
    click.echo(f"to repeat it: {wish.command(scenario)}{check}", err=True)


@main.command("list")
@click.option("--json", "json", is_flag=True, help="Print one JSON object and nothing else.")
def catalogue(json: bool) -> int:
    """Show the protocols, scenarios, sweeps and properties that come with brokerlab, one line each."""
    found = {
        "protocols": [{"name": name, "about": _first_line(system.__doc__)} for name, system in shipped().items()],
        "scenarios": [{"name": name, "about": _first_comment(path)} for name, path in shipped_scenarios().items()],
        "sweeps": [
            {"name": name, "about": load_attribute(place).title}
            for name, place in load_attribute("sweeps:SHIPPED").items()
        ],
        "properties": [
            {"name": f"{name}: {found.name}", "about": f"{found.kind}: {found.about}"}
            for name, system in shipped().items()
            for found in system.properties()
        ],
    }
    if json:
        say(as_json(found))
    else:
        show_catalogue(found)
    return FINE


def _first_line(text: str | None) -> str:
    return inspect.cleandoc(text or "").partition("\n")[0]


def _first_comment(path: Path) -> str:
    lines = path.read_text("utf-8").splitlines()
    return next((line.lstrip("# ") for line in lines if line.startswith("#")), "")


if __name__ == "__main__":
    main()
