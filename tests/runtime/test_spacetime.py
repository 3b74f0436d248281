"""What a space-time diagram says about a run is true."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from runtime.scenario import load
from runtime.schedule import at_random, steer
from runtime.simnode import SimNode
from runtime.simulator import Simulator
from runtime.spacetime import Collector, SpaceTime
from runtime.spacetime.rerun import draw
from runtime.trace import Recorder
from tests.runtime.command import EXAMPLES, ROOT, brokerlab
from tests.runtime.spacetime_cases import before, clocked, clocks, faulty

GOLDEN = ROOT / "tests" / "golden"
LOSSY = 'faults=[{kind="drop", probability=0.3}, {kind="crash", nodes=["n3"], at=1.2, recover_after=0.9}]'


def collected(seed: int, faults: bool = True, steered: bool = False) -> tuple[Simulator, SpaceTime]:
    sim = clocked(seed, faulty(seed) if faults else None)
    collector = Collector(sim)
    if steered:
        steer(sim, at_random(random.Random(seed)), fifo=False)
    else:
        sim.run()
    return sim, collector.finish()


@settings(max_examples=25)
@given(seed=st.integers(0, 10_000), steered=st.booleans())
def test_the_causal_past_is_that_of_vector_clocks(seed: int, steered: bool) -> None:
    sim, seen = collected(seed, steered=steered)
    clock_of: dict[int, tuple[int, ...]] = {}
    told = {name: iter(every) for name, every in clocks(sim).items()}
    for place, found in enumerate(seen.happenings):
        if found.noticed and found.kind != "crash":
            clock_of[place] = next(told[seen.nodes[found.node]])
    assert all(next(rest, None) is None for rest in told.values())
    for place, clock in clock_of.items():
        past = {other for other in seen.past(place) if other in clock_of}
        assert past == {place} | {other for other, theirs in clock_of.items() if before(theirs, clock)}


def test_watching_changes_nothing() -> None:
    for seed in range(5):
        alone = clocked(seed, faulty(seed))
        recorder = Recorder(alone)
        alone.run()
        watched, seen = collected(seed)
        assert watched.fingerprint() == alone.fingerprint()
        assert [(found.number, found.arrival) for found in seen.happenings if found.kind != "start"] == [
            (place, event.arrival) for place, event in enumerate(recorder.trace.events, start=1)
        ]


def test_nothing_of_it_stays_behind() -> None:
    sim, _ = collected(1)
    assert {type(node) for node in sim.nodes.values()} == {SimNode}
    assert sim.observer is None
    assert not {"transmit", "_waits"} & set(vars(sim))


@pytest.mark.parametrize("seed", range(5))
def test_every_loss_has_the_reason_that_the_plan_counted(seed: int) -> None:
    sim, seen = collected(seed)
    fates = [arrow.fate for arrow in seen.arrows]
    assert fates.count("dropped") == sim.plan.fired["drop"] > 0
    assert fates.count("node down") + fates.count("queue lost") == sim.plan.fired["lost"] > 0
    assert fates.count("lost") == fates.count("under way") == 0
    assert sum(arrow.copy for arrow in seen.arrows) == sim.plan.fired["duplicate"] > 0
    held = sum("held back by a fault" in arrow.late for arrow in seen.arrows)
    assert held == sim.plan.fired["reorder"] > 0
    kinds = [found.kind for found in seen.happenings]
    assert (kinds.count("crash"), kinds.count("recover")) == (2, 2)


def test_an_overtaken_message_arrives_after_one_that_was_sent_later() -> None:
    _, seen = collected(3)
    overtaken = 0
    for arrow in seen.arrows:
        if arrow.timer or arrow.copy or arrow.arrival is None:
            continue
        passed = any(
            (other.source, other.target, other.timer) == (arrow.source, arrow.target, False)
            and other.sent > arrow.sent
            and other.arrival is not None
            and other.arrival < arrow.arrival
            for other in seen.arrows
        )
        overtaken += passed
        if passed:
            assert "overtaken by a later message" in arrow.late
    assert overtaken > 0


def test_waiting_in_a_queue_is_seen() -> None:
    sim, seen = collected(2, faults=False)
    waits = [found for found in seen.happenings if found.begun > found.arrival]
    assert waits
    assert sum(found.begun - found.arrival for found in waits) == pytest.approx(
        sum(node.waited_s for node in sim.nodes.values())
    )
    assert all("queue" in seen.arrows[found.arrow].late[-1] for found in waits if found.arrow is not None)


def test_what_an_event_changed_and_logged_is_told() -> None:
    sim, seen = collected(1, faults=False)
    for found in seen.happenings:
        # The clock of the event is the one thing that each event adds.
        assert [change.path.partition("[")[0] for change in found.changes] == ["Clocked.durable"]
        assert found.changes[0].before is None
    logged = [text for found in seen.happenings for text in found.logged]
    assert len(logged) == sim.events.counts()["passed_on"]
    assert set(logged) <= {"passed_on(hops=1)", "passed_on(hops=2)"}


def test_a_run_that_was_stopped_has_messages_under_way(tmp_path: Path) -> None:
    brokerlab("run", "coverage", "--set", "limits.time=2.5", "--out", tmp_path / "run", "--trace")
    seen = draw(tmp_path / "run")
    fates = {arrow.fate for arrow in seen.arrows if not arrow.timer}
    assert fates == {"arrived", "under way"}
    assert seen.caption.verdict == "undecided"


def test_a_recording_that_the_seed_does_not_lead_to_is_followed(tmp_path: Path) -> None:
    """As after a free run: here the seed was changed afterwards, and the recording says what happened."""
    folder = tmp_path / "run"
    brokerlab("run", "coverage", "--out", folder, "--trace")
    first = draw(folder)
    scenario = folder / "scenario.toml"
    scenario.write_text(scenario.read_text("utf-8").replace("seed = 7", "seed = 8"), "utf-8")
    again = draw(folder)
    assert [(f.number, f.node, f.arrival, f.changes) for f in again.happenings] == [
        (f.number, f.node, f.arrival, f.changes) for f in first.happenings
    ]
    assert [(a.cause, a.effect, a.type) for a in again.arrows] == [(a.cause, a.effect, a.type) for a in first.arrows]


def test_cutting_keeps_causes_that_are_left() -> None:
    _, seen = collected(4)
    cut = seen.between(1.0, 3.0)
    numbers = {found.number for found in cut.happenings if found.kind != "start"}
    assert numbers == {f.number for f in seen.happenings if 1.0 <= f.arrival <= 3.0 and f.kind != "start"}
    for arrow in cut.arrows:
        mine = (arrow.sent, arrow.target, arrow.fields, arrow.copy)
        whole = next(a for a in seen.arrows if (a.sent, a.target, a.fields, a.copy) == mine)
        if arrow.effect is not None:
            assert whole.effect is not None
            assert cut.happenings[arrow.effect].number == seen.happenings[whole.effect].number
    some = seen.of(["n0", "n1"], ["spacetime.Gossip"])
    assert some.nodes == ["n0", "n1"]
    assert {arrow.type for arrow in some.arrows} == {"spacetime.Gossip"}
    assert len(some.arrows) == sum(
        {seen.nodes[a.source], seen.nodes[a.target]} <= {"n0", "n1"} and not a.timer for a in seen.arrows
    )


def flood(folder: Path) -> Path:
    brokerlab("run", EXAMPLES / "my_flood.toml", "--set", LOSSY, "--out", folder, "--trace")
    return folder


@pytest.mark.parametrize(("option", "golden"), [("--ascii", "trace.txt"), ("--svg", "trace.svg")])
def test_small_runs_look_as_they_always_did(option: str, golden: str, tmp_path: Path) -> None:
    folder = flood(tmp_path / "flood")
    result = brokerlab("trace", folder, option)
    assert result.exit_code == 0, result.output
    drawn = result.stdout if option == "--ascii" else (folder / "trace.svg").read_text("utf-8")
    assert drawn == (GOLDEN / golden).read_text("utf-8")


def test_a_new_run_takes_away_the_old_picture(tmp_path: Path) -> None:
    folder = flood(tmp_path / "flood")
    assert brokerlab("trace", folder).exit_code == 0
    assert (folder / "trace.html").exists()
    flood(folder)
    assert not (folder / "trace.html").exists()


WRONG: list[tuple[tuple[str, ...], str]] = [
    (("--node", "n33"), "did you mean 'n3'?"),
    (("--type", "Flod"), "did you mean 'Flood'?"),
    (("--since", "3", "--until", "1"), "--since 3 is after --until 1"),
    (("--out", "nowhere/x.html"), "there is no folder nowhere"),
    (("--out", "."), "a folder"),
    (("--ascii", "--json"), "--ascii prints"),
    (("--svg", "a.svg", "--out", "b.html"), "--svg FILE"),
]


@pytest.mark.parametrize(("words", "told"), WRONG)
def test_wrong_words_are_named(words: tuple[str, ...], told: str, tmp_path: Path) -> None:
    result = brokerlab("trace", flood(tmp_path / "flood"), *words)
    assert result.exit_code == 2
    assert told in result.stderr
    assert len(result.stderr.splitlines()) == 1


def test_what_cannot_be_drawn_is_bad_input(tmp_path: Path) -> None:
    def refused(told: str, *words: str) -> None:
        result = brokerlab("trace", folder, *words)
        assert (result.exit_code, len(result.stderr.splitlines())) == (2, 1), result.output
        assert told in result.stderr

    folder = tmp_path / "nothing"
    refused("not a run that was kept with --out")
    folder = tmp_path / "run"
    brokerlab("run", "coverage", "--out", folder)
    refused("--out DIR --trace")
    brokerlab("run", "coverage", "--out", folder, "--trace")
    trace = (folder / "trace.msgpack").read_bytes()
    (folder / "trace.msgpack").write_bytes(trace[: len(trace) // 2])
    refused("trace")
    (folder / "trace.msgpack").write_bytes(b"no trace")
    refused("not a trace")
    (folder / "trace.msgpack").write_bytes(trace)
    scenario = (folder / "scenario.toml").read_text("utf-8")
    (folder / "scenario.toml").write_text(scenario.replace("price = 12", "price = 13"), "utf-8")
    refused("are not of one run")
    (folder / "scenario.toml").write_text(scenario, "utf-8")
    brokerlab("run", "relocation", "--out", folder, "--trace", "--force", "--set", "relocation.publishers.P.count=40")
    refused("narrow it with --node NAME", "--ascii")
    (folder / "summary.json").write_text("{}", "utf-8")
    refused("is missing")


def test_shipped_scenarios_can_be_drawn() -> None:
    for name in ("coverage", "dissemination", "overlay", "planning"):
        scenario = load(name)
        sim = Simulator(scenario.network, scenario.system.agent, scenario.seed, scenario.plan)
        collector = Collector(sim)
        sim.run(max_events=400)
        seen = collector.finish()
        assert any(found.changes for found in seen.happenings)
        assert all(arrow.fate in ("arrived", "under way", "cancelled") for arrow in seen.arrows)
