"""How a long run is getting on, on standard error. A run of less than a second says nothing."""

from __future__ import annotations

from time import monotonic
from types import TracebackType
from typing import Self

from rich.console import Console
from rich.status import Status

from runtime.simulator import Simulator

PATIENCE_S = 1.0
TERMINAL_S = 0.2
PLAIN_S = 5.0


class Progress:
    """One line that changes where standard error is a terminal, else a new line now and then."""

    def __init__(self) -> None:
        self._console = Console(stderr=True, markup=False, highlight=False, soft_wrap=True)
        self._status: Status | None = None
        self._told_at = monotonic()
        self._next = self._told_at + PATIENCE_S
        self._told_messages = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._status is not None:
            self._status.stop()

    def __call__(self, sim: Simulator) -> None:
        """The simulator calls this after every window."""
        now = monotonic()
        if now < self._next:
            return
        words = self._words(sim, now)
        if not self._console.is_terminal:
            self._console.print(words)
            self._next = now + PLAIN_S
            return
        if self._status is None:
            self._status = self._console.status(words)
            self._status.start()
        self._status.update(words)
        self._next = now + TERMINAL_S

    def _words(self, sim: Simulator, now: float) -> str:
        messages = sum(count for count, _ in sim.sent.values())
        speed = (messages - self._told_messages) / (now - self._told_at)
        self._told_messages, self._told_at = messages, now
        return (
            f"virtual time {sim.now:,.1f} s, {sim.handled:,} events, {speed:,.0f} messages/s, {sim.pending:,} pending"
        )
