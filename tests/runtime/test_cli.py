"""The command line: what it prints, where, and with which exit code it ends."""

from __future__ import annotations

import json
import re
import shlex
import signal
import subprocess
import sys
from pathlib import Path

import click
import pytest

from agents import SYSTEMS
from runtime import progress
from runtime.cli import main
from runtime.progress import Progress
from runtime.scenario import load
from runtime.simulator import Simulator
from tests.runtime.command import COMMAND, EXAMPLES, TICKS, brokerlab, environment, really, scenario

LOSSY = 'faults=[{ kind = "drop", probability = 0.3 }]'

# What is printed


def test_json_is_one_object_and_nothing_else() -> None:
    result = brokerlab("run", "coverage", "--json")
    assert result.exit_code == 0
    assert result.stderr == ""
    summary = json.loads(result.stdout)
    assert {
        *("protocol", "seed", "quiescent", "verdict", "virtual_time", "messages", "bytes", "by_type", "fingerprint"),
        *("at", "requests_sent", "requests_answered", "mean_hop_distance"),
    } <= summary.keys()
    assert summary["protocol"] == "coverage"
    assert summary["messages"] == sum(row["messages"] for row in summary["by_type"].values())
    assert summary["at"]["b4"]["b"] == [["b3", "str1", 3], ["b8", "str1", 3]]


def test_people_see_tables() -> None:
    result = brokerlab("run", "coverage")
    assert result.exit_code == 0
    assert result.stderr == ""
    rows = [line.split() for line in result.stdout.splitlines()]
    summary = json.loads(brokerlab("run", "coverage", "--json").stdout)
    assert ["protocol", "coverage"] in rows
    assert ["seed", "7"] in rows
    assert ["verdict", "valid"] in rows
    assert ["messages", str(summary["messages"])] in rows
    assert ["fingerprint", summary["fingerprint"]] in rows
    counts = summary["by_type"]["Advertise"]
    assert ["Advertise", f"{counts['messages']:,}", f"{counts['bytes']:,}"] in rows
    assert ["b4", "b", "b3", "(str1,", "3),", "b8", "(str1,", "3)"] in rows


def test_faults_that_fired_are_counted() -> None:
    words = ("run", "coverage", "--set", "links=reliable", "--set", LOSSY)
    fired = json.loads(brokerlab(*words, "--json").stdout)["faults"]["drop"]
    assert f"faults that fired  drop {fired}\n" in brokerlab(*words).stdout


def test_long_tables_are_cut(tmp_path: Path) -> None:
    words = ("run", EXAMPLES / "my_flood.toml", "--set", "network={ kind = 'star', nodes = 45 }")
    assert "... 25 more; see summary.json, with --out DIR\n" in brokerlab(*words).stdout
    assert f"... 25 more; see {tmp_path}/summary.json\n" in brokerlab(*words, "--out", tmp_path).stdout
    shown = brokerlab(*words).stdout.partition("by node")[2]
    assert len([line for line in shown.splitlines() if line.startswith("n")]) == 1 + 20  # and the heading "node"


def test_numbers_that_json_does_not_have_become_null(tmp_path: Path) -> None:
    code = "from runtime.agent import Protocol\nclass Far(Protocol):\n    def result(self): return float('inf')\n"
    result = brokerlab("run", scenario(tmp_path, "far.py:Far", code), "--json")
    assert json.loads(result.stdout)["by_node"] == {"n1": None, "n2": None, "n3": None}


def test_list_has_one_line_for_each() -> None:
    result = brokerlab("list")
    assert result.exit_code == 0
    found = json.loads(brokerlab("list", "--json").stdout)
    for entries in found.values():
        for entry in entries:
            assert entry["about"]
            assert re.search(rf"^  {entry['name']} +{re.escape(entry['about'])}$", result.stdout, re.MULTILINE)
    assert [entry["name"] for entry in found["protocols"]] == list(SYSTEMS)


def test_version() -> None:
    assert brokerlab("--version").stdout.startswith("brokerlab ")


def test_help_teaches() -> None:
    assert "brokerlab run coverage" in brokerlab("--help").stdout
    told = brokerlab("run", "--help").stdout
    assert "--set limits.events=1000000" in told
    assert "exit code 3" in " ".join(told.split())


@pytest.mark.parametrize("words", [["run"], ["rum"], ["--nothing"], ["run", "coverage", "--seed", "x"]])
def test_a_wrong_command_line_is_one_line_and_2(words: list[str]) -> None:
    result = brokerlab(*words)
    assert result.exit_code == 2
    assert result.stderr.startswith("brokerlab: ")
    assert "--help" in result.stderr
    assert result.stderr.count("\n") == 1


def test_trace_needs_a_folder() -> None:
    result = brokerlab("run", "coverage", "--trace")
    assert result.exit_code == 2
    assert "--trace needs --out DIR" in result.stderr


# Exit codes


def test_a_violated_property_is_1_with_the_command_that_repeats_it() -> None:
    result = brokerlab("run", EXAMPLES / "my_flood.toml", "--seed", 3, "--set", LOSSY, "--json")
    assert result.exit_code == 1
    summary = json.loads(result.stdout)
    assert summary["verdict"] == "violated"
    assert result.stderr.startswith(f"brokerlab: violated: {summary['violations'][0]}\n")
    command = shlex.split(result.stderr.splitlines()[-1].removeprefix("to repeat it: "))
    assert command[0] == "brokerlab"
    assert json.loads(brokerlab(*command[1:], "--json").stdout) == summary


FAILURES = {
    "handler": ("def started(self, node): self.nothing", "n1 at 0, handling its start: AttributeError: "),
    "locality": ("def started(self, node): node.send('n3', Word())", "LocalityError: n1 cannot send to n3"),
    "no handler": ("def started(self, node): node.broadcast(Word())", "no handler for Word()"),
    "constructor": ("def __init__(self): self.x = 1 / 0", "ZeroDivisionError: division by zero"),
    "result": ("def result(self): return self.nothing", "AttributeError: 'Mine' object has no attribute 'nothing'"),
    "no JSON": ("def result(self): return {1}", "the result by_node.n1 is set {1}, which has no JSON"),
    "violations": ("@eventually\n    @staticmethod\n    def fine(world): return world.nothing", "AttributeError: "),
}


@pytest.mark.parametrize(("method", "said"), FAILURES.values(), ids=FAILURES)
def test_a_run_that_fails_is_1_and_shows_where(tmp_path: Path, method: str, said: str) -> None:
    code = "from runtime.agent import Protocol\nfrom runtime.message import message\n"
    code += "from runtime.properties import eventually\n"
    code += f"@message\nclass Word: pass\nclass Mine(Protocol):\n    {method}\n"
    path = scenario(tmp_path, "mine.py:Mine", code)
    result = brokerlab("run", path, "--seed", 5)
    assert result.exit_code == 1
    first, *where, last = result.stderr.splitlines()
    assert first.startswith("brokerlab: ")
    assert said in first
    assert last == f"to repeat it: brokerlab run {path} --seed 5"
    if said.startswith(("no handler", "the result")):
        assert where == []
    else:
        assert f'mine.py", line {6 + len(method.splitlines())}, in ' in where[-3] + where[-2]
        assert not any("runtime" in line and "File" in line for line in where)


@pytest.mark.parametrize("limit", ["limits.events=20", "limits.time=3.0"])
def test_a_limit_that_comes_first_is_3(limit: str) -> None:
    result = brokerlab("run", "coverage", "--set", limit, "--json")
    assert result.exit_code == 3
    summary = json.loads(result.stdout)
    assert (summary["verdict"], summary["quiescent"]) == ("undecided", False)
    assert f"undecided: {limit.partition('=')[0]} = " in result.stderr


def test_interrupting_is_130_and_keeps_what_there_is(tmp_path: Path) -> None:
    path = scenario(tmp_path, "ticks.py:Ticks", TICKS, "limits.events = 1_000_000_000")
    words = [*COMMAND, "run", str(path), "--json", "--out", str(tmp_path / "kept")]
    # Whoever starts the tests in the background may have made them deaf to the signal.
    listen = lambda: signal.signal(signal.SIGINT, signal.SIG_DFL)  # noqa: E731
    with subprocess.Popen(
        words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment(), preexec_fn=listen
    ) as running:
        assert running.stderr is not None
        told = running.stderr.readline()  # after a second
        running.send_signal(signal.SIGINT)
        try:
            out, rest = running.communicate(timeout=30)
        finally:
            running.kill()
    assert told.startswith("virtual time ")
    assert " events, 0 messages/s, 3 pending" in told
    assert running.returncode == 130
    assert rest == "brokerlab: interrupted; this is what happened until then\n"
    summary = json.loads(out)
    assert (summary["interrupted"], summary["verdict"]) == (True, "undecided")
    assert json.loads((tmp_path / "kept" / "summary.json").read_text()) == summary
    assert "undecided (interrupted)" in (tmp_path / "kept" / "README.md").read_text()


def test_interrupting_before_the_run_is_130(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*words: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("runtime.cli.load", interrupted)
    result = brokerlab("run", "coverage")
    assert result.exit_code == 130
    assert result.stderr.strip() == "brokerlab: interrupted"


@pytest.mark.parametrize("words", [["run", "coverage"], ["run", "coverage", "--json"], ["list"]])
def test_a_reader_who_goes_away_is_no_error(words: list[str]) -> None:
    with subprocess.Popen(
        [*COMMAND, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment()
    ) as running:
        assert running.stdout is not None
        assert running.stderr is not None
        running.stdout.close()
        assert running.stderr.read() == ""
    assert running.returncode == 0


def test_a_system_that_cannot_be_built_shows_where(tmp_path: Path) -> None:
    code = "from runtime.settings import Settings\nfrom runtime.system import System\nclass Mine(System):\n"
    code += "    section = 'mine'\n    Settings = Settings\n    def __init__(self, *given): self.nothing\n"
    result = brokerlab("run", scenario(tmp_path, "mine.py:Mine", code))
    assert result.exit_code == 1
    assert result.stderr.startswith("brokerlab: AttributeError: ")
    assert 'mine.py", line 6, in __init__' in result.stderr


def test_our_own_mistakes_are_not_hidden(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("runtime.cli._run", lambda *words: load("coverage").nothing)  # type: ignore[attr-defined]
    monkeypatch.setattr("runtime.show._is_theirs", lambda filename: False)
    assert isinstance(brokerlab("run", "coverage").exception, AttributeError)


# Determinism


def test_two_equal_runs_are_said_to_be() -> None:
    result = brokerlab("run", "coverage", "--check-determinism", "--json")
    assert result.exit_code == 0, result.output
    summary = json.loads(result.stdout)
    assert summary["deterministic"] is True
    assert summary == json.loads(brokerlab("run", "coverage", "--json").stdout) | {
        "deterministic": True,
        "first_difference": None,
    }


SETS = """\
from runtime.agent import Protocol, on
from runtime.message import message

WORDS = {"alpha", "beta", "gamma", "delta", "epsilon", "zeta", "eta", "theta", "iota", "kappa"}

@message
class Greek:
    text: str

class Sets(Protocol):
    def started(self, node):
        for word in WORDS:
            node.broadcast(Greek(word))

    @on(Greek)
    def heard(self, node, sender, word):
        pass

class Quiet(Protocol):
    def result(self):
        return list(WORDS)
"""


def test_a_planted_nondeterminism_is_found_and_the_event_named(tmp_path: Path) -> None:
    path = scenario(tmp_path, "sets.py:Sets", SETS)
    done = really("run", path, "--check-determinism")
    assert done.returncode == 1
    told, first, second, repeat = done.stderr.splitlines()
    place = told.removeprefix("brokerlab: not deterministic: the second run differs in event ")
    assert int(place) < 9  # two orders of ten words may begin with the same ones
    assert first.startswith("  first:  at 1.0, n1 from n2: Greek(text=")
    assert second.startswith("  second: at 1.0, n1 from n2: Greek(text=")
    assert first.split("Greek")[1] != second.split("Greek")[1]
    assert repeat == f"to repeat it: brokerlab run {path} --seed 0 --check-determinism"


def test_results_that_differ_after_equal_events_are_found(tmp_path: Path) -> None:
    path = scenario(tmp_path, "sets.py:Quiet", SETS)
    result = brokerlab("run", path, "--check-determinism", "--json")
    assert result.exit_code == 1
    summary = json.loads(result.stdout)
    assert summary["deterministic"] is False
    assert summary["first_difference"]["where"] == "by_node.n1, although all events are the same"


def test_a_second_run_that_fails_is_a_difference(tmp_path: Path) -> None:
    code = "import sys\nfrom runtime.agent import Protocol\nclass Picky(Protocol):\n"
    code += "    def started(self, node):\n        assert 'pytest' in sys.modules, 'not here'\n"
    result = brokerlab("run", scenario(tmp_path, "picky.py:Picky", code), "--check-determinism")
    assert result.exit_code == 1
    assert "the second run differs in how it ended\n  first:  valid\n" in result.stderr
    assert "AssertionError: not here" in result.stderr


# Progress


def test_progress_is_told_after_a_second_and_then_every_five(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = [0.0]
    told: list[float] = []
    monkeypatch.setattr(progress, "monotonic", lambda: clock[0])
    with Progress() as tell:
        monkeypatch.setattr(tell._console, "print", lambda words: told.append(clock[0]))
        sim = Simulator(load("coverage").network, load("coverage").system.agent)
        for tenth in range(131):
            clock[0] = tenth / 10
            tell(sim)
    assert told == [1.0, 6.0, 11.0]


def test_help_has_a_line_for_every_verb_and_loads_none_of_them() -> None:
    code = "import sys; from runtime.cli import main; main(['--help'])"
    words = [sys.executable, "-X", "importtime", "-c", code]
    ended = subprocess.run(words, capture_output=True, text=True, env=environment(), check=False)
    for verb in main.list_commands(click.Context(main)):
        assert re.search(rf"^  {verb} +\S", ended.stdout, re.MULTILINE), verb
    assert "..." not in ended.stdout.partition("Commands:")[2]
    assert "runtime.cli" in ended.stderr
    assert not re.search(r"\b(pyspark|ray|hypothesis)\b", ended.stderr)


def test_a_missing_word_is_told_in_one_line() -> None:
    ended = brokerlab("completion")
    assert ended.exit_code == 2
    assert ended.stderr.count("\n") == 1
    assert "bash, zsh, fish" in ended.stderr
