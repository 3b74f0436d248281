"""README.md and docs/ as their readers use them: every command is run, and prints what is shown."""

from __future__ import annotations

import shutil
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.docs.pages import Block, blocks, named, pages
from tests.docs.session import Session, fits
from tests.runtime.command import EXAMPLES, ROOT

PAGES = pages()
SHELL = [page for page in PAGES if any(block.commands() for block in blocks(page))]
LONG = [page for page in SHELL if any(c.full for block in blocks(page) if not block.not_run for c in block.commands())]


def python_blocks(page: Path) -> list[Block]:
    return [block for block in blocks(page) if block.kind == "python"]


PYTHON = [page for page in PAGES if python_blocks(page)]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A copy of docs/examples, which readers are told to be in; `docs/examples/...` leads to the same files."""
    shutil.copytree(EXAMPLES, tmp_path, dirs_exist_ok=True, ignore=shutil.ignore_patterns("runs", "__pycache__"))
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "examples").symlink_to(tmp_path)
    return tmp_path


@pytest.fixture
def session(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Session]:
    session = Session(folder, monkeypatch)
    yield session
    session.end()


def run_page(page: Path, session: Session, full: bool) -> None:
    for block in blocks(page):
        for command in block.commands() if not block.not_run else ():
            if command.words[0] == "make" or (command.full and not full):
                continue
            code, out, both = session.run(command)
            assert code == command.exit_code, f"{block}: {command.line}\n{both}"
            if command.shown.strip():
                fit = fits(command.shown, out) or fits(command.shown, both)
                assert fit, f"{block}: {command.line}\nprints\n{both}\nbut the page shows\n{command.shown}"


@pytest.mark.parametrize("page", SHELL, ids=named)
def test_commands_do_what_the_page_shows(page: Path, session: Session) -> None:
    run_page(page, session, full=False)


@pytest.mark.full
@pytest.mark.parametrize("page", LONG, ids=named)
def test_commands_that_take_long_do_too(page: Path, session: Session) -> None:
    run_page(page, session, full=True)


def run_python(page: Path, folder: Path, monkeypatch: pytest.MonkeyPatch, full: bool) -> None:
    """Each block of a page goes on where the one before it ended."""
    monkeypatch.chdir(folder)
    names: dict[str, Any] = {"__name__": "page"}
    for block in blocks(page):
        if block.kind == "python" and block.shows() is None:
            code = compile(block.text, str(block), "exec")
            if "part" not in block.marks and (full or not block.full):
                before = set(names)
                exec(code, names)
                for name in names.keys() - before:
                    if name.startswith("test_"):
                        names[name]()


@pytest.mark.parametrize("page", PYTHON, ids=named)
def test_python_runs(page: Path, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run_python(page, folder, monkeypatch, full=False)


@pytest.mark.full
@pytest.mark.parametrize("page", [p for p in PYTHON if any(b.full for b in python_blocks(p))], ids=named)
def test_long_python_runs(page: Path, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run_python(page, folder, monkeypatch, full=True)


@pytest.mark.parametrize("block", [b for p in PAGES for b in blocks(p) if b.shows() is not None], ids=str)
def test_files_are_shown_as_they_are(block: Block) -> None:
    file = block.shows()
    assert file is not None
    lines, shown = file.read_text("utf-8").splitlines(), block.text.splitlines()
    starts = range(len(lines) - len(shown) + 1)
    assert any(_same(lines[start : start + len(shown)], shown) for start in starts), f"{file.name} reads otherwise"


def _same(lines: list[str], shown: list[str]) -> bool:
    """A part of a file may be shown without the indentation that all of its lines have."""
    indentation = lines[0][: len(lines[0]) - len(lines[0].lstrip())]
    return all(line in (f"{indentation}{part}", part.strip()) for line, part in zip(lines, shown, strict=True))


@pytest.mark.parametrize("page", PAGES, ids=named)
def test_toml_can_be_read(page: Path) -> None:
    for block in blocks(page):
        if block.kind == "toml":
            tomllib.loads(block.text)


def test_every_example_is_shown_or_used() -> None:
    text = "".join(page.read_text("utf-8") for page in PAGES)
    for file in EXAMPLES.iterdir():
        assert file.is_dir() or file.name in text, f"{file.relative_to(ROOT)} is on no page"
