"""Traces: every event of a run in the order in which it happened, to keep, to compare and to run again.

A trace is a msgpack stream: a header, then `[arrival, node, sender, number, wire]` for each event, with nodes
as positions in the header's list of names.
"""

from __future__ import annotations

import io
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path
from typing import Any, NamedTuple

import msgpack

from runtime.errors import ReplayError
from runtime.links import COUNT_MASK
from runtime.message import decode, encode
from runtime.simnode import Entry
from runtime.simulator import ENVIRONMENT, Recording, Simulator

FORMAT = 1


class Event(NamedTuple):
    """One thing that reached one node."""

    arrival: float
    node: str
    sender: str
    number: int
    wire: bytes

    def __str__(self) -> str:
        sender = "the environment" if self.sender == ENVIRONMENT else self.sender
        return f"at {self.arrival!r}, {self.node} from {sender}: {decode(self.wire)!r} (number {self.number})"


@dataclass(frozen=True)
class Trace:
    """What happened in a run."""

    gap: float
    events: list[Event]

    def recording(self) -> Recording:
        """The decisions alone: enough to run it again."""
        arrivals: dict[tuple[str, str], dict[int, float]] = {}
        for event in self.events:
            arrivals.setdefault((event.sender, event.node), {})[event.number] = event.arrival
        return Recording(arrivals, self.gap)

    def first_difference(self, other: Trace) -> tuple[int, Event | None, Event | None] | None:
        """Position and events where two traces part; None if they never do."""
        for place, (mine, theirs) in enumerate(zip_longest(self.events, other.events)):
            if mine != theirs:
                return place, mine, theirs
        return None

    def save(self, path: Path) -> None:
        names = sorted({event.node for event in self.events} | {event.sender for event in self.events})
        place = {name: number for number, name in enumerate(names)}
        with path.open("wb") as file:
            file.write(msgpack.packb({"format": FORMAT, "gap": self.gap, "names": names}))
            for event in self.events:
                row = (event.arrival, place[event.node], place[event.sender], event.number, event.wire)
                file.write(msgpack.packb(row))

    @classmethod
    def load(cls, path: Path) -> Trace:
        try:
            data = path.read_bytes()
            rows = msgpack.Unpacker(io.BytesIO(data), use_list=False)
            header = next(rows)
            if header["format"] != FORMAT:
                raise ReplayError(f"{path}: trace format {header['format']}, this version reads {FORMAT}")
            trace = cls(header["gap"], list(_named(rows, header["names"])))
            if rows.tell() != len(data):
                raise ReplayError(f"{path}: the trace breaks off after {len(trace.events)} events")
            return trace
        except OSError as problem:
            raise ReplayError(f"{path}: {problem.strerror}") from None
        except (ValueError, TypeError, LookupError, StopIteration, msgpack.UnpackException) as problem:
            raise ReplayError(f"{path}: not a trace ({type(problem).__name__}: {problem})") from None


def _named(rows: Iterable[Any], names: tuple[str, ...]) -> Iterator[Event]:
    for arrival, node, sender, number, wire in rows:
        yield Event(arrival, names[node], names[sender], number, wire)


class Recorder:
    """Watches a simulator and keeps its trace."""

    def __init__(self, sim: Simulator, gap: float | None = None) -> None:
        self.trace = Trace(1.0 / sim.rate if gap is None else gap, [])
        sim.observer = self._saw

    def _saw(self, entry: Entry) -> None:
        arrival, key, link, message = entry
        self.trace.events.append(Event(arrival, link.peer, link.source, key & COUNT_MASK, encode(message)))
