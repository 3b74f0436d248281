"""What the report of every run shows, without a line in its protocol."""

from __future__ import annotations

import math
from itertools import pairwise

from runtime.report.model import Report
from runtime.run import Outcome

PARTS = 150
KINDS = 8


def add_what_every_run_shows(outcome: Outcome, report: Report) -> None:
    _faults(outcome, report)
    _messages(outcome, report)
    _logged(outcome, report)


def _faults(outcome: Outcome, report: Report) -> None:
    """Crashes and partitions are known from the plan."""
    now, plan = outcome.tally.now, outcome.scenario.plan
    for name, spans in plan.crashes.items():
        for since, until in spans:
            if since <= now:
                report.moment(since, f"{name} crashes")
            if until <= now:
                report.moment(until, f"{name} is back")
    spans = sorted({span for cuts in plan.cuts.values() for span in cuts if span[0] <= now})
    for since, until in spans:
        report.span(since, until if until < math.inf else None, "partition")


def _messages(outcome: Outcome, report: Report) -> None:
    """How many messages were sent in each part of the time."""
    now, points = outcome.tally.now, ((0.0, 0), *outcome.pulse)
    if len(points) < 2 or now <= 0:
        return
    sent = [0.0] * PARTS
    width = now / PARTS
    for (before, had), (after, has) in pairwise(points):
        first, last = (min(PARTS - 1, int(time / width)) for time in (before, after))
        for part in range(first, last + 1):
            overlap = min(after, (part + 1) * width) - max(before, part * width)
            whole = after - before
            sent[part] += (has - had) * (max(overlap, 0.0) / whole if whole > 0 else 1.0 / (last - first + 1))
    rates = [(part * width, count / width) for part, count in enumerate(sent)]
    report.curve("messages sent", {"all types": [*rates, (now, rates[-1][1])]}, unit="per second")


def _logged(outcome: Outcome, report: Report) -> None:
    """How many events of each kind had been logged by when; of the commonest kinds."""
    events = outcome.tally.events
    common = sorted(events.counts().items(), key=lambda pair: (-pair[1], pair[0]))[:KINDS]
    if not common:
        return
    lines = {}
    for event, count in sorted(common):
        times = sorted(events.times(event))
        every = max(1, count // 2_000)
        marks = [(times[place], place + 1.0) for place in [*range(0, count, every), count - 1]]
        lines[event] = [(0.0, 0.0), *marks, (outcome.tally.now, float(count))]
    report.curve("events logged", lines, unit="so far")
