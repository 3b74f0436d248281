"""What README.md and docs/ say is so: their code is the code that runs, their output is what it prints."""

from __future__ import annotations

import re
import shlex
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_args

import pytest
from pydantic import BaseModel

from runtime.faults import Fault
from runtime.scenario import Frame
from runtime.settings import Settings
from runtime.system import shipped
from runtime.topology import EdgeList, Generated, GraphFile, LinkSettings
from tests.runtime.command import EXAMPLES, ROOT, brokerlab

README = (ROOT / "README.md").read_text("utf-8")
SCENARIOS = (ROOT / "docs" / "scenarios.md").read_text("utf-8")
BLOCKS = re.findall(r"^```(\w+)\n(.*?)^```$", README, re.MULTILINE | re.DOTALL)


def sessions() -> Iterator[tuple[str, str]]:
    """Every command of the README and the output below it."""
    for kind, text in BLOCKS:
        if kind == "console":
            for part in re.split(r"^\$ ", text, flags=re.MULTILINE)[1:]:
                command, _, output = part.partition("\n")
                yield command, output


@pytest.mark.parametrize("name", ["my_flood.py", "my_flood.toml", "two_stores.toml"])
def test_the_readme_shows_the_example_files(name: str) -> None:
    assert (EXAMPLES / name).read_text("utf-8") in [text for _, text in BLOCKS]


def test_the_protocol_has_under_30_lines() -> None:
    lines = (EXAMPLES / "my_flood.py").read_text("utf-8").splitlines()
    assert len([line for line in lines if line.strip()]) < 30


@pytest.mark.parametrize(("command", "output"), list(sessions()))
def test_every_command_does_what_the_readme_says(
    command: str, output: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copytree(EXAMPLES, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    name, *words = shlex.split(command)
    assert name == "brokerlab"
    result = brokerlab(*words)
    lossy = "faults=" in command and "links=reliable" not in command
    assert result.exit_code == (1 if lossy else 0), result.output
    if output:
        assert result.stdout == output, "write the new output into README.md"


def test_commands_in_the_text_work() -> None:
    commands = re.findall(r"`brokerlab (run [^`]+)`", README)
    assert commands
    for command in commands:
        assert brokerlab(*(ROOT / word if "/" in word else word for word in shlex.split(command))).exit_code == 0


def test_make_has_the_targets_that_are_named() -> None:
    named = set(re.findall(r"\bmake ([a-z-]+) ", README)) | set(re.findall(r"`make ([a-z-]+)`", README))
    targets = re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE)
    assert {"demo", "test", "test-full", "bench", "lint"} <= named
    assert named <= set(targets)


def test_links_and_paths_lead_somewhere() -> None:
    for target in re.findall(r"\]\(([^)]+)\)", README):
        assert (ROOT / target).exists(), target
    for path in re.findall(r"`((?:agents|docs|protocols|runtime)/[\w./]*)`", README):
        assert (ROOT / path).exists(), path


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
