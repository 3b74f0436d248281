"""Commands of a page, run one after the other in a folder of their own, as a reader would."""

from __future__ import annotations

import os
import re
import signal
import subprocess
from pathlib import Path

import pytest

from sweeps import SHIPPED
from tests.docs.pages import Command
from tests.runtime.command import ROOT, brokerlab

BIN = ROOT / ".venv" / "bin"


class Session:
    """A shell in `folder`. brokerlab runs in this process, everything else in one of its own.

    So does what goes to a cluster: Ray asks for the token in the environment once in a process.
    """

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.monkeypatch = monkeypatch
        self.variables = folder / ".variables"
        self.marker = f"BROKERLAB_PAGE={folder}"
        monkeypatch.chdir(folder)

    def end(self) -> None:
        """End what the page has started and left running, such as a Ray cluster, and nothing else."""
        for process in Path("/proc").glob("[0-9]*"):
            try:
                if self.marker.encode() in (process / "environ").read_bytes().split(b"\0"):
                    os.kill(int(process.name), signal.SIGKILL)
            except OSError:
                continue  # it is somebody else's, or it has ended

    def run(self, command: Command) -> tuple[int, str, str]:
        """Exit code, standard output, and standard output and error as they came."""
        words = command.words
        if words[0] == "cd":
            self.monkeypatch.chdir(words[1])
            return 0, "", ""
        if words[0] == "brokerlab" and "--ray-address" not in words and not _piped(command.line):
            result = brokerlab(*_sooner(words[1:]))
            return result.exit_code, result.stdout, result.output
        return self._in_a_shell(command.line)

    def _in_a_shell(self, line: str) -> tuple[int, str, str]:
        script = f"{line}\ncode=$?\nenv -0 > {self.variables}\nexit $code"
        mine = dict([self.marker.split("=", 1)])
        environment = os.environ | mine | {"PYTHONPATH": str(ROOT), "PATH": f"{BIN}:{os.environ['PATH']}"}
        ended = subprocess.run(
            ["bash", "-c", script],
            env=environment,
            text=True,
            check=False,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=900,
        )
        for item in self.variables.read_text("utf-8").split("\0"):
            name, _, value = item.partition("=")
            if name and name not in environment:
                self.monkeypatch.setenv(name, value)
        return ended.returncode, ended.stdout, ended.stdout


def _piped(line: str) -> bool:
    return re.search(r"[|<>]", re.sub(r"'[^']*'|\"[^\"]*\"", "", line)) is not None


def _sooner(words: list[str]) -> list[str]:
    """A shipped sweep at its full size takes up to an hour: its quick variant shows that the command works."""
    if words[0] == "sweep" and words[1] in SHIPPED and "--quick" not in words:
        return [*words, "--quick"]
    return words


def fits(shown: str, printed: str) -> bool:
    """Is this what was printed? `...` stands for anything within a line, and on a line of its own for any lines."""
    pattern = ""
    for line in shown.rstrip().splitlines():
        if line.strip() == "...":
            pattern += r"(?:.*\n)*?"
        else:
            pattern += ".*?".join(re.escape(part) for part in line.rstrip().split("...")) + r"\n"
    text = "".join(f"{line.rstrip()}\n" for line in printed.rstrip().splitlines())
    return re.fullmatch(pattern, text) is not None
