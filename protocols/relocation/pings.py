"""Round-trip times between a publisher and brokers, over the connections that it would use (relocation, 4.2)."""

from __future__ import annotations

from runtime.message import message


@message
class AskPings:
    """To the publisher: how far are these brokers from you?"""

    brokers: tuple[str, ...]


@message(tag="PublisherPing")
class Ping:
    sent_s: float


@message(tag="PublisherPong")
class Pong:
    """The answer, with the time at which the ping was sent."""

    sent_s: float


@message
class PingTimes:
    """From the publisher: the round-trip time to each broker."""

    publisher: str
    times: tuple[tuple[str, float], ...]
