"""Links: how long a message takes, and what may happen to it on the way."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from runtime.distributions import Distribution
from runtime.faults import LinkFaults

if TYPE_CHECKING:
    from runtime.simnode import SimNode

# Park and Miller's minimal standard generator. A link draws one number per message, so a stream that is one
# small int will do: a million nodes cannot afford a Mersenne twister for each of their links.
MULTIPLIER = 48271
MODULUS = (1 << 31) - 1
UNIT = 1.0 / MODULUS

COUNT_BITS = 32
COUNT_MASK = (1 << COUNT_BITS) - 1
COPIES = 2  # numbers that one transmission takes up: the message and at most one duplicate


UNUSED = Distribution(0.0)
"""The delay of links on which times are set, not drawn: timers and orders of the environment."""


class Special:
    """What only some links have: a bandwidth, a delay with a tail, faults, or a recording to follow."""

    __slots__ = ("bandwidth", "delay", "faults", "free_at", "recorded", "waited_s")

    def __init__(
        self,
        delay: Distribution,
        bandwidth: float | None = None,
        faults: LinkFaults | None = None,
        recorded: dict[int, float] | None = None,
    ) -> None:
        self.delay = delay
        self.bandwidth = bandwidth
        self.faults = faults
        self.recorded = recorded
        self.free_at = 0.0
        self.waited_s = 0.0


class Link:
    """One direction between two nodes: FIFO, with its own stream of delays.

    `order` ranks events by (target, source); adding the sender's count gives every event its place among
    simultaneous ones. `windows` is where they wait: in the simulator's own, or on the way to another's.
    """

    __slots__ = ("last", "low", "order", "peer", "scale", "source", "special", "state", "target", "windows")

    def __init__(
        self,
        source: str,
        target: SimNode,
        order: int,
        windows: dict[int, list[Any]],
        delay: Distribution = UNUSED,
        seed: int = 0,
        special: Special | None = None,
    ) -> None:
        self.source = source
        self.target = target
        self.windows = windows
        self.peer = target.id
        self.order = order
        self.low = delay.floor
        self.scale = delay.span * UNIT
        self.state = seed % (MODULUS - 1) + 1
        self.last = 0.0
        self.special = special

    def memory(self) -> tuple[Any, ...]:
        """What the link must not forget when it goes on in another process."""
        special = self.special
        if special is None:
            return self.state, self.last
        faults = None if special.faults is None else special.faults.memory()
        return self.state, self.last, special.free_at, special.waited_s, faults

    def recall(self, memory: tuple[Any, ...]) -> None:
        self.state, self.last, *rest = memory
        if self.special is not None:
            self.special.free_at, self.special.waited_s, faults = rest
            if self.special.faults is not None:
                self.special.faults.recall(faults)

    def arrivals(self, special: Special, now: float, size: int, count: int) -> list[tuple[int, float]]:
        """When this message arrives: (number, time) of each copy, none if it is lost."""
        if special.recorded is not None:
            copies = ((count + copy, special.recorded.get(count + copy)) for copy in range(COPIES))
            return [(number, time) for number, time in copies if time is not None]
        depart = now
        if special.bandwidth is not None:
            # The output queue is FIFO: a message leaves when those before it have left.
            if special.free_at > now:
                special.waited_s += special.free_at - now
                depart = special.free_at
            depart = special.free_at = depart + size / special.bandwidth
        self.state = state = self.state * MULTIPLIER % MODULUS
        if special.delay.linear:
            arrival = depart + self.low + state * self.scale  # to the last bit as on a plain link
        else:
            arrival = depart + special.delay.value(state * UNIT)
        if special.faults is None:
            return [(count, self._in_order(arrival))]
        special.faults.sent += 1
        return [] if special.faults.cut(depart) else self._copies(special.faults, depart, arrival, count)

    def _copies(self, faults: LinkFaults, depart: float, arrival: float, count: int) -> list[tuple[int, float]]:
        copies = []
        for number, (extra, overtakes) in enumerate(faults.fates(depart, arrival), start=count):
            time = arrival + extra if overtakes else max(arrival + extra, self.last)
            if not faults.cut(time):
                self.last = self.last if overtakes else time
                copies.append((number, time))
        return copies

    def _in_order(self, arrival: float) -> float:
        self.last = arrival = max(arrival, self.last)
        return arrival
