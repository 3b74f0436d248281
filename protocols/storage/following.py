"""A store that follows the plans of a manager: topics come and go while requests go on (planning, 3 and 6.2).

The manager publishes plans on a topic of its own, and every store subscribes to it: what holds for content holds for
plans, also that a store which was away asks for the last one. A topic that a plan gives to a store is acquired:
subscribe, fetch all that a nearest holder has, and only then advertise. Where messages keep their order on each link
of a tree, nothing that is published meanwhile is missed: the fetch travels behind the subscription, so what passes
a broker on its way before the subscription reaches the holder before the fetch.

A store that returns after a failure does the same, since it does not know what it missed; if nobody has the topic, it
serves what is on its disk. A topic that a plan takes away is withdrawn and forgotten. Requests that still arrive go
back to the broker, which knows who holds it now. The paper moves topics without saying how.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from protocols.routing.topics import Publish, Unsubscribe
from protocols.storage.retrieval import FetchTopic, Request, Response, TopicCopy
from protocols.storage.store import Held, Order, Storing
from runtime.agent import Node, on
from runtime.message import message, replace

PLAN = "$plan"
"""Plans are published here: for each store its topics, with a space between them."""

READY = "$ready"
"""Stores say here that they hold all that the plan with this number gives them."""

ATTEMPTS = 6
"""How often a topic is fetched in vain, with twice the patience each time, before the store gives up."""


@message
class FetchTopicAgain:
    """A timer: has this topic arrived by now?"""

    topic: str
    attempt: int


@dataclass
class FollowerHeld(Held):
    """What a store that follows plans keeps on disk."""

    plan: int = 0
    listening: int = 0
    """The number of its subscription to plans."""

    acquiring: dict[str, int] = field(default_factory=dict)
    """Topics that are not complete yet, with the number of the subscription."""

    returning: dict[str, None] = field(default_factory=dict)
    """Those of them that the store held before it failed."""

    published: int = 0
    history: list[tuple[float, str, bool]] = field(default_factory=list)
    """For observers: when the store began (True) and ceased (False) to serve which topic."""


class Following(Storing):
    """A store that acquires and drops topics as the newest plan says.

    `outages` is for observers: how often it failed.
    """

    durable: FollowerHeld

    def __init__(
        self,
        home: str,
        topics: Iterable[str],
        orders: Sequence[tuple[float, Order]] = (),
        managed: bool = False,
        patience_s: float = 1.0,
    ) -> None:
        super().__init__(home, topics, orders)
        self.managed = managed
        self.patience_s = patience_s
        self.durable = FollowerHeld()
        self.outages = 0

    def started(self, node: Node) -> None:
        super().started(node)
        self.listen(node)

    def recovered(self, node: Node) -> None:
        super().recovered(node)
        self.catch_up(node)

    def introduce(self, node: Node, peer: str) -> None:
        super().introduce(node, peer)
        if not self.failed:
            self.catch_up(node)

    def listen(self, node: Node) -> None:
        if self.managed:
            self.durable.listening = self.subscribe(node, PLAN)

    def catch_up(self, node: Node) -> None:
        """After an absence: what is the last plan, and what was being fetched?"""
        self.listen(node)
        for topic in sorted(self.durable.acquiring):
            self.acquire(node, topic)
        if self.managed:
            node.send(self.home, Request(node.id, self.durable.listening, PLAN, (), ()))

    def resume(self, node: Node) -> None:
        for topic in sorted(self.durable.topics):
            del self.durable.topics[topic]
            self.durable.returning[topic] = None
            self.durable.acquiring[topic] = self.durable.number  # catch_up fetches it

    def announce(self, node: Node, topic: str, number: int) -> None:
        self.durable.acquiring.pop(topic, None)
        self.durable.returning.pop(topic, None)
        self.durable.history.append((node.now, topic, True))
        super().announce(node, topic, number)

    @on(Order)
    def ordered(self, node: Node, sender: str, order: Order) -> None:
        if order.what == "recover" and not self.failed:
            return  # its broker believes what it advertised: it must go on serving that
        if order.what == "fail":
            self.outages += 1
            self.durable.history += [(node.now, topic, False) for topic in sorted(self.durable.topics)]
        super().ordered(node, sender, order)
        if order.what == "recover":
            self.catch_up(node)

    # Plans

    @on(Publish)
    def published(self, node: Node, sender: str, publication: Publish) -> None:
        if publication.topic == PLAN:
            self.follow(node, publication)
        elif not self.failed and publication.topic in self.durable.acquiring:
            self.keep(publication)
        else:
            super().published(node, sender, publication)

    @on(Response)
    def told(self, node: Node, sender: str, response: Response) -> None:
        self.follow(node, response.publication)

    def follow(self, node: Node, plan: Publish) -> None:
        """Do as the plan says. Who hears it again says again that it is ready: the first word may have been lost."""
        if self.failed or plan.number < self.durable.plan:
            return
        self.durable.plan = plan.number
        wanted = str(dict(plan.content).get(node.id, "")).split()
        for topic in sorted({*self.durable.topics, *self.durable.acquiring} - {*wanted}):
            self.drop(node, topic)
        for topic in wanted:
            if topic not in self.durable.topics and topic not in self.durable.acquiring:
                self.acquire(node, topic)
        self.tell_if_ready(node)

    def drop(self, node: Node, topic: str) -> None:
        self.durable.returning.pop(topic, None)
        if topic in self.durable.acquiring:
            node.send(self.home, Unsubscribe(topic, node.id, self.durable.acquiring.pop(topic)))
        else:
            self.durable.history.append((node.now, topic, False))
            self.withdraw(node, [topic])
        self.durable.stored.pop(topic, None)

    def acquire(self, node: Node, topic: str, attempt: int = 1) -> None:
        if attempt == 1:
            self.durable.acquiring[topic] = self.subscribe(node, topic)
        node.send(self.home, FetchTopic(topic, self.durable.acquiring[topic], ()))
        node.after(self.patience_s * 2**attempt, FetchTopicAgain(topic, attempt))

    @on(FetchTopicAgain)
    def overdue(self, node: Node, sender: str, again: FetchTopicAgain) -> None:
        """Nobody has it, or the store that was asked has failed with the fetch in its hands."""
        if self.failed or again.topic not in self.durable.acquiring:
            return
        if again.topic in self.durable.returning:
            self.complete(node, again.topic)
        elif again.attempt < ATTEMPTS:
            self.acquire(node, again.topic, again.attempt + 1)

    @on(TopicCopy)
    def copied(self, node: Node, sender: str, copy: TopicCopy) -> None:
        # A copy of an earlier fetch is too old if the topic was dropped meanwhile.
        if self.failed or self.durable.acquiring.get(copy.topic) != copy.number:
            return
        for publication in copy.publications:
            self.keep(publication)
        self.complete(node, copy.topic)

    def complete(self, node: Node, topic: str) -> None:
        self.announce(node, topic, self.durable.acquiring[topic])
        node.log("acquired", topic=topic, plan=self.durable.plan)
        self.tell_if_ready(node)

    def keep(self, publication: Publish) -> None:
        kept = self.durable.stored.setdefault(publication.topic, {})
        kept[publication.publisher, publication.number] = publication

    def tell_if_ready(self, node: Node) -> None:
        if self.managed and not self.durable.acquiring:
            self.durable.published += 1
            content = (("plan", self.durable.plan),)
            node.send(self.home, Publish(READY, node.id, self.durable.published, content))

    @on(Unsubscribe)
    def unsubscribed(self, node: Node, sender: str, gone: Unsubscribe) -> None:
        if self.failed:
            return
        if gone.topic == PLAN and self.durable.listening <= gone.number:
            self.durable.number = max(self.durable.number, gone.number)
            self.catch_up(node)
        elif self.durable.acquiring.get(gone.topic, gone.number + 1) <= gone.number:
            self.durable.number = max(self.durable.number, gone.number)
            self.acquire(node, gone.topic)
        else:
            super().unsubscribed(node, sender, gone)

    # Giving

    @on(FetchTopic)
    def fetched(self, node: Node, sender: str, fetch: FetchTopic) -> None:
        path = (*fetch.path, sender)
        if self.failed:
            return
        if fetch.topic in self.durable.topics:
            everything = tuple(self.durable.stored.get(fetch.topic, {}).values())
            node.send(self.home, TopicCopy(fetch.topic, fetch.number, everything, path[:-1]))
        else:
            node.send(self.home, replace(fetch, path=path))  # the broker knows who holds it now
