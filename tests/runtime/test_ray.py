"""Agents as Ray actors: in lock-step they are the simulator, free-running they can be replayed in it."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
import uuid
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
import ray
from hypothesis import Phase, example, given, settings

from runtime.agent import Above, Agent
from runtime.cluster import cluster
from runtime.errors import AgentError
from runtime.freerun import FreeRun
from runtime.hosts import Host, Kit
from runtime.lockstep import LockStep
from runtime.onray import RayOptions, run_on_ray
from runtime.run import Outcome, simulate
from runtime.scenario import Scenario, check, load
from runtime.simulator import Simulator
from runtime.system import World
from runtime.trace import Trace
from tests.runtime.command import COMMAND, EXAMPLES, TICKS, brokerlab, environment, scenario
from tests.runtime.reported import kept as reported
from tests.runtime.test_shares import EVERYTHING, scenarios, troubled

FREE = RayOptions(clock="free", time_scale=0.001)
NOISY = (
    "links=reliable",
    'faults=[{kind="drop",probability=0.2},{kind="duplicate",probability=0.2},'
    '{kind="crash",nodes=["b5"],at=10,recover_after=20}]',
)


@pytest.fixture(scope="module", autouse=True)
def on_one_ray() -> Iterator[None]:
    with cluster():
        yield


@pytest.fixture(scope="module")
def crew() -> Iterator[list[Any]]:
    """Actors that take on one scenario after another: to start a new one takes a second."""

    class Member(Host):
        def __init__(self) -> None:
            pass

        def take_on(self, kit: Kit, number: int) -> None:
            super().__init__(kit, number)

    actor: Any = ray.remote(Member)
    members: list[Any] = []

    def hire(kit: Kit, count: int, waiting: Any = None) -> list[Any]:
        members.extend(actor.options(num_cpus=0).remote() for _ in range(count - len(members)))
        ray.get([member.take_on.remote(kit, number) for number, member in enumerate(members[:count])])
        return members[:count]

    with pytest.MonkeyPatch.context() as patch:
        for module, hosts in (("runtime.lockstep", LockStep), ("runtime.freerun", FreeRun)):
            patch.setattr(f"{module}.start_hosts", hire)
            patch.setattr(hosts, "close", lambda self: None)
        yield members


def seen(outcome: Outcome) -> dict[str, Any]:
    tables = {event: table.to_pylist() for event, table in outcome.tally.events.tables().items()}
    return outcome.summary() | {"tables": tables}


def assert_same(data: dict[str, Any], actors: int) -> None:
    per_actor = -(-len(check(data).network.neighbours) // actors)
    on_ray = run_on_ray(check(data), RayOptions(agents_per_actor=per_actor))
    assert seen(on_ray) == seen(simulate(check(data)))


# Lock-step


@settings(max_examples=32, phases=[Phase.explicit, Phase.generate])
@given(data=scenarios(most_brokers=8))
@example(data=EVERYTHING)
def test_lock_step_shows_what_the_simulator_shows(crew: list[Any], data: dict[str, Any]) -> None:
    assert_same(data, 2)


@pytest.mark.parametrize("actors", [1, 3, 7, 100])
@pytest.mark.parametrize("data", [EVERYTHING, troubled(21, 12), troubled(32, 12)], ids=["large", "middling", "small"])
def test_however_the_agents_are_packed(crew: list[Any], actors: int, data: dict[str, Any]) -> None:
    assert_same(data, actors)


@pytest.mark.parametrize("until", [3.3, 25.0])
def test_a_time_limit_ends_lock_step_where_it_ends_the_simulator(crew: list[Any], until: float) -> None:
    assert_same(EVERYTHING | {"limits": {"time": until}}, 3)


def test_real_actors_one_for_each_agent() -> None:
    """Without a crew that is reused: as users run it."""
    stores, requests = {"s1": {"broker": "n3", "topics": ["a"]}}, [{"at": 20.0, "client": "c1", "topic": "a"}]
    data = {
        "protocol": "coverage",
        "network": {"kind": "line", "nodes": 3, "delay": "uniform(0.5, 1.5)"},
        "storage": {"stores": stores, "clients": {"c1": "n1"}, "requests": requests},
    }
    lines: list[str] = []
    outcome = run_on_ray(check(data), RayOptions(agents_per_actor=1), report=lines.append)
    assert seen(outcome) == seen(simulate(check(data)))
    assert lines == ["5 agents in 5 actors, at most 1 each; 100% of the links cross"]


def test_a_protocol_of_ones_own(crew: list[Any]) -> None:
    mine = str(EXAMPLES / "my_flood.toml")
    expected = simulate(load(mine)).summary()
    assert run_on_ray(load(mine)).summary() == expected
    free = run_on_ray(load(mine), FREE).summary()
    assert (free["verdict"], free["by_node"]) == ("valid", expected["by_node"])


# Free-running


def state(thing: Any) -> Any:
    """What an agent knows, as plain values that can be compared."""
    if isinstance(thing, Mapping):
        return {key: state(value) for key, value in thing.items()}
    if isinstance(thing, list | tuple | set | frozenset):
        items = [state(item) for item in thing]
        return sorted(items, key=repr) if isinstance(thing, set | frozenset) else items
    if callable(thing) or isinstance(thing, Above):  # wiring, not knowledge
        return None
    known = getattr(thing, "__dict__", None)
    return thing if known is None else (type(thing).__name__, state(known))


def tables(agents: Mapping[str, Agent]) -> dict[str, Any]:
    return {name: state([*agent.protocols, agent.layer]) for name, agent in agents.items()}


def replayed(again: Scenario, trace: Trace) -> Simulator:
    sim = Simulator(again.network, again.system.agent, again.seed, again.plan, recording=trace.recording())
    sim.run()
    return sim


@pytest.mark.parametrize("scale", [0.0, 0.0001, 0.003])
@pytest.mark.parametrize("overrides", [(), NOISY, ("network.service=0.05", "network.bandwidth=500")])
def test_a_free_run_becomes_quiet_and_can_be_replayed(crew: list[Any], scale: float, overrides: tuple[str]) -> None:
    outcome = run_on_ray(load("coverage", overrides), RayOptions("free", None, None, scale))
    assert outcome.trace is not None and outcome.verdict == "valid"
    again = load("coverage", overrides)
    sim = replayed(again, outcome.trace)
    assert sim.fingerprint() == outcome.tally.fingerprint()
    assert tables(sim.alive()) == tables(outcome.agents)
    assert again.system.results(World(sim.alive(), again.network)) == outcome.results


@settings(max_examples=12, phases=[Phase.explicit, Phase.generate])
@given(data=scenarios(most_brokers=8))
def test_whatever_happens_in_a_free_run_the_replay_is_the_same(crew: list[Any], data: dict[str, Any]) -> None:
    data = data | {"limits": {"events": 20_000}}
    outcome = run_on_ray(check(data), RayOptions("free", 3, None, 0.0))
    assert outcome.trace is not None
    if outcome.quiescent:
        sim = replayed(check(data), outcome.trace)
        assert (sim.fingerprint(), tables(sim.alive())) == (outcome.tally.fingerprint(), tables(outcome.agents))


def test_the_final_state_of_a_free_run_is_that_of_the_oracle(crew: list[Any]) -> None:
    """The verdict compares every routing table with breadth-first search: spoil one, and it is violated."""
    data = load("coverage")
    outcome = run_on_ray(data, FREE)
    assert outcome.quiescent and outcome.violations == []
    world = World({name: agent for name, agent in outcome.agents.items() if name != "str2"}, data.network)
    assert data.system.violations(world)


@pytest.mark.parametrize("limit", ["limits.events=400", "limits.time=50"])
@pytest.mark.parametrize("clock", ["lockstep", "free"])
def test_a_run_that_cannot_become_quiet_is_undecided(crew: list[Any], tmp_path: Path, limit: str, clock: str) -> None:
    ran = brokerlab("run", scenario(tmp_path, "ticks.py:Ticks", TICKS), "--set", limit, "--on", "ray", "--clock", clock)
    assert ran.exit_code == 3 and "undecided" in ran.stderr and limit.partition("=")[0] in ran.stderr


# Errors and the command line


BROKEN = TICKS.replace('node.log("tick", sender=sender)', 'raise ValueError("no more ticks")')


@pytest.mark.parametrize("clock", ["lockstep", "free"])
def test_an_error_in_a_handler_comes_back(crew: list[Any], tmp_path: Path, clock: str) -> None:
    path = scenario(tmp_path, "broken.py:Ticks", BROKEN.replace("Tick", "Tock").replace("Tocks", "Ticks"))
    with pytest.raises(AgentError, match=r"n1 at 1, handling Tock.*ValueError: no more ticks"):
        run_on_ray(load(str(path)), RayOptions(clock, 3))
    ran = brokerlab("run", path, "--on", "ray", "--clock", clock, "--agents-per-actor", 3)
    assert ran.exit_code == 1 and "no more ticks" in ran.stderr and "to repeat it: brokerlab run" in ran.stderr
    assert "ray::" not in ran.stderr and ran.stdout == ""


def test_a_free_run_is_kept_with_its_trace(crew: list[Any], tmp_path: Path) -> None:
    out = tmp_path / "out"
    ran = brokerlab("run", "coverage", "--on", "ray", "--clock", "free", "--time-scale", 0.0005, "--out", out)
    assert ran.exit_code == 0, ran.output
    kept = json.loads((out / "summary.json").read_text())
    assert (
        replayed(load(str(out / "scenario.toml")), Trace.load(out / "trace.msgpack")).fingerprint()
        == kept["fingerprint"]
    )


def run_apart(mark: str, *words: object) -> subprocess.Popen[str]:
    """The command line in a session of its own; all that it starts carries the mark."""
    return subprocess.Popen(
        [*COMMAND, *map(str, words)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        env=environment({"BROKERLAB_MARK": mark}),
    )


def left_running(mark: str) -> list[str]:
    """The processes that carry this mark, after a moment to end."""
    if not sys.platform.startswith("linux"):
        return []
    ends = time.monotonic() + 10
    while (found := _marked(mark)) and time.monotonic() < ends:
        time.sleep(0.1)
    return found


def _marked(mark: str) -> list[str]:
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            if f"BROKERLAB_MARK={mark}".encode() in (process / "environ").read_bytes():
                found.append((process / "cmdline").read_bytes().replace(b"\0", b" ").decode()[:100])
        except OSError:
            continue
    return found


def test_the_command_line_says_how_it_packed_and_nothing_of_ray() -> None:
    mark = uuid.uuid4().hex
    process = run_apart(mark, "run", "coverage", "--on", "ray", "--json")
    out, err = process.communicate(timeout=90)
    assert process.returncode == 0, err
    assert json.loads(out) == json.loads(brokerlab("run", "coverage", "--json").stdout)
    packed, *rest = err.splitlines()
    assert packed.startswith("15 agents in ") and "of the links cross" in packed
    assert all(line.startswith("virtual time") for line in rest)
    assert left_running(mark) == []


def test_ctrl_c_ends_the_run_and_all_that_it_started(tmp_path: Path) -> None:
    mark = uuid.uuid4().hex
    path = scenario(tmp_path, "ticks.py:Ticks", TICKS)
    process = run_apart(mark, "run", path, "--on", "ray", "--json", "--clock", "free", "--time-scale", 0)
    assert process.stderr is not None
    # While its actors start there is nothing to show yet: wait until something has happened.
    while re.search(r"[1-9][\d,]* events", line := process.stderr.readline()) is None:
        assert line, "it ended before it was interrupted"
    os.killpg(process.pid, signal.SIGINT)  # as a terminal does: to all of them
    out, err = process.communicate(timeout=90)
    assert process.returncode == 130, err
    assert json.loads(out)["interrupted"] is True
    assert "interrupted" in err and "Traceback" not in err
    assert left_running(mark) == []


def test_a_report_is_that_of_the_simulator(tmp_path: Path) -> None:
    brokerlab("run", "holistic", "--out", tmp_path / "sim")
    brokerlab("run", "holistic", "--out", tmp_path / "ray", "--on", "ray")
    sim, ray = (reported(tmp_path / name / "report.html").data for name in ("sim", "ray"))
    for data in (sim, ray):
        data["curves"] = [curve for curve in data["curves"] if curve["title"] != "messages sent"]  # by windows
    assert sim == ray


def test_a_free_run_has_a_report(tmp_path: Path) -> None:
    brokerlab("run", "holistic", "--out", tmp_path, "--on", "ray", "--clock", "free")
    page = reported(tmp_path / "report.html")
    assert page.held(page.data["end"]) == json.loads((tmp_path / "summary.json").read_text())["placement"]
