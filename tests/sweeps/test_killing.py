"""However a sweep is ended, the same command goes on where it stopped, and nothing is left behind."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

from tests.sweeps.conftest import EXAMPLE, Finished, sweep_command

ROOT = EXAMPLE.parent.parent.parent
PATIENCE_S = 60.0


def start(folder: Path, mark: str, **environment: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "sweeps", str(EXAMPLE / "sweep.py"), "--out", str(folder)],
        cwd=ROOT,
        env=os.environ | {"TEST_MARK": mark, **environment},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )


def wait_until(true: Callable[[], bool], what: str) -> None:
    end = time.monotonic() + PATIENCE_S
    while not true():
        assert time.monotonic() < end, f"waited in vain until {what}"
        time.sleep(0.02)


def cells(folder: Path) -> dict[str, int]:
    return {path.name: path.stat().st_ino for path in (folder / "cells").glob("*.parquet")}


def left_behind(mark: str) -> list[str]:
    """Processes that were started, directly or not, by the driver with this mark."""
    found = []
    for process in Path("/proc").iterdir():
        try:
            if process.name.isdigit() and f"TEST_MARK={mark}".encode() in (process / "environ").read_bytes():
                found.append((process / "cmdline").read_text().replace("\0", " "))
        except OSError:
            continue
    return found


def test_a_sweep_killed_three_times_ends_as_if_nothing_had_been(finished: Finished, tmp_path: Path) -> None:
    folder, between = tmp_path / "out", tmp_path / "between"
    moments = random.Random()
    for attempt in range(3):
        mark = f"{tmp_path}-{attempt}"
        before = cells(folder)
        if attempt == 1:
            driver = start(folder, mark, TEST_STOP_BEFORE_RENAME=str(between), TEST_SLOW_S="0.3")
            wait_until(between.exists, "a cell is written and not yet renamed")
        else:
            driver = start(folder, mark, TEST_SLOW_S="0.3")
            enough = len(before) + moments.randint(1, 5)
            wait_until(lambda enough=enough: len(cells(folder)) >= enough, f"{enough} cells are finished")
            time.sleep(moments.random() * 0.3)
        driver.kill()
        driver.wait()
        wait_until(lambda mark=mark: not left_behind(mark), "every process is gone")
        assert before.items() <= cells(folder).items(), "a finished cell was lost or written again"
        if attempt == 1:
            assert list((folder / "cells").glob("*.partial")), "nothing was killed between write and rename"

    survivors = cells(folder)
    assert 2 <= len(survivors) < 24
    result = sweep_command(EXAMPLE / "sweep.py", "--out", folder, "--json")
    told = json.loads(result.stdout)
    assert (told["reused"], told["computed"]) == (len(survivors), 24 - len(survivors))
    assert survivors.items() <= cells(folder).items()
    assert not list(folder.rglob("*.partial"))
    assert Finished(folder).csv() == finished.csv()


def test_ctrl_c_keeps_what_is_finished_and_leaves_no_process(tmp_path: Path) -> None:
    folder, mark = tmp_path / "out", str(tmp_path)
    driver = start(folder, mark, TEST_SLOW_S="0.3")
    wait_until(lambda: len(cells(folder)) >= 2, "two cells are finished")
    os.killpg(driver.pid, signal.SIGINT)
    told, _ = driver.communicate(timeout=PATIENCE_S)
    assert driver.returncode == 130, told
    assert "interrupted" in told
    assert "Traceback" not in told
    wait_until(lambda: not left_behind(mark), "every process is gone")
    assert 2 <= len(cells(folder)) < 24
