"""docs/scenarios.md names every key, kind and default of a scenario."""

from __future__ import annotations

import re
from typing import Any, get_args

import pytest
from pydantic import BaseModel

from runtime.faults import Fault
from runtime.scenario import Frame
from runtime.settings import Settings
from runtime.system import shipped
from runtime.topology import EdgeList, Generated, GraphFile, LinkSettings
from tests.runtime.command import EXAMPLES, ROOT

SCENARIOS = (ROOT / "docs" / "scenarios.md").read_text("utf-8")


@pytest.mark.parametrize(("name", "most"), [("echo.py", 25), ("my_flood.py", 30)])
def test_small_protocols_are_small(name: str, most: int) -> None:
    lines = (EXAMPLES / name).read_text("utf-8").splitlines()
    assert len([line for line in lines if line.strip()]) < most


def sections() -> list[type[BaseModel]]:
    """Every kind of table that a scenario can hold."""
    faults = get_args(get_args(Fault)[0])
    systems = [system.Settings for system in shipped().values()]
    roots = (Frame, *systems, EdgeList, GraphFile, LinkSettings, *Generated.kinds.values(), *faults)
    found: dict[type[BaseModel], None] = {}
    waiting: list[Any] = list(roots)
    while waiting:
        here = waiting.pop()
        if isinstance(here, type) and issubclass(here, Settings) and here not in found:
            found[here] = None
            waiting += [field.annotation for field in here.model_fields.values()]
        waiting += get_args(here)
    return list(found)


def test_docs_name_every_key_of_a_scenario() -> None:
    for section in sections():
        for key in section.model_fields:
            assert re.search(rf"`[^`]*\b{key}\b[^`]*`", SCENARIOS), f"{section.__name__}: {key}"


def test_docs_name_every_kind_of_network_and_fault() -> None:
    faults = [get_args(kind.model_fields["kind"].annotation)[0] for kind in get_args(get_args(Fault)[0])]
    for kind in [*Generated.kinds, *faults]:
        assert f"`{kind}`" in SCENARIOS, kind


DEFAULTS = {
    "`seed` | `0`": Frame.model_fields["seed"].default == 0,
    '`links` | `"raw"`': Frame.model_fields["links"].default == "raw",
    "`events` | `10000000`": Frame.model_fields["limits"].default.events == 10_000_000,
    "`suspect_after` | `15`": Frame.model_fields["channel"].default.suspect_after == 15,
    "`give_up_after` | `60`": Frame.model_fields["channel"].default.give_up_after == 60,
    "`delay` | `1.0`": str(EdgeList.model_fields["delay"].default) == "constant(1.0)",
}


@pytest.mark.parametrize(("row", "holds"), DEFAULTS.items())
def test_docs_give_the_right_defaults(row: str, holds: bool) -> None:
    assert f"| {row} |" in SCENARIOS
    assert holds
