"""One Ray and one Spark for all tests of the sweeps: both take seconds to start."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from pyspark.sql import SparkSession

from runtime.cli import Verbs
from runtime.cluster import cluster
from sweeps.command import sweep
from sweeps.spark import spark_running
from sweeps.store import Store

EXAMPLE = Path(__file__).parent / "example"


@pytest.fixture(scope="session")
def ray() -> Iterator[None]:
    with cluster():
        yield


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    with spark_running("local[2]") as running:
        yield running


def sweep_command(*words: object) -> Result:
    group = Verbs("brokerlab", {"sweep": sweep})
    return CliRunner().invoke(group, ["sweep", *map(str, words)])


@dataclass(frozen=True)
class Finished:
    """A sweep that has run."""

    folder: Path

    @property
    def store(self) -> Store:
        return Store(self.folder)

    def csv(self) -> dict[str, bytes]:
        return {path.name: path.read_bytes() for path in sorted((self.folder / "tables").glob("*.csv"))}


@pytest.fixture(scope="session")
def finished(ray: Any, spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Finished:
    """The example, run once without a disturbance. Tests that change it take a copy."""
    folder = tmp_path_factory.mktemp("finished") / "rumour"
    result = sweep_command(EXAMPLE / "sweep.py", "--out", folder)
    assert result.exit_code == 0, result.output
    return Finished(folder)


@pytest.fixture
def copy_of_finished(finished: Finished, tmp_path: Path) -> Finished:
    shutil.copytree(finished.folder, tmp_path / "copy")
    return Finished(tmp_path / "copy")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """With `--dist loadgroup`, one process runs all of these: a second one would start Ray and Spark again."""
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker(pytest.mark.xdist_group("sweeps"))
