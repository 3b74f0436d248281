"""Random streams: one for each purpose and name, all derived from the run's seed.

A stream belongs to one link or one node and is never shared, so what a node draws does not depend on
how the others interleave or on how the network is cut over processes.
"""

from __future__ import annotations

import hashlib
import random


def derive(seed: int, *names: str) -> int:
    """A 64-bit number that belongs to this seed and these names alone."""
    digest = hashlib.blake2b(digest_size=8)
    for part in (str(seed), *names):
        encoded = part.encode()
        digest.update(len(encoded).to_bytes(4, "big") + encoded)
    return int.from_bytes(digest.digest(), "big")


def stream(seed: int, *names: str) -> random.Random:
    return random.Random(derive(seed, *names))
