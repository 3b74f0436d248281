"""A run that was kept with its trace can be run again."""

from __future__ import annotations

import json
from pathlib import Path

from tests.runtime.command import brokerlab

LOSSY = (
    "--set",
    "links=reliable",
    "--set",
    'faults=[{kind="drop", probability=0.3}, {kind="reorder", probability=0.3}]',
)


def test_a_replay_has_the_fingerprint_of_then(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    assert brokerlab("run", "coverage", *LOSSY, "--out", folder, "--trace").exit_code == 0
    result = brokerlab("replay", folder, "--json")
    assert result.exit_code == 0, result.output
    then, now = json.loads((folder / "summary.json").read_text("utf-8")), json.loads(result.stdout)
    assert now["same"] is True
    assert now["fingerprint"] == then["fingerprint"]
    assert now["at"] == then["at"]


def test_a_replay_follows_the_recording_and_not_the_seed(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    brokerlab("run", "coverage", "--out", folder, "--trace")
    scenario = (folder / "scenario.toml").read_text("utf-8")
    (folder / "scenario.toml").write_text(scenario.replace("seed = 7", "seed = 8"), "utf-8")
    assert brokerlab("replay", folder).exit_code == 0


def test_a_replay_of_something_else_is_noticed(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    brokerlab("run", "coverage", "--out", folder, "--trace")
    scenario = (folder / "scenario.toml").read_text("utf-8")
    (folder / "scenario.toml").write_text(scenario.replace("price = 12", "price = 13"), "utf-8")
    result = brokerlab("replay", folder)
    assert result.exit_code == 1
    assert "not the same run" in result.stderr


def test_what_cannot_be_replayed_is_bad_input(tmp_path: Path) -> None:
    assert brokerlab("replay", tmp_path / "nothing").exit_code == 2
    folder = tmp_path / "run"
    brokerlab("run", "coverage", "--out", folder)
    result = brokerlab("replay", folder)
    assert result.exit_code == 2
    assert "--trace" in result.stderr
    (folder / "trace.msgpack").write_bytes(b"no trace")
    assert brokerlab("replay", folder).exit_code == 2
