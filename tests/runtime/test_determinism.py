"""Determinism: a seed decides a run, whatever order Python's sets have and however often it is run.

`python tests/runtime/test_determinism.py renew` writes the fingerprints of the shipped scenarios anew.
"""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from math import nextafter
from pathlib import Path
from typing import Any

import networkx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from runtime.agent import Agent, Node, Protocol, on
from runtime.message import message
from runtime.network import Network, from_networkx
from runtime.run import simulate
from runtime.scenario import Scenario, check, load, shipped_scenarios
from runtime.simulator import Recording, Simulator
from runtime.trace import Recorder, Trace

SCENARIOS = 200
GOLDEN = Path(__file__).parents[1] / "golden" / "fingerprints.json"
RENEW = "python tests/runtime/test_determinism.py renew"


# Random scenarios


def scenario(number: int) -> dict[str, Any]:
    """One of endlessly many scenarios: any graph, stores, clients, links and faults."""
    dice = random.Random(number)
    nodes = dice.randint(3, 10)
    brokers = [f"n{place}" for place in range(1, nodes + 1)]
    topics = ["a", "b", "c"][: dice.randint(1, 3)]
    clients = {f"client{place}": dice.choice(brokers) for place in range(dice.randint(1, 3))}
    stores = {
        f"store{place}": {"broker": dice.choice(brokers), "topics": dice.sample(topics, dice.randint(1, len(topics)))}
        for place in range(dice.randint(1, 3))
    }

    def some(most: int, make: Callable[[], dict[str, Any]]) -> list[dict[str, Any]]:
        return [make() for _ in range(dice.randint(0, most))]

    return {
        "protocol": "coverage",
        "seed": number,
        "links": dice.choice(["raw", "reliable"]),
        "network": {
            "edges": edges(dice, brokers),
            "delay": dice.choice([1.0, "uniform(0.5, 1.5)", "uniform(0.1, 4)", "exponential(0.2, 1.5)"]),
            **({"bandwidth": 200.0} if dice.random() < 0.3 else {}),
            **({"service": dice.choice([0.05, "uniform(0, 0.2)"])} if dice.random() < 0.3 else {}),
        },
        "storage": {
            "stores": stores,
            "clients": clients,
            "publications": some(
                4,
                lambda: {
                    "at": dice.uniform(0, 40),
                    "client": dice.choice(list(clients)),
                    "topic": dice.choice(topics),
                    "content": {"price": dice.randint(1, 9)},
                },
            ),
            "requests": some(
                4,
                lambda: {"at": dice.uniform(0, 60), "client": dice.choice(list(clients)), "topic": dice.choice(topics)},
            ),
            "events": some(
                3,
                lambda: {
                    "at": dice.uniform(5, 50),
                    "store": dice.choice(list(stores)),
                    "do": dice.choice(["withdraw", "advertise", "fail", "recover"]),
                },
            ),
        },
        "faults": some(4, lambda: fault(dice, brokers)),
        "limits": {"events": 4000},
    }


def edges(dice: random.Random, names: list[str]) -> list[list[str]]:
    """A random tree and some edges more."""
    pairs = {(dice.choice(names[:place]), names[place]) for place in range(1, len(names))}
    for _ in range(dice.randint(0, len(names))):
        a, b = dice.sample(names, 2)
        if (b, a) not in pairs:
            pairs.add((a, b))
    return sorted(map(list, pairs))


def fault(dice: random.Random, names: list[str]) -> dict[str, Any]:
    since = round(dice.uniform(0, 30), 3)
    span = {"since": since, "until": since + dice.uniform(1, 30)}
    kind = dice.choice(["drop", "duplicate", "reorder", "delay", "partition", "crash", "crash"])
    if kind == "crash":
        who = {"count": dice.randint(1, 2)} if dice.random() < 0.5 else {"nodes": [dice.choice(names)]}
        when = {"at": since} if dice.random() < 0.5 else {"between": [since, since + 20]}
        recovery = {"recover_after": "uniform(0.5, 9)"} if dice.random() < 0.7 else {}
        return {"kind": kind, **who, **when, **recovery}
    if kind == "partition":
        sides = dice.sample(names, len(names))
        cut = dice.randint(1, len(names) - 1)
        return {"kind": kind, "groups": [sides[:cut], sides[cut:]], "one_way": dice.random() < 0.3, **span}
    extra = {"by": "uniform(0.5, 5)"} if kind in ("reorder", "delay") else {}
    return {"kind": kind, "probability": round(dice.uniform(0.05, 0.5), 3), **extra, **span}


def fingerprints(number: int) -> tuple[str, str]:
    """Of the run, and of the run done again from its trace."""
    outcome = simulate(check(scenario(number)), trace=True)
    assert outcome.trace is not None
    return outcome.tally.fingerprint(), done_again(check(scenario(number)), outcome.trace).fingerprint()


def done_again(again: Scenario, trace: Trace) -> Simulator:
    sim = Simulator(again.network, again.system.agent, again.seed, again.plan, trace.recording())
    assert sim.run()
    return sim


def in_another_process(hash_seed: int) -> subprocess.Popen[str]:
    root = str(Path(__file__).parents[2])
    return subprocess.Popen(
        [sys.executable, __file__, "fingerprints"],
        env=os.environ | {"PYTHONHASHSEED": str(hash_seed), "PYTHONPATH": root},
        stdout=subprocess.PIPE,
        text=True,
    )


def test_a_seed_gives_the_same_run_under_any_hash_seed_and_when_done_again() -> None:
    # given: two processes in which sets have different orders
    processes = [in_another_process(hash_seed) for hash_seed in (1, 2)]
    # when
    first, second = (json.loads(process.communicate()[0]) for process in processes)
    # then
    assert len(first["fingerprints"]) == SCENARIOS
    assert first["order of a set"] != second["order of a set"]
    assert first["fingerprints"] == second["fingerprints"]
    for number, (run, again) in enumerate(first["fingerprints"]):
        assert run == again, f"scenario {number} done again"
    # ... and different scenarios are different runs.
    assert len({run for run, _ in first["fingerprints"]}) == SCENARIOS


def test_a_process_that_ran_others_before_gives_the_same_run() -> None:
    numbers = [3, 50, 120]
    forwards = {number: fingerprints(number)[0] for number in numbers}
    backwards = {number: fingerprints(number)[0] for number in reversed(numbers)}
    assert forwards == backwards


def test_the_random_scenarios_are_worth_running() -> None:
    """A test of the test: they have all kinds of faults, and something happens in them."""
    outcomes = [simulate(check(scenario(number))) for number in range(40)]
    fired = {kind for outcome in outcomes for kind in outcome.tally.fired}
    assert fired == {"drop", "duplicate", "reorder", "delay", "partition", "crash", "recover", "lost"}
    assert {outcome.scenario.links for outcome in outcomes} == {"raw", "reliable"}
    assert sum(outcome.tally.handled for outcome in outcomes) > 40 * 100
    assert sum(outcome.quiescent for outcome in outcomes) > 30


def test_another_seed_gives_another_run() -> None:
    for number in range(20):
        data = scenario(number)
        data["network"]["delay"] = "uniform(0.5, 1.5)"
        runs = {simulate(check(data | {"seed": seed})).tally.fingerprint() for seed in range(3)}
        assert len(runs) == 3


# What a fingerprint covers


@message(tag="determinism.Word")
class Word:
    text: str


class Scripted(Protocol):
    """Does at its start what the test says."""

    def __init__(self, act: Callable[[Node], None] | None) -> None:
        self.act = act

    def started(self, node: Node) -> None:
        if self.act is not None:
            self.act(node)

    @on(Word)
    def hears(self, node: Node, sender: str, word: Word) -> None:
        if word.text == "echo":
            node.send(sender, Word("echoed"))


def triangle(**options: Any) -> Network:
    return from_networkx(networkx.cycle_graph(["a", "b", "c"]), **options)


def fingerprint(act: Callable[[Node], None], network: Network | None = None, recording: Recording | None = None) -> str:
    sim = Simulator(
        network or triangle(), lambda name: Agent([Scripted(act if name == "a" else None)]), recording=recording
    )
    sim.run()
    return sim.fingerprint()


def usual(node: Node) -> None:
    node.send("b", Word("hello"))
    node.send("c", Word("echo"))
    node.after(3.0, Word("late"))


def other_content(node: Node) -> None:
    node.send("b", Word("hallo"))
    node.send("c", Word("echo"))
    node.after(3.0, Word("late"))


def other_receiver(node: Node) -> None:
    node.send("c", Word("hello"))
    node.send("c", Word("echo"))
    node.after(3.0, Word("late"))


def other_order(node: Node) -> None:
    node.send("c", Word("echo"))
    node.send("b", Word("hello"))
    node.after(3.0, Word("late"))


def other_timer(node: Node) -> None:
    node.send("b", Word("hello"))
    node.send("c", Word("echo"))
    node.after(nextafter(3.0, 4.0), Word("late"))


def other_word_on_a_timer(node: Node) -> None:
    node.send("b", Word("hello"))
    node.send("c", Word("echo"))
    node.after(3.0, Word("later"))


def no_timer(node: Node) -> None:
    node.send("b", Word("hello"))
    node.send("c", Word("echo"))
    node.cancel(node.after(3.0, Word("late")))


def one_more(node: Node) -> None:
    usual(node)
    node.send("b", Word("hello"))


def later(node: Node) -> None:
    node.work(1e-9)
    usual(node)


CHANGES = [other_content, other_receiver, other_order, other_timer, other_word_on_a_timer, no_timer, one_more, later]


def test_whatever_is_said_or_done_differently_changes_the_fingerprint() -> None:
    assert fingerprint(usual) == fingerprint(usual)
    prints = {act.__name__: fingerprint(act) for act in [usual, *CHANGES]}
    assert len(set(prints.values())) == len(prints)


def test_other_delays_change_the_fingerprint() -> None:
    networks = [triangle(delay=delay) for delay in (1.0, nextafter(1.0, 2.0), 2.0, "uniform(0.5, 1.5)")]
    assert len({fingerprint(usual, network) for network in networks}) == 4


@settings(max_examples=60)
@given(st.data())
def test_a_delivery_that_is_changed_or_left_out_changes_the_fingerprint(data: st.DataObject) -> None:
    # given: a run and its trace
    sim = Simulator(triangle(), lambda name: Agent([Scripted(usual if name == "a" else None)]))
    recorder = Recorder(sim)
    sim.run()
    events = recorder.trace.events
    assert fingerprint(usual, recording=recorder.trace.recording()) == sim.fingerprint()
    # when: one event comes a little earlier or later, or never
    place = data.draw(st.integers(0, len(events) - 1))
    changed = list(events)
    if data.draw(st.booleans()):
        del changed[place]
    else:
        arrival = events[place].arrival * data.draw(st.sampled_from([1 - 1e-9, 1 + 1e-9, 1.1]))
        changed[place] = events[place]._replace(arrival=arrival)
    # then
    recording = replace(recorder.trace, events=changed, gap=0.1).recording()
    assert fingerprint(usual, recording=recording) != sim.fingerprint()


# The shipped scenarios


def shipped_fingerprints() -> dict[str, str]:
    return {name: simulate(load(name)).tally.fingerprint() for name in shipped_scenarios()}


def renew() -> None:
    note = f"What every shipped scenario's run comes to. After a change that is meant to change runs: {RENEW}"
    GOLDEN.write_text(json.dumps({"note": note, "fingerprints": shipped_fingerprints()}, indent=2) + "\n", "utf-8")


@pytest.mark.parametrize("name", shipped_scenarios())
def test_a_shipped_scenario_runs_as_it_always_did(name: str) -> None:
    known = json.loads(GOLDEN.read_text("utf-8"))["fingerprints"]
    assert simulate(load(name)).tally.fingerprint() == known.get(name), f"if this is meant to be: {RENEW}"


def test_no_fingerprint_is_kept_of_a_scenario_that_is_gone() -> None:
    assert list(json.loads(GOLDEN.read_text("utf-8"))["fingerprints"]) == list(shipped_scenarios())


if __name__ == "__main__":
    if sys.argv[1:] == ["renew"]:
        renew()
    elif sys.argv[1:] == ["fingerprints"]:
        found = [fingerprints(number) for number in range(SCENARIOS)]
        words = ["drop", "delay", "crash", "reorder", "partition", "duplicate"]
        print(json.dumps({"order of a set": list(set(words)), "fingerprints": found}))
    else:
        sys.exit(f"write: {RENEW}")
