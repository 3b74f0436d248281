"""What stores tell each other by flooding: facts about their origin, each newer number replacing the one before.

The origin's digest of a fact's content goes with it, as in link-state routing: two stores whose digests add up to
the same know the same, without comparing everything.
"""

from __future__ import annotations

from hashlib import blake2b

from runtime.message import message, pack

Epoch = tuple[int, str]
"""Which epoch, and who claimed it; the highest wins."""

NO_EPOCH: Epoch = (0, "")


@message
class LinkState:
    """These neighbours of mine answer."""

    origin: str
    number: int
    neighbours: tuple[str, ...]
    digest: int


@message
class Rates:
    """My clients' request rates, in the catalogue's order (IV.C); empty where only that they changed is told."""

    origin: str
    number: int
    rates: tuple[float, ...]
    digest: int


@message
class Holding:
    """The configuration of my storage, under this epoch.

    A change has a position in the sequence of the token that allowed it, from 1 on; position 0 only repeats what
    I hold, as the promise to accept nothing older than the epoch.
    """

    origin: str
    number: int
    epoch: int
    claimer: str
    token: int
    position: int
    items: tuple[str, ...]
    digest: int


Fact = LinkState | Rates | Holding


def digest(origin: str, content: tuple[str, ...] | tuple[float, ...]) -> int:
    """64 bits that stand for what the origin says."""
    return int.from_bytes(blake2b(pack((origin, content)), digest_size=8).digest(), "big")


def stamp(holding: Holding) -> Epoch:
    return holding.epoch, holding.claimer
