"""Cases for runs on several hosts: coverage's, on links with a bandwidth and nodes that take their time."""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import Any

from hypothesis import strategies as st

from tests.protocols.coverage_cases import Case


@dataclass(frozen=True)
class RayCase(Case):
    bandwidth: float | None = None
    service: bool = False

    def scenario(self) -> dict[str, Any]:
        data = super().scenario()
        network = data["network"]
        if self.bandwidth is not None:
            network["bandwidth"] = self.bandwidth
        if self.service:
            longest = random.Random(self.seed).uniform(0.02, 0.5)
            network["service"] = f"uniform(0.01, {longest})"
        return data | {"limits": {"events": 300_000}}


def ray_cases(most_brokers: int) -> st.SearchStrategy[RayCase]:
    few = st.integers(0, 2)
    return st.builds(
        RayCase,
        brokers=st.integers(1, most_brokers),
        stores=st.integers(1, 4),
        seed=st.integers(0, 2**32),
        orders=st.integers(0, 5),
        crashes=few,
        deaths=few,
        lossy=st.booleans(),
        partitions=st.integers(0, 1),
        reliable=st.booleans(),
        bandwidth=st.sampled_from([None, 100.0, 1000.0]),
        service=st.booleans(),
    )
