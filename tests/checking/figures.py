"""Prints what hunting and shrinking the planted bugs gives, as the table in docs/checking.md.

python -m tests.checking.figures [PROTOCOL ...]
"""

from __future__ import annotations

import sys
from time import process_time

import pytest

from runtime.testing.shrinking import shrink
from tests.checking.planted import Planted, hunt
from tests.checking.test_planted import PLANTED

SHRINK_S = 30.0
HEAD = "| protocol | planted bug | caught by | case | nodes | messages | faults | choices | found, s | shrunk, s |"


def row(planted: Planted) -> str:
    started = process_time()
    report = hunt(planted)
    found = process_time()
    assert report.violated is not None
    case, large = report.violated
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(planted.target, planted.attribute, planted.bug)
        small, seen, _ = shrink(case, large, SHRINK_S, what=report.subject)
    faults = [len(one.data.get("faults", ())) for one in (case, small)]
    cells = [
        planted.protocol,
        planted.name,
        f"`{planted.caught_by}`",
        f"{report.cases}",
        f"{large.nodes} → {seen.nodes}",
        f"{large.messages:,} → {seen.messages:,}",
        f"{faults[0]} → {faults[1]}",
        f"{large.choices} → {seen.choices}",
        f"{found - started:.1f}",
        f"{process_time() - found:.1f}",
    ]
    return f"| {' | '.join(cells)} |"


def main(protocols: list[str]) -> None:
    print(HEAD)
    print("| --- " * 3 + "| ---: " * 7 + "|")
    for planted in PLANTED:
        if not protocols or planted.protocol in protocols:
            print(row(planted), flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
