"""What the nodes of a Tapestry mesh say to each other: joining, news, leaving and failing."""

from __future__ import annotations

from runtime.message import message


@message
class Contact:
    """A node: its identifier, its name on the network, and which of its lives this is."""

    identifier: str
    name: str
    life: int


@message
class Join:
    """A newcomer looks for its surrogate: routed to its own identifier, so many digits of which are resolved."""

    newcomer: Contact
    level: int


@message
class Welcome:
    """The surrogate's answer: itself and its table, as far as it is of use to the newcomer."""

    contacts: tuple[Contact, ...]


@message
class News:
    """There is this node. `introduced`: you two may know different parts of the mesh, so tell each other."""

    contact: Contact
    introduced: bool


@message
class Rows:
    """What I know that you can use."""

    contacts: tuple[Contact, ...]


@message
class Point:
    """You are in my table. In it, as far as it is of use to you, these slots are filled."""

    contact: Contact
    filled: tuple[tuple[int, int], ...]


@message
class Unpoint:
    """You are no longer in my table."""

    contact: Contact


@message
class Need:
    """My slot for this prefix is empty: whom do you have?"""

    contact: Contact
    level: int
    digit: int


@message
class Gone:
    """This node has failed or left; told from acquaintance to acquaintance."""

    contact: Contact


@message
class Retry:
    """A timer: nobody has welcomed me yet."""


@message
class Arrive:
    """A timer: now the node is to join."""


@message
class Depart:
    """A timer: now the node is to leave."""
