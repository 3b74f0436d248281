"""Hypothesis strategies: networks, workloads, schedules and fault plans, each a small description that a seed fills in.

@given(cases("my_flood.toml", faults=["crash"]))
def test_everybody_counts_the_fewest_hops(case):
    assert run_case(case).violation is None
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

from hypothesis import strategies as st

from runtime.testing.cases import FAULTS, Case, Draw, Schedule, Way, known_faults
from runtime.testing.checking import WAYS, subject

SEEDS = st.integers(0, (1 << 32) - 1)


def draws(most: int = 8, faults: Sequence[str] = (), ways: Sequence[Way] = WAYS) -> st.SearchStrategy[Draw]:
    """Dice, at most so many brokers, some of these faults, and one of the ways to choose the order."""
    known_faults(faults)
    some = st.frozensets(st.sampled_from(sorted(faults))) if faults else st.just(frozenset[str]())
    return st.builds(Draw, SEEDS.map(random.Random), st.integers(1, most), some, st.sampled_from(ways))


def networks(least: int = 1, most: int = 8) -> st.SearchStrategy[dict[str, Any]]:
    """The `[network]` of a scenario: a random graph, from a tree up to four links per broker."""
    return st.builds(lambda draw: draw.graph(draw.names(least)), draws(most))


def fault_plans(
    names: Sequence[str], faults: Sequence[str] = FAULTS, until: float = 40.0
) -> st.SearchStrategy[list[dict[str, Any]]]:
    """The `[[faults]]` of a scenario with these nodes."""
    return st.builds(lambda draw: draw.trouble(names, until=until), draws(faults=faults))


def schedules(ways: Sequence[Way] = WAYS) -> st.SearchStrategy[Schedule]:
    """Orders of events, by any of these ways."""
    return st.builds(Schedule, st.sampled_from(ways), SEEDS)


def cases(
    protocol: str, faults: Sequence[str] | None = None, most: int = 8, ways: Sequence[Way] = WAYS
) -> st.SearchStrategy[Case]:
    """Workloads of a protocol or of a scenario file, as `brokerlab check` draws them, with the faults it tolerates."""
    what = subject(protocol)
    return st.builds(what.draw, draws(most, sorted(what.tolerates) if faults is None else faults, ways))


__all__ = ["cases", "draws", "fault_plans", "networks", "schedules"]
