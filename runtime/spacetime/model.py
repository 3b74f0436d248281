"""What a space-time diagram shows, as plain data."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import Literal

from runtime.network import Network
from runtime.spacetime.states import Change

Kind = Literal["start", "message", "timer", "hint", "crash", "recover"]
Fate = Literal["arrived", "dropped", "cut off", "lost", "node down", "queue lost", "under way", "cancelled"]
LOST: frozenset[Fate] = frozenset(("dropped", "cut off", "lost", "node down", "queue lost"))

FATES: dict[Fate, str] = {
    "arrived": "arrived",
    "dropped": "lost: dropped by a fault of the link",
    "cut off": "lost: the link was cut by a partition",
    "lost": "lost on the link",
    "node down": "lost: its receiver was down",
    "queue lost": "lost: its receiver crashed before its turn came",
    "under way": "still under way when the run ended",
    "cancelled": "never came due: cancelled, or its node crashed",
}


@dataclass(slots=True)
class Happening:
    """One thing that happened at one node.

    `number` counts events as the run does: the seventeenth has 17, and every start has 0. The node began to deal
    with it at `begun` (later than `arrival`, if it was busy) and was busy with it until `ended`. What reached a node
    that was down has a number, but the node did not notice: then `noticed` is False.
    """

    number: int
    node: int
    kind: Kind
    arrival: float
    begun: float
    ended: float
    arrow: int | None = None
    what: str = ""
    noticed: bool = True
    before: int | None = None
    """What happened at this node before, as a position in `SpaceTime.happenings`."""

    changes: list[Change] = field(default_factory=list)
    logged: list[str] = field(default_factory=list)


@dataclass(slots=True)
class Arrow:
    """A message from one node to another, or from a node to itself later: a timer."""

    cause: int | None
    """The happening in which it was sent; None if that is not in the picture."""

    source: int
    target: int
    sent: float
    type: str
    fields: tuple[tuple[str, str], ...]
    size: int = 0
    timer: bool = False
    underlay: bool = False
    copy: bool = False
    """The second copy of a message that a fault doubled."""

    fate: Fate = "arrived"
    arrival: float | None = None
    effect: int | None = None
    """The happening that its arrival was."""

    late: tuple[str, ...] = ()
    """Why it is late, if it is."""

    @property
    def lost(self) -> bool:
        return self.fate in LOST

    def text(self) -> str:
        return f"{self.type}({', '.join(f'{name}={value}' for name, value in self.fields)})"


@dataclass(frozen=True)
class Mark:
    """Something that a person must not overlook: `after` is the number of an event, None stands for the end."""

    text: str
    after: int | None = None


@dataclass(frozen=True)
class Caption:
    """What stands above the picture."""

    title: str
    verdict: str = ""
    facts: tuple[tuple[str, str], ...] = ()


@dataclass
class SpaceTime:
    """A run as a picture: a line for each node, what happened on it, and the arrows between the lines."""

    nodes: list[str]
    homes: dict[str, str]
    """The broker at which an agent is attached."""

    happenings: list[Happening]
    arrows: list[Arrow]
    caption: Caption = field(default_factory=lambda: Caption("a run"))
    marks: list[Mark] = field(default_factory=list)

    @property
    def end(self) -> float:
        ends = (happening.ended for happening in self.happenings)
        sent = (arrow.sent for arrow in self.arrows)
        return max(chain(ends, sent), default=0.0)

    @property
    def events(self) -> int:
        """How many events there are; starts are none."""
        return sum(happening.kind != "start" for happening in self.happenings)

    def types(self) -> dict[str, int]:
        """How many arrows of each type there are, the most frequent first."""
        counts: dict[str, int] = {}
        for arrow in self.arrows:
            if arrow.fate != "cancelled":
                counts[arrow.type] = counts.get(arrow.type, 0) + 1
        return dict(sorted(counts.items(), key=lambda row: (-row[1], row[0])))

    def causes(self, place: int) -> list[int]:
        """What directly precedes this: what its node did before, and the sending of what arrived."""
        happening = self.happenings[place]
        found = [] if happening.before is None else [happening.before]
        if happening.arrow is not None and (cause := self.arrows[happening.arrow].cause) is not None:
            found.append(cause)
        return found

    def past(self, place: int) -> set[int]:
        """Everything that could have had an influence on this, itself included (Lamport's happened-before)."""
        found, waiting = {place}, [place]
        while waiting:
            for cause in self.causes(waiting.pop()):
                if cause not in found:
                    found.add(cause)
                    waiting.append(cause)
        return found

    def at(self, number: int) -> Happening:
        """The event of this number."""
        return next(found for found in self.happenings if found.number == number and found.kind != "start")

    def between(self, since: float, until: float) -> SpaceTime:
        """Only what happened in this time; arrows that reach into it keep the end that is inside."""
        inside = [place for place, found in enumerate(self.happenings) if since <= found.arrival <= until]
        arrows = [
            place
            for place, arrow in enumerate(self.arrows)
            if arrow.sent <= until and (arrow.sent if arrow.arrival is None else arrow.arrival) >= since
        ]
        return self._only(inside, arrows)

    def of(self, nodes: Iterable[str] | None, types: Iterable[str] | None) -> SpaceTime:
        """Only these nodes and what goes between them, only these types; None stands for all."""
        lines = set(self.nodes if nodes is None else nodes)
        seen = [name in lines for name in self.nodes]
        wanted = None if types is None else set(types)
        arrows = [
            place
            for place, arrow in enumerate(self.arrows)
            if seen[arrow.source] and seen[arrow.target] and (wanted is None or arrow.type in wanted)
        ]
        kept = set(arrows)
        sending = {self.arrows[place].cause for place in arrows}
        inside = [
            place
            for place, found in enumerate(self.happenings)
            if seen[found.node] and (wanted is None or found.arrow in kept or place in sending or _always(found))
        ]
        return self._only(inside, arrows, [name for name in self.nodes if name in lines])

    def _only(self, inside: Sequence[int], arrows: Sequence[int], nodes: list[str] | None = None) -> SpaceTime:
        names = self.nodes if nodes is None else nodes
        line = {self.nodes.index(name): place for place, name in enumerate(names)}
        event = {old: new for new, old in enumerate(inside)}
        arrow = {old: new for new, old in enumerate(arrows)}
        happenings = [
            replace(found, node=line[found.node], arrow=_mapped(arrow, found.arrow), before=self._earlier(found, event))
            for found in (self.happenings[place] for place in inside)
        ]
        kept = [
            replace(
                found,
                source=line[found.source],
                target=line[found.target],
                cause=_mapped(event, found.cause),
                effect=_mapped(event, found.effect),
            )
            for found in (self.arrows[place] for place in arrows)
        ]
        return SpaceTime(list(names), self.homes, happenings, kept, self.caption, self.marks)

    def _earlier(self, found: Happening, event: dict[int, int]) -> int | None:
        """The nearest earlier happening of the node that is still in the picture."""
        before = found.before
        while before is not None and before not in event:
            before = self.happenings[before].before
        return None if before is None else event[before]


def _mapped(places: dict[int, int], old: int | None) -> int | None:
    return None if old is None else places.get(old)


def _always(found: Happening) -> bool:
    return found.kind in ("crash", "recover")


def lines_of(network: Network) -> list[str]:
    """The nodes in the order of their lines: n2 before n10, and each agent below its broker."""
    below: dict[str, list[str]] = {}
    for agent, home in network.homes.items():
        below.setdefault(home, []).append(agent)
    found: list[str] = []
    for broker in sorted((name for name in network.neighbours if name not in network.homes), key=_natural):
        found += [broker, *sorted(below.get(broker, ()), key=_natural)]
    return found + sorted(set(network.neighbours) - set(found), key=_natural)


def _natural(name: str) -> tuple[tuple[bool, int, str], ...]:
    parts = re.split(r"(\d+)", name)
    return tuple((not part.isdigit(), int(part) if part.isdigit() else 0, part) for part in parts)
