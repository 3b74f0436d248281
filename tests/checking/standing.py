"""For tests that say what is true of a protocol under certain faults, orders, sizes and settings."""

from __future__ import annotations

import secrets
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import pytest

from runtime.simulator import Simulator
from runtime.system import World
from runtime.testing.cases import Case, Draw, Way
from runtime.testing.checking import WAYS, Report, Subject, cases, check, subject
from runtime.testing.running import Prepare, Shown, run_case

SEED = 20_111
"""The same cases in every run of the tests; those that take long draw fresh ones."""


def stands(
    protocol: str,
    examples: int,
    faults: Sequence[str] = (),
    ways: Sequence[Way] = WAYS,
    size: int | None = None,
    fresh: bool = False,
    **settings: Any,
) -> Report:
    """Check a shipped protocol; fails with the case in which a property is violated, or if a fault never struck.

    `settings`, of the protocol's own section, take the place of those that are drawn.
    """
    seed = secrets.randbelow(1 << 32) if fresh else SEED
    report = check(_with(protocol, settings), examples, seed, faults, ways, size)
    if report.violated is not None:
        case, shown = report.violated
        pytest.fail(f"{protocol}, seed {seed}, case {report.cases}: {shown.violation}\n{case}")
    assert all(report.fired[fault] for fault in faults)
    return report


def drawn(
    protocol: str,
    examples: int,
    faults: Sequence[str] = (),
    ways: Sequence[Way] = WAYS,
    size: int | None = None,
    **settings: Any,
) -> Iterator[Case]:
    """The cases of such a check, for tests that look at more than properties."""
    return cases(_with(protocol, settings), examples, SEED, frozenset(faults), ways, size)


def _with(protocol: str, settings: dict[str, Any]) -> Subject:
    what = subject(protocol)

    class Settled(what.system):  # type: ignore[misc,name-defined]
        @classmethod
        def case(cls, draw: Draw) -> Case:
            case = what.system.case(draw)
            section = {**case.data[cls.section], **settings}
            return replace(case, data={**case.data, cls.section: section})

    return replace(what, system=Settled) if settings else what


def ran(case: Case, prepare: Prepare = lambda sim: None) -> tuple[Shown, World]:
    """What a case has shown, and the world at its end."""
    sims: list[Simulator] = []

    def both(sim: Simulator) -> None:
        sims.append(sim)
        prepare(sim)

    shown = run_case(case, both)
    (sim,) = sims
    return shown, World(sim.alive(), shown.scenario.network, events=sim.events, now=sim.now, dead=sim.dead())
