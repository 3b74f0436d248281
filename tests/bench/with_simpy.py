"""Flooding with SimPy, with every advantage we could find for it.

Links do not keep their order here, nothing is counted but deliveries, and nodes are numbers. A message on its
way is one timeout with a callback, not a process of its own as in SimPy's examples of latency.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Generator

from simpy import Environment, Event, Store, Timeout

from tests.bench.overlay import FAR, SEED, Distances, Overlay

News = tuple[int, int, int]
"""The sender, the place of the source among the sources, the hops."""


class SimPyStores:
    """A process per node that waits at its store; a message is put there when its delay is over."""

    name = "SimPy, a Store per node"

    def __init__(self, overlay: Overlay) -> None:
        self.neighbours = overlay.neighbours
        self.sources = overlay.sources
        self.hops = [[FAR] * len(overlay.sources) for _ in overlay.neighbours]
        self.draw = random.Random(SEED).random
        self.delivered = 0
        self.environment = Environment()
        self.stores = [Store(self.environment) for _ in overlay.neighbours]
        self.put = [_putter(store) for store in self.stores]
        for node in range(len(overlay.neighbours)):
            self.environment.process(self._node(node))

    def run(self) -> int:
        for place, source in enumerate(self.sources):
            self.hops[source][place] = 0
            self._send(source, None, place, 1)
        self.environment.run()
        return self.delivered

    def _node(self, node: int) -> Generator[Event, News, None]:
        known, get = self.hops[node], self.stores[node].get
        while True:
            sender, place, hops = yield get()
            self.delivered += 1
            if hops < known[place]:
                known[place] = hops
                self._send(node, sender, place, hops + 1)

    def _send(self, node: int, skip: int | None, place: int, hops: int) -> None:
        environment, draw, put = self.environment, self.draw, self.put
        news = (node, place, hops)
        for peer in self.neighbours[node]:
            if peer != skip:
                Timeout(environment, 0.5 + draw(), news).callbacks.append(put[peer])

    def distances(self) -> Distances:
        return self.hops


class SimPyCallbacks:
    """No processes and no stores: one event per message, whose callback handles it."""

    name = "SimPy, bare callbacks"

    def __init__(self, overlay: Overlay) -> None:
        self.neighbours = overlay.neighbours
        self.sources = overlay.sources
        self.hops = [[FAR] * len(overlay.sources) for _ in overlay.neighbours]

    def run(self) -> int:
        neighbours, known = self.neighbours, self.hops
        draw = random.Random(SEED).random
        environment = Environment()
        delivered = 0

        def heard(event: Event) -> None:
            nonlocal delivered
            delivered += 1
            node, sender, place, hops = event._value
            if hops < known[node][place]:
                known[node][place] = hops
                send(node, sender, place, hops + 1)

        def send(node: int, skip: int | None, place: int, hops: int) -> None:
            for peer in neighbours[node]:
                if peer != skip:
                    news = (peer, node, place, hops)
                    Timeout(environment, 0.5 + draw(), news).callbacks.append(heard)

        for place, source in enumerate(self.sources):
            known[source][place] = 0
            send(source, None, place, 1)
        environment.run()
        return delivered

    def distances(self) -> Distances:
        return self.hops


def _putter(store: Store) -> Callable[[Event], None]:
    put = store.put

    def arrived(event: Event) -> None:
        put(event._value)

    return arrived
