"""The command line as tests call it: in this process where that will do, else in one of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from click.testing import CliRunner, Result

from runtime.cli import main

ROOT = Path(__file__).parent.parent.parent
EXAMPLES = ROOT / "docs" / "examples"
COMMAND = [sys.executable, "-m", "runtime.cli"]

TICKS = """\
from runtime.agent import Protocol, on
from runtime.message import message


@message
class Tick:
    word: str


class Ticks(Protocol):
    def started(self, node):
        node.after(1.0, Tick(""))

    @on(Tick)
    def ticked(self, node, sender, tick):
        node.after(1.0, tick)
        node.log("tick", sender=sender)
"""
"""A protocol that never becomes quiet."""


def brokerlab(*words: object) -> Result:
    return CliRunner(env={"COLUMNS": None}).invoke(main, [str(word) for word in words])


def environment(extra: Mapping[str, str] | None = None) -> dict[str, str]:
    return os.environ | {"PYTHONPATH": str(ROOT)} | dict(extra or {})


def really(*words: object, **options: Any) -> subprocess.CompletedProcess[str]:
    """The same in a process of its own."""
    return subprocess.run(
        [*COMMAND, *map(str, words)], capture_output=True, text=True, env=environment(), check=False, **options
    )


def scenario(folder: Path, protocol: str, code: str | None = None, more: str = "") -> Path:
    """A scenario file for this protocol on a line of three nodes, beside the protocol's own file."""
    if code is not None:
        (folder / protocol.partition(":")[0]).write_text(code)
    path = folder / "mine.toml"
    path.write_text(f'protocol = "{protocol}"\n{more}\n[network]\nkind = "line"\nnodes = 3\n')
    return path
