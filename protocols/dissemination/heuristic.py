"""The iterative heuristic for large CAGs: refine one small subtree after the other (dissemination, 4, Algorithm 2).

The paper's subtrees are a node and its children; deeper ones and a better initial plan are its future work (8). Its
details are in an appendix that we do not have. Decided here: SelectNode takes the node whose refinement saves most,
and since the saving is found by refining, the refined subplan is kept for it. A subtree is refined with what arrives at
its top, and what its lowest nodes send on, as they are.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable
from dataclasses import dataclass

from protocols.dissemination.baselines import all_in_leaves, all_in_root
from protocols.dissemination.cag import Rates, members
from protocols.dissemination.making import MOST_FORMATS
from protocols.dissemination.multilayer import Multilayer, Subplan
from protocols.dissemination.optimal import optimal_carrying
from protocols.dissemination.plan import Operator, Plan, Tree, tidied

Planner = Callable[[Tree, Rates, int], Plan]
NOTHING = 1e-9
"""A saving below this part of the plan's cost is rounding."""


def cheapest(tree: Tree, rates: Rates, available: int) -> Plan:
    """The better one of the two plans that need no thought."""
    plans = [all_in_root(tree, rates, available), all_in_leaves(tree, rates, available)]
    return min(plans, key=lambda plan: plan.cost(rates))


def few_carried(tree: Tree, rates: Rates, available: int) -> Plan:
    """The better initial plan: the best one whose links carry few formats, or one that needs no thought."""
    plans = [cheapest(tree, rates, available)]
    if available.bit_count() <= MOST_FORMATS:
        plans.append(optimal_carrying(tree, rates, available))
    return min(plans, key=lambda plan: plan.cost(rates))


INITIAL: dict[str, Planner] = {
    "root": all_in_root,
    "leaves": all_in_leaves,
    "cheapest": cheapest,
    "few": few_carried,
}


@dataclass(frozen=True)
class Heuristic:
    """Refines an initial plan, at most so many times; without a number, until no subtree promises a saving."""

    initial: str = "cheapest"
    iterations: int | None = None
    depth: int = 1
    """Of the subtrees."""

    steiner: str = "best"
    """How Steiner trees are approximated, see multilayer.py."""

    def plan(self, tree: Tree, rates: Rates, available: int) -> Plan:
        plan = INITIAL[self.initial](tree, rates, available)
        return plan if self.iterations == 0 else Refining(plan, rates, self).run()


class Refining:
    """A plan that gets cheaper with every iteration."""

    def __init__(self, plan: Plan, rates: Rates, how: Heuristic) -> None:
        self.tree = plan.tree
        self.rates = rates
        self.how = how
        self.arrives = list(plan.arrives)
        self.operators: list[tuple[Operator, ...]] = list(plan.operators)
        self.least = NOTHING * max(1.0, plan.cost(rates))
        self.version = [0] * len(plan.tree)
        self.promises: list[tuple[float, int, int, Subplan]] = []
        self.nodes = {top: self._subtree(top) for top, below in enumerate(plan.tree.children) if below}
        self.asked: dict[int, tuple[tuple[int, list[int]], Subplan]] = {}
        """By subtree: what was asked of it last, and the answer."""

        for top in self.nodes:
            self._promise(top)

    def _subtree(self, top: int) -> list[int]:
        nodes, level = [top], [top]
        for _ in range(self.how.depth):
            level = [child for place in level for child in self.tree.children[place]]
            nodes += level
        return nodes

    def run(self) -> Plan:
        done, most = 0, self.how.iterations
        while self.promises and (most is None or done < most):
            top, subplan = self.select_node()
            if subplan is not None:
                self.refine_plan(top, subplan)
                done += 1
        return tidied(Plan(self.tree, tuple(self.arrives), tuple(self.operators)))

    def select_node(self) -> tuple[int, Subplan | None]:
        """The node that promises the largest saving, if its promise still holds."""
        _, top, version, subplan = heapq.heappop(self.promises)
        return top, subplan if version == self.version[top] else None

    def refine_plan(self, top: int, subplan: Subplan) -> None:
        """Put the refined subplan in, and look again at every subtree that has to do with what changed."""
        changed = set()
        for node, arrives, operators in zip(self.nodes[top], subplan.arrives, subplan.operators, strict=True):
            if (self.arrives[node], self.operators[node]) != (arrives, operators):
                changed.add(node)
                self.arrives[node], self.operators[node] = arrives, operators
        around = {self.tree.parents[node] for node in changed} | changed
        for _ in range(self.how.depth):
            around |= {self.tree.parents[node] for node in around}
        for other in sorted(around & self.nodes.keys()):
            self.version[other] += 1
            self._promise(other)

    def _promise(self, top: int) -> None:
        """What would refining here save?"""
        nodes = self.nodes[top]
        subplan = self._subplan(top)
        before = sum(self._cost(n, n != top, self.arrives[n], self.operators[n]) for n in nodes)
        rows = zip(nodes, subplan.arrives, subplan.operators, strict=True)
        saving = before - sum(self._cost(n, n != top, arrives, operators) for n, arrives, operators in rows)
        if saving > self.least:
            heapq.heappush(self.promises, (-saving, top, self.version[top], subplan))

    def _subplan(self, top: int) -> Subplan:
        nodes = self.nodes[top]
        asked = self.arrives[top], self._needed(nodes)
        if top not in self.asked or self.asked[top][0] != asked:
            self.asked[top] = asked, Multilayer(self.tree, nodes, self.rates).steiner(*asked, self.how.steiner)
        return self.asked[top][1]

    def _needed(self, nodes: list[int]) -> list[int]:
        """What each node needs: for itself, and to send on what leaves the subtree."""
        inside = set(nodes)
        needed = []
        for node in nodes:
            formats = self.tree.wanted[node]
            for child in self.tree.children[node]:
                if child not in inside:
                    formats |= self.arrives[child]
            needed.append(formats)
        return needed

    def _cost(self, node: int, link: bool, arrives: int, operators: tuple[Operator, ...]) -> float:
        """What a node's conversions cost, and if asked for the link to it."""
        cost = self.tree.node_factors[node] * sum(self.rates.conversion[a][b] for a, b in operators)
        sent = sum(self.rates.transmission[f] for f in members(arrives)) if link else 0.0
        return cost + self.tree.link_factors[node] * sent
