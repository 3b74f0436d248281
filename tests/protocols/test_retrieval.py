"""What was stored and matches a request arrives exactly once, from a nearest store (planning, 4.1)."""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import dataclass
from typing import Any

import networkx
from hypothesis import given, settings
from hypothesis import strategies as st

from protocols.storage.client import Asking
from protocols.storage.retrieval import Response
from protocols.storage.store import Storing
from runtime.run import Outcome, simulate
from runtime.scenario import check

SETTLED = 1000.0


@dataclass(frozen=True)
class Case:
    brokers: int
    stores: int
    publications: int
    requests: int
    failing: int
    seed: int
    reliable: bool = False

    def scenario(self) -> dict[str, Any]:
        rng = random.Random(self.seed)
        names = [f"n{number}" for number in range(1, self.brokers + 1)]
        stores = {f"s{i}": {"broker": rng.choice(names), "topics": ["a"]} for i in range(self.stores)}
        clients = {f"c{i}": rng.choice(names) for i in range(3)}
        fewest = 2 * (self.brokers - 1) / self.brokers
        return {
            "protocol": "coverage",
            "seed": self.seed,
            "links": "reliable" if self.reliable else "raw",
            "network": {
                "kind": "random-graph",
                "nodes": self.brokers,
                "degree": max(fewest, rng.uniform(fewest, min(self.brokers - 1, 4))),
                "delay": rng.choice([1.0, "uniform(0.1, 5)"]),
            },
            "faults": [{"kind": "drop", "probability": 0.2}] if self.reliable else [],
            "storage": {
                "stores": stores,
                "clients": clients,
                "publications": [
                    {
                        "at": SETTLED + i,
                        "client": rng.choice(list(clients)),
                        "topic": rng.choice("ab"),
                        "content": {"x": i},
                    }
                    for i in range(self.publications)
                ],
                # Fewer fail than there are, so that somebody can answer.
                "events": [
                    {"at": 2 * SETTLED, "store": name, "do": "fail"}
                    for name in rng.sample(list(stores), min(self.failing, self.stores - 1))
                ],
                "requests": [
                    {
                        "at": 3 * SETTLED + rng.uniform(0, 20),
                        "client": rng.choice(list(clients)),
                        "topic": "a",
                        "where": [["x", ">=", rng.randint(0, max(self.publications, 1))]],
                    }
                    for _ in range(self.requests)
                ],
            },
        }


def responses_of(outcome: Outcome, client: str) -> dict[int, list[Response]]:
    return outcome.agents[client].find(Asking).responses  # type: ignore[union-attr]


CASES = st.builds(
    Case,
    brokers=st.integers(1, 25),
    stores=st.integers(1, 5),
    publications=st.integers(0, 8),
    requests=st.integers(0, 8),
    failing=st.integers(0, 4),
    seed=st.integers(0, 2**32),
    reliable=st.booleans(),
)


@settings(max_examples=200)
@given(CASES)
def test_every_match_arrives_once_from_the_nearest_living_store(case: Case) -> None:
    scenario = check(case.scenario())
    storage = case.scenario()["storage"]
    outcome = simulate(scenario)
    assert outcome.verdict == "valid"
    graph = scenario.network.graph()
    failed = {event["store"] for event in storage["events"]}
    homes = {store["broker"] for name, store in storage["stores"].items() if name not in failed}
    nearest = networkx.multi_source_dijkstra_path_length(graph, homes, weight=None)
    asked = Counter()
    for wish in sorted(storage["requests"], key=lambda wish: wish["at"]):
        asked[wish["client"]] += 1
        wanted = [
            p["content"]["x"]
            for p in storage["publications"]
            if p["topic"] == "a" and p["content"]["x"] >= wish["where"][0][2]
        ]
        answers = responses_of(outcome, wish["client"]).get(asked[wish["client"]], [])
        assert sorted(dict(answer.publication.content)["x"] for answer in answers) == wanted
        assert {answer.distance_hops for answer in answers} <= {nearest[storage["clients"][wish["client"]]]}
        assert not {answer.store for answer in answers} & failed
    assert outcome.summary()["requests_sent"] == len(storage["requests"])


def test_every_living_store_keeps_every_publication_on_its_topics_once() -> None:
    case = Case(brokers=12, stores=4, publications=8, requests=0, failing=0, seed=5)
    outcome = simulate(check(case.scenario()))
    published = [p for p in case.scenario()["storage"]["publications"] if p["topic"] == "a"]
    for name in case.scenario()["storage"]["stores"]:
        kept = outcome.agents[name].find(Storing).durable.stored.get("a", {})  # type: ignore[union-attr]
        assert len(kept) == len(published) > 0


def square(**storage: Any) -> dict[str, Any]:
    """A client opposite a store, with two equally long ways between them."""
    return {
        "protocol": "coverage",
        "network": {"kind": "ring", "nodes": 4, "delay": 1.0},
        "storage": {"stores": {"s": {"broker": "n1", "topics": ["a"]}}, "clients": {"c": "n3"}, **storage},
    }


def test_equally_near_ways_take_turns() -> None:
    scenario = square(
        publications=[{"at": 10, "client": "c", "topic": "a"}],
        requests=[{"at": 20 + i, "client": "c", "topic": "a"} for i in range(6)],
    )
    outcome = simulate(check(scenario), trace=True)
    assert outcome.trace is not None
    carried = Counter(event.node for event in outcome.trace.events if event.sender == "n3" and b"Request" in event.wire)
    assert carried == {"n2": 3, "n4": 3}


def test_a_request_without_a_way_waits_until_there_is_one() -> None:
    scenario = square(
        publications=[{"at": 10, "client": "c", "topic": "a"}],
        events=[{"at": 20, "store": "s", "do": "fail"}, {"at": 60, "store": "s", "do": "recover"}],
        requests=[{"at": 40, "client": "c", "topic": "a"}],
    )
    outcome = simulate(check(scenario))
    assert len(responses_of(outcome, "c")[1]) == 1


def test_a_request_for_a_topic_that_just_left_the_store_goes_on_to_the_next() -> None:
    scenario = square(
        publications=[{"at": 10, "client": "c", "topic": "a"}],
        events=[{"at": 23, "store": "s", "do": "withdraw"}],
        requests=[{"at": 20, "client": "c", "topic": "a"}],
    )
    scenario["storage"]["stores"]["t"] = {"broker": "n4", "topics": ["a"]}
    scenario["network"] = {
        "edges": [["n1", "n2"], ["n2", "n3"], ["n1", "n5"], ["n5", "n6"], ["n6", "n4"]],
        "delay": 1.0,
    }
    outcome = simulate(check(scenario))
    (answers,) = responses_of(outcome, "c").values()
    assert [answer.store for answer in answers] == ["t"]


def test_a_request_that_nothing_matches_is_not_answered() -> None:
    scenario = square(
        publications=[{"at": 10, "client": "c", "topic": "a", "content": {"x": 1}}],
        requests=[{"at": 20, "client": "c", "topic": "a", "where": [["x", ">", 1]]}],
    )
    summary = simulate(check(scenario)).summary()
    assert (summary["requests_sent"], summary["requests_answered"]) == (1, 0)
    assert summary["mean_hop_distance"] is None


def test_the_hop_distance_counts_links_between_brokers() -> None:
    scenario = square(
        publications=[{"at": 10, "client": "c", "topic": "a"}],
        requests=[{"at": 20, "client": "c", "topic": "a"}],
    )
    assert simulate(check(scenario)).summary()["mean_hop_distance"] == 2.0
