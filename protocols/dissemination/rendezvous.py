"""The rendezvous point RP of a topic: subscriptions with their formats, publications, matching (dissemination, 2)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from protocols.dissemination.content_messages import (
    Act,
    Again,
    Conditions,
    Content,
    Moved,
    PublishContent,
    Published,
    Refused,
    Subscribed,
    SubscribeFormats,
)
from protocols.dissemination.discovering import Demand, Discovering
from protocols.dissemination.mesh_messages import Contact
from protocols.dissemination.resources import Resources
from protocols.dissemination.tapestry import Tapestry
from protocols.routing.filters import matches
from runtime.agent import Node, Timer, on
from runtime.message import replace


@dataclass(frozen=True)
class Wish:
    """A subscription of this broker's clients: from when, to what, in which formats (their profiles)."""

    at: float
    topic: str
    key: str
    formats: tuple[str, ...]
    conditions: Conditions = ()


@dataclass(frozen=True)
class Issue:
    """A publication of this broker's clients."""

    at: float
    topic: str
    key: str
    original: str
    content: Content = ()


class Rendezvous(Discovering):
    """Subscribes and publishes for the broker's clients, and is the RP for the topics whose root it is."""

    def __init__(
        self,
        tapestry: Tapestry,
        resources: Resources,
        wishes: Sequence[Wish] = (),
        issues: Sequence[Issue] = (),
        discover: bool = True,
        patience_s: float = 60.0,
    ) -> None:
        super().__init__(tapestry, resources, discover, patience_s)
        self.wishes = tuple(wishes)
        self.issues = tuple(issues)
        self.subscriptions: dict[str, dict[tuple[str, int], SubscribeFormats]] = {}
        self.placings: dict[int, int] = {}
        self.rendezvous: dict[int, Contact] = {}
        """By own subscription: the newest placing, and the root that has acknowledged it."""

        self.waiting: dict[tuple[str, int], Timer] = {}
        self.refused: list[Refused] = []
        self.known_at: dict[int, float] = {}
        self.issued_at: dict[int, float] = {}
        tapestry.changed = self.mesh_changed
        tapestry.lost = self.broker_lost
        tapestry.resume = self.resumed
        tapestry.reborn = self.subscribe_again

    def started(self, node: Node) -> None:
        self._schedule(node, since=-1.0)

    def recovered(self, node: Node) -> None:
        """What was wanted is wanted still; what was published before the crash is not published again."""
        self._schedule(node, since=node.now)

    def _schedule(self, node: Node, since: float) -> None:
        for number, wish in enumerate(self.wishes):
            node.after(max(0.0, wish.at - node.now), Act("subscribe", number))
        for number, issue in enumerate(self.issues):
            if issue.at > since:
                node.after(issue.at - node.now, Act("publish", number))

    @on(Act, Again)
    def due(self, node: Node, sender: str, timer: Act | Again) -> None:
        if self.tapestry.durable.left:
            return
        if timer.what == "publish":
            self.publish(node, timer.number)
        elif isinstance(timer, Again):
            self.request(node, timer.number)
        else:
            self.subscribe(node, timer.number)

    def _expect(self, node: Node, what: str, number: int) -> None:
        if (what, number) in self.waiting:
            node.cancel(self.waiting[what, number])
        self.waiting[what, number] = node.after(self.patience_s, Again(what, number))

    def _answered(self, node: Node, what: str, number: int) -> None:
        if (what, number) in self.waiting:
            node.cancel(self.waiting.pop((what, number)))

    # Subscribing

    def subscribe(self, node: Node, number: int) -> None:
        """Anew: no root is known to know of it."""
        self._place(number, self.placings.get(number, 0) + 1)
        self.request(node, number)

    def _place(self, number: int, placing: int) -> None:
        self.placings[number] = placing
        self.rendezvous.pop(number, None)
        self.known_at.pop(number, None)

    def request(self, node: Node, number: int) -> None:
        wish, placing, me = self.wishes[number], self.placings[number], self.tapestry.me(node)
        self._expect(node, "subscribe", number)
        request = SubscribeFormats(wish.key, 0, wish.topic, me, number, placing, wish.formats, wish.conditions)
        self.subscribed(node, node.id, request)

    @on(SubscribeFormats)
    def subscribed(self, node: Node, sender: str, wish: SubscribeFormats) -> None:
        if self.tapestry.is_gone(wish.broker) or self.tapestry.pass_on(node, sender, wish):
            return
        known = self.subscriptions.setdefault(wish.topic, {})
        before = known.get((wish.broker.name, wish.number), wish)
        if (before.broker.life, before.placing) <= (wish.broker.life, wish.placing):
            known[wish.broker.name, wish.number] = wish
            answer = Subscribed(self.tapestry.me(node), wish.broker, wish.number, wish.placing)
            self._tell(node, wish.broker, answer, self.acknowledged)

    def _tell(self, node: Node, broker: Contact, answer: Any, here: Callable[[Node, str, Any], None]) -> None:
        """Over the underlay, or, to this broker itself, by this handler."""
        if broker.name == node.id:
            here(node, node.id, answer)
        else:
            node.send_underlay(broker.name, answer)

    def _concerns(self, node: Node, broker: Contact) -> bool:
        """Is this said of this broker's present life?"""
        return broker == self.tapestry.me(node) and not self.tapestry.durable.left

    @on(Subscribed)
    def acknowledged(self, node: Node, sender: str, answer: Subscribed) -> None:
        number, placing = answer.number, answer.placing
        if not self._concerns(node, answer.broker) or placing < self.placings[number]:
            return
        if self.tapestry.is_gone(answer.root):  # and with it what it knew: ask again when nobody else answers
            return
        if placing > self.placings[number]:
            self._place(number, placing)
        self.rendezvous[number] = answer.root
        self.known_at.setdefault(number, node.now)
        self._answered(node, "subscribe", number)

    def mesh_changed(self, node: Node) -> None:
        """Subscriptions whose root is now another node go there."""
        for topic, known in list(self.subscriptions.items()):
            for wish in list(known.values()):
                sent_on = replace(wish, level=0, placing=wish.placing + 1)
                if self.tapestry.forward(node, sent_on):
                    del known[wish.broker.name, wish.number]
                    self._tell(node, wish.broker, Moved(wish.broker, wish.number, sent_on.placing), self.moved)
            if not known:
                del self.subscriptions[topic]
        if self.tapestry.durable.left:
            self.hand_over(node)

    def hand_over(self, node: Node) -> None:
        """Who leaves hears no news any more and finds no trees: the next root is to plan what is not planned yet."""
        for publication, looking in list(self.looking.items()):
            if looking.timer is not None:
                node.cancel(looking.timer)
            del self.looking[publication], self.matched[publication]
            self.tapestry.forward(node, replace(looking.publish, level=0))

    @on(Moved)
    def moved(self, node: Node, sender: str, moved: Moved) -> None:
        """It may get lost on the way: see that the next root answers."""
        if self._concerns(node, moved.broker) and moved.placing > self.placings[moved.number]:
            self._place(moved.number, moved.placing)
            self._expect(node, "subscribe", moved.number)

    def broker_lost(self, node: Node, name: str) -> None:
        """Its subscriptions are void; what it kept for this broker is to be said again."""
        gone = self.tapestry.is_gone
        for topic, known in list(self.subscriptions.items()):
            self.subscriptions[topic] = {key: wish for key, wish in known.items() if not gone(wish.broker)}
        for number, root in list(self.rendezvous.items()):
            if gone(root) and not self.tapestry.durable.left:
                self.subscribe(node, number)

    def subscribe_again(self, node: Node) -> None:
        """What this broker wanted when it was taken for dead is void."""
        for number in list(self.placings):
            self.subscribe(node, number)

    def resumed(self, node: Node, held: SubscribeFormats | PublishContent) -> None:
        if isinstance(held, SubscribeFormats):
            self.subscribed(node, held.broker.name, held)
        else:
            self.published(node, held.publisher, held)

    @on(Refused)
    def refusal(self, node: Node, sender: str, refused: Refused) -> None:
        self.refused.append(refused)

    # Publishing

    def publish(self, node: Node, number: int) -> None:
        issue = self.issues[number]
        self.issued_at.setdefault(number, node.now)
        self._expect(node, "publish", number)
        content = PublishContent(issue.key, 0, issue.topic, node.id, number, issue.original, issue.content)
        self.published(node, node.id, content)

    @on(PublishContent)
    def published(self, node: Node, sender: str, publish: PublishContent) -> None:
        if self.tapestry.pass_on(node, sender, publish):
            return
        if publish.publisher == node.id:
            self.confirmed(node, node.id, Published(publish.number))
        else:
            node.send_underlay(publish.publisher, Published(publish.number))
        publication = (publish.publisher, publish.number)
        if publication not in self.matched:
            self.matched[publication] = demand = self.match(publish)
            self.look(node, publish, demand)

    @on(Published)
    def confirmed(self, node: Node, sender: str, answer: Published) -> None:
        self._answered(node, "publish", answer.number)

    def match(self, publish: PublishContent) -> Demand:
        """The brokers with matching subscriptions, and the formats in which each is to get the content."""
        demand: Demand = {}
        for wish in sorted(self.subscriptions.get(publish.topic, {}).values(), key=lambda w: (w.broker.name, w.number)):
            if matches(wish.conditions, publish.content):
                _, formats = demand.get(wish.broker.name, (wish.broker, ()))
                demand[wish.broker.name] = (wish.broker, tuple(dict.fromkeys((*formats, *wish.formats))))
        return demand
