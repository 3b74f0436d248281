"""For whoever tests a protocol: properties, cases, schedules, faults, and what to do with a violation."""

from runtime.properties import always, eventually, sometimes
from runtime.testing.asserting import assert_holds
from runtime.testing.cases import Case, Draw, Schedule
from runtime.testing.decisions import still_violated
from runtime.testing.running import Shown, Violation, run_case

__all__ = [
    "Case",
    "Draw",
    "Schedule",
    "Shown",
    "Violation",
    "always",
    "assert_holds",
    "eventually",
    "run_case",
    "sometimes",
    "still_violated",
]
