"""brokerlab explore: what it says, and its exit codes."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from runtime.cli import main
from runtime.exploring.command import best_reduction
from runtime.exploring.rules import Budget, Rules
from runtime.exploring.search import Limits, explore
from runtime.scenario import load

FLOOD = str(Path(__file__).parent.parent.parent / "docs" / "examples" / "my_flood.toml")
SMALL = ("--set", "network.nodes=4")


def run(*words: str) -> Any:
    return CliRunner().invoke(main, ["explore", *words])


def test_a_complete_exploration_is_valid() -> None:
    result = run(FLOOD, *SMALL, "--json")
    told = json.loads(result.stdout)
    assert result.exit_code == 0
    assert (told["verdict"], told["extent"], told["reduction"]) == ("valid", "complete", "persistent")
    assert told["quiet_states"] == 1 and told["depth"] > 0 and told["violation"] is None


@pytest.mark.parametrize(
    ("limit", "word"),
    [(("--states", "20"), "states"), (("--depth", "2"), "--depth"), (("--seconds", "0"), "--seconds")],
)
def test_a_limit_leaves_it_undecided(limit: tuple[str, str], word: str) -> None:
    result = run(FLOOD, *SMALL, "--reduction", "none", *limit)
    assert result.exit_code == 3
    assert "undecided (bounded)" in result.output and word in result.output


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("--set", 'faults=[{kind="drop", probability=0.1}]'), "--losses"),
        (("--losses", "1", "--of", "Floood"), "did you mean 'Flood'"),
        (("--crashes", "1", "--at", "n9"), "n9"),
        (("--losses", "-1"), "--losses"),
        (("--timers", "never"), "--timers"),
        (("--back", "soon"), "--back soon needs --timers quiet or due"),
    ],
)
def test_bad_input_is_refused_with_what_to_write(words: tuple[str, ...], told: str) -> None:
    result = run(FLOOD, *SMALL, *words)
    assert result.exit_code == 2
    assert told in result.output


def test_states_are_left_out_only_where_nobody_asks_for_what_holds_in_them() -> None:
    assert best_reduction(load(FLOOD)) == "persistent"
    assert best_reduction(load("coverage")) == "sleep"


def test_only_some_messages_and_nodes_are_struck() -> None:
    scenario = load(FLOOD, ["network.nodes=4"])
    harmless = Rules(budget=Budget(losses=1), only=frozenset({"Advertise"}))
    assert explore(scenario, harmless, "persistent").verdict == "valid"
    the_source = Rules(budget=Budget(crashes=1), at=frozenset({"n1"}))
    assert explore(scenario, the_source, "persistent").verdict == "valid"
    assert explore(scenario, Rules(budget=Budget(crashes=1)), "persistent").verdict == "violated"


def test_breadth_finds_a_way_that_is_not_longer() -> None:
    scenario = load(FLOOD, ["network.nodes=4"])
    rules = Rules(budget=Budget(losses=1))
    ways = [explore(scenario, rules, "none", order).way for order in ("breadth", "depth")]
    assert 0 < len(ways[0]) <= len(ways[1])


def test_the_same_exploration_gives_the_same_figures() -> None:
    scenario = load("holistic")
    one, other = (explore(scenario, Rules("due"), limits=Limits(states=400)) for _ in range(2))
    assert (one.states, one.transitions, one.depth) == (other.states, other.transitions, other.depth)


def test_ctrl_c_tells_what_was_seen() -> None:
    words = [sys.executable, "-m", "runtime.cli", "explore", FLOOD, "--reduction", "none", "--states", "100000000"]
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        process.stderr.readline()  # it has begun to tell how it is getting on
        time.sleep(0.2)
        process.send_signal(signal.SIGINT)
        said, complaints = process.communicate(timeout=120)
    assert process.returncode == 130
    assert "undecided (bounded)" in said and "interrupted" in complaints
