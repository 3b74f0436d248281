"""A check finds what is wrong, makes it small, keeps it, and does not call valid what it has not exercised."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from runtime.errors import ReplayError, ScenarioError
from runtime.testing.asserting import assert_holds
from runtime.testing.cases import Case, Draw, Schedule
from runtime.testing.checking import Report, check, subject
from runtime.testing.decisions import as_test, as_text, from_text, still_violated
from runtime.testing.running import FAILS, QUIET, run_case
from runtime.testing.shrinking import shrink
from tests.runtime.command import ROOT, brokerlab

COUNTING = str(Path(__file__).with_name("counting.py")) + ":Counting"
CAUGHT_BY = {
    "counts twice": "nobody-counts-twice",
    "first only": "everybody-is-counted",
    "fails": FAILS,
    "restless": QUIET,
}


def buggy(bug: str, examples: int = 200, seed: int = 1) -> Report:
    what = subject(COUNTING)

    class WithBug(what.system):  # type: ignore[misc,name-defined]
        @classmethod
        def case(cls, draw: Draw) -> Case:
            case = what.system.case(draw)
            return replace(case, data={**case.data, "settings": {"bug": bug}}, max_events=2000)

    return check(replace(what, system=WithBug), examples, seed)


def test_what_is_right_is_valid() -> None:
    report = check(subject(COUNTING), 100, 1, ways=("timed", "random", "priority", "delays"))
    # Never an Again without the bug that sends it: so it stays undecided, and says why.
    assert report.verdict == "undecided"
    assert report.doubts() == ["Counting.again(counting.Again) was never called"]
    assert report.cases == 100 and report.quiet == 100
    report.subject.system.only_with = {"counting.Again": ()}
    assert report.verdict == "valid"


@pytest.mark.parametrize("bug", CAUGHT_BY)
def test_each_way_of_going_wrong_is_found_by_its_property_and_shrunk(bug: str) -> None:
    report = buggy(bug)
    assert report.verdict == "violated" and report.violated is not None
    case, shown = report.violated
    assert shown.violation is not None and shown.violation.name == CAUGHT_BY[bug]
    small, seen, _ = shrink(case, shown, 20)
    assert seen.violation is not None and seen.violation.name == CAUGHT_BY[bug]
    fewest = {"counts twice": 3, "first only": 3, "fails": 3, "restless": 1}
    assert seen.nodes == fewest[bug]
    assert small.data.get("faults", []) == [] and len(small.schedule.deviations) <= 2


def test_the_same_seed_draws_the_same_cases() -> None:
    first, second = (check(subject("coverage"), 20, 7) for _ in range(2))
    assert (first.events, first.messages, first.fired) == (second.events, second.messages, second.fired)
    assert check(subject("coverage"), 20, 8).events != first.events


def test_what_was_not_exercised_is_not_called_valid() -> None:
    report = check(subject(COUNTING), 40, 1, faults=["partition"], size=1)
    assert "no partition ever struck" in report.doubts()
    assert "somebody-counts-three never came about" in report.doubts()
    assert report.verdict == "undecided"


def test_an_unknown_fault_is_named() -> None:
    with pytest.raises(ScenarioError, match="'drops' is no fault; write some of: drop, "):
        check(subject("coverage"), 1, 1, faults=["drops"])


# Decision files


@pytest.fixture(scope="module")
def small() -> tuple[Case, str]:
    case, shown = buggy("first only").violated or pytest.fail("not found")
    case, shown, _ = shrink(case, shown, 10)
    return case, as_text(case, shown)


def test_a_decision_file_is_the_case_itself(small: tuple[Case, str]) -> None:
    case, text = small
    again, name = from_text(text)
    assert again.schedule == replace(case.schedule, seed=0)
    assert name == "everybody-is-counted"
    assert still_violated(text, Path()) == f"{name}: {run_case(case).violation.problem}"  # type: ignore[union-attr]


def test_the_test_that_is_written_fails_until_the_bug_is_gone(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(
        Path(__file__).with_name("counting.py").read_text().replace('="counting.', '="mine.')
    )
    data = {"protocol": "mine.py:Counting", "network": {"edges": [["n1", "n2"]]}, "settings": {"bug": "fails"}}
    case = Case(data | {"network": {"edges": [["n1", "n2"], ["n2", "n3"]]}}, Schedule("deviations"), folder=tmp_path)
    (tmp_path / "test_it.py").write_text(as_test(case, run_case(case), tmp_path))
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(tmp_path / "test_it.py")]
    failed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert failed.returncode == 1 and "too many to count" in failed.stdout
    fixed = (tmp_path / "mine.py").read_text().replace('raise ValueError("too many to count")', "pass")
    (tmp_path / "mine.py").write_text(fixed)
    assert subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False).returncode == 0


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (("format = 1", "format = 9"), "decisions of format 9; this reads 1"),
        (("[violated]", "[violate]"), r"not a decision file: \[violated\] is missing"),
        (("fifo = true", "fifos = true"), "schedule: fifo is missing or unknown"),
        (("[schedule]", "[schedule"), "not TOML"),
    ],
)
def test_a_spoilt_decision_file_is_refused(small: tuple[Case, str], change: tuple[str, str], said: str) -> None:
    with pytest.raises(ReplayError, match=said):
        from_text(small[1].replace(*change))


# The command


def test_the_command_says_what_was_exercised_and_keeps_a_violation(tmp_path: Path) -> None:
    done = brokerlab("check", "coverage", "--examples", 40, "--seed", 3, "--json")
    told = json.loads(done.stdout)
    assert done.exit_code == {"valid": 0, "undecided": 3}[told["verdict"]]
    assert told["cases"] == 40 and told["handlers"]["Coverage.heard(Advertise)"] > 0
    scenario = tmp_path / "some.toml"
    scenario.write_text(
        f'protocol = "{COUNTING}"\n[network]\nedges = [["n1", "n2"], ["n2", "n3"]]\n[settings]\nbug = "first only"\n'
    )
    out = tmp_path / "found"
    done = brokerlab("check", scenario, "--examples", 50, "--seed", 3, "--out", out)
    assert done.exit_code == 1
    assert "violated: everybody-is-counted: " in done.stdout
    assert {file.suffix for file in out.iterdir()} >= {".toml", ".py"}
    assert still_violated((out / "decisions.toml").read_text(), out)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["coverag"], "coverag"),
        (["coverage", "--faults", "drops"], "'drops' is no fault"),
        (["coverage", "--schedules", "slow"], "'slow' is none of: timed, random, priority, delays"),
        (["coverage", "--examples", "0"], "0 is not in the range x>=1"),
    ],
)
def test_wrong_words_are_refused(words: list[str], said: str) -> None:
    done = brokerlab("check", *words)
    assert done.exit_code == 2 and said in done.stderr


def test_a_test_in_a_line(tmp_path: Path) -> None:
    assert_holds(str(ROOT / "docs" / "examples" / "my_flood.toml"), examples=50)
    scenario = tmp_path / "some.toml"
    scenario.write_text(
        f'protocol = "{COUNTING}"\n[network]\nkind = "ring"\nnodes = 5\n[settings]\nbug = "counts twice"\n'
    )
    with pytest.raises(AssertionError, match=r"violated: nobody-counts-twice: n\d counts"):
        assert_holds(str(scenario), examples=10, out=tmp_path)
