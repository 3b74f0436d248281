"""Copies of agents share nothing that can change, and states that behave alike have one digest."""

from __future__ import annotations

from typing import Any

import pytest

from runtime.agent import Agent, Node, Protocol, on
from runtime.exploring.canonical import Handle, describe
from runtime.exploring.copying import pack_agent, unpack_agent
from runtime.message import message
from runtime.scenario import load


@message(tag="explored.Poke")
class Poke:
    number: int


class Holder(Protocol):
    def __init__(self) -> None:
        self.seen: list[Any] = []
        self.also = self.seen
        self.names = {"b", "a"}
        self.later = self._add
        count = [0]
        self.counted = count

        def more() -> int:
            count[0] += 1
            return count[0]

        self.more = more

    def _add(self, value: Any) -> None:
        self.seen.append(value)

    @on(Poke)
    def poked(self, node: Node, sender: str, poke: Poke) -> None:
        self.later(poke)


def copied(agent: Agent) -> Agent:
    return unpack_agent(pack_agent(agent))[0]


def test_what_a_copy_does_the_original_does_not_see() -> None:
    original = Agent([Holder()])
    copy = copied(original)
    [before], [after] = original.protocols, copy.protocols
    assert isinstance(before, Holder) and isinstance(after, Holder)
    copy.handlers[Poke](None, "", Poke(1))  # type: ignore[arg-type]
    after.more()
    assert (before.seen, before.counted) == ([], [0])
    assert (after.seen, after.counted) == ([Poke(1)], [1])
    assert after.also is after.seen
    assert after.seen[0] is Poke(1) or after.seen[0] == Poke(1)


def test_a_copy_has_the_digest_of_the_original_until_it_acts() -> None:
    original = Agent([Holder()])
    copy = copied(original)
    assert describe(copy) == describe(original)
    copy.handlers[Poke](None, "", Poke(1))  # type: ignore[arg-type]
    assert describe(copy) != describe(original)


@pytest.mark.parametrize("links", ["raw", "reliable"])
@pytest.mark.parametrize("name", ["coverage", "holistic", "relocation", "overlay", "planning", "dissemination"])
def test_every_shipped_agent_can_be_copied(name: str, links: str) -> None:
    scenario = load(name, [f"links={links}"])
    for node in list(scenario.network.neighbours)[:6]:
        agent = scenario.system.agent(node)
        assert describe(copied(agent)) == describe(agent)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (1, 1.0),
        (1, True),
        ((1,), [1]),
        ("1", 1),
        ({"a": 1, "b": 2}, {"b": 2, "a": 1}),
        (["ab", "c"], ["a", "bc"]),
        ({1}, frozenset({1})),
    ],
)
def test_what_differs_has_another_description(one: object, other: object) -> None:
    assert describe(one) != describe(other)


def test_sets_have_no_order_and_shared_parts_are_told() -> None:
    assert describe({"a", "b", "c"}) == describe({"c", "b", "a"})
    part: list[int] = []
    assert describe([part, part]) != describe([[], []])
    assert describe([part, part]) == describe([[], []][:1] * 2)


def test_a_timer_is_its_place_not_its_number() -> None:
    assert describe([Handle(7), Handle(9)], {9: 0}) == describe([Handle(1), Handle(4)], {4: 0})
    assert describe([Handle(7)], {7: 0}) != describe([Handle(7)], {})
    assert describe([Handle(7), Handle(7)]) != describe([Handle(7), Handle(8)])
