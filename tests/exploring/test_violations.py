"""What an exploration finds can be replayed on the simulator, in the same order, and made small."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from runtime.cli import main
from runtime.exploring.retelling import as_case, tell
from runtime.exploring.rules import Budget, Rules
from runtime.exploring.search import explore
from runtime.scenario import check
from runtime.testing.decisions import load
from runtime.testing.running import run_case
from tests.checking.planted_replicas import PLANTED as REPLICAS
from tests.checking.planted_storage import PLANTED as STORAGE
from tests.exploring.naive import FOLDER, scenario

FLOOD = str(Path(__file__).parent.parent.parent / "docs" / "examples" / "my_flood.toml")
SMALL = ("--set", "network.nodes=4")


def run(*words: str) -> Any:
    return CliRunner().invoke(main, ["explore", *words])


def coverage() -> dict[str, Any]:
    """Two stores at the ends of a line; one withdraws what a client in the middle asks for."""
    storage = {
        "stores": {"s1": {"broker": "n1", "topics": ["a"]}, "s2": {"broker": "n3", "topics": ["a"]}},
        "clients": {"c1": "n2"},
        "events": [{"at": 5.0, "store": "s1", "do": "withdraw"}],
        "requests": [{"at": 10.0, "client": "c1", "topic": "a"}],
    }
    return {"protocol": "coverage", "network": {"edges": [["n1", "n2"], ["n2", "n3"]]}, "storage": storage}


def replicas(protocol: str) -> dict[str, Any]:
    """The paper's example; nobody ever misses the token."""
    rates = {"n1": {"a": 0.3, "b": 0.6}, "n2": {"a": 0.8, "b": 0.7}, "n3": {"a": 0.3, "b": 0.9}}
    placement = {"n1": ["a"], "n2": ["b"], "n3": ["a"]}
    storage = {"capacity": 1, "sizes": {"a": 1, "b": 1}, "rates": rates, "placement": placement, "patience": "never"}
    return {"protocol": protocol, "network": {"edges": [["n1", "n2"], ["n1", "n3"]]}, "storage": storage}


SHOWN = {
    "believes what was withdrawn": coverage(),
    "keeps entries that are withdrawn": coverage(),
    "takes more than fits": replicas("holistic"),
    "lets the last replica go": replicas("myopic"),
    "keeps news to itself": replicas("holistic"),
    "never replaces": replicas("myopic"),
}
"""Other planted bugs need other networks to be seen."""


@pytest.mark.parametrize("name", SHOWN)
def test_a_planted_bug_is_found_and_replayed(name: str) -> None:
    data = SHOWN[name]
    [planted] = [one for one in (*STORAGE, *REPLICAS) if (one.name, one.protocol) == (name, data["protocol"])]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(planted.target, planted.attribute, planted.bug)
        report = explore(check(data), Rules())
        assert report.problem is not None and report.problem[0] == planted.caught_by, report.problem
        assert as_case(report, tell(report)) is not None
    assert explore(check(data), Rules("due")).verdict == "valid"


def test_a_loss_is_told_and_replayed(tmp_path: Path) -> None:
    result = run(FLOOD, *SMALL, "--losses", "1", "--shrink", "2", "--out", str(tmp_path), "--json")
    told = json.loads(result.stdout)
    assert result.exit_code == 1 and told["verdict"] == "violated"
    assert any(step.endswith("is lost") for step in told["violation"]["steps"])
    case, name = load(tmp_path / "decisions.toml")
    violation = run_case(case).violation
    assert violation is not None and violation.name == name == "counts-the-fewest-hops"
    assert CliRunner().invoke(main, ["replay", str(tmp_path / "decisions.toml")]).exit_code == 1


@pytest.mark.parametrize("rules", [Rules(), Rules(fifo=False), Rules(budget=Budget(crashes=1))], ids=str)
def test_a_failure_is_replayed_under_any_rules(rules: Rules) -> None:
    report = explore(check(scenario("Fragile", ["n1 n2", "n2 n3"]), FOLDER), rules)
    assert report.problem is not None and report.problem[0] == "runs-without-error"
    assert as_case(report, tell(report)) is not None


def test_a_crash_is_replayed() -> None:
    data = {"protocol": "my_flood.py:MyFlood", "network": {"edges": [["n1", "n2"], ["n2", "n3"]]}}
    given = {**data, "settings": {"source": "n1"}}
    report = explore(check(given, Path(FLOOD).parent), Rules(budget=Budget(crashes=1)), "persistent")
    tale = tell(report)
    assert any("crashes" in word for word in tale.words)
    found = as_case(report, tale)
    assert found is not None and found[1].fired["crash"] == 1


def test_a_network_that_never_rests_is_told_so() -> None:
    report = explore(check(scenario("Endless", ["n1 n2"]), FOLDER), Rules())
    assert report.problem is not None and report.problem[0] == "comes-to-rest"
    assert as_case(report, tell(report)) is not None
