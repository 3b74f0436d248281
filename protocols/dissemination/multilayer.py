"""The multilayer graph of a small subtree, and directed Steiner trees in it (dissemination, 3 and 4).

A vertex is a broker and a format. Operators lead from format to format at a broker, links from a broker to its child
in the same format. A subplan is a Steiner tree from what arrives at the top to every format that is needed somewhere.
The graph is never written down: distances at a broker follow from those at its parent and the CAG's cheapest chains.

The tree is exact for few formats (over sets of them, as in the optimal plan) or few terminals (Dreyfus and Wagner).
Otherwise it is the better one of two that are not: the nearest terminal connected first, and the best plan whose links
carry few formats. The first alone leaves the heuristic's plans a fifth above the optimum for 16 formats.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from protocols.dissemination.cag import Rates, members
from protocols.dissemination.making import MOST_FORMATS, Costs
from protocols.dissemination.optimal import CARRIED, optimal_carrying
from protocols.dissemination.plan import Operator, Plan, Tree

MOST_TERMINALS = 6
"""With more terminals than this, and more formats than CARRIED, the Steiner tree is approximated."""

Vertex = tuple[int, int]
"""A place in the subtree and a format."""


@dataclass(frozen=True)
class Subplan:
    """What the nodes of a subtree get and do, in the order of the subtree; the top's arrivals are given."""

    arrives: tuple[int, ...]
    operators: tuple[tuple[Operator, ...], ...]


class Multilayer:
    """The multilayer graph of some nodes of a tree, parents first; all but the first have their parent among them."""

    def __init__(self, tree: Tree, nodes: Sequence[int], rates: Rates) -> None:
        place_of = {node: place for place, node in enumerate(nodes)}
        self.tree = tree
        self.nodes = nodes
        self.rates = rates
        self.count = rates.count
        self.parents = [-1, *(place_of[tree.parents[node]] for node in nodes[1:])]
        self.below: list[list[int]] = [[] for _ in nodes]
        self.level_of = [0] * len(nodes)
        levels: list[list[int]] = [[0]]
        for place, parent in enumerate(self.parents[1:], start=1):
            self.below[parent].append(place)
            self.level_of[place] = level = self.level_of[parent] + 1
            if level == len(levels):
                levels.append([])
            levels[level].append(place)
        self.levels = [np.array(level) for level in levels]
        factors = np.array([[tree.node_factors[node], tree.link_factors[node]] for node in nodes])
        self._parents = np.array(self.parents)
        self._chains = np.array(rates.closure)[None, :, :] * factors[:, 0, None, None]
        self._sending = np.array(rates.transmission)[None, :] * factors[:, 1, None]

    def steiner(self, arrives: int, needed: Sequence[int], how: str = "best") -> Subplan:
        """From what arrives at the top to what each node needs: exact for few terminals or formats, else near to it.

        `how` is "best", or "nearest" for a tree that is approximated by the nearest terminal alone.
        """
        terminals = [(place, f) for place, formats in enumerate(needed) for f in members(formats)]
        terminals = [vertex for vertex in terminals if vertex[0] or not arrives >> vertex[1] & 1]
        if self.count <= CARRIED and how == "best":
            return self._carrying(arrives, needed)
        if len(terminals) <= MOST_TERMINALS:
            return self._subplan(arrives, self._exact(arrives, terminals))
        options = [self._subplan(arrives, self._near(arrives, terminals))]
        if arrives.bit_count() <= MOST_FORMATS and how == "best":
            options.append(self._carrying(arrives, needed))
        part = self._part(needed)
        return min(options, key=lambda option: Plan(part, option.arrives, option.operators).cost(self.rates))

    # The formats that most nodes need, in the best way

    def _carrying(self, arrives: int, needed: Sequence[int]) -> Subplan:
        """Over sets of formats: exact if links may carry all that there are."""
        plan = optimal_carrying(self._part(needed), self.rates, arrives)
        return Subplan(plan.arrives, plan.operators)

    def _part(self, needed: Sequence[int]) -> Tree:
        tree, nodes = self.tree, self.nodes
        factors = ([tree.node_factors[node] for node in nodes], [tree.link_factors[node] for node in nodes])
        names = tuple(tree.names[node] for node in nodes)
        return Tree(names, tuple(self.parents), tuple(needed), tuple(factors[0]), tuple(factors[1]))

    # The nearest terminal first

    def _near(self, arrives: int, terminals: Sequence[Vertex]) -> list[list[Operator | Vertex]]:
        """Connect the terminal that is nearest to what is connected, by a cheapest path; then the next."""
        steps: list[list[Operator | Vertex]] = [[] for _ in self.parents]
        has = np.zeros((len(self.parents), self.count), dtype=bool)
        has[0, list(members(arrives))] = True
        distance = np.full(has.shape, math.inf)
        self._spread(distance, has, 0)
        places = np.array([place for place, _ in terminals])
        formats = np.array([f for _, f in terminals])
        while True:
            away = np.where(has[places, formats], math.inf, distance[places, formats])
            nearest = int(away.argmin())
            if away[nearest] == math.inf:
                return steps
            self._spread(
                distance, has, self._connect(int(places[nearest]), int(formats[nearest]), distance, has, steps)
            )

    def _spread(self, distance: Costs, has: NDArray[np.bool_], top: int) -> None:
        """Distances from what is connected to every vertex at and below a node."""
        distance[top] = (self._given(top, distance, has)[:, None] + self._chains[top]).min(axis=0)
        if not self.below[top]:
            return
        for level in self.levels[self.level_of[top] + 1 :]:
            given = distance[self._parents[level]] + self._sending[level]
            given[has[level]] = 0.0
            distance[level] = (given[:, :, None] + self._chains[level]).min(axis=1)

    def _given(self, place: int, distance: Costs, has: NDArray[np.bool_]) -> Costs:
        """Distances to what a node has or can be sent, before it makes anything."""
        given = distance[self.parents[place]] + self._sending[place] if place else np.full(self.count, math.inf)
        given[has[place]] = 0.0
        return given

    def _connect(
        self, place: int, goal: int, distance: Costs, has: NDArray[np.bool_], steps: list[list[Operator | Vertex]]
    ) -> int:
        """Add a cheapest path to this vertex; gives the highest node that has something new."""
        top = place
        source = int((self._given(place, distance, has) + self._chains[place][:, goal]).argmin())
        if not has[place, source]:
            if not has[self.parents[place], source]:
                top = self._connect(self.parents[place], source, distance, has, steps)
            has[place, source] = True
            steps[place].append((-1, source))
        for operator in self.rates.chain(source, goal):
            if not has[place, operator[1]]:
                has[place, operator[1]] = True
                steps[place].append(operator)
        return top

    # Dreyfus and Wagner, for a directed graph

    def _exact(self, arrives: int, terminals: Sequence[Vertex]) -> list[list[Operator | Vertex]]:
        """A tree to a set of terminals splits somewhere into trees to two parts of the set."""
        far = self._distances()
        count, whole = len(terminals), (1 << len(terminals)) - 1
        cost = np.full((whole + 1, len(far)), math.inf)
        split: dict[int, NDArray[np.int64]] = {}
        for number, (place, f) in enumerate(terminals):
            cost[1 << number] = far[:, place * self.count + f]
        for chosen in range(1, whole + 1):
            if chosen & (chosen - 1) == 0:
                continue
            low = chosen & -chosen
            parts = []
            part = (chosen - 1) & chosen
            while part:
                if part & low:
                    parts.append(part)
                part = (part - 1) & chosen
            sums = np.array([cost[part] + cost[chosen ^ part] for part in parts])
            which = np.argmin(sums, axis=0)
            split[chosen] = np.array(parts)[which]
            merged = sums[which, np.arange(len(far))]
            cost[chosen] = (far + merged[None, :]).min(axis=1)
        steps: list[list[Operator | Vertex]] = [[] for _ in self.parents]
        has = [arrives, *(0 for _ in self.parents[1:])]
        if count:
            # What arrives is connected at no cost: the tree may begin at several formats.
            self._unfold(arrives, terminals, far, cost, split, has, steps)
        return steps

    def _unfold(
        self,
        arrives: int,
        terminals: Sequence[Vertex],
        far: Costs,
        cost: Costs,
        split: dict[int, NDArray[np.int64]],
        has: list[int],
        steps: list[list[Operator | Vertex]],
    ) -> None:
        roots = list(members(arrives))
        whole = (1 << len(terminals)) - 1
        best = {0: (0.0, 0, 0)}
        for chosen in range(1, whole + 1):
            part, options = chosen, []
            while part:
                root = min(roots, key=lambda f: cost[part][f])
                options.append((float(cost[part][root]) + best[chosen ^ part][0], part, root))
                part = (part - 1) & chosen
            best[chosen] = min(options)
        left = whole
        while left:
            _, part, root = best[left]
            self._follow(root, part, terminals, far, cost, split, has, steps)
            left ^= part

    def _follow(
        self,
        vertex: int,
        chosen: int,
        terminals: Sequence[Vertex],
        far: Costs,
        cost: Costs,
        split: dict[int, NDArray[np.int64]],
        has: list[int],
        steps: list[list[Operator | Vertex]],
    ) -> None:
        if chosen & (chosen - 1) == 0:
            place, f = terminals[chosen.bit_length() - 1]
            self._walk(vertex, place * self.count + f, far, has, steps)
            return
        halves = split[chosen]
        merged = cost[halves, np.arange(len(far))] + cost[chosen ^ halves, np.arange(len(far))]
        branch = int(np.argmin(far[vertex] + merged))
        self._walk(vertex, branch, far, has, steps)
        part = int(halves[branch])
        self._follow(branch, part, terminals, far, cost, split, has, steps)
        self._follow(branch, chosen ^ part, terminals, far, cost, split, has, steps)

    def _distances(self) -> Costs:
        """Between any two vertices."""
        size, count = len(self.parents), self.count
        far = np.full((size * count, size * count), math.inf)
        for place in range(size):
            own = slice(place * count, (place + 1) * count)
            chains = self._chains[place]
            if place:
                parent = self.parents[place]
                sent = far[:, parent * count : (parent + 1) * count] + self._sending[place]
                far[:, own] = (sent[:, :, None] + chains[None, :, :]).min(axis=1)
            far[own, own] = chains
        return far

    def _walk(self, start: int, goal: int, far: Costs, has: list[int], steps: list[list[Operator | Vertex]]) -> None:
        """Add a cheapest path between two vertices."""
        (top, source), (place, f) = divmod(start, self.count), divmod(goal, self.count)
        if has[place] >> f & 1:
            return
        if place == top:
            first = source
        else:
            parent = self.parents[place]
            sent = far[start, parent * self.count : (parent + 1) * self.count] + self._sending[place]
            first = int(np.argmin(sent + self._chains[place][:, f]))
            if not has[place] >> first & 1:
                self._walk(start, parent * self.count + first, far, has, steps)
                has[place] |= 1 << first
                steps[place].append((-1, first))
        for operator in self.rates.chain(first, f):
            if not has[place] >> operator[1] & 1:
                has[place] |= 1 << operator[1]
                steps[place].append(operator)

    def _subplan(self, arrives: int, steps: Sequence[Sequence[Operator | Vertex]]) -> Subplan:
        """A step from format -1 is an arrival from the parent."""
        gets = [arrives, *(sum(1 << f for source, f in own if source < 0) for own in steps[1:])]
        does = tuple(tuple(step for step in own if step[0] >= 0) for own in steps)
        return Subplan(tuple(gets), does)
