"""Cells: the same instances for all, and a name that says all that a run depends on."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from runtime.scenario import check
from sweeps import grid
from sweeps.grid import cells_of, name_of, put
from sweeps.load import Found, find_sweep
from sweeps.sweep import Sweep
from tests.sweeps.conftest import EXAMPLE


def test_all_algorithms_run_on_the_same_instances() -> None:
    cells = cells_of(find_sweep(str(EXAMPLE / "sweep.py")))
    assert len(cells) == len({cell.name for cell in cells}) == 2 * 2 * 6
    few = [cell for cell in cells if cell.algorithm == "a few"]
    every = [cell for cell in cells if cell.algorithm == "all"]
    for one, other in zip(few, every, strict=True):
        networks = [check(cell.scenario, EXAMPLE).network.graph() for cell in (one, other)]
        assert (one.parameters, one.instance) == (other.parameters, other.instance)
        assert networks[0].edges == networks[1].edges


def test_a_name_depends_on_scenario_seed_code_and_named_files(tmp_path: Path, monkeypatch) -> None:
    shutil.copy(EXAMPLE / "rumour.py", tmp_path)
    scenario = {"protocol": "rumour.py:Spread", "seed": 1, "network": {"kind": "line", "nodes": 3}}
    name = name_of(scenario, tmp_path)
    assert name == name_of(
        {"network": {"nodes": 3, "kind": "line"}, "seed": 1, "protocol": "rumour.py:Spread"}, tmp_path
    )
    others = {name_of(scenario | {"seed": 2}, tmp_path), name_of(scenario | {"links": "reliable"}, tmp_path)}
    with monkeypatch.context() as patch:
        patch.setattr(grid, "code_version", lambda: "another")
        others.add(name_of(scenario, tmp_path))
    with (tmp_path / "rumour.py").open("a") as file:
        file.write("# changed\n")
    grid._digest_of.cache_clear()
    others.add(name_of(scenario, tmp_path))
    assert len(others | {name}) == 5


def test_a_table_is_put_into_the_table_that_is_there() -> None:
    scenario = {"settings": {"a": 1, "b": 2}}
    put(scenario, "settings", {"b": 3})
    put(scenario, "network.nodes", 4)
    assert scenario == {"settings": {"a": 1, "b": 3}, "network": {"nodes": 4}}


def small_grids(**changes: object) -> Sweep:
    parameters = {name: {"key": f"settings.{name}", "values": [1, 2, 3]} for name in "abc"}
    declared = {
        "name": "small",
        "title": "Several small grids",
        "base": "coverage",
        "parameters": parameters,
        "measures": {"messages": {"path": "messages"}},
        "studies": {"one": {"a": [1, 2, 3]}, "two": {"b": [2, 3], "c": [1, 3]}},
        "runs": 1,
        "quick": {"runs": 1, "parameters": {"a": [3], "c": [2]}},
    }
    return Sweep(**declared | changes)


def points(sweep: Sweep) -> list[tuple[int, ...]]:
    return [tuple(cell.parameters.values()) for cell in cells_of(Found(sweep, {}, Path()))]


def test_a_study_varies_its_parameters_and_leaves_the_others_at_their_first_value() -> None:
    assert points(small_grids()) == [(1, 1, 1), (2, 1, 1), (3, 1, 1), (1, 2, 1), (1, 2, 3), (1, 3, 1), (1, 3, 3)]


def test_what_two_studies_have_in_common_is_run_once() -> None:
    assert points(small_grids(studies={"one": {"a": [1, 2]}, "two": {"b": [1, 2]}})) == [
        (1, 1, 1),
        (2, 1, 1),
        (1, 2, 1),
    ]


def test_quick_studies_keep_the_fewer_values_or_one() -> None:
    assert points(small_grids().quickly()) == [(3, 1, 1), (1, 2, 1), (1, 3, 1)]


@pytest.mark.parametrize(
    ("study", "told"),
    [({"d": [1]}, "studies.one.d: 'd' is not one of: a, b, c"), ({"a": [4]}, "studies.one.a: 4 is not")],
)
def test_a_study_varies_what_there_is(study: dict[str, list[int]], told: str) -> None:
    with pytest.raises(ValueError, match=told):
        small_grids(studies={"one": study})


def test_one_process_runs_all_tests_of_sweeps(request: pytest.FixtureRequest) -> None:
    """Or each of several starts Ray and Spark, and runs the example, which takes minutes together."""
    if not hasattr(request.config, "workerinput"):
        pytest.skip("there is only one process")
    assert request.node.nodeid.endswith("@sweeps")
