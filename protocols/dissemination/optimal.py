"""The optimal plan, by dynamic programming over sets of formats (dissemination, 3; the paper's own is in its appendix).

The paper's algorithm takes O(n k 2^3m S). Let W(v, A) be the least cost at and below v when the set A is at hand there.
Formats are made one at a time, W(v, A) = min over f of add(A, f) + W(v, A + f), or no more are made, and each child
gets the subset of A that is best for it: a minimum over subsets, taken for all sets together by going through the
formats once. That is O(n m 2^m).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from functools import cache, lru_cache

import numpy as np

from protocols.dissemination.cag import Rates, members
from protocols.dissemination.making import MOST_FORMATS, Costs, Sets, halves, made_before, make_before
from protocols.dissemination.plan import Operator, Plan, Tree, tidied

CARRIED = 10
"""So many formats may be carried by links where plans with all sets of formats would take too long."""

AT_A_TIME = 1 << 15
"""So many costs of sets stay close to the processor while nodes are looked at together."""
KEPT = 1 << 23
"""So many may be kept for the leaves: 64 MiB."""


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


def optimal_carrying(tree: Tree, rates: Rates, available: int, most: int = CARRIED) -> Plan:
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
    """The arrays W, of many nodes at a time: from the leaves to the root, then plans from the root to the leaves.

    `apart[place]` is the set of formats that a node makes for itself outside of this search, and `charge` says what
    such a set costs for a factor of 1. Where the leaves' arrays would be too many to keep, they are made again when
    they are needed.
    """

    def __init__(
        self,
        tree: Tree,
        rates: Rates,
        apart: Sequence[int] = (),
        charge: Callable[[int], Costs] = lambda _: np.zeros(1),
    ) -> None:
        self.tree = tree
        self.rates = rates
        self.apart = apart or (0,) * len(tree)
        self.charge = charge
        self.sets = np.arange(1 << rates.count, dtype=np.int32)
        self.sizes = _set_sums(rates.transmission)
        self.node_factors, self.link_factors = np.array(tree.node_factors), np.array(tree.link_factors)
        self.wanted = np.array(tree.wanted, dtype=np.int32)
        self.leaves = list(self._portions(self._leaves_alike()))
        self.levels = _levels_from_leaves(tree)
        inner = [place for level in self.levels for place in level]
        self.keeps_leaves = len(tree) == 1 or len(tree) * len(self.sets) <= KEPT
        kept = [*inner, *(group[0] for portion in self.leaves for group in portion if self.keeps_leaves)]
        self.row = {place: row for row, place in enumerate(kept)}
        self.best = np.empty((len(kept), len(self.sets)))
        waiting: dict[int, Costs] = {}
        for portion in self.leaves:
            self._settled_below(portion, self._of_leaves(portion), waiting, keep=self.keeps_leaves)
            for group in portion:
                self.row |= {place: self.row[group[0]] for place in group if self.keeps_leaves}
        for level in self.levels:
            for portion in self._portions([[place] for place in level]):
                going_on = np.stack([waiting.pop(place) for (place,) in portion], axis=1)
                self._settled_below(portion, self._best(portion, going_on), waiting, keep=True)
        self.top = self.best[self.row[0]]

    def _leaves_alike(self) -> list[list[int]]:
        """Leaves that want the same at the same cost share an array."""
        tree = self.tree
        groups: dict[object, list[int]] = {}
        for place, below in enumerate(tree.children):
            if not below:
                factors = tree.node_factors[place], tree.link_factors[place]
                groups.setdefault((tree.wanted[place], self.apart[place], *factors), []).append(place)
        return list(groups.values())

    def _portions(self, groups: Sequence[list[int]]) -> Iterator[Sequence[list[int]]]:
        """As many at a time as fit into what a processor has close by."""
        size = max(1, AT_A_TIME // len(self.sets))
        for start in range(0, len(groups), size):
            yield groups[start : start + size]

    def _of_leaves(self, portion: Sequence[list[int]]) -> Costs:
        return self._best(portion, np.zeros((len(self.sets), len(portion))))

    def _best(self, portion: Sequence[list[int]], going_on: Costs) -> Costs:
        """From what going on with each set costs to W, in place."""
        places = np.array([group[0] for group in portion])
        wanted = self.wanted[places]
        # One cannot go on without what the node's own subscribers want.
        np.copyto(going_on, math.inf, where=self.sets[:, None] & wanted != wanted)
        for column, place in enumerate(places):
            if self.apart[place]:
                going_on[:, column] += self.charge(self.apart[place]) * self.node_factors[place]
        return make_before(going_on, self.rates, self.node_factors[places])

    def _settled_below(self, portion: Sequence[list[int]], best: Costs, waiting: dict[int, Costs], keep: bool) -> None:
        """Add to the parents' costs what the best subset for each child costs, for every set at hand there."""
        first = [group[0] for group in portion]
        if keep:
            self.best[[self.row[place] for place in first]] = best.T
        if first == [0]:
            return
        costs = best + self.sizes[:, None] * self.link_factors[first]
        for place in range(self.rates.count):
            for without, having in halves(costs, place):
                np.minimum(having, without, out=having)
        for group, offered in zip(portion, np.ascontiguousarray(costs.T), strict=True):
            for place in group:
                parent = self.tree.parents[place]
                if parent in waiting:
                    waiting[parent] += offered
                else:
                    waiting[parent] = offered.copy()

    def plan(self, available: int) -> Plan:
        return tidied(self.plan_untidied(available))

    def plan_untidied(self, available: int) -> Plan:
        found = _Found(self, available)
        found.settle([0], self.best, [self.row[0]])
        for level in self.tree.levels[1:]:
            there = [place for place in level if place in self.row]
            found.settle(there, self.best, [self.row[place] for place in there])
        if not self.keeps_leaves:
            for portion in self.leaves:
                best = self._of_leaves(portion).T
                rows = [row for row, group in enumerate(portion) for _ in group]
                found.settle([place for group in portion for place in group], best, rows)
        return Plan(self.tree, tuple(found.arrives.tolist()), tuple(map(tuple, found.operators)))


class _Found:
    """A plan, as it is read off the arrays W; what is at hand at the parents must have been settled before."""

    def __init__(self, search: _Search, available: int) -> None:
        self.search = search
        self.arrives = np.full(len(search.tree), available)
        self.at_hand = np.zeros(len(search.tree), dtype=np.int64)
        self.operators: list[list[Operator]] = [[] for _ in search.tree.names]

    def settle(self, places: Sequence[int], best: Costs, rows: Sequence[int]) -> None:
        """What these nodes get and do, whose arrays are these rows."""
        if not places:
            return
        tree, search = self.search.tree, self.search
        families: dict[int, list[int]] = {}
        for number, place in enumerate(places):
            if place:
                families.setdefault(int(self.at_hand[tree.parents[place]]), []).append(number)
        own, here = np.array(rows), np.array(places)
        for at_hand, children in families.items():
            subsets = _subsets(at_hand)
            links = search.link_factors[here[children]]
            costs = best[own[children][:, None], subsets] + search.sizes[subsets] * links[:, None]
            self.arrives[here[children]] = subsets[costs.argmin(axis=1)]
        factors = search.node_factors[here]
        self.at_hand[here], made = made_before(best, own, self.arrives[here], search.rates, factors)
        for place, operators in zip(places, made, strict=True):
            self.operators[place] = operators


def _levels_from_leaves(tree: Tree) -> list[list[int]]:
    """The inner nodes: first those whose children are leaves, then those whose children are among the former, ..."""
    heights = [0] * len(tree)
    for place in range(len(tree) - 1, 0, -1):
        parent = tree.parents[place]
        heights[parent] = max(heights[parent], heights[place] + 1)
    levels: list[list[int]] = [[] for _ in range(max(heights))]
    for place, height in enumerate(heights):
        if height:
            levels[height - 1].append(place)
    return levels


def _subsets(formats: int) -> Sets:
    """All of them, in order."""
    subsets = np.zeros(1, dtype=np.int64)
    for member in members(formats):
        subsets = np.concatenate([subsets, subsets | 1 << member])
    return subsets


def _set_sums(values: Sequence[float]) -> Costs:
    """For each set, the sum over its members."""
    sums = np.zeros(1)
    for value in values:
        sums = np.concatenate([sums, sums + value])
    return sums


def _carrying(tree: Tree, rates: Rates, available: int, carried: Sequence[int]) -> Plan:
    """Search over the carried formats alone; what a broker makes for itself is charged by the cheapest chains."""
    place_of = {wide: narrow for narrow, wide in enumerate(carried)}
    others = [f for f in range(rates.count) if f not in place_of]
    chains = {target: _cheapest_from(carried, target, rates) for target in others}

    @cache
    def narrow(formats: int) -> int:
        return sum(1 << place_of[f] for f in members(formats) if f in place_of)

    @cache
    def charge(apart: int) -> Costs:
        return sum((chains[f] for f in members(apart)), start=np.zeros(1))

    apart = [wanted & sum(1 << f for f in others) for wanted in tree.wanted]
    small = Tree(tree.names, tree.parents, tuple(map(narrow, tree.wanted)), tree.node_factors, tree.link_factors)
    found = _Search(small, _among(rates, tuple(carried)), apart, charge).plan_untidied(narrow(available))
    return _widened(tree, rates, found, carried)


@lru_cache(maxsize=512)
def _among(rates: Rates, carried: tuple[int, ...]) -> Rates:
    """The rates of these formats; the others are passed through by the cheapest chains."""
    return Rates(
        tuple(rates.transmission[f] for f in carried),
        tuple(tuple(rates.closure[a][b] for b in carried) for a in carried),
    )


def _cheapest_from(carried: Sequence[int], target: int, rates: Rates) -> Costs:
    """For each set of carried formats, the cheapest chain from one of them."""
    costs = np.array([math.inf])
    for source in carried:
        costs = np.concatenate([costs, np.minimum(costs, rates.closure[source][target])])
    return costs


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
