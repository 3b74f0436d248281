"""Step by step through a run: each event, what it changed, what was sent; then wait for a word."""

from __future__ import annotations

from collections.abc import Sequence

from runtime.errors import ReplayError
from runtime.settings import one_of
from runtime.show import say
from runtime.simnode import Entry
from runtime.simulator import Simulator
from runtime.spacetime.collector import Collector
from runtime.spacetime.model import Arrow, Happening

HELP = "Enter: one event on; a number: on to that event; a node's name: on to its next event; e: to the end; q: stop\n"


class Stepper:
    """Watches a simulator. Where there is somebody to ask, it waits after every event."""

    def __init__(self, nodes: Sequence[str], interactive: bool) -> None:
        self._only = nodes
        self._ask = interactive
        self._until: int | str | None = None
        self._told = 0
        self._sent = 0

    def __call__(self, sim: Simulator) -> None:
        for name in self._only:
            if name not in sim.nodes:
                raise ReplayError(f"--node {one_of(name, list(sim.nodes))}")
        self._collector = Collector(sim)
        self._names = self._collector.names
        inner = sim.observer
        assert inner is not None

        def before(entry: Entry) -> None:
            self._tell_the_last()
            inner(entry)

        sim.observer = before
        if self._ask:
            say(HELP)

    def finish(self) -> None:
        """Tell of the last event, too."""
        self._tell_the_last()
        self._collector.finish()

    def _tell_the_last(self) -> None:
        done = self._collector.settle()
        sent, self._sent = self._collector.arrows[self._sent :], len(self._collector.arrows)
        if done is None or done.number <= self._told:
            return
        self._told = done.number
        name = self._names[done.node]
        if self._only and name not in self._only:
            return
        if self._until is not None and self._until not in (done.number, name):
            return
        say(self._words(done, name, sent))
        if self._ask:
            self._wait()

    def _wait(self) -> None:
        self._until = None
        try:
            word = input("> ").strip()
        except EOFError:
            self._ask = False
            return
        if word == "q":
            raise KeyboardInterrupt
        if word == "e":
            self._ask = False
        elif word.isdigit():
            self._until = int(word)
        elif word in self._names:
            self._until = word
        elif word:
            say(HELP)
            self._wait()

    def _words(self, done: Happening, name: str, sent: Sequence[Arrow]) -> str:
        arrow = None if done.arrow is None else self._collector.arrows[done.arrow]
        lines = [f"{done.number:>5}  {done.begun:>10.4f} s  {name}: {self._what(done, arrow)}"]
        lines += [f"{'':21}  {change}" for change in done.changes]
        lines += [f"{'':21}  log {line}" for line in done.logged]
        lines += [f"{'':21}  -> {self._names[one.target]}: {one.text()}" for one in sent if not one.timer]
        lines += [f"{'':21}  sets a timer: {one.text()}" for one in sent if one.timer]
        return "".join(f"{line}\n" for line in lines)

    def _what(self, done: Happening, arrow: Arrow | None) -> str:
        if arrow is None:
            return done.what or done.kind
        if arrow.timer:
            return f"timer {arrow.text()}"
        gone = "" if done.noticed else ", but the node is down"
        return f"{arrow.text()} from {self._names[arrow.source]}{gone}"
