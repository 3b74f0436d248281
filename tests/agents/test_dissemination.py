"""The dissemination system: its scenario, its errors, and the same agents on Ray."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from protocols.dissemination.tapestry import Tapestry
from runtime.cluster import cluster
from runtime.errors import ScenarioError
from runtime.onray import RayOptions, run_on_ray
from runtime.run import simulate
from runtime.scenario import check, load, read, shipped_scenarios
from runtime.testing.cases import Case, Schedule
from runtime.testing.running import run_case
from tests.checking.planted import nothing
from tests.checking.standing import drawn


def scenario(**changes: Any) -> dict[str, Any]:
    data = read(shipped_scenarios()["dissemination"])
    data["dissemination"] |= changes
    return data


def test_the_cost_paid_is_the_cost_planned() -> None:
    outcome = simulate(load("dissemination"))
    assert outcome.verdict == "valid"
    results = outcome.results
    assert results["paid_cost"] == pytest.approx(results["planned_cost"])
    assert results["costs"]["optimal"] <= min(results["costs"].values()) + 1e-9


@pytest.mark.parametrize("algorithm", ["optimal", "heuristic", "root", "leaves"])
@pytest.mark.parametrize("tree", ["discovered", "estimated"])
def test_every_algorithm_serves_everybody(algorithm: str, tree: str) -> None:
    outcome = simulate(check(scenario(algorithm=algorithm, tree=tree)))
    assert outcome.violations == []
    assert outcome.results["served"] == {"gis": 2, "svg": 4, "png": 5, "jpeg": 10, "text": 10}


def test_a_mesh_that_joins_by_messages_serves_as_one_that_is_complete() -> None:
    joining = scenario(tapestry={"base": 4, "digits": 6, "start": "joining", "every": 0.3})
    late = [row | {"at": row["at"] + 100.0} for row in joining["dissemination"]["publications"]]
    joining["dissemination"]["publications"] = late
    outcome = simulate(check(joining))
    assert outcome.violations == []
    assert outcome.results["planned_cost"] == pytest.approx(simulate(load("dissemination")).results["planned_cost"])


@pytest.mark.parametrize(
    ("changes", "key", "problem"),
    [
        ({"cag": "maps"}, "dissemination.cag", "'maps' is neither a file beside the scenario nor one of: map, video"),
        ({"cag": {"formats": {"a": 1.0}, "operators": {"a": {"b": 1.0}}}}, "dissemination.cag", "b is not in formats"),
        ({"cag": {"formats": {"a": -1.0}}}, "dissemination.cag.formats.a", "negative"),
        ({"algorithm": "best"}, "dissemination.algorithm", "'best' is not one of: optimal, heuristic, root, leaves"),
        ({"publications": []}, "dissemination", "nothing is published"),
        ({"subscriptions": [{"broker": "n99", "topic": "x", "formats": ["gis"]}]}, "broker", "n99 is not in [network]"),
        ({"subscriptions": [{"broker": "n1", "topic": "x"}]}, "subscriptions[0]", "write formats"),
        ({"subscriptions": [{"broker": "n1", "topic": "x", "formats": ["gif"]}]}, "formats", "gif is not in the CAG"),
        ({"subscriptions": [{"broker": "n1", "topic": "x", "profile": "tv"}]}, "profile", "dissemination.profiles"),
        ({"profiles": {"tv": ["gif"]}, "subscriptions": []}, "profiles.tv", "gif is not in the CAG"),
        ({"tapestry": {"base": 2, "digits": 3}}, "tapestry.digits", "too few names for 24 brokers"),
        ({"tapestry": {"leaves": {"n77": 1.0}}}, "tapestry.leaves.n77", "n77 is not in [network]"),
        ({"factors": {"nodes": [2.0, 1.0]}}, "dissemination.factors", "smaller number first"),
        ({"random": {"matching": 1.5}}, "random.matching", "too large"),
    ],
)
def test_what_is_wrong_is_named(changes: dict[str, Any], key: str, problem: str) -> None:
    with pytest.raises(ScenarioError) as error:
        check(scenario(**changes))
    assert key in str(error.value)
    assert problem in str(error.value)


def test_the_optimum_of_too_many_formats_is_refused() -> None:
    many = {"formats": {f"f{place}": 1.0 for place in range(20)}}
    wrong = scenario(cag=many, profiles={}, subscriptions=[], publications=[], random={"matching": 0.5})
    with pytest.raises(ScenarioError, match='at most 16 formats, not 20; write "heuristic"'):
        check(wrong)


def test_a_kept_scenario_holds_its_cag() -> None:
    assert set(load("dissemination").data["dissemination"]["cag"]) == {"formats", "operators"}


# Ray


def is_lively(data: Mapping[str, Any]) -> bool:
    """Do brokers join, leave and crash, on estimated trees?"""
    content = data["dissemination"]
    mesh = content["tapestry"]
    return bool(content["tree"] == "estimated" and len(mesh["joins"]) > 1 and mesh["leaves"] and data["faults"])


def test_on_ray_in_lock_step_as_in_the_simulator() -> None:
    data = next(case.data for case in drawn("dissemination", 500, ["crash"], ["timed"]) if is_lively(case.data))
    with cluster():
        on_ray = run_on_ray(check(data), RayOptions(agents_per_actor=5))
        assert on_ray.summary() == simulate(check(data)).summary()
        free = run_on_ray(load("dissemination"), RayOptions(clock="free", time_scale=0.02, agents_per_actor=12))
    assert free.verdict == "valid"
    # In real time a subscription may come too late for a publication: valid means that those in time were served.
    assert len(free.results["publications"]) == 2
    assert 0 < free.results["served"]["text"] <= 10


IN_VAIN = Case(
    {
        "protocol": "dissemination",
        "seed": 36967265,
        "links": "reliable",
        "network": {"edges": [["n1", "n5"], ["n2", "n3"], ["n2", "n4"], ["n2", "n5"], ["n3", "n4"]]},
        "dissemination": {
            "cag": {"formats": {"f0": 1.0}},
            "publications": [{"at": 0.0, "broker": "n4", "topic": "news", "format": "f0"}],
            "tapestry": {"digits": 7},
        },
        "faults": [{"kind": "crash", "nodes": ["n2"], "at": 0.0, "recover_after": 1.0}],
    },
    Schedule(
        "deviations",
        deviations={4: 7, 71: 3},
        held=(
            (1, 0, 34),
            (1, 1, 5),
            (4, 8, 51),
            (21, 2, 52),
            (22, 3, 35),
            (24, 4, 70),
            (26, 4, 79),
            (28, 5, 53),
            (28, 6, 54),
            (28, 7, 36),
            (28, 8, 37),
            (33, 9, 55),
            (33, 10, 98),
            (38, 7, 88),
            (38, 8, 57),
            (41, 9, 58),
            (60, 3, 84),
            (62, 4, 78),
            (64, 5, 102),
            (66, 6, 100),
            (70, 7, 105),
            (71, 8, 107),
            (80, 3, 90),
            (87, 7, 110),
            (92, 1, 99),
        ),
        fifo=False,
    ),
)
"""While n2 looks for a way in again it is taken for dead once more; what it has said until then, nobody believes."""


def test_who_is_taken_for_dead_while_it_joins_says_everything_again(monkeypatch: pytest.MonkeyPatch) -> None:
    assert run_case(IN_VAIN).violation is None
    monkeypatch.setattr(Tapestry, "announce", nothing)
    violation = run_case(IN_VAIN).violation
    assert violation is not None and violation.name == "tables-are-full"
