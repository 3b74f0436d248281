"""Random streams: one for each purpose and name, all derived from the run's seed.

A stream belongs to one link or one node and is never shared, so what a node draws does not depend on
how the others interleave or on how the network is cut over processes.
"""

from __future__ import annotations

import hashlib
import random
from collections.abc import Callable


def derive(seed: int, *names: str) -> int:
    """A 64-bit number that belongs to this seed and these names alone."""
    *first, last = (str(seed), *names)
    return derive_each(*first)(last)


def derive_each(*parts: str) -> Callable[[str], int]:
    """Derives numbers for many last names; what they have in common is hashed once."""
    common = hashlib.blake2b(b"".join(map(_framed, parts)), digest_size=8)

    def number(name: str) -> int:
        digest = common.copy()
        digest.update(_framed(name))
        return int.from_bytes(digest.digest(), "big")

    return number


def _framed(part: str) -> bytes:
    encoded = part.encode()
    return len(encoded).to_bytes(4, "big") + encoded


def stream(seed: int, *names: str) -> random.Random:
    return random.Random(derive(seed, *names))
