"""Planted bugs in stores that follow plans, and in the manager that makes them."""

from __future__ import annotations

from typing import Any

from protocols.routing.topics import Publish
from protocols.storage.assignment import Plan
from protocols.storage.coverage import Coverage
from protocols.storage.following import Following
from protocols.storage.manager import Managing
from protocols.storage.retrieval import Retrieval, TopicCopy
from runtime.agent import Node
from runtime.message import replace as changed
from tests.checking.planted import Planted, nothing

acquire = Following.acquire
copied = Following.copied
published = Following.published
settle = Managing.settle


def serve_at_once(self: Following, node: Node, topic: str, attempt: int = 1) -> None:
    """A topic is advertised before its publications have come."""
    acquire(self, node, topic, attempt)
    self.complete(node, topic)


def move_in_one_step(self: Managing, node: Node, plan: Plan) -> None:
    """What is no longer wanted goes before what is to come has come."""
    self.durable.final = plan
    settle(self, node, plan.holders)


def lose_one(self: Following, node: Node, sender: str, copy: TopicCopy) -> None:
    """Of what has been fetched, one publication is not kept."""
    copied(self, node, sender, changed(copy, publications=copy.publications[1:]))


def forget_to_withdraw(self: Following, node: Node, topic: str) -> None:
    """The topic is gone, and everybody still believes the old advertisement."""
    self.durable.returning.pop(topic, None)
    self.durable.acquiring.pop(topic, None)
    self.durable.topics.pop(topic, None)
    self.durable.stored.pop(topic, None)


def miss_what_comes_meanwhile(self: Following, node: Node, sender: str, publication: Publish) -> None:
    if publication.topic not in self.durable.acquiring:
        published(self, node, sender, publication)


def planted(name: str, target: type[Any], attribute: str, bug: Any, caught_by: str, seed: int = 1) -> Planted:
    return Planted("planning", name, target, attribute, bug, caught_by, seed=seed)


PLANTED = [
    planted("serves at once", Following, "acquire", serve_at_once, "who-serves-has-everything"),
    planted("loses one that it has fetched", Following, "copied", lose_one, "who-serves-has-everything"),
    planted("moves in one step", Managing, "move", move_in_one_step, "every-topic-has-a-holder"),
    planted("forgets to withdraw", Following, "drop", forget_to_withdraw, "tables-are-right"),
    planted("keeps entries that are withdrawn", Coverage, "drop", nothing, "tables-are-right", seed=3),
    planted("lets requests wait for ever", Retrieval, "route_found", nothing, "requests-are-answered"),
    planted("hears nobody who is ready", Managing, "told_ready", nothing, "stores-follow-the-plan"),
    planted("does not catch up", Following, "catch_up", nothing, "stores-follow-the-plan"),
    planted(
        "misses what comes meanwhile", Following, "published", miss_what_comes_meanwhile, "stores-follow-the-plan", 12
    ),
    planted("never thinks a plan overdue", Managing, "overdue", nothing, "stores-follow-the-plan", seed=4),
    planted("fetches once", Following, "overdue", nothing, "stores-follow-the-plan"),
    planted("says a plan once", Managing, "say_again", nothing, "stores-follow-the-plan", seed=4),
]
