"""A violation is made small by the same steps everywhere, stays the same one, and needs no dice to be seen again."""

from __future__ import annotations

import random
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from runtime import check_command
from runtime.testing import effort
from runtime.testing.anew import fault_kinds, small_cases
from runtime.testing.cases import Case, Draw, Schedule
from runtime.testing.checking import Report, cases, check, subject
from runtime.testing.decisions import as_text, from_text
from runtime.testing.explicit import with_tables_written_out
from runtime.testing.running import Shown, Violation, noted, run_case
from runtime.testing.shrinking import shrink
from runtime.testing.sizes import bulk, size_of, weight
from runtime.testing.smaller import sooner, with_less, without_a_broker, without_faults
from tests.checking.planted import Planted, hunt
from tests.checking.test_checking import COUNTING, buggy
from tests.checking.test_planted import PLANTED
from tests.runtime.command import ROOT, brokerlab

SOON_SMALL = ["coverage does not keep its word", "relocation withdraws nothing", "overlay keeps who has left"]
FLOOD = str(ROOT / "docs" / "examples" / "my_flood.toml")


def found(bug: str = "first only") -> tuple[Case, Shown]:
    return buggy(bug).violated or pytest.fail("not found")


def flooded() -> Report:
    return check(subject(FLOOD), 200, 3, ["crash"])


# What comes out


@pytest.mark.parametrize("planted", [p for p in PLANTED if str(p) in SOON_SMALL], ids=str)
def test_what_is_small_shows_the_bug_and_nothing_else(planted: Planted) -> None:
    report = hunt(planted)
    case, shown = report.violated or pytest.fail("not found")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(planted.target, planted.attribute, planted.bug)
        small, seen, _ = shrink(case, shown, 5, what=report.subject)
        assert run_case(small).violation == seen.violation
    assert seen.violation is not None and seen.violation.name == planted.caught_by
    assert bulk(small, seen) < 100 < bulk(case, shown)
    assert run_case(small).violation is None, "without the bug nothing is wrong in this case"


@pytest.mark.parametrize("seconds", [0.03, 0.3, 1.5])
def test_as_much_effort_gives_the_same_case_and_never_a_larger_one(seconds: float) -> None:
    report = flooded()
    case, shown = report.violated or pytest.fail("not found")
    small, seen, tries = shrink(case, shown, seconds, what=report.subject)
    again, seen_again, tries_again = shrink(case, shown, seconds, what=report.subject)
    assert as_text(small, seen) == as_text(again, seen_again) and tries == tries_again
    assert size_of(small, seen) <= size_of(case, shown)


def test_the_clock_decides_only_when_handlers_are_very_slow(monkeypatch: pytest.MonkeyPatch) -> None:
    case, shown = found()
    monkeypatch.setattr(effort, "process_time", lambda: 0.0)
    usual = shrink(case, shown, 2)[2]
    clock = iter(range(10_000))
    monkeypatch.setattr(effort, "process_time", lambda: next(clock))
    assert 0 < shrink(case, shown, 2)[2] < usual


def test_a_case_that_was_found_by_dice_needs_none_to_be_seen_again(tmp_path: Path) -> None:
    for case in cases(subject(FLOOD), 200, 3, frozenset({"crash"}), ("random", "priority"), None):
        if (shown := run_case(case)).violation is not None:
            break
    again, name = from_text(as_text(case, shown, tmp_path), tmp_path)
    seen = run_case(again)
    assert shown.violation is not None and name == shown.violation.name
    assert (seen.violation, seen.events, seen.messages) == (shown.violation, shown.events, shown.messages)


def test_what_was_left_out_until_it_was_interrupted_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(case: Case, shown: Shown, seconds: float, tell: Any, what: Any) -> None:
        small, seen, tries = shrink(case, shown, 2.0)
        tell(small, seen, tries)
        raise KeyboardInterrupt

    monkeypatch.setattr(check_command, "shrink", interrupted)
    done = brokerlab("check", FLOOD, "--faults", "crash", "--seed", 3, "--out", tmp_path)
    assert done.exit_code == 130
    assert len(from_text((tmp_path / "decisions.toml").read_text(), tmp_path)[0].data["network"]["edges"]) == 1


def test_brokers_that_are_left_are_counted_from_one() -> None:
    case, shown = flooded().violated or pytest.fail("not found")
    small, seen, _ = shrink(case, shown, 5)
    assert list(seen.scenario.network.brokers) == ["n1", "n2"] and small.data["seed"] == 0


def test_many_choices_do_not_take_many_lines() -> None:
    drawn = [(case, run_case(case)) for case in cases(subject("coverage"), 20, 5, frozenset(), ("random",), 8)]
    case, shown = max(drawn, key=lambda pair: pair[1].choices)
    shown.violation = Violation("some", "thing", 1)
    text = as_text(case, shown)
    assert from_text(text)[0].schedule == noted(case, shown).schedule
    order = text.partition("since_s")[0].splitlines()
    assert shown.choices > 200 and len(order) < 100 and max(map(len, order)) < 120


# Choices in few words


def test_choices_in_few_words_are_the_same_run_and_never_more() -> None:
    fewer = 0
    for case in cases(subject("coverage"), 60, 5, frozenset({"drop", "crash"}), ("random", "priority", "delays"), 5):
        shown = run_case(case)
        again = run_case(noted(case, shown))
        assert again.order == shown.order and again.deviations == shown.deviations
        assert shown.choices <= len(shown.deviations)
        fewer += shown.choices < len(shown.deviations)
    assert fewer > 20


def test_who_starves_is_held_back_by_one_choice() -> None:
    edges = [["n1", "n2"], ["n1", "n3"], ["n1", "n4"], ["n3", "n4"]]
    case = Case({"protocol": COUNTING, "network": {"edges": edges}}, Schedule("deviations", held=((0, 0, 9),)))
    shown = run_case(case)
    assert len(shown.deviations) == 9 and shown.in_few == ({}, ((0, 0, 9),))
    everything = run_case(replace(case, schedule=Schedule("deviations", held=tuple((0, n, 99) for n in range(9)))))
    assert everything.quiet, "where all are held back, they do happen"


# Following an order


def test_an_order_that_is_followed_is_the_same_run() -> None:
    for case in cases(subject("coverage"), 60, 5, frozenset({"drop", "crash"}), ("random", "priority"), 5):
        shown = run_case(case)
        order = tuple((called, rank) for rank, called in enumerate(shown.order))
        followed = run_case(replace(case, schedule=replace(case.schedule, way="order", order=order)))
        assert followed.order == shown.order and followed.deviations == shown.deviations


def test_an_order_is_followed_as_far_as_the_same_events_are_there() -> None:
    edges = [["n1", "n2"], ["n1", "n3"], ["n1", "n4"]]
    case = Case({"protocol": COUNTING, "network": {"edges": edges}}, Schedule("random", 3))
    kept = [called for called in run_case(case).order if "n4" not in called]
    order = tuple((called, rank) for rank, called in enumerate(run_case(case).order))
    less = Case({"protocol": COUNTING, "network": {"edges": edges[:2]}}, Schedule("order", order=order))
    followed = run_case(less).order
    assert followed != run_case(replace(less, schedule=Schedule("deviations"))).order
    assert followed[:4] == kept[:4]


# Small from the beginning


def test_small_cases_have_few_brokers_and_none_but_the_faults_that_were_found() -> None:
    large = Case({"faults": [{"kind": "drop", "probability": 0.1}, {"kind": "crash", "nodes": ["n1"], "at": 1.0}]})
    assert fault_kinds(large) == {"drop", "death"}
    drawn = [case for _, case in zip(range(200), small_cases(subject("coverage"), large), strict=False)]
    assert max(case.data["network"]["nodes"] for case in drawn) <= 6
    assert {kind for case in drawn for kind in fault_kinds(case)} == {"drop", "death"}
    assert sum(not case.data["faults"] for case in drawn) > 80


def test_a_scenario_that_somebody_wrote_is_not_drawn_anew() -> None:
    report = flooded()
    assert next(small_cases(report.subject, (report.violated or pytest.fail("not found"))[0]), None) is None


# Steps


def test_without_a_broker_nothing_names_it() -> None:
    data = {
        "network": {"edges": [["n1", "n2"], ["n2", "n3"], ["n1", "n3"]]},
        "storage": {"stores": {"s1": {"broker": "n3"}, "s2": {"broker": "n1"}}, "rates": {"n3": {"a": 1}, "n2": {}}},
        "faults": [{"kind": "crash", "nodes": ["n3"], "at": 1.0}, {"kind": "drop", "links": [["n1", "n3"]]}],
    }
    first = next(without_a_broker(data))
    assert "n3" not in repr(first)
    assert first["network"] == {"edges": [["n1", "n2"]]}
    assert first["storage"] == {"stores": {"s2": {"broker": "n1"}}, "rates": {"n2": {}}}


def test_a_crash_does_not_become_a_death() -> None:
    crash = {"kind": "crash", "nodes": ["n1"], "at": 1.0, "recover_after": 2.0}
    steps = list(with_less({"network": {}, "faults": [crash], "settings": {"source": "n1"}}))
    assert [] in [step["faults"] for step in steps]
    assert all("recover_after" in fault for step in steps for fault in step["faults"])
    assert {} in [step["settings"] for step in steps]


def test_links_that_lose_messages_stay_repaired() -> None:
    lossy = {"network": {}, "links": "reliable", "faults": [{"kind": "drop", "probability": 0.1}]}
    assert [step["links"] for step in without_faults(lossy) if step["faults"]] == []
    assert [step["links"] for step in without_faults({**lossy, "faults": []})] == ["raw"]


def test_times_move_together_and_come_to_an_end() -> None:
    data: dict[str, Any] = {"network": {}, "a": {"begin": 400.0, "until": 406.0, "every": 1.5, "count": 7}}
    moved = [step for step, _ in sooner(data, (403.0,))]
    assert {"network": {}, "a": {"begin": 2.5, "until": 8.5, "every": 1.5, "count": 7}} in moved
    steps = 0
    while (step := next(sooner(data), None)) is not None:
        data, steps = step[0], steps + 1
    assert steps < 20 and data["a"]["count"] == 7


def test_dice_weigh_more_than_a_strike_and_less_than_many() -> None:
    dice = {"kind": "drop", "probability": 0.1}
    assert weight({"kind": "drop", "nth": [4]}) < weight(dice) < weight({"kind": "drop", "nth": list(range(1, 20))})


# Written out


@pytest.mark.parametrize("protocol", ["planning", "overlay"])
def test_what_is_written_out_runs_the_same(protocol: str) -> None:
    changed = 0
    for case in cases(subject(protocol), 40, 2, frozenset(), ("timed", "delays"), 4):
        written = with_tables_written_out(case)
        changed += written.data != case.data
        before, after = run_case(case), run_case(written)
        assert (before.events, before.messages, before.virtual_s) == (after.events, after.messages, after.virtual_s)
        assert before.nodes == after.nodes
    assert changed > 10


def test_frugal_dice_draw_fewer() -> None:
    def drawn(frugal: bool) -> int:
        draw = Draw(random.Random(1), frugal=frugal)
        return sum(draw.count(10, 2) for _ in range(1000))

    assert 2000 < drawn(frugal=True) < drawn(frugal=False) - 1000
