"""The storage management algorithms as one loop over plain dictionaries, straight from the paper (IV.A, appendix A).

Slow and obvious: every gain and loss is a difference of two whole traffic sums.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import networkx

Holding = dict[str, set[str]]


@dataclass
class Sequential:
    """One store after the other, in the order of a tour around the breadth-first tree of the first name."""

    graph: networkx.Graph
    sizes: Mapping[str, float]
    rates: Mapping[str, Mapping[str, float]]
    capacities: Mapping[str, float]
    holistic: bool

    def __post_init__(self) -> None:
        self.hops = dict(networkx.all_pairs_shortest_path_length(self.graph))

    def traffic(self, item: str, held: Holding, of: str | None = None) -> float:
        """T of one item (1), for all clients or for those of one store (4)."""
        holders = [store for store in held if item in held[store]]
        asking = self.graph.nodes if of is None else [of]
        return sum(
            self.sizes[item] * self.rates[store].get(item, 0.0) * min(self.hops[store][holder] for holder in holders)
            for store in asking
        )

    def difference(self, item: str, store: str, held: Holding) -> float:
        """What the item's traffic changes when it is put into this store, or taken from it."""
        of = None if self.holistic else store
        other = {name: set(items) for name, items in held.items()}
        other[store] ^= {item}
        return abs(self.traffic(item, held, of) - self.traffic(item, other, of))

    def tour(self) -> list[str]:
        first = min(self.graph.nodes)
        tree = networkx.bfs_tree(self.graph, first, sort_neighbors=sorted)
        return list(networkx.dfs_preorder_nodes(tree, first, sort_neighbors=sorted))

    def step(self, store: str, held: Holding) -> tuple[list[str], list[str]] | None:
        """What goes and what comes, or None. Equal amounts are rounded to be equal; then the first name counts."""
        mine, capacity = held[store], self.capacities[store]
        amount = {
            item: round(self.difference(item, store, held), 9) for item in self.sizes if self._counts(item, store, held)
        }
        losses = {item: amount[item] for item in sorted(mine) if item in amount}
        gains = {item: amount[item] for item in sorted(self.sizes) if item not in mine and self.sizes[item] <= capacity}
        if not gains:
            return None
        new = max(sorted(gains), key=lambda item: gains[item])
        free = capacity - sum(self.sizes[item] for item in mine)
        out, lost = [], 0.0
        for item in sorted(losses, key=lambda name: (losses[name], name)):
            if free >= self.sizes[new]:
                break
            out.append(item)
            lost += losses[item]
            free += self.sizes[item]
        if free < self.sizes[new] or gains[new] <= lost + 1e-9:
            return None
        now = (mine - set(out)) | {new}
        free -= self.sizes[new]
        refill = gains | {item: losses[item] for item in out}
        while fitting := [item for item in sorted(refill) if item not in now and self.sizes[item] <= free]:
            filler = max(fitting, key=lambda item: refill[item])
            now.add(filler)
            free -= self.sizes[filler]
        return sorted(mine - now), sorted(now - mine)

    def _counts(self, item: str, store: str, held: Holding) -> bool:
        return item not in held[store] or sum(item in items for items in held.values()) > 1

    def run(self, placement: Mapping[str, tuple[str, ...]]) -> list[tuple[str, list[str], list[str]]]:
        """All changes in order, until every store in a row has nothing to do."""
        held = {store: set(items) for store, items in placement.items()}
        changes, quiet = [], 0
        while True:
            for store in self.tour():
                found = self.step(store, held)
                quiet = 0 if found else quiet + 1
                if found:
                    held[store] = (held[store] - set(found[0])) | set(found[1])
                    changes.append((store, *found))
                if quiet == len(held):
                    return changes
