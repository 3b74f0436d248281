"""How a sweep is getting on, on standard error: a bar on a terminal, else a line now and then."""

from __future__ import annotations

from time import monotonic
from types import TracebackType
from typing import Self

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

PLAIN_S = 5.0


class CellsProgress:
    """Cells done, failed and left, and how long it will take."""

    def __init__(self, total: int, done: int, failed: int) -> None:
        self._console = Console(stderr=True, highlight=False, soft_wrap=True)
        self.total, self.done, self.failed = total, done, failed
        self._known_before = done + failed
        self._started = monotonic()
        self._next = self._started + PLAIN_S
        self._bar: Progress | None = None

    def __enter__(self) -> Self:
        if self._console.is_terminal and self._left() > 0:
            self._bar = Progress(
                TextColumn("cells"),
                BarColumn(),
                MofNCompleteColumn(),
                TextColumn("{task.fields[failed]} failed, {task.fields[left]}"),
                TimeElapsedColumn(),
                console=self._console,
            )
            self._task = self._bar.add_task(
                "cells", total=self.total, completed=self._known, failed=self.failed, left=""
            )
            self._bar.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._bar is not None:
            self._bar.stop()
        elif self._known > self._known_before:
            self._console.print(self._words(), markup=False)

    def say(self, text: str) -> None:
        """A line that stays, above the bar."""
        (self._bar.console if self._bar else self._console).print(text, markup=False)

    def ended(self, well: bool) -> None:
        self.done += well
        self.failed += not well
        if self._bar is not None:
            self._bar.update(self._task, completed=self._known, failed=self.failed, left=self._time_left())
        elif monotonic() >= self._next:
            self._next = monotonic() + PLAIN_S
            self._console.print(self._words(), markup=False)

    @property
    def _known(self) -> int:
        return self.done + self.failed

    def _left(self) -> int:
        return self.total - self._known

    def _words(self) -> str:
        return f"{self._known} of {self.total} cells, {self.failed} failed, {self._time_left()}"

    def _time_left(self) -> str:
        if not self._left():
            return "none left"
        each = (monotonic() - self._started) / max(self._known - self._known_before, 1)
        minutes, seconds = divmod(round(each * self._left()), 60)
        return f"about {minutes}:{seconds:02} left"
