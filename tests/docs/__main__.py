"""`python -m tests.docs PAGE ...`: run the commands of these pages and write in what they print now.

Only outputs that no longer fit are replaced; where a page is to show one for the first time, write `?` for it. With
`--full` the long ones are run too.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
from pathlib import Path

import pytest

from tests.docs.pages import blocks
from tests.docs.session import Session, fits
from tests.runtime.command import EXAMPLES


def renew(page: Path, folder: Path, full: bool) -> None:
    shutil.copytree(EXAMPLES, folder, dirs_exist_ok=True)
    (folder / "docs").mkdir()
    (folder / "docs" / "examples").symlink_to(folder)
    text = page.read_text("utf-8")
    with pytest.MonkeyPatch.context() as monkeypatch:
        session = Session(folder, monkeypatch)
        for block in blocks(page):
            for command in block.commands() if not block.not_run else ():
                if command.words[0] == "make" or (command.full and not full):
                    continue
                code, out, both = session.run(command)
                if code != command.exit_code:
                    print(f"{block}: {command.line} ends with {code}\n{both}")
                if command.shown.strip() and not fits(command.shown, out) and not fits(command.shown, both):
                    printed = "".join(f"{line.rstrip()}\n" for line in (out or both).rstrip().splitlines())
                    old = f"$ {command.line}\n{command.shown}"
                    text = text.replace(old, f"$ {command.line}\n{printed}", 1)
                    print(f"{block}: {command.line}: new output")
        session.end()
    page.write_text(text, "utf-8")


if __name__ == "__main__":
    for name in sys.argv[1:]:
        if name != "--full":
            with tempfile.TemporaryDirectory() as place:
                renew(Path(name).resolve(), Path(place), "--full" in sys.argv)
