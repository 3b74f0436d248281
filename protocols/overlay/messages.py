"""What users and brokers of an overlay say to each other (overlay, V). Channels and brokers go by their numbers."""

from __future__ import annotations

from runtime.message import message

# Between a user and its broker


@message(tag="overlay.Register")
class Register:
    """What I want, what I publish, and what my links to the brokers cost. A higher number replaces a lower one."""

    number: int
    interests: tuple[int, ...]
    rates: tuple[float, ...]
    costs: tuple[float, ...]


@message(tag="overlay.Registered")
class Registered:
    """All brokers know of your registration with this number: whatever is published from now on will find you."""

    number: int


@message(tag="overlay.Full")
class Full:
    """I have no room for you: ask another broker."""


@message(tag="overlay.Room")
class Room:
    """I had no room for you, and have now: come if you are with no other broker."""


@message(tag="overlay.Leave")
class Leave:
    """I want nothing any more."""


@message(tag="overlay.Publish")
class Publish:
    number: int
    content: tuple[float, ...]


@message(tag="overlay.Deliver")
class Deliver:
    publisher: str
    number: int
    content: tuple[float, ...]


# The hand-over


@message(tag="overlay.RequestToMove")
class RequestToMove:
    """Would you connect to this broker instead of me?"""

    foreign: str


@message(tag="overlay.Accept")
class Accept:
    foreign: str


@message(tag="overlay.Decline")
class Decline:
    foreign: str


@message(tag="overlay.Replicate")
class Replicate:
    """To the foreign broker: take over this user. `stay` counts the brokers that the user has been with.

    With the versions of all summaries that the home broker knows: by these it thinks that there is room.
    """

    user: str
    stay: int
    register: Register
    versions: tuple[int, ...]


@message(tag="overlay.Replicated")
class Replicated:
    """To the home broker: my summary will include the user from this version on."""

    user: str
    since: int


@message(tag="overlay.Refuse")
class Refuse:
    """To the home broker: I have no room for this user."""

    user: str


@message(tag="overlay.Ready")
class Ready:
    """To the home broker: all brokers have my summary with this user."""

    user: str


@message(tag="overlay.Migrate")
class Migrate:
    """To the user: all is ready, connect there."""

    foreign: str


@message(tag="overlay.Connect")
class Connect:
    """To the foreign broker: here I am."""


@message(tag="overlay.Disconnect")
class Disconnect:
    """To the broker that was home: this is the last you hear from me."""


@message(tag="overlay.Update")
class Update:
    """To the foreign broker: the user had this to say, and said it to me."""

    user: str
    register: Register


@message(tag="overlay.Forget")
class Forget:
    """To the foreign broker: the user has left."""

    user: str


# Between brokers


@message(tag="overlay.Summarize")
class Summarize:
    """The sender's users as one bigger user: the union of what they want, the sum of what they publish (IV.C).

    For each channel, how many want it and how much they publish; `own` is what they would send to themselves. Their
    access links cost `link_fixed` and, for each unit that anybody publishes on a channel, its `link_weights`. So all
    can tell the sender's load and cost from the rates that they know, and it need not speak when others' rates change.
    """

    version: int
    subscribers: tuple[int, ...]
    rates: tuple[float, ...]
    own: float
    link_weights: tuple[float, ...]
    link_fixed: float
    links: tuple[float, ...]
    capacity: float


@message(tag="overlay.Summarized")
class Summarized:
    """I know your summary of this version, and had routed so many publications to you before I did."""

    version: int
    routed: int


@message(tag="overlay.Forward")
class Forward:
    """A publication on its way along the tree that its first broker chose, which knew these summaries' versions."""

    publisher: str
    number: int
    content: tuple[float, ...]
    source: int
    versions: tuple[int, ...]
    tree: tuple[tuple[int, int], ...]


@message(tag="overlay.Redirect")
class Redirect:
    """A publication that found its subscriber gone on to you."""

    user: str
    publication: Deliver


@message(tag="overlay.RedirectOver")
class RedirectOver:
    """I have nothing more to redirect to the user's stay with you."""

    user: str
    stay: int


@message(tag="overlay.Turn")
class Turn:
    """Whose turn it is to move a user: nobody found anything to do in the last `quiet` turns, knowing this much."""

    quiet: int
    versions: tuple[int, ...]


# Timers


@message(tag="overlay.Try")
class Try:
    """Time to look for a user that should move."""


@message(tag="overlay.Introduce")
class Introduce:
    """Users are going to move: time to say something, for a broker that nobody has heard of."""


@message(tag="overlay.TimeToLive")
class TimeToLive:
    """The paper's limit: redirect no longer for this stay of the user."""

    user: str
    stay: int


@message(tag="overlay.PublishNext")
class PublishNext:
    pass


@message(tag="overlay.Happen")
class Happen:
    """The user's plan number `place` is due."""

    place: int
