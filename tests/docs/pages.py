"""The pages of the documentation as the tests read them: code blocks, the commands in them, links.

A comment before a block says what is special about it:

    <!-- full -->            it takes long: run in make test-full only
    <!-- exit 1 -->          in it, brokerlab ends with this exit code
    <!-- part -->            Python that does not stand alone: it must be Python, but it is not run
    <!-- needs X -->         run only where this package is installed
    <!-- not run: why -->    commands that no test can run

A block of Python or TOML below a link to a file of that kind shows that file or a part of it. Other Python is run, in
the order of the page. Commands that start Ray or Spark, or check a shipped protocol, are full without being marked.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from pathlib import Path

from agents import SYSTEMS
from tests.runtime.command import ROOT

FENCE = re.compile(r"^```(\w*)$")
MARK = re.compile(r"^<!-- (.*) -->$")
LINK = re.compile(r"\]\(([^)\s]+)\)")
CHECKED = "|".join(SYSTEMS)
LONG = re.compile(rf"^(brokerlab (sweep|demo|check ({CHECKED}))\b|.*--on ray|.*--start\b|ray )")
SHELL = ("", "console")


@dataclass(frozen=True)
class Command:
    """A line for the shell, and what the page shows below it."""

    line: str
    shown: str
    exit_code: int = 0
    full: bool = False

    @property
    def words(self) -> list[str]:
        return shlex.split(self.line, comments=True)


@dataclass(frozen=True)
class Block:
    page: Path
    line: int
    kind: str
    text: str
    marks: tuple[str, ...]
    before: str

    def __str__(self) -> str:
        return f"{self.page.relative_to(ROOT)}:{self.line}"

    @property
    def not_run(self) -> bool:
        missing = [mark for mark in self.marks if mark.startswith("needs ") and find_spec(mark.split()[1]) is None]
        return bool(missing) or any(mark.startswith("not run") for mark in self.marks)

    @property
    def full(self) -> bool:
        return "full" in self.marks

    def commands(self) -> list[Command]:
        """In a block with `$`, those lines, and what follows them is output; else every line that calls brokerlab."""
        if self.kind not in SHELL:
            return []
        if not re.search(r"^\$ ", self.text, re.MULTILINE):
            return [self._command(line, "") for line in self.text.splitlines() if line.startswith("brokerlab ")]
        parts = [part.partition("\n") for part in re.split(r"^\$ ", self.text, flags=re.MULTILINE)[1:]]
        return [self._command(line, shown) for line, _, shown in parts]

    def _command(self, line: str, shown: str) -> Command:
        code = next((int(mark.split()[1]) for mark in self.marks if mark.startswith("exit ")), 0)
        return Command(
            line, shown, code if line.startswith("brokerlab ") else 0, self.full or LONG.match(line) is not None
        )

    def shows(self) -> Path | None:
        """The file that this block shows: the last one of its kind that the text just above links to."""
        suffix = {"python": ".py", "toml": ".toml"}.get(self.kind)
        linked = [target for target in LINK.findall(self.before) if suffix and target.endswith(suffix)]
        return (self.page.parent / linked[-1]).resolve() if linked else None


def pages() -> list[Path]:
    return [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]


def named(page: Path) -> str:
    return str(page.relative_to(ROOT))


@cache
def blocks(page: Path) -> tuple[Block, ...]:
    return tuple(_blocks(page))


def _blocks(page: Path) -> Iterator[Block]:
    lines = page.read_text("utf-8").splitlines()
    place, before, marks = 0, "", ()
    while place < len(lines):
        line = lines[place]
        if fence := FENCE.match(line):
            end = lines.index("```", place + 1)
            yield Block(page, place + 1, fence[1], _text(lines[place + 1 : end]), marks, before)
            place, before, marks = end, "", ()
        elif line.startswith("    ") and (place == 0 or not lines[place - 1].strip()):
            end = place
            while end < len(lines) and (lines[end].startswith("    ") or not lines[end].strip()):
                end += 1
            yield Block(page, place + 1, "", _text(line[4:] for line in lines[place:end]), marks, before)
            place, before, marks = end - 1, "", ()
        elif mark := MARK.match(line):
            marks = tuple(part.strip() for part in mark[1].split(","))
        elif line.strip():
            before = f"{before}\n{line}" if place and lines[place - 1].strip() else line
            marks = ()
        place += 1


def _text(lines: Iterator[str] | list[str]) -> str:
    return "".join(f"{line}\n" for line in lines)


def prose(page: Path) -> str:
    """The page without its fenced blocks."""
    return re.sub(r"^```.*?^```$", "", page.read_text("utf-8"), flags=re.MULTILINE | re.DOTALL)
