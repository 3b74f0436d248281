"""A small process that outlives a driver that is killed, and then ends what Ray would leave behind for a minute.

Ray's own processes go when their driver does, except the raylet's agents, which first try to tell the others.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

PROC = Path("/proc")
GRACE_S = 2.0


@contextmanager
def watched(before: set[int]) -> Iterator[None]:
    """Watch over the descendants that this process has and had not before. Only where there is a /proc."""
    if not PROC.is_dir():
        yield
        return
    ours = [f"{pid} {_started(pid)}" for pid in sorted(descendants() - before)]
    watcher = subprocess.Popen(
        [sys.executable, "-E", "-S", __file__, *ours], stdin=subprocess.PIPE, start_new_session=True
    )
    try:
        yield
    finally:
        with suppress(BrokenPipeError):
            watcher.communicate(b"all is well")


def descendants() -> set[int]:
    """The processes that this one has started, directly or not."""
    children: dict[int, list[int]] = {}
    for entry in PROC.glob("[0-9]*"):
        with suppress(OSError, IndexError):
            children.setdefault(int(_stat(int(entry.name))[1]), []).append(int(entry.name))
    found: set[int] = set()
    waiting = [os.getpid()]
    while waiting:
        below = children.get(waiting.pop(), [])
        found.update(below)
        waiting += below
    return found


def _stat(pid: int) -> list[str]:
    """What /proc says of a process, after its name: state, parent, ..."""
    return (PROC / str(pid) / "stat").read_text().rpartition(")")[2].split()


def _started(pid: int) -> str:
    """When it started: a pid with another start is another process."""
    try:
        return _stat(pid)[19]
    except (OSError, IndexError):
        return "gone"


def main() -> None:
    if sys.stdin.buffer.read():
        return
    time.sleep(GRACE_S)
    for words in sys.argv[1:]:
        pid, started = words.split()
        if _started(int(pid)) == started:
            with suppress(OSError):
                os.kill(int(pid), signal.SIGKILL)


if __name__ == "__main__":
    main()
