"""What the pages name exists: links and anchors, paths, verbs, options, targets of make."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import click
import pytest

from runtime.cli import main
from tests.docs.pages import LINK, blocks, named, pages, prose
from tests.runtime.command import ROOT

PAGES = pages()
CONTEXT = click.Context(main)
VERBS = {name: main.get_command(CONTEXT, name) for name in main.list_commands(CONTEXT)}
OPTIONS = {
    verb: {option for parameter in command.params for option in parameter.opts} | {"--help", "-h"}
    for verb, command in VERBS.items()
    if command is not None
}
EVERYWHERE = set().union(*OPTIONS.values()) | {"--version"}


def anchors(page: Path) -> set[str]:
    headings = re.findall(r"^#+ (.*)$", prose(page), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", PAGES, ids=named)
def test_links_lead_somewhere(page: Path) -> None:
    for target in LINK.findall(prose(page)):
        if re.match(r"https?:", target):
            continue
        path, _, anchor = target.partition("#")
        found = page.parent / path if path else page
        assert found.exists(), target
        if anchor:
            assert anchor in anchors(found), target


@pytest.mark.parametrize("page", PAGES, ids=named)
def test_paths_in_the_text_exist(page: Path) -> None:
    for path in re.findall(r"`((?:agents|docs|protocols|runtime|sweeps|tests)/[\w./-]*)`", prose(page)):
        assert (ROOT / path).exists(), path


def told(page: Path) -> list[str]:
    """Every command that the page tells, in blocks and in its sentences."""
    in_blocks = [command.line for block in blocks(page) for command in block.commands()]
    return in_blocks + [" ".join(span.split()) for span in re.findall(r"`(brokerlab [^`]+)`", prose(page))]


@pytest.mark.parametrize("page", PAGES, ids=named)
def test_verbs_and_options_exist(page: Path) -> None:
    for line in told(page):
        words = shlex.split(line, comments=True)
        if words[0] != "brokerlab":
            continue
        verb, options = words[1], {word.partition("=")[0] for word in words[2:] if word.startswith("--")}
        assert verb in VERBS or verb.isupper() or verb in EVERYWHERE, line
        assert options <= OPTIONS.get(verb, EVERYWHERE), line


@pytest.mark.parametrize("page", PAGES, ids=named)
def test_options_in_the_text_exist(page: Path) -> None:
    spans = [span for span in re.findall(r"`(-[^`]+)`", prose(page)) if re.match(r"--[a-z]", span)]
    for span in spans:
        for option in re.findall(r"(?:^|\s)(--[a-z][a-z-]*)", span):
            assert option in EVERYWHERE, span


def test_make_has_the_targets_that_are_named() -> None:
    text = "".join(page.read_text("utf-8") for page in PAGES)
    named_there = set(re.findall(r"\bmake ([a-z-]+) {2,}", text)) | set(re.findall(r"[`$] ?make ([a-z-]+)", text))
    targets = re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE)
    assert {"demo", "test", "test-full", "bench", "lint"} <= named_there
    assert named_there <= set(targets)
