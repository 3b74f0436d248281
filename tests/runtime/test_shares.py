"""A network cut into shares behaves like the whole, however it is cut. All in one process, without Ray."""

from __future__ import annotations

import random
from contextlib import suppress
from dataclasses import dataclass
from math import inf
from typing import Any

import msgpack
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from agents.cases.coverage import coverage_case
from runtime.batches import decode_batch, encode_batch
from runtime.errors import DecodeError
from runtime.hosts import pickled, unpickled
from runtime.links import COUNT_BITS
from runtime.message import message
from runtime.partition import crossing, partition
from runtime.scenario import check
from runtime.share import Share, Step
from runtime.simulator import Simulator
from runtime.tally import Tally, total
from runtime.testing.cases import Case, Draw
from runtime.testing.strategies import cases

ONE_EACH = 1000
CUTS = (1, 2, 3, 7, ONE_EACH)


FAULTS = ("drop", "duplicate", "reorder", "partition", "crash", "death")


def slowed(case: Case, bandwidth: float | None, service_s: float | None, raw: bool) -> dict[str, Any]:
    """A case on links with a bandwidth and nodes that take their time; what faults do may stay as it is."""
    network = dict(case.data["network"])
    if bandwidth is not None:
        network["bandwidth"] = bandwidth
    if service_s is not None:
        network["service"] = f"uniform(0.01, {service_s})"
    links = {"links": "raw"} if raw else {}
    return {**case.data, **links, "network": network, "limits": {"events": 300_000}}


def scenarios(most_brokers: int) -> st.SearchStrategy[dict[str, Any]]:
    drawn = cases("coverage", FAULTS, most_brokers, ["timed"])
    return st.builds(
        slowed, drawn, st.sampled_from([None, 100.0, 1000.0]), st.sampled_from([None, 0.02, 0.5]), st.booleans()
    )


@dataclass
class Shares:
    """The driver's part of lock-step, in a few lines."""

    data: dict[str, Any]
    count: int

    def __post_init__(self) -> None:
        network = check(self.data).network
        cut = partition(network.neighbours, self.count)
        self.owner = {name: number for number, share in enumerate(cut) for name in share}
        self.shares = [self.build(number) for number in range(len(cut))]
        self.span = min(share.lookahead() for share in self.shares)

    def build(self, number: int) -> Share:
        scenario = check(self.data)
        return Share(scenario.network, scenario.system.agent, scenario.seed, scenario.plan, self.owner, number)

    def run(self, until: float = inf, restored_at: frozenset[int] = frozenset()) -> Tally:
        """Run to the end; before these steps every share moves into a new object, as into another process."""
        inboxes: list[list[bytes]] = [[] for _ in self.shares]
        steps = [share.begin() for share in self.shares]
        taken = 0
        while (window := self._hand_over(steps, inboxes)) is not None and all(step.complete for step in steps):
            if taken in restored_at:
                self._move()
            taken += 1
            last = window + self.span - 1
            steps = [share.step(window, last, inboxes[n], until, inf) for n, share in enumerate(self.shares)]
            inboxes = [[] for _ in self.shares]
        return total(share.tally() for share in self.shares)

    @staticmethod
    def _hand_over(steps: list[Step], inboxes: list[list[bytes]]) -> int | None:
        for step in steps:
            for other, batch in step.batches.items():
                inboxes[other].append(batch)
        due = [window for step in steps for window in (step.next_window, step.earliest) if window is not None]
        return min(due, default=None)

    def _move(self) -> None:
        for number, old in enumerate(self.shares):
            kept = pickled(old.state())
            self.shares[number] = self.build(number)
            self.shares[number].restore(unpickled(kept))


def whole(data: dict[str, Any], until: float = inf) -> Tally:
    scenario = check(data)
    sim = Simulator(scenario.network, scenario.system.agent, scenario.seed, scenario.plan)
    sim.run(until)
    return sim.tally()


def seen(tally: Tally) -> dict[str, Any]:
    """Everything that a tally counts, comparable."""
    tables = {event: table.to_pylist() for event, table in tally.events.tables().items()}
    numbers = {key: value for key, value in vars(tally).items() if key != "events"}
    return numbers | {"events": tables, "fingerprint": tally.fingerprint(), "queued_s": tally.queued_s()}


def troubled(seed: int, most_brokers: int) -> dict[str, Any]:
    """A case with all kinds of faults on slow links, which are repaired."""
    return slowed(coverage_case(Draw(random.Random(seed), most_brokers, frozenset(FAULTS))), 200.0, 0.3, raw=False)


EVERYTHING = troubled(12, 9)


@settings(max_examples=40)
@given(scenarios(most_brokers=14))
@example(EVERYTHING)
def test_shares_together_see_what_one_simulator_sees(data: dict[str, Any]) -> None:
    expected = seen(whole(data))
    for count in CUTS:
        assert seen(Shares(data, count).run()) == expected, f"{count} shares"


def test_the_cases_meet_what_they_are_about() -> None:
    """Else the test above would compare runs in which nothing happens."""
    tally = whole(EVERYTHING)
    assert {"crash", "recover", "drop", "duplicate", "reorder", "lost"} <= tally.fired.keys()
    assert tally.queued_s() > 0 and tally.carried and tally.events.counts()


@settings(max_examples=25)
@given(scenarios(most_brokers=10), st.floats(0.5, 60))
def test_a_time_limit_cuts_shares_where_it_cuts_the_simulator(data: dict[str, Any], until: float) -> None:
    assert seen(Shares(data, 3).run(until)) == seen(whole(data, until))


@settings(max_examples=25, derandomize=True)
@given(scenarios(most_brokers=10), st.sampled_from([1, 2, 3]), st.frozensets(st.integers(0, 60), min_size=1))
@example(EVERYTHING, 2, frozenset(range(0, 400, 3)))
def test_moving_to_another_process_changes_nothing(data: dict[str, Any], count: int, moments: frozenset[int]) -> None:
    assert seen(Shares(data, count).run(restored_at=moments)) == seen(whole(data))


def test_a_link_that_moves_goes_on_counting_its_messages() -> None:
    data = EVERYTHING | {"faults": [{"kind": "drop", "nth": [20, 25, 30]}]}
    expected = whole(data)
    assert expected.fired["drop"] > 3
    assert seen(Shares(data, 2).run(restored_at=frozenset(range(0, 400, 3)))) == seen(expected)


def test_an_error_in_a_share_is_not_hidden() -> None:
    """The comparison can fail: another seed is another run."""
    assert seen(Shares(EVERYTHING, 2).run()) != seen(whole(EVERYTHING | {"seed": 2}))


@message(tag="tests.Parcel")
class Parcel:
    word: str
    weights: tuple[int, ...] = ()


entries = st.lists(
    st.tuples(
        st.floats(0, 1e12),
        st.integers(0, 2**60),
        st.none(),
        st.builds(Parcel, st.text(max_size=5), st.lists(st.integers(-(2**63), 2**64 - 1), max_size=3).map(tuple)),
    ),
    max_size=20,
)


@given(entries)
def test_a_batch_comes_back_as_it_was(sent: list[tuple[float, int, None, Parcel]]) -> None:
    got = [
        (at, (place << COUNT_BITS) + number, None, parcel)
        for at, place, number, parcel in decode_batch(encode_batch(sent))
    ]
    assert got == sent


def test_a_broadcast_travels_once() -> None:
    parcel = Parcel("x" * 1000)
    once, often = (len(encode_batch([(1.0, key, None, parcel) for key in range(n)])) for n in (1, 50))
    assert often - once < 50 * 32


@settings(max_examples=300)
@given(st.binary(max_size=200))
def test_bytes_that_are_no_batch_are_refused_by_name(wire: bytes) -> None:
    with pytest.raises(DecodeError):
        list(decode_batch(wire))


@settings(max_examples=300)
@given(entries.filter(bool), st.data())
def test_a_damaged_batch_is_refused_or_read_but_never_another_error(sent: Any, data: st.DataObject) -> None:
    wire = bytearray(encode_batch(sent))
    place = data.draw(st.integers(0, len(wire) - 1))
    wire[place] = data.draw(st.integers(0, 255))
    wire = wire[: data.draw(st.integers(0, len(wire)))]
    with suppress(DecodeError):
        list(decode_batch(bytes(wire)))


def test_columns_that_do_not_fit_together_are_refused() -> None:
    one, two = ([(float(key), key, None, Parcel("x" * key)) for key in range(n)] for n in (1, 2))
    columns = [list(msgpack.unpackb(encode_batch(sent))) for sent in (one, two)]
    for place in range(5):
        mixed = [*columns[1][:place], columns[0][place], *columns[1][place + 1 :]]
        with pytest.raises(DecodeError):
            list(decode_batch(msgpack.packb(mixed)))


def graph(nodes: int, links: int, seed: int) -> dict[str, tuple[str, ...]]:
    rng = random.Random(seed)
    names = [f"n{number}" for number in range(nodes)]
    peers: dict[str, set[str]] = {name: set() for name in names}
    for _ in range(links if nodes > 1 else 0):
        a, b = rng.sample(names, 2)
        peers[a].add(b)
        peers[b].add(a)
    return {name: tuple(sorted(peers[name])) for name in names}


graphs = st.builds(graph, st.integers(1, 60), st.integers(0, 150), st.integers(0, 2**32))


@given(graphs, st.integers(1, 80))
def test_everybody_is_in_exactly_one_share(neighbours: dict[str, tuple[str, ...]], count: int) -> None:
    shares = partition(neighbours, count)
    assert sorted(name for share in shares for name in share) == sorted(neighbours)
    assert len(shares) == min(count, len(neighbours)) and all(shares)


@given(graphs, st.integers(1, 10))
def test_shares_are_balanced(neighbours: dict[str, tuple[str, ...]], count: int) -> None:
    shares = partition(neighbours, count)
    due = -(-len(neighbours) // len(shares))
    assert max(map(len, shares)) <= max(due, 1.02 * len(neighbours) / len(shares))


@given(graphs, st.integers(1, 10))
def test_the_same_network_is_always_cut_alike(neighbours: dict[str, tuple[str, ...]], count: int) -> None:
    assert partition(neighbours, count) == partition(dict(neighbours), count)


@pytest.mark.parametrize("count", [2, 3, 8])
def test_fewer_links_cross_than_if_cut_by_name(count: int) -> None:
    neighbours = graph(600, 1200, 1)
    names = sorted(neighbours)
    by_name = [names[number * 600 // count : (number + 1) * 600 // count] for number in range(count)]
    assert crossing(neighbours, partition(neighbours, count)) < 0.85 * crossing(neighbours, by_name)
