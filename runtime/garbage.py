"""When the garbage collector runs: seldom while a network is running or judged, and surely between two of them."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from time import perf_counter

SHARE = 0.05
"""At most so much of the time goes into collecting between runs."""


@contextmanager
def quiet_collector() -> Iterator[None]:
    """Events die by reference count; searching all agents for cycles again and again would cost half the run."""
    before = gc.get_threshold()
    gc.freeze()
    gc.set_threshold(200_000, 50, 100)
    try:
        yield
    finally:
        gc.set_threshold(*before)
        gc.unfreeze()


class _Tidying:
    """A network is a web of nodes and links that only the collector can free, and left alone it waits for gigabytes."""

    def __init__(self) -> None:
        self.ended = perf_counter()
        self.took = 0.01

    def __call__(self) -> None:
        now = perf_counter()
        if (now - self.ended) * SHARE > self.took:
            gc.collect()
            self.ended = perf_counter()
            self.took = self.ended - now


tidy = _Tidying()
"""To be called before a network is built: collects what those before have left, if it is time."""
