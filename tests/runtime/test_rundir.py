"""A run directory explains itself, is complete in itself, and is never half written or mixed up."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from runtime.rundir import _write
from runtime.trace import Trace
from tests.runtime.command import EXAMPLES, brokerlab

FLOOD = EXAMPLES / "my_flood.toml"


def kept(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


def test_it_holds_what_its_readme_says(tmp_path: Path) -> None:
    result = brokerlab("run", "coverage", "--out", tmp_path / "run", "--trace", "--set", "limits.time=1000")
    assert result.exit_code == 0
    assert f"kept in {tmp_path / 'run'}; to look at: {tmp_path / 'run' / 'report.html'}\n" in result.stdout
    files = kept(tmp_path / "run")
    told = files.pop("README.md").decode()
    assert sorted(files) == ["events/response.parquet", "report.html", "scenario.toml", "summary.json", "trace.msgpack"]
    for name in files:
        assert f"| `{name}` |" in told
    summary = json.loads(files["summary.json"])
    assert told.startswith("# coverage, seed 7: valid\n")
    assert summary["fingerprint"] in told
    assert "    brokerlab run coverage --seed 7 --set limits.time=1000\n" in told
    for package in ("Python", "brokerlab", "numpy", "pyarrow", "msgpack"):
        assert f"{package} " in told.partition("Versions: ")[2]


def test_summary_is_what_json_prints(tmp_path: Path) -> None:
    printed = brokerlab("run", "coverage", "--out", tmp_path, "--json").stdout
    assert (tmp_path / "summary.json").read_text() == printed


def test_events_are_readable(tmp_path: Path) -> None:
    brokerlab("run", "coverage", "--out", tmp_path)
    table = pq.read_table(tmp_path / "events" / "response.parquet")
    assert table.num_rows == json.loads((tmp_path / "summary.json").read_text())["logged"]["response"]
    assert table.column_names[:2] == ["time", "node"]
    assert table["time"].to_pylist() == sorted(table["time"].to_pylist())


def test_a_trace_is_readable(tmp_path: Path) -> None:
    brokerlab("run", "coverage", "--out", tmp_path, "--trace")
    events = Trace.load(tmp_path / "trace.msgpack").events
    assert len(events) == json.loads((tmp_path / "summary.json").read_text())["events"]


def test_the_same_seed_gives_the_same_bytes(tmp_path: Path) -> None:
    for name in ("one", "two"):
        brokerlab("run", "coverage", "--out", tmp_path / name, "--trace")
    brokerlab("run", "coverage", "--out", tmp_path / "three", "--trace", "--seed", 8)
    assert kept(tmp_path / "one") == kept(tmp_path / "two")
    assert kept(tmp_path / "one")["summary.json"] != kept(tmp_path / "three")["summary.json"]


def test_it_runs_again_anywhere_with_its_files(tmp_path: Path) -> None:
    """Given files elsewhere and overrides, what is kept gives the same run without them."""
    away = tmp_path / "away"
    (away / "deep").mkdir(parents=True)
    (away / "overlay.edges").write_text("n1 n2\nn2 n3 2.5\n")
    (away / "my_flood.py").write_text((EXAMPLES / "my_flood.py").read_text())
    path = away / "deep" / "mine.toml"
    path.write_text('protocol = "../my_flood.py:MyFlood"\nnetwork.file = "../overlay.edges"\nsettings.source = "n1"\n')
    first = brokerlab("run", path, "--out", tmp_path / "run", "--seed", 3, "--set", "settings.source=n2", "--json")
    assert first.exit_code == 0, first.output
    for file in (away / "overlay.edges", away / "my_flood.py", path):
        file.unlink()
    (tmp_path / "run").rename(tmp_path / "moved")
    again = brokerlab("run", tmp_path / "moved" / "scenario.toml", "--json")
    assert again.exit_code == 0, again.output
    assert json.loads(again.stdout) == json.loads(first.stdout) | {"protocol": "my_flood.py:MyFlood"}


def test_it_can_be_run_into_itself(tmp_path: Path) -> None:
    brokerlab("run", FLOOD, "--out", tmp_path)
    before = kept(tmp_path)
    assert brokerlab("run", tmp_path / "scenario.toml", "--out", tmp_path).exit_code == 0
    after = kept(tmp_path)
    for name in ("README.md", "report.html"):
        assert before.pop(name) != after.pop(name)  # another command made it
    assert before == after


# What is there already


def test_without_out_nothing_is_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    brokerlab("run", "coverage")
    assert kept(tmp_path) == {}


def test_a_folder_of_someone_else_is_refused_before_the_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("runtime.cli.simulate", lambda *words: pytest.fail("it ran"))
    (tmp_path / "thesis.txt").write_text("years of work")
    (tmp_path / "scenario.toml").write_text("# mine")
    for force in ([], ["--force"]):
        result = brokerlab("run", "coverage", "--out", tmp_path, *force)
        assert result.exit_code == 2
        assert result.stderr == f"brokerlab: {tmp_path}: not empty and not a run directory; choose a new folder\n"
    assert kept(tmp_path) == {"thesis.txt": b"years of work", "scenario.toml": b"# mine"}


def test_a_file_is_no_folder(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    result = brokerlab("run", "coverage", "--out", tmp_path / "file")
    assert result.exit_code == 2
    assert "a file, not a folder" in result.stderr


def test_another_run_is_replaced_only_by_force(tmp_path: Path) -> None:
    brokerlab("run", FLOOD, "--out", tmp_path, "--trace")
    before = kept(tmp_path)
    refused = brokerlab("run", FLOOD, "--out", tmp_path, "--seed", 2)
    assert refused.exit_code == 2
    assert "holds a run of another scenario or seed; choose a new folder, or add --force" in refused.stderr
    assert kept(tmp_path) == before
    assert brokerlab("run", "coverage", "--out", tmp_path, "--force").exit_code == 0
    assert sorted(kept(tmp_path)) == [
        "README.md",
        "events/response.parquet",
        "report.html",
        "scenario.toml",
        "summary.json",
    ]


def test_the_same_scenario_is_replaced_and_nothing_old_stays(tmp_path: Path) -> None:
    brokerlab("run", "coverage", "--out", tmp_path, "--trace")
    (tmp_path / "events" / "stale.parquet").touch()
    (tmp_path / "notes.txt").write_text("mine")
    assert brokerlab("run", "coverage", "--out", tmp_path).exit_code == 0
    assert sorted(kept(tmp_path)) == [
        *("README.md", "events/response.parquet", "notes.txt", "report.html", "scenario.toml", "summary.json"),
    ]


def test_a_file_is_written_whole_or_not_at_all(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_text("old")

    def breaks(unfinished: Path) -> None:
        unfinished.write_text("ne")
        raise OSError("disk full")

    with pytest.raises(OSError, match="disk full"):
        _write(path, breaks)
    assert kept(tmp_path) == {"file": b"old"}


def test_what_a_killed_run_left_does_not_stand_in_the_way(tmp_path: Path) -> None:
    (tmp_path / ".scenario.toml.partial").write_text("half")
    assert brokerlab("run", "coverage", "--out", tmp_path).exit_code == 0


def test_a_log_that_is_no_table_is_the_protocols_fault(tmp_path: Path) -> None:
    code = "from runtime.agent import Protocol\nclass Mixed(Protocol):\n    def started(self, node):\n"
    code += "        node.log('hello', value=1 if node.id == 'n1' else 'one')\n"
    (tmp_path / "mixed.py").write_text(code)
    path = tmp_path / "mixed.toml"
    path.write_text('protocol = "mixed.py:Mixed"\nnetwork = { kind = "line", nodes = 2 }\n')
    result = brokerlab("run", path, "--out", tmp_path / "run")
    assert result.exit_code == 1
    assert result.stderr.startswith("brokerlab: event hello: field value: ")
