"""What a broker and its links charge, and how that grows with their load (dissemination, section 5).

A broker charges its factor for conversions, and for each link on which it sends, its link factor. In a time unit, a
resource that has been used for x of its largest load L costs L / (L - x) times as much. The paper's conditions for that
formula are misprinted: here a resource whose load reaches its maximum costs the maximum, and none costs more.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Capacity:
    """The largest loads, in units of cost that a time unit can take, and what a resource costs at most."""

    unit_s: float
    node: float
    link: float
    most: float
    """In multiples of the factor without load."""

    aware: bool = True
    """Are plans made with the costs under load? Otherwise with those without; what is paid is the same."""


class Resources:
    """The factors of one broker. Plans are made with them, or, if it is not `aware`, as if they were 1."""

    def __init__(
        self,
        node_factor: float = 1.0,
        link_factor: float = 1.0,
        aware: bool = True,
        capacity: Capacity | None = None,
    ) -> None:
        self.node_base = node_factor
        self.link_base = link_factor
        self.aware = aware
        self.capacity = capacity
        self.unit = 0
        self.node_load = 0.0
        self.link_load: dict[str, float] = {}

    def node_factor(self, now: float) -> float:
        return self.node_base * self._node_load_factor(now)

    def link_factor(self, peer: str, now: float) -> float:
        return self.link_base * self._link_load_factor(peer, now)

    def told_node_factor(self, now: float) -> float:
        """What plans are made with."""
        base = self.node_base if self.aware else 1.0
        return base * self._node_load_factor(now) if self._tells_load() else base

    def told_link_factor(self, peer: str, now: float) -> float:
        base = self.link_base if self.aware else 1.0
        return base * self._link_load_factor(peer, now) if self._tells_load() else base

    def _tells_load(self) -> bool:
        return self.capacity is not None and self.capacity.aware

    def _node_load_factor(self, now: float) -> float:
        if self.capacity is None:
            return 1.0
        self._begin(now)
        return _dearer(self.node_load, self.capacity.node, self.capacity.most)

    def _link_load_factor(self, peer: str, now: float) -> float:
        if self.capacity is None:
            return 1.0
        self._begin(now)
        return _dearer(self.link_load.get(peer, 0.0), self.capacity.link, self.capacity.most)

    def use_node(self, cost: float, now: float) -> None:
        self._begin(now)
        self.node_load += cost

    def use_link(self, peer: str, cost: float, now: float) -> None:
        self._begin(now)
        self.link_load[peer] = self.link_load.get(peer, 0.0) + cost

    def _begin(self, now: float) -> None:
        """With each time unit, loads begin anew."""
        unit = 0 if self.capacity is None else int(now / self.capacity.unit_s)
        if unit != self.unit:
            self.unit, self.node_load = unit, 0.0
            self.link_load.clear()


def _dearer(load: float, largest: float, most: float) -> float:
    return most if load >= largest else min(most, largest / (largest - load))
