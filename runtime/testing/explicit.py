"""Cases without dice: what chance decided in a run is written out, so that each decision can be left out on its own."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from runtime.faults import FaultPlan, Strike
from runtime.network import Network
from runtime.scenario import check
from runtime.testing.cases import Case
from runtime.testing.running import run_case


def with_plain_network(case: Case) -> Case:
    """The network as a list of edges, with delays that do not vary."""
    network = check(case.data, case.folder).network
    return replace(case, data={**case.data, "network": edges_of(network, case.data["network"])})


def edges_of(network: Network, drawn: dict[str, Any]) -> dict[str, Any]:
    kept: dict[str, Any] = {
        key: drawn[key] for key in ("delay", "access_delay", "underlay_delay", "service") if key in drawn
    }
    brokers = set(network.brokers)
    edges = [[a, b] for a in network.brokers for b in network.neighbours[a] if b in brokers and a < b]
    return {**kept, "edges": edges} if edges else {**kept, "kind": "random-tree", "nodes": 1}


def with_tables_written_out(case: Case) -> Case:
    """What the seed has decided stands in the scenario, as far as its system can write it there."""
    system = check(case.data, case.folder).system
    return replace(case, data={**case.data, **system.written_out(case.data)})


def with_named_faults(case: Case) -> Case:
    """The faults as they struck: which node when, which message of which link."""
    strikes: list[Strike] = []
    plan = run_case(case, strikes=strikes).scenario.plan
    kept = [fault for fault in case.data.get("faults", ()) if fault["kind"] == "partition"]
    return replace(case, data={**case.data, "faults": [*kept, *_crashes(plan), *_struck(strikes)]})


def as_they_struck(case: Case) -> Case:
    """Without the named faults that strike nothing any more."""
    named = [fault for fault in with_named_faults(case).data["faults"] if "nth" in fault]
    return replace(case, data={**case.data, "faults": [*(f for f in case.data["faults"] if "nth" not in f), *named]})


def _crashes(plan: FaultPlan) -> Iterator[dict[str, Any]]:
    for node, spans in sorted(plan.crashes.items()):
        for at, until in spans:
            back = {} if until == float("inf") else {"recover_after": until - at}
            yield {"kind": "crash", "nodes": [node], "at": at, **back}


def _struck(strikes: list[Strike]) -> Iterator[dict[str, Any]]:
    numbers: dict[tuple[str, tuple[str, str], float], list[int]] = {}
    for strike in strikes:
        numbers.setdefault((strike.kind, strike.link, strike.by), []).append(strike.number)
    for (kind, ends, by), nth in sorted(numbers.items()):
        later = {"by": by} if kind in ("delay", "reorder") else {}
        yield {"kind": kind, "links": [list(ends)], "one_way": True, "nth": nth, **later}
