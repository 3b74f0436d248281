"""Small cases drawn anew: what was found in a large network can mostly be seen in a small one, too.

A protocol draws its own cases. So before a violation is made smaller step by step, some that are small from the
beginning are tried: few brokers, few of everything else, and none or few of the faults.
"""

from __future__ import annotations

from collections.abc import Iterator

from runtime.streams import stream
from runtime.testing.cases import Case, Draw
from runtime.testing.checking import WAYS, Subject

SIZES = (2, 3, 4, 6)


def small_cases(what: Subject, found: Case) -> Iterator[Case]:
    """Without end: none of the faults, one of those in the case that was found, none, all of them, and so on."""
    kinds = fault_kinds(found)
    if what.base is not None:
        return  # a scenario that somebody wrote is as large as it is
    number = 0
    while True:
        rng = stream(0, "small", str(number))
        one = frozenset(rng.sample(sorted(kinds), 1)) if kinds else kinds
        some = (frozenset[str](), one, frozenset[str](), kinds)
        # Each size meets each way and each choice of faults.
        way = WAYS[number // len(SIZES) % len(WAYS)]
        faults = some[number // (len(SIZES) * len(WAYS)) % len(some)]
        yield what.draw(Draw(rng, SIZES[number % len(SIZES)], faults, way, frugal=True))
        number += 1


def fault_kinds(case: Case) -> frozenset[str]:
    """The kinds of faults in a case, in the words of a check."""
    return frozenset(
        "death" if fault["kind"] == "crash" and "recover_after" not in fault else fault["kind"]
        for fault in case.data.get("faults", ())
    )
