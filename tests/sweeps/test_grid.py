"""Cells: the same instances for all, and a name that says all that a run depends on."""

from __future__ import annotations

import shutil
from pathlib import Path

from runtime.scenario import check
from sweeps import grid
from sweeps.grid import cells_of, name_of, put
from sweeps.load import find_sweep
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
