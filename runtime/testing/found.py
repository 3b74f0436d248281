"""A violation that was found and shrunk: what is kept of it, and what is said."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from runtime.simulator import Simulator
from runtime.spacetime.ascii import text_of
from runtime.spacetime.collector import Collector
from runtime.spacetime.model import Caption, Mark, SpaceTime
from runtime.spacetime.page import page
from runtime.spacetime.svg import svg_of
from runtime.testing.cases import Case
from runtime.testing.decisions import as_test, as_text
from runtime.testing.running import Shown, Violation, noted, run_case

MOST_DRAWN = 200
"""Events in a picture that is read at a glance; larger ones are for the page."""


@dataclass(frozen=True)
class Found:
    """The small case, the one that it came from, and the files that tell of it."""

    small: Shown
    large: Shown
    tries: int
    files: tuple[Path, ...]

    @property
    def violation(self) -> Violation:
        assert self.small.violation is not None
        return self.small.violation

    def sizes(self) -> dict[str, tuple[int, int]]:
        """Before and after."""
        faults = [len(shown.scenario.data.get("faults", ())) for shown in (self.large, self.small)]
        return {
            "nodes": (self.large.nodes, self.small.nodes),
            "messages": (self.large.messages, self.small.messages),
            "events": (self.large.events, self.small.events),
            "faults": (faults[0], faults[1]),
            "choices": (self.large.choices, self.small.choices),
        }

    def told(self) -> str:
        sizes = ", ".join(f"{name} {before:,} to {after:,}" for name, (before, after) in self.sizes().items())
        lines = [f"violated: {self.violation.name}: {self.violation.problem}"]
        lines += [f"shrunk in {self.tries:,} tries: {sizes}"]
        lines += [f"  {file}" for file in self.files]
        return "".join(f"{line}\n" for line in [*lines, f"to see it: brokerlab replay {self.files[0]}"])

    def as_data(self) -> dict[str, Any]:
        return {
            "property": self.violation.name,
            "problem": self.violation.problem,
            "before": {name: before for name, (before, _) in self.sizes().items()},
            "after": {name: after for name, (_, after) in self.sizes().items()},
            "tries": self.tries,
            "files": [str(file) for file in self.files],
        }


def keep(folder: Path, case: Case, small: Shown, large: Shown, tries: int) -> Found:
    """Write the decision file, a test and the diagrams of a violation into this folder."""
    assert small.violation is not None
    case = noted(case, small)
    folder.mkdir(parents=True, exist_ok=True)
    decisions = folder / "decisions.toml"
    decisions.write_text(as_text(case, small, folder), "utf-8")
    test = folder / f"test_{small.violation.name.replace('-', '_')}.py"
    test.write_text(as_test(case, small, folder), "utf-8")
    seen = picture(case)
    diagram = folder / "diagram.html"
    diagram.write_text(page(seen), "utf-8")
    files = [decisions, test, diagram]
    if seen.events <= MOST_DRAWN:
        for name, text in (("diagram.svg", svg_of(seen)), ("diagram.txt", text_of(seen))):
            files.append(folder / name)
            files[-1].write_text(text, "utf-8")
    return Found(small, large, tries, tuple(files))


def picture(case: Case) -> SpaceTime:
    """The space-time diagram of a case, with the violation marked."""
    watching: list[Collector] = []

    def watch(sim: Simulator) -> None:
        watching.append(Collector(sim))

    shown = run_case(case, watch)
    facts = {"seed": str(shown.scenario.seed), "links": shown.scenario.links, "schedule": case.schedule.way}
    verdict = "valid" if shown.violation is None else "violated"
    marks = [Mark(f"violated: {v.name}: {v.problem}", v.events) for v in (shown.violation,) if v is not None]
    return watching[0].finish(Caption(shown.scenario.protocol, verdict, tuple(facts.items())), marks)
