"""The command: what it refuses, what it prints, what it leaves behind."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from sweeps import SHIPPED
from sweeps.load import find_sweep
from tests.sweeps.conftest import EXAMPLE, Finished, sweep_command

GUIDE = EXAMPLE.parent.parent.parent / "docs" / "sweeps.md"


def test_an_unknown_name_is_told_what_there_is() -> None:
    result = sweep_command("covrage")
    assert result.exit_code == 2
    assert "shipped are: coverage" in result.stderr


@pytest.mark.parametrize("name", ["missing.toml", "missing.py"])
def test_a_missing_file_is_told(name: str) -> None:
    result = sweep_command(name)
    assert (result.exit_code, "file not found" in result.stderr) == (2, True)


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ("key =", "kee =", "parameters.brokers.kee"),
        ('path = "messages"', "", "measures.messages: write either path or formula"),
        ('y = "messages"', 'y = "mesages"', "figures.cost.y: 'mesages' is not one of"),
        (
            'y = "messages"',
            'along = { mesages = 1 }\nx_label = "x"\ny_label = "y"',
            "figures.cost.along: 'mesages' is not",
        ),
        ('y = "messages"', 'y = "messages"\nalong = { messages = 1 }', "figures.cost: write either y or along"),
        ('y = "messages"', "along = { messages = 1 }", "figures.cost: along is for measures, and asks for x_label"),
        ('key = "network.degree"', 'key = "network.degre"', "network.degre: unknown key"),
        ("runs = 4", "runs = 0", "runs"),
    ],
)
def test_a_mistake_in_the_file_is_named(tmp_path: Path, old: str, new: str, told: str) -> None:
    text = (
        example_of_the_guide()
        .replace("[parameters.degree]", "[parameters.brokers]")
        .replace('x = "degree"', 'x = "brokers"')
    )
    text = text.replace("degree = [", "brokers = [")
    assert old in text
    file = tmp_path / "mine.toml"
    file.write_text(text.replace(old, new))
    result = sweep_command(file, "--out", tmp_path / "out")
    assert result.exit_code == 2
    assert told in result.stderr


def test_a_folder_of_someone_else_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").write_text("years of work")
    result = sweep_command("coverage", "--out", tmp_path)
    assert result.exit_code == 2
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.tex"]


def test_two_sweeps_do_not_share_a_folder(copy_of_finished: Finished) -> None:
    with copy_of_finished.store.locked():
        result = sweep_command(EXAMPLE / "sweep.py", "--out", copy_of_finished.folder)
    assert result.exit_code == 2
    assert "another sweep is running there" in result.stderr


def example_of_the_guide() -> str:
    found = re.search(r"```toml\n(.*?)```", GUIDE.read_text("utf-8"), re.S)
    assert found
    return found[1]


def test_the_example_of_the_guide_runs(ray: object, spark: SparkSession, tmp_path: Path) -> None:
    file = tmp_path / "dense.toml"
    file.write_text(example_of_the_guide())
    result = sweep_command(file, "--quick", "--out", tmp_path / "out", "--json")
    assert result.exit_code == 0, result.output
    told = json.loads(result.stdout)
    assert told["cells"] == told["finished"] == told["computed"] > 0
    assert all(claim["verdict"] in ("holds", "partly", "does not hold") for claim in told["claims"])
    assert (tmp_path / "out" / "figures" / "cost.png").stat().st_size > 10_000


def test_the_report_needs_no_other_file(finished: Finished) -> None:
    html = (finished.folder / "report.html").read_text("utf-8")
    assert html.count("<svg") == 4
    assert not re.findall(r"<(?:link|script|img)\b|@import|url\((?!#f\d)", html)
    assert "Everyone hears." in html
    assert "pyspark" in html


@pytest.mark.parametrize("name", SHIPPED)
def test_every_shipped_sweep_is_found(name: str) -> None:
    assert find_sweep(name).sweep.name == name
