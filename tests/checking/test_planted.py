"""A check finds every planted bug, and the property that was meant to notice it does."""

from __future__ import annotations

import importlib
import pkgutil

import pytest

import tests.checking
from runtime.system import shipped
from tests.checking.planted import Planted, hunt

LISTS = [found.name for found in pkgutil.iter_modules(tests.checking.__path__) if found.name.startswith("planted_")]
PLANTED: list[Planted] = [bug for name in LISTS for bug in importlib.import_module(f"tests.checking.{name}").PLANTED]


@pytest.mark.parametrize("planted", PLANTED, ids=str)
def test_a_planted_bug_is_caught_by_the_property_that_is_about_it(planted: Planted) -> None:
    report = hunt(planted)
    assert report.violated is not None, f"not noticed in {report.cases} cases"
    found = report.violated[1].violation
    assert found is not None and found.name == planted.caught_by, found


ALONE = [protocol for protocol in shipped() if protocol != "together"]
"""Several on one overlay have the properties of each."""


@pytest.mark.parametrize("protocol", ALONE)
def test_every_property_catches_a_planted_bug(protocol: str) -> None:
    asked = {found.name for found in shipped()[protocol].properties() if found.kind != "sometimes"}
    assert asked - {planted.caught_by for planted in PLANTED if planted.protocol == protocol} == set()
