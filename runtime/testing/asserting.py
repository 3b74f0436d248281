"""For pytest: one line that checks a protocol, and fails with the smallest case that violates a property."""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from pathlib import Path

from runtime.testing.cases import Way
from runtime.testing.checking import WAYS, check, subject
from runtime.testing.found import keep
from runtime.testing.shrinking import shrink


def assert_holds(
    protocol: str,
    examples: int = 200,
    faults: Sequence[str] | None = None,
    schedules: Sequence[Way] = WAYS,
    size: int | None = None,
    seed: int | None = None,
    shrink_s: float = 20.0,
    out: Path | None = None,
) -> None:
    """Check a protocol, "my_file.py:MyProtocol" or a scenario file; an AssertionError tells what does not hold.

    As with `brokerlab check`, something that was never exercised is a failure, too: nothing was shown then.
    """
    chosen = secrets.randbelow(1 << 32) if seed is None else seed
    report = check(subject(protocol), examples, chosen, faults, schedules, size)
    if report.violated is not None:
        case, shown = report.violated
        small, seen, tries = shrink(case, shown, shrink_s, what=report.subject)
        folder = out or Path("runs") / f"check-{Path(report.subject.name.partition(':')[0]).stem}"
        raise AssertionError(f"seed {chosen}\n{keep(folder, small, seen, shown, tries).told()}")
    if doubts := report.doubts():
        raise AssertionError(f"undecided, with seed {chosen}: {'; '.join(doubts)}")
