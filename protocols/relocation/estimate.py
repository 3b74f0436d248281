"""What a publisher would cost at another broker: Algorithms 1 to 3 and the choice (relocation, 4.2).

Both costs are sums over the brokers of the trace, with the publisher's broker as the root. What lies beyond a link is
the same for all roots on this side of it, so each sum is kept for each direction of each link (as Algorithm 3 does
with bit vectors), and all candidates together take time in proportion to the number of brokers.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

Way = tuple[str, str | None]
"""A broker as seen from this neighbour; from None, if it is the root."""


@dataclass(frozen=True)
class BrokerStatistics:
    """What a trace session showed at one broker."""

    neighbours: tuple[str, ...]
    bits: int
    """Bit k is set if the session's publication k was delivered to somebody here."""

    deliveries: int
    input_s: float = 0.0
    matching_s: float = 0.0
    output_s: Mapping[str, float] = field(default_factory=dict)
    """For each neighbour; under the broker's own name for its clients."""

    def delay_to(self, peer: str) -> float:
        """queueAndMatchDelaysTo."""
        return self.input_s + self.matching_s + self.output_s.get(peer, 0.0)


class Estimate:
    """The costs of every candidate."""

    def __init__(self, brokers: Mapping[str, BrokerStatistics]) -> None:
        self.brokers = dict(brokers)
        self._peers = {
            name: [peer for peer in known.neighbours if peer in brokers] for name, known in self.brokers.items()
        }
        self._bits: dict[Way, int] = {}
        self._rate: dict[Way, int] = {}
        self._delay: dict[Way, tuple[int, float]] = {}

    def message_rate(self, root: str) -> int:
        """calcTotalMsgRate: how many messages all brokers handle in a session if the publisher is at the root."""
        for way in self._ways(root):
            if way not in self._rate:
                below = [(peer, way[0]) for peer in self._below(way)]
                self._bits[way] = self.brokers[way[0]].bits
                for other in below:
                    self._bits[way] |= self._bits[other]
                self._rate[way] = self._bits[way].bit_count() + sum(self._rate[other] for other in below)
        return self._rate[root, None]

    def average_delay(self, root: str, from_publisher_s: float = 0.0) -> float:
        """calcAvgDelay: the mean time from the publisher to a delivery if it is at the root."""
        for way in self._ways(root):
            if way not in self._delay:
                here = self.brokers[way[0]]
                deliveries, total_s = here.deliveries, here.deliveries * here.delay_to(way[0])
                for peer in self._below(way):
                    below, delay_s = self._delay[peer, way[0]]
                    deliveries += below
                    total_s += delay_s + below * here.delay_to(peer)
                self._delay[way] = deliveries, total_s
        deliveries, total_s = self._delay[root, None]
        return from_publisher_s + total_s / deliveries if deliveries else from_publisher_s

    def path(self, one: str, other: str) -> tuple[str, ...]:
        """The brokers from one to the other."""
        parent = {way[0]: way[1] for way in self._ways(other)}
        path = [one]
        while (above := parent[path[-1]]) is not None:
            path.append(above)
        return tuple(path)

    def _below(self, way: Way) -> Iterable[str]:
        return (peer for peer in self._peers[way[0]] if peer != way[1])

    def _ways(self, root: str) -> list[Way]:
        """Every broker as seen from the root, what lies farther first."""
        ways: list[Way] = [(root, None)]
        for way in ways:
            ways += [(peer, way[0]) for peer in self._below(way)]
        return ways[::-1]


def shortlist(costs: Mapping[str, float], weight: float) -> list[str]:
    """The candidates whose cost, normalised to 0 for the least and 100 for the most, is not above 100 - weight."""
    least, most = min(costs.values()), max(costs.values())
    allowed = (most - least) * ((100 - weight) / 100)
    return [name for name, cost in costs.items() if cost - least <= allowed]


def cheapest(costs: Mapping[str, float], current: str) -> str:
    """The candidate that costs least; of several the current one, or the first by name."""
    return min(costs, key=lambda name: (costs[name], name != current, name))
