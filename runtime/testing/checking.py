"""Checking a protocol: many cases, one verdict, and counters that show what was really exercised."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from time import monotonic
from typing import Any, Literal, get_args

from runtime.agent import LinkChanged
from runtime.properties import Property
from runtime.scenario import check as check_data
from runtime.scenario import find, read
from runtime.streams import stream
from runtime.system import System, find_system
from runtime.testing.cases import Case, Draw, Way, known_faults
from runtime.testing.running import Shown, run_case

Verdict = Literal["valid", "violated", "undecided"]
WAYS: tuple[Way, ...] = get_args(Way)
SIZES = (2, 3, 4, 5, 6, 8, 12)
"""Most bugs show in small networks: they are drawn as often as the larger ones."""


@dataclass(frozen=True)
class Subject:
    """What is checked: a protocol that draws its own cases, or a scenario that others are made from."""

    name: str
    system: type[System]
    base: dict[str, Any] | None = None
    folder: Path = Path()

    @property
    def tolerates(self) -> frozenset[str]:
        """The faults that it is to withstand, if nobody says which."""
        return frozenset(self.system.tolerates)

    def draw(self, draw: Draw) -> Case:
        if self.base is None:
            case = self.system.case(draw)
            return replace(case, data={"protocol": self.name, **case.data}, folder=self.folder)
        data = self.base | {"seed": draw.seed, "links": draw.links if draw.faults else self.base.get("links", "raw")}
        network = check_data(data, self.folder).network
        faults = draw.trouble(list(network.neighbours), network.brokers)
        case = draw.case(data | {"faults": [*self.base.get("faults", ()), *faults]})
        return replace(case, folder=self.folder)


def subject(name: str) -> Subject:
    """A shipped protocol, "my_file.py:MyProtocol" that has a `case`, or a scenario file."""
    if name.endswith(".toml"):
        path = find(name)
        data = read(path)
        return Subject(path.stem, type(check_data(data, path.parent, path.name).system), data, path.parent)
    folder = Path()
    return Subject(name, find_system(name, folder), None, folder)


@dataclass
class Report:
    """What a check has shown so far."""

    subject: Subject
    faults: frozenset[str]
    seed: int
    cases: int = 0
    quiet: int = 0
    events: int = 0
    messages: int = 0
    took_s: float = 0.0
    ways: Counter[str] = field(default_factory=Counter)
    handled: Counter[str] = field(default_factory=Counter)
    fired: Counter[str] = field(default_factory=Counter)
    sometimes: set[str] = field(default_factory=set)
    violated: tuple[Case, Shown] | None = None
    interrupted: bool = False

    def add(self, case: Case, shown: Shown) -> None:
        self.cases += 1
        self.quiet += shown.quiet
        self.events += shown.events
        self.messages += shown.messages
        self.ways[case.schedule.way] += 1
        self.handled.update(shown.handled)
        self.fired.update(shown.fired)
        self.sometimes |= shown.sometimes
        if shown.violation is not None:
            self.violated = (case, shown)

    @property
    def properties(self) -> tuple[Property, ...]:
        return self.subject.system.properties()

    @property
    def verdict(self) -> Verdict:
        if self.violated is not None:
            return "violated"
        return "undecided" if self.doubts() else "valid"

    def doubts(self) -> list[str]:
        """Why nothing can be said yet: what was to be exercised and was not."""
        found = ["it was interrupted"] if self.interrupted else []
        if not self.cases:
            return [*found, "no case was run"]
        if not any(p.kind != "sometimes" for p in self.properties):
            found.append("the protocol has no property: mark one with always or eventually")
        if not self.quiet:
            found.append("no case came to rest, so nothing could be said of what holds then")
        found += [f"no {fault} ever struck" for fault in sorted(self.faults) if not self.fired[fault]]
        found += [f"{name} never came about" for name in self.unseen()]
        return found + [f"{name} was never called" for name in self.idle_handlers()]

    def unseen(self) -> list[str]:
        asked = [p.name for p in self.properties if p.kind == "sometimes"]
        return [name for name in asked if name not in self.sometimes]

    def idle_handlers(self) -> list[str]:
        """Handlers that no case has called, though its faults allow it."""
        return [name for name, calls in sorted(self.reachable().items()) if not calls]

    def reachable(self) -> dict[str, int]:
        """The handlers that can be called at all with these faults, and how often they were."""
        rare: dict[str, Sequence[str]] = {
            LinkChanged.__name__: ("crash", "death", "partition"),
            **self.subject.system.only_with,
        }
        return {
            name: calls
            for name, calls in self.handled.items()
            if calls or self._can_occur(rare.get(name, rare.get(name.rpartition("(")[2][:-1])))
        }

    def _can_occur(self, needs: Sequence[str] | None) -> bool:
        return needs is None or bool(self.faults & frozenset(needs))


Tell = Callable[[Report], None]


def check(
    what: Subject,
    examples: int,
    seed: int,
    faults: Sequence[str] | None = None,
    ways: Sequence[Way] = WAYS,
    size: int | None = None,
    tell: Tell = lambda report: None,
) -> Report:
    """Run so many cases, or stop at the first violation. The same seed draws the same cases."""
    chosen = what.tolerates if faults is None else known_faults(faults)
    report = Report(what, chosen, seed)
    started = monotonic()
    try:
        for case in cases(what, examples, seed, chosen, ways, size):
            report.add(case, run_case(case))
            report.took_s = monotonic() - started
            if report.violated is not None:
                break
            tell(report)
    except KeyboardInterrupt:
        report.interrupted = True
    return report


def cases(
    what: Subject, examples: int, seed: int, faults: frozenset[str], ways: Sequence[Way], size: int | None
) -> Iterator[Case]:
    """Case by case: every way in turn, each with some of the faults, and every other one with none of them."""
    for number in range(examples):
        rng = stream(seed, "case", str(number))
        sizes = [*SIZES] if size is None else [*(one for one in SIZES if one < size), size]
        yield what.draw(Draw(rng, rng.choice(sizes), _some(rng, faults), ways[number % len(ways)]))


def _some(rng: random.Random, faults: frozenset[str]) -> frozenset[str]:
    if rng.random() < 0.3:
        return frozenset()
    return frozenset(fault for fault in sorted(faults) if rng.random() < 0.6)
