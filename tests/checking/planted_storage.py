"""Planted bugs in what stores, brokers and the manager do."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from protocols.storage.coverage import Advertise, Coverage, Routes, Withdraw
from protocols.storage.retrieval import Retrieval
from runtime.agent import Node
from tests.checking.planted import Planted, never, nothing

# Coverage


def keep_stale_entries(self: Coverage, node: Node, sender: str, ad: Advertise) -> None:
    old = self.routes.get(ad.topic)
    self.routes[ad.topic] = Routes({**(old.hops if old else {}), sender: ad}, sender)
    self.announce(node, ad.topic)
    self.route_found(node, ad.topic)


def drop_silently(self: Coverage, node: Node, peer: str) -> None:
    for topic, routes in list(self.routes.items()):
        routes.hops.pop(peer, None)
        if not routes.hops:
            del self.routes[topic]


def remember_but_do_not_spread(self: Coverage, node: Node, gone: Withdraw, skip: str | None = None) -> None:
    self.durable.withdrawn[gone.topic, gone.store] = gone.number


def in_coverage(name: str, attribute: str, bug: Any, caught_by: str, target: type[Any] = Coverage) -> Planted:
    return Planted("coverage", name, target, attribute, bug, caught_by)


PLANTED = [
    in_coverage("keeps stale entries", "replace", keep_stale_entries, "tables-are-right"),
    in_coverage("believes what was withdrawn", "is_withdrawn", never, "the-withdrawn-is-not-believed"),
    # Takes some luck: a loop of old news that nobody has withdrawn yet.
    replace(in_coverage("sees no loop", "is_loop", never, "no-way-is-longer-than-the-network"), seed=12),
    replace(in_coverage("never forgets", "forget", nothing, "tables-are-right"), seed=2),
    in_coverage("does not keep its word", "keep_word", nothing, "runs-without-error"),
    in_coverage("does not answer who asks", "asked", nothing, "tables-are-right"),
    replace(
        in_coverage("does not pass on a withdrawal", "spread", remember_but_do_not_spread, "tables-are-right"), seed=16
    ),
    replace(
        in_coverage("says nothing of a lost neighbour", "neighbour_down", drop_silently, "tables-are-right"), seed=2
    ),
    in_coverage("tells a new neighbour nothing", "introduce", nothing, "tables-are-right"),
    in_coverage("keeps entries that are withdrawn", "drop", nothing, "the-withdrawn-is-not-believed"),
    in_coverage(
        "lets requests wait for ever", "route_found", nothing, "nobody-waits-for-a-way-that-is-known", Retrieval
    ),
]
