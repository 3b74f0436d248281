"""Planted bugs in stores that manage their storage, holistically or myopically."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from protocols.storage.replicas.decision import Chosen, Worth, choose
from protocols.storage.replicas.facts import Fact
from protocols.storage.replicas.knowledge import Knowledge
from protocols.storage.replicas.replacing import Replacing
from protocols.storage.replicas.writing import Held, Writing
from runtime.agent import Node
from runtime.message import replace as changed
from tests.checking.planted import Planted, nothing

worth = Replacing._worth
plan = Replacing.plan
learn = Knowledge._learn
execute = Writing._execute


def take_whatever_can_come(self: Replacing) -> Chosen | None:
    known = self._worth()
    return known.held | known.can_come if known.can_come.any() else None


def think_nothing_of_the_last_replica(self: Replacing) -> Worth:
    known = worth(self)
    last = known.held & ~known.may_leave
    return replace(known, may_leave=known.held, value=np.where(last, 0.0, known.value))


def keep_a_copy_of_the_token(self: Writing, node: Node, held: Held) -> bool:
    goes_to = self.knowledge.topology().next_stop(node.id, held.sender)
    if goes_to == node.id:
        self.held[held.token.which] = Held(held.token, node.id, node.now)
        return True
    node.send(goes_to, changed(held.token, hop=held.token.hop + 1))
    return False


def keep_news_to_oneself(self: Knowledge, node: Node, fact: Fact, sender: str | None = None) -> None:
    if sender is None:
        learn(self, node, fact, sender)
    else:
        learn(self, _Silent(node), fact, sender)  # type: ignore[arg-type]


class _Silent:
    """A node that passes nothing on."""

    def __init__(self, node: Node) -> None:
        self._node = node

    def __getattr__(self, name: str) -> Any:
        return nothing if name == "broadcast" else getattr(self._node, name)


def rest_at_once(self: Writing, node: Node, held: Held, stores: int) -> bool:
    return execute(self, node, held, 1)


def begin_with_the_worst(self: Replacing) -> Chosen | None:
    if self.durable.replacements:
        return plan(self)
    known = self._worth()
    upside_down = replace(known, value=known.value.max(initial=0.0) - known.value)
    worst = choose(upside_down, self.knowledge.catalogue.sizes, self.capacity)
    return plan(self) if worst is None else worst


def in_both(name: str, target: type[Any], attribute: str, bug: Any, caught_by: str) -> Iterator[Planted]:
    for protocol in ("holistic", "myopic"):
        yield Planted(protocol, name, target, attribute, bug, caught_by)


PLANTED = [
    *in_both("takes more than fits", Replacing, "plan", take_whatever_can_come, "capacities-are-kept"),
    *in_both(
        "lets the last replica go", Replacing, "_worth", think_nothing_of_the_last_replica, "the-last-replica-stays"
    ),
    *in_both("keeps a copy of the token", Writing, "_pass_on", keep_a_copy_of_the_token, "one-writer-at-a-time"),
    *in_both("keeps news to itself", Knowledge, "_learn", keep_news_to_oneself, "everybody-knows-the-replicas"),
    *in_both("never replaces", Replacing, "plan", nothing, "no-replacement-is-left"),
    *in_both("rests after one quiet visit", Writing, "_execute", rest_at_once, "no-replacement-is-left"),
    Planted("holistic", "begins with the worst", Replacing, "plan", begin_with_the_worst, "traffic-never-rose"),
]
