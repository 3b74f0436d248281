"""The clients of a store: now and then they ask for other things than before."""

from __future__ import annotations

from collections.abc import Sequence

from protocols.storage.replicas.decision import Amounts
from protocols.storage.replicas.knowledge import Knowledge
from runtime.agent import Node, Protocol, on
from runtime.message import message


@message
class RatesChange:
    """A timer: from now on the rates are the ones of this place in the list."""

    place: int


class Clients(Protocol):
    """Tells the store when its request rates change; `changes` are (time, rates in the catalogue's order)."""

    def __init__(self, knowledge: Knowledge, changes: Sequence[tuple[float, Amounts]]) -> None:
        self.knowledge = knowledge
        self.changes = tuple(changes)

    def started(self, node: Node) -> None:
        for place, (at, _) in enumerate(self.changes):
            if at > node.now:
                node.after(at - node.now, RatesChange(place))

    def recovered(self, node: Node) -> None:
        """Clients went on while their store was down, and it has forgotten what they asked for last."""
        self.started(node)
        past = [rates for at, rates in self.changes if at <= node.now]
        if past:
            self.knowledge.tell_rates(node, past[-1])

    @on(RatesChange)
    def change(self, node: Node, sender: str, timer: RatesChange) -> None:
        self.knowledge.tell_rates(node, self.changes[timer.place][1])
