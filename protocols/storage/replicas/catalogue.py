"""The items of the network and their sizes: every store knows them (replicas, IV.C)."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from protocols.storage.replicas.decision import Amounts
from protocols.storage.replicas.facts import digest


class Catalogue:
    """Items in the order of their names."""

    def __init__(self, sizes: Mapping[str, float]) -> None:
        self.items = tuple(sorted(sizes))
        self.places = {item: place for place, item in enumerate(self.items)}
        self.sizes: Amounts = np.array([sizes[item] for item in self.items], dtype=np.float64)
        self.digest = digest("catalogue", self.items) ^ digest("sizes", tuple(self.sizes.tolist()))
