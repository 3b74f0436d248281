"""How a long run is getting on, on standard error. A run of less than a second says nothing."""

from __future__ import annotations

from dataclasses import dataclass
from time import monotonic
from types import TracebackType
from typing import Any, Self

from rich.console import Console
from rich.status import Status

from runtime.simulator import Simulator

PATIENCE_S = 1.0
TERMINAL_S = 0.2
PLAIN_S = 5.0


@dataclass(frozen=True)
class Seen:
    """How far a run is."""

    now: float
    handled: int
    messages: int
    pending: int
    actors: int | None = None
    news: tuple[dict[str, Any], ...] = ()
    """What was logged since the last time of the event that is watched."""


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

    def note(self, line: str) -> None:
        """A line that stays."""
        self._console.print(line)

    def __call__(self, run: Simulator | Seen) -> None:
        """Whoever runs calls this after every window."""
        now = monotonic()
        if now >= self._next:
            self._tell(self._words(run if isinstance(run, Seen) else _seen(run), now), now)

    def tell(self, words: str) -> None:
        """Say this instead of what was said before, if it is time to say something."""
        now = monotonic()
        if now >= self._next:
            self._tell(words, now)

    def _tell(self, words: str, now: float) -> None:
        if not self._console.is_terminal:
            self._console.print(words)
            self._next = now + PLAIN_S
            return
        if self._status is None:
            self._status = self._console.status(words)
            self._status.start()
        self._status.update(words)
        self._next = now + TERMINAL_S

    def _words(self, seen: Seen, now: float) -> str:
        speed = (seen.messages - self._told_messages) / (now - self._told_at)
        self._told_messages, self._told_at = seen.messages, now
        actors = "" if seen.actors is None else f", {seen.actors} actors alive"
        return (
            f"virtual time {seen.now:,.1f} s, {seen.handled:,} events, {speed:,.0f} messages/s, "
            f"{seen.pending:,} pending{actors}"
        )


def _seen(sim: Simulator) -> Seen:
    return Seen(sim.now, sim.handled, sum(count for count, _ in sim.sent.values()), sim.pending)
