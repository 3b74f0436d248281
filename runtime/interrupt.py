"""Ctrl-C ends a run where its tables are whole: between two windows of the simulator. A second one ends it at once."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType


@contextmanager
def interruptible() -> Iterator[Callable[[], None]]:
    """Gives what is to be called between two windows; it raises KeyboardInterrupt if Ctrl-C was heard before."""
    asked = False

    def heard(number: int, frame: FrameType | None) -> None:
        nonlocal asked
        if asked:
            raise KeyboardInterrupt
        asked = True

    def stop_if_asked() -> None:
        if asked:
            raise KeyboardInterrupt

    before = signal.getsignal(signal.SIGINT)
    if before is not signal.default_int_handler or threading.current_thread() is not threading.main_thread():
        yield stop_if_asked  # someone else decides what Ctrl-C means
        return
    signal.signal(signal.SIGINT, heard)
    try:
        yield stop_if_asked
    finally:
        signal.signal(signal.SIGINT, before)
