"""No token: every store acts on its own clock, on what it knows just then.

A store that finds nothing to do sleeps until it learns something. So the network is quiet exactly when no store,
knowing everything, has anything to do. (Our own: the paper assumes a single writer and leaves this open, IV.A.)
"""

from __future__ import annotations

from protocols.storage.replicas.facts import NO_EPOCH, Fact, LinkState, Rates
from protocols.storage.replicas.knowledge import Knowledge
from protocols.storage.replicas.replacing import Replacing
from protocols.storage.replicas.writer import Writer
from runtime.agent import Node, on
from runtime.message import message


@message(tag="replicas.Tick")
class Tick:
    """A timer: look whether something should be replaced."""


class OwnClock(Writer):
    """Acts every now and then: after an exponential time that the store draws itself, or with all others at once.

    A regular clock strikes at the same moments everywhere. Then neighbours decide on the same information and do the
    same thing: the case that random times break up.
    """

    def __init__(self, knowledge: Knowledge, replacing: Replacing, period_s: float, regular: bool = False) -> None:
        super().__init__()
        self.knowledge = knowledge
        self.replacing = replacing
        self.period_s = period_s
        self.regular = regular
        self.awake = False
        self.positions = 0
        knowledge.writer = self

    def started(self, node: Node) -> None:
        self.knowledge.tell_holding(node, self.knowledge.durable.items, NO_EPOCH)
        self._wake(node)

    @property
    def at_rest(self) -> bool:
        return bool(self.stopped) or (not self.awake and self.replacing.errand is None)

    def learnt(self, node: Node, fact: Fact) -> None:
        if isinstance(fact, Rates):
            self.replacing.rates_changed()
        if isinstance(fact, LinkState) and self.replacing.errand is not None:
            self.replacing.abandon()  # the way to what is being fetched may be gone
        self._wake(node)

    def _wake(self, node: Node) -> None:
        if not self.awake and not self.stopped and self.replacing.errand is None:
            self.awake = True
            node.after(self._until_next(node), Tick())

    def _until_next(self, node: Node) -> float:
        if self.regular:
            return self.period_s - node.now % self.period_s
        return node.rng.expovariate(1 / self.period_s)

    @on(Tick)
    def look(self, node: Node, sender: str, timer: Tick) -> None:
        self.awake = False
        if self.stopped or self.replacing.errand is not None or not self.knowledge.complete(NO_EPOCH):
            return  # whatever is missing will wake this store when it comes
        self.replacing.durable.iterations += 1
        chosen = self.replacing.plan()
        if chosen is not None:
            self.replacing.start(node, chosen, self._fetched)

    def _fetched(self, node: Node, arrived: bool) -> None:
        if arrived and self.replacing.may_commit():
            self.positions += 1
            why = self.replacing.commit(node, NO_EPOCH, 0, self.positions)
            if why:
                self.stop(node, why)
        else:
            self.replacing.abandon()
        self._wake(node)

    def halt(self, node: Node) -> None:
        self.replacing.abandon()
