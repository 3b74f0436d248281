"""Flooding without any library: a heap of tuples, nodes as numbers."""

from __future__ import annotations

import random
from heapq import heappop, heappush

from tests.bench.overlay import FAR, LONGEST_DELAY, SEED, SHORTEST_DELAY, Distances, Overlay


class HandWritten:
    """As one would write it for a paper: links keep their order, as the kernel's do."""

    name = "hand-written"

    def __init__(self, overlay: Overlay) -> None:
        self.neighbours = overlay.neighbours
        self.sources = overlay.sources
        self.hops: list[dict[int, int]] = [{} for _ in overlay.neighbours]

    def run(self) -> int:
        neighbours, known = self.neighbours, self.hops
        uniform = random.Random(SEED).uniform
        heap: list[tuple[float, int, int, int, int, int]] = []
        last: dict[tuple[int, int], float] = {}
        sent = 0

        def send(now: float, node: int, skip: int | None, source: int, hops: int) -> None:
            nonlocal sent
            for peer in neighbours[node]:
                if peer != skip:
                    sent += 1
                    at = max(now + uniform(SHORTEST_DELAY, LONGEST_DELAY), last.get((node, peer), 0.0))
                    last[node, peer] = at
                    heappush(heap, (at, sent, peer, node, source, hops))

        for source in self.sources:
            known[source][source] = 0
            send(0.0, source, None, source, 1)
        delivered = 0
        while heap:
            now, _, node, sender, source, hops = heappop(heap)
            delivered += 1
            if hops < known[node].get(source, FAR):
                known[node][source] = hops
                send(now, node, sender, source, hops + 1)
        return delivered

    def distances(self) -> Distances:
        return [[known[source] for source in self.sources] for known in self.hops]


class HandWrittenBare:
    """As fast as plain Python gets: no order on links, no function calls, lists instead of dicts."""

    name = "hand-written, bare"

    def __init__(self, overlay: Overlay) -> None:
        self.neighbours = overlay.neighbours
        self.sources = overlay.sources
        self.hops = [[FAR] * len(overlay.sources) for _ in overlay.neighbours]

    def run(self) -> int:
        neighbours, known = self.neighbours, self.hops
        # The delay is written out: this holds for uniform(0.5, 1.5) alone.
        draw, push, pop = random.Random(SEED).random, heappush, heappop
        heap: list[tuple[float, int, int, int, int, int]] = []
        sent = 0
        for place, source in enumerate(self.sources):
            known[source][place] = 0
            for peer in neighbours[source]:
                sent += 1
                push(heap, (0.5 + draw(), sent, peer, source, place, 1))
        delivered = 0
        while heap:
            now, _, node, sender, place, hops = pop(heap)
            delivered += 1
            if hops < known[node][place]:
                known[node][place] = hops
                for peer in neighbours[node]:
                    if peer != sender:
                        sent += 1
                        push(heap, (now + 0.5 + draw(), sent, peer, node, place, hops + 1))
        return delivered

    def distances(self) -> Distances:
        return self.hops
