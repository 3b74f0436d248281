"""Planted bugs in the mesh, in finding who wants what, and in content on its way."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from protocols.dissemination.content_messages import Publication, PublishContent
from protocols.dissemination.delivery import CustomContent, Delivery
from protocols.dissemination.discovering import Demand
from protocols.dissemination.identifiers import VALUES
from protocols.dissemination.mesh_messages import Contact
from protocols.dissemination.plan import Plan
from protocols.dissemination.rendezvous import Rendezvous
from protocols.dissemination.resources import Resources
from protocols.dissemination.tapestry import Tapestry
from protocols.dissemination.vigil import Vigil
from runtime import message
from runtime.agent import Node
from tests.checking.planted import Planted, never, nothing

perform = Delivery.perform
match = Rendezvous.match
broker_lost = Rendezvous.broker_lost
ask = Vigil.ask


def yes(self: Any, *ignored: Any) -> bool:
    return True


def nobody(self: Any, *ignored: Any, **more: Any) -> list[str]:
    return []


def alike(self: Resources, *ignored: Any) -> float:
    return 1.0


def end_where_a_digit_is_missing(self: Tapestry, key: str, level: int, skip: str = "") -> tuple[Contact | None, int]:
    """No surrogate is sought: whoever knows nobody with the next digit thinks that it is the root."""
    while level < len(key) and self.identifier[level] == key[level]:
        level += 1
    contact = self.table.get((level, VALUES[key[level]])) if level < len(key) else None
    return (None, level) if contact is None or contact.name == skip else (contact, level + 1)


def ask_nobody_for_what_it_wants(self: Rendezvous, publish: PublishContent) -> Demand:
    """Whatever the conditions say, content matches."""
    demand: Demand = {}
    for wish in self.subscriptions.get(publish.topic, {}).values():
        demand[wish.broker.name] = (wish.broker, wish.formats)
    return demand


def forget_the_first(self: Rendezvous, publish: PublishContent) -> Demand:
    return dict(list(match(self, publish).items())[1:])


def forget_who_was_known_elsewhere(self: Rendezvous, publish: PublishContent) -> Demand:
    """Of those who subscribed with another root before, nobody is served."""
    wishes = self.subscriptions.get(publish.topic, {}).values()
    moved = {wish.broker.name for wish in wishes if wish.placing > 1}
    return {name: wish for name, wish in match(self, publish).items() if name not in moved}


def go_on_where_others_were(self: Tapestry, node: Node, routed: Any) -> bool:
    """Digits that somebody else has resolved are not looked at again."""
    hop, level = self.next_hop(routed.key, routed.level)
    if hop is not None:
        node.send_underlay(hop.name, message.replace(routed, level=level))
    return hop is not None


def void_what_a_new_life_wants(self: Rendezvous, node: Node, name: str) -> None:
    for topic, known in list(self.subscriptions.items()):
        self.subscriptions[topic] = {key: wish for key, wish in known.items() if key[0] != name}
    broker_lost(self, node, name)


def send_to_one_child_only(self: Delivery, node: Node, publication: Publication, plan: Plan, *more: Any) -> None:
    perform(self, _ToOne(node), publication, plan, *more)  # type: ignore[arg-type]


def send_the_original_everywhere(self: Delivery, node: Node, publication: Publication, plan: Plan, *more: Any) -> None:
    arrives = tuple(formats | plan.arrives[0] for formats in plan.arrives)
    perform(self, node, publication, Plan(plan.tree, arrives, plan.operators), *more)


class _ToOne:
    """A node that sends content once only."""

    def __init__(self, node: Node) -> None:
        self._node = node
        self._sent = False

    def __getattr__(self, name: str) -> Any:
        return getattr(self._node, name)

    def send_underlay(self, peer: str, message: object) -> None:
        if not (self._sent and isinstance(message, CustomContent)):
            self._node.send_underlay(peer, message)
        self._sent = True


def begin_the_time_anew(self: Vigil, node: Node, peer: str) -> None:
    """Who is asked again has all the time to answer again: asked often enough, it is never down."""
    for timer in self.waiting.pop(peer, {}).values():
        node.cancel(timer)
    ask(self, node, peer)


def planted(name: str, target: type[Any], attribute: str, bug: Any, caught_by: str) -> Planted:
    return Planted("dissemination", name, target, attribute, bug, caught_by)


KNOWN = "the-root-knows-who-wants-what"
PLANTED = [
    planted("does not look for another", Tapestry, "refill", nothing, "tables-are-full"),
    planted("recommends nobody", Tapestry, "recommend", nothing, "tables-are-full"),
    planted("compares nothing", Tapestry, "compare", nothing, "tables-are-full"),
    planted("buries nobody", Tapestry, "bury", nothing, "comes-to-rest"),
    planted("knows nobody to tell", Tapestry, "linked", nobody, "tables-are-full"),
    planted("takes whom it heard of first", Tapestry, "is_nearer", never, "tables-are-full"),
    planted("ignores a welcome", Tapestry, "welcomed", nothing, "comes-to-rest"),
    planted("denies nothing", Tapestry, "refute", nothing, "tables-are-full"),
    planted("ends where a digit is missing", Tapestry, "next_hop", end_where_a_digit_is_missing, "one-root-each"),
    # Takes some luck: two rendezvous points for the same publication.
    replace(planted("thinks that everything is new", Delivery, "is_new", yes, "each-format-once"), seed=5),
    planted("matches everything", Rendezvous, "match", ask_nobody_for_what_it_wants, "each-format-once"),
    planted("forgets a subscriber", Rendezvous, "match", forget_the_first, "everybody-is-served"),
    planted("leaves subscriptions where they are", Rendezvous, "mesh_changed", nothing, KNOWN),
    planted("sends on, and looks no further", Rendezvous, "moved", nothing, KNOWN),
    planted("voids what a new life wants", Rendezvous, "broker_lost", void_what_a_new_life_wants, KNOWN),
    planted("wants nothing in a new life", Rendezvous, "subscribe_again", nothing, KNOWN),
    planted("goes on where others were", Tapestry, "forward", go_on_where_others_were, KNOWN),
    planted("forgets the moved", Rendezvous, "match", forget_who_was_known_elsewhere, "everybody-is-served"),
    planted("sends to one child only", Delivery, "perform", send_to_one_child_only, "everybody-is-served"),
    planted("sends the original everywhere", Delivery, "perform", send_the_original_everywhere, "paid-as-planned"),
    planted("thinks links alike", Resources, "told_link_factor", alike, "paid-as-planned"),
    planted("thinks nodes alike", Resources, "told_node_factor", alike, "paid-as-planned"),
    planted("thinks that nobody is gone", Tapestry, "is_gone", never, "comes-to-rest"),
    planted("begins the time to answer anew", Vigil, "ask", begin_the_time_anew, "comes-to-rest"),
]
