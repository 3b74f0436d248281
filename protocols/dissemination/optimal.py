"""The optimal plan, by dynamic programming over sets of formats (dissemination, 3; the paper's own is in its appendix).

The paper's algorithm takes O(n k 2^3m S). Let W(v, A) be the least cost at and below v when the set A is at hand there.
Formats are made one at a time, W(v, A) = min over f of add(A, f) + W(v, A + f), or no more are made, and each child
gets the subset of A that is best for it: a minimum over subsets, taken for all sets together by going through the
formats once. That is O(n m 2^m).
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from protocols.dissemination.cag import Rates, members
from protocols.dissemination.making import MOST_FORMATS, Costs, halves, made_before, make_before
from protocols.dissemination.plan import Operator, Plan, Tree, tidied


class TooManyFormatsError(ValueError):
    def __init__(self, count: int) -> None:
        super().__init__(f"{count} formats have too many sets; the optimal plan is for at most {MOST_FORMATS}")


def optimal(tree: Tree, rates: Rates, available: int) -> Plan:
    """A plan of least cost when these formats are at the root. Infeasible demands must have been refused before."""
    if rates.count > MOST_FORMATS:
        raise TooManyFormatsError(rates.count)
    return _Search(tree, rates).plan(available)


def least_cost(tree: Tree, rates: Rates, available: int) -> float:
    """The optimal plan's cost, which is sooner found than the plan."""
    if rates.count > MOST_FORMATS:
        raise TooManyFormatsError(rates.count)
    return float(_Search(tree, rates).top[available])


def optimal_carrying(tree: Tree, rates: Rates, available: int, most: int = 10) -> Plan:
    """The optimal plan among those whose links carry only a few formats: a better initial plan for a large CAG.

    What the paper plans to do (section 8). Links may carry what is at the root and the formats that most brokers want;
    every broker makes the others for itself, each by the cheapest chain from what it has.
    """
    demand = [sum(wanted >> place & 1 for wanted in tree.wanted) for place in range(rates.count)]
    others = [place for place in range(rates.count) if not available >> place & 1]
    others.sort(key=lambda place: (-demand[place], place))
    room = max(0, min(most, MOST_FORMATS) - available.bit_count())
    carried = sorted([*members(available), *others[:room]])
    if len(carried) > MOST_FORMATS:
        raise TooManyFormatsError(len(carried))
    return _carrying(tree, rates, available, carried)


class _Search:
    """The arrays W of the inner nodes; those of leaves are made again when they are needed."""

    def __init__(self, tree: Tree, rates: Rates, own: Sequence[Costs | None] | None = None) -> None:
        self.tree = tree
        self.rates = rates
        self.own = own
        self.sizes = _set_sums(rates.transmission)
        self.best: dict[int, Costs] = {}
        waiting: dict[int, Costs] = {}
        last: tuple[object, Costs] | None = None
        for place in self._leaves_alike_together():
            last = self._of_leaf(place, last)
            self._offer(waiting, place, last[1])
        self.top = last[1] if last is not None else np.zeros(1)
        for place in range(len(tree) - 1, -1, -1):
            if tree.children[place]:
                going_on = waiting.pop(place)
                self._refuse_unless_wanted(going_on, place)
                self.best[place] = make_before(going_on, rates, tree.node_factors[place])
                self._offer(waiting, place, self.best[place])
                self.top = self.best[place]

    def _leaves_alike_together(self) -> list[int]:
        tree = self.tree
        leaves = [place for place in range(len(tree)) if not tree.children[place]]
        return sorted(leaves, key=lambda place: (tree.wanted[place], tree.node_factors[place]))

    def _of_leaf(self, place: int, last: tuple[object, Costs] | None) -> tuple[object, Costs]:
        """The array of a leaf; leaves that want the same share it."""
        key = (self.tree.wanted[place], self.tree.node_factors[place], None if self.own is None else place)
        if last is not None and last[0] == key:
            return last
        costs = np.zeros(1 << self.rates.count)
        self._refuse_unless_wanted(costs, place)
        return key, make_before(costs, self.rates, self.tree.node_factors[place])

    def _refuse_unless_wanted(self, costs: Costs, place: int) -> None:
        """One cannot go on without what the node's own subscribers want."""
        for wanted in members(self.tree.wanted[place]):
            for without, _ in halves(costs, wanted):
                without[...] = math.inf
        if self.own is not None and (own := self.own[place]) is not None:
            costs += own

    def _offer(self, waiting: dict[int, Costs], place: int, best: Costs) -> None:
        """Add to the parent's costs what the best subset for this child costs, for every set at hand there."""
        if place == 0:
            return
        costs = best + self.sizes * self.tree.link_factors[place]
        for format_place in range(self.rates.count):
            for without, having in halves(costs, format_place):
                np.minimum(having, without, out=having)
        parent = self.tree.parents[place]
        if parent in waiting:
            waiting[parent] += costs
        else:
            waiting[parent] = costs

    def plan(self, available: int) -> Plan:
        return tidied(self.plan_untidied(available))

    def plan_untidied(self, available: int) -> Plan:
        tree, rates = self.tree, self.rates
        arrives = [available] * len(tree)
        at_hand = [0] * len(tree)
        operators: list[tuple[Operator, ...]] = [()] * len(tree)

        def settle(place: int, best: Costs) -> None:
            if place:
                arrives[place] = self._best_subset(place, best, at_hand[tree.parents[place]])
            at_hand[place], made = made_before(best, arrives[place], rates, tree.node_factors[place])
            operators[place] = tuple(made)

        for place in range(len(tree)):
            if tree.children[place]:
                settle(place, self.best.pop(place))
        last: tuple[object, Costs] | None = None
        for place in self._leaves_alike_together():
            last = self._of_leaf(place, last)
            settle(place, last[1])
        return Plan(tree, tuple(arrives), tuple(operators))

    def _best_subset(self, place: int, best: Costs, at_hand: int) -> int:
        subsets = np.zeros(1, dtype=np.int64)
        for member in members(at_hand):
            subsets = np.concatenate([subsets, subsets | 1 << member])
        costs = best[subsets] + self.sizes[subsets] * self.tree.link_factors[place]
        return int(subsets[np.argmin(costs)])


def _set_sums(values: Sequence[float]) -> Costs:
    """For each set, the sum over its members."""
    sums = np.zeros(1)
    for value in values:
        sums = np.concatenate([sums, sums + value])
    return sums


def _carrying(tree: Tree, rates: Rates, available: int, carried: Sequence[int]) -> Plan:
    """Search over the carried formats alone; what a broker makes for itself is charged by the cheapest chains."""
    place_of = {wide: narrow for narrow, wide in enumerate(carried)}
    narrow_rates = Rates(
        tuple(rates.transmission[f] for f in carried),
        tuple(tuple(rates.closure[a][b] for b in carried) for a in carried),
    )

    def narrow(formats: int) -> int:
        return sum(1 << place_of[f] for f in members(formats) if f in place_of)

    def own_cost(place: int) -> Costs | None:
        extra = [f for f in members(tree.wanted[place]) if f not in place_of]
        if not extra:
            return None
        total = np.zeros(1 << len(carried))
        for target in extra:
            costs = np.array([math.inf])
            for source in carried:
                costs = np.concatenate([costs, np.minimum(costs, rates.closure[source][target])])
            total += costs * tree.node_factors[place]
        return total

    small = Tree(tree.names, tree.parents, tuple(map(narrow, tree.wanted)), tree.node_factors, tree.link_factors)
    own = [own_cost(place) for place in range(len(tree))]
    found = _Search(small, narrow_rates, own).plan_untidied(narrow(available))
    return _widened(tree, rates, found, carried)


def _widened(tree: Tree, rates: Rates, found: Plan, carried: Sequence[int]) -> Plan:
    """Write out the chains, and add what each broker makes for itself."""
    arrives = [sum(1 << carried[f] for f in members(formats)) for formats in found.arrives]
    operators: list[tuple[Operator, ...]] = []
    for place in range(len(tree)):
        at_hand, done = arrives[place], []
        goals = [(carried[a], carried[b]) for a, b in found.operators[place]]
        own = [f for f in members(tree.wanted[place]) if f not in carried]
        sources = arrives[place] | sum(1 << b for _, b in goals)
        goals += [(min(members(sources), key=lambda a: (rates.closure[a][f], a)), f) for f in own]
        for source, target in goals:
            for operator in rates.chain(source, target):
                if not at_hand >> operator[1] & 1:
                    done.append(operator)
                    at_hand |= 1 << operator[1]
        operators.append(tuple(done))
    return tidied(Plan(tree, tuple(arrives), tuple(operators)))
