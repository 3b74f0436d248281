"""What brokers say about subscriptions, publications and trees."""

from __future__ import annotations

from protocols.dissemination.mesh_messages import Contact
from runtime.message import Scalar, message

Publication = tuple[str, int]
"""The publisher's broker, and its number for it."""

Conditions = tuple[tuple[str, str, Scalar], ...]
Content = tuple[tuple[str, Scalar], ...]
Hop = tuple[str, str, float, float]
"""A broker on the way: name, identifier, its factor, and that of the link to it."""


@message
class SubscribeFormats:
    """A broker wants matching content in these formats; routed to the topic's root."""

    key: str
    level: int
    topic: str
    broker: Contact
    number: int
    placing: int
    """The broker counts how often it asks anew, and a root that sends the subscription on to the next counts on."""

    formats: tuple[str, ...]
    conditions: Conditions


@message
class Subscribed:
    """This root knows a subscription of the broker."""

    root: Contact
    broker: Contact
    number: int
    placing: int


@message
class Moved:
    """I am not the root any more: the broker's subscription is on its way to the next, in this placing."""

    broker: Contact
    number: int
    placing: int


@message
class PublishContent:
    """Content in this format, with attributes to be matched; routed to the topic's root."""

    key: str
    level: int
    topic: str
    publisher: str
    number: int
    original: str
    content: Content


@message
class Published:
    number: int


@message
class Discover:
    """The tree discovery message: on its way from the RP to these brokers, over those in the path."""

    publication: tuple[str, int]
    targets: tuple[Contact, ...]
    path: tuple[tuple[str, str, float, float], ...]
    link_factor: float


@message
class Discovered:
    """A leaf of the tree sends the way to it back."""

    publication: tuple[str, int]
    path: tuple[tuple[str, str, float, float], ...]


@message
class Refused:
    """The broker's wish for this format cannot be met: there is no way to make it from the original."""

    topic: str
    original: str
    wanted: str


@message
class Act:
    """A timer: the broker's own subscription or publication of this number is due."""

    what: str
    number: int


@message(tag="dissemination.Again")
class Again:
    """A timer: what was sent has not been acknowledged."""

    what: str
    number: int


@message
class Overdue:
    """A timer: the tree has not been discovered yet."""

    publication: tuple[str, int]
