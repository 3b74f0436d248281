"""Partial-order reduction: steps at different nodes commute, so not every order of them has to be tried.

Sleep sets leave out a step that another order of the same steps has taken already. Every state is still visited, so
they are sound for every property. Persistent sets leave out whole states: of what can happen, only the steps of some
nodes are tried, if nothing that happens elsewhere can change or add to them. Every way still ends where it did, so they
are sound for what is asked for at the end, and only for that (Godefroid, Partial-Order Methods, LNCS 1032, ch. 4, 5).
"""

from __future__ import annotations

from itertools import combinations
from typing import Literal

from runtime.exploring.rules import SPENT, State
from runtime.exploring.space import Space
from runtime.exploring.steps import ENVIRONMENT, FIRE, Steps, each

Reduction = Literal["none", "sleep", "persistent"]
REDUCTIONS: dict[str, str] = {
    "sleep": "every state, but not every order",
    "persistent": "every end, but not every state: for properties that are asked for at the end",
    "none": "every order",
}
MOST_NODES = 12
"""Of so many nodes every group is looked at; of more, only the small ones."""

FEW = 3


class Independence:
    """Which steps of a state commute."""

    def __init__(self, space: Space) -> None:
        self._space = space
        self._logs = bool(space.machine.needs.events)

    def asleep_after(self, state: State, step: int, before: Steps) -> Steps:
        """Of what sleeps or was tried before this step: what need not be tried after it."""
        if not before:
            return 0
        asleep = before & ~self._space.catalogue.dependent(step)
        if asleep and self._logs and self._space.effect(state, step).rows:
            for other in each(asleep):
                if self._space.effect(state, other).rows:
                    asleep ^= 1 << other  # which row comes first can be seen
        return asleep


class Persistence:
    """Picks nodes whose steps are enough."""

    def __init__(self, space: Space) -> None:
        self._space = space
        machine = space.machine
        self._nodes = range(len(machine.names))
        self._links_to: list[list[tuple[int, int]]] = [[] for _ in self._nodes]
        self._near: list[set[int]] = [set() for _ in self._nodes]
        for link, (source, target) in enumerate(machine.links):
            self._links_to[target].append((link, source))
            self._near[source].add(target)
        self._known: dict[tuple[frozenset[int], int, int], frozenset[int] | None] = {}

    def enough(self, state: State, steps: Steps) -> Steps:
        """Some of the steps, or all of them."""
        catalogue, rules = self._space.catalogue, self._space.rules
        if not steps & (steps - 1) or state.left != SPENT or state.hints or self._space.machine.needs.events:
            return steps
        if rules.timers != "any" and steps & catalogue.of_kind[FIRE]:
            return steps
        if sum((steps & catalogue.of_kind[kind]).bit_count() for kind in ENVIRONMENT) > 1:
            return steps
        at = {place: (steps & of).bit_count() for place, of in enumerate(catalogue.at_place)}
        active = frozenset(place for place, count in at.items() if count)
        waiting = sum(1 << link for link, queue in enumerate(state.queues) if queue)
        key = (active, waiting, steps & catalogue.of_kind[FIRE])
        if key not in self._known:
            self._known[key] = self._group(active, waiting, at)
        group = self._known[key]
        return steps if group is None else sum(steps & catalogue.at_place[place] for place in group)

    def _group(self, active: frozenset[int], waiting: int, at: dict[int, int]) -> frozenset[int] | None:
        """The nodes with the fewest steps that nobody else can interfere with; None for all."""
        best: tuple[int, frozenset[int]] | None = None
        largest = len(self._nodes) if len(self._nodes) <= MOST_NODES else FEW
        for size in range(1, largest):
            for chosen in combinations(self._nodes, size):
                group = frozenset(chosen)
                count = sum(at[place] for place in chosen)
                if count and (best is None or count < best[0]) and self._undisturbed(group, active, waiting):
                    best = count, group
            if best is not None and best[0] == 1:
                break
        return None if best is None or best[0] == sum(at.values()) else best[1]

    def _undisturbed(self, group: frozenset[int], active: frozenset[int], waiting: int) -> bool:
        """Whoever may act outside the group puts at most a message behind others that wait already."""
        reached = set(active - group)
        queue = list(reached)
        for place in queue:
            for peer in self._near[place] - group - reached:
                reached.add(peer)
                queue.append(peer)
        fifo = self._space.rules.fifo
        return all(
            source not in reached or (fifo and waiting >> link & 1)
            for place in group
            for link, source in self._links_to[place]
        )
