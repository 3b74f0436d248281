"""The least cost of small instances, exactly, by integer programming (overlay, II.B; solved here, not in the paper).

Which brokers have subscribers of a channel is one choice among all sets of brokers, and each publisher's traffic on
the channel costs the weight of the spanning tree over that set and its own broker. With a variable for each of these
combinations the program is linear; there are 2^brokers sets, so it is for few brokers.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import product

import numpy as np
from scipy.optimize import Bounds, LinearConstraint, milp
from scipy.sparse import csr_array

from protocols.overlay.content import Floats, Instance, Places
from protocols.overlay.cost import Mask, SpanningTrees
from protocols.overlay.packing import SLACK

MOST_BROKERS = 6
TIME_LIMIT_S = 300.0


class NoOptimum(Exception):
    """There is no assignment within the capacities, or none was found in time."""


@dataclass
class Program:
    """A linear program under construction: variables with their costs, and rows low <= sum <= high."""

    costs: list[float] = field(default_factory=list)
    whole: list[int] = field(default_factory=list)
    rows: list[dict[int, float]] = field(default_factory=list)
    low: list[float] = field(default_factory=list)
    high: list[float] = field(default_factory=list)

    def variable(self, cost: float = 0.0, whole: bool = False) -> int:
        self.costs.append(cost)
        self.whole.append(int(whole))
        return len(self.costs) - 1

    def require(self, row: dict[int, float], low: float, high: float) -> None:
        self.rows.append(row)
        self.low.append(low)
        self.high.append(high)

    def solve(self) -> Floats:
        entries = [(number, column, value) for number, row in enumerate(self.rows) for column, value in row.items()]
        rows, columns, values = zip(*entries, strict=True)
        matrix = csr_array((values, (rows, columns)), shape=(len(self.rows), len(self.costs)))
        # The solver's tolerances are absolute: costs must be neither tiny nor huge.
        costs = np.array(self.costs) * (1000.0 / max(*self.costs, 1e-300))
        found = milp(
            costs,
            integrality=self.whole,
            bounds=Bounds(0.0, 1.0),
            constraints=LinearConstraint(matrix, self.low, self.high),
            options={"time_limit": TIME_LIMIT_S, "mip_rel_gap": 1e-9},
        )
        if not found.success:
            raise NoOptimum(found.message)
        return np.asarray(found.x)


def optimal_assignment(instance: Instance) -> Places:
    """The assignment of least total cost within the capacities."""
    if instance.brokers > MOST_BROKERS:
        raise NoOptimum(f"{instance.brokers} brokers are too many for the exact optimum; the most is {MOST_BROKERS}")
    program = Program()
    on = [
        [program.variable(float(instance.demand[user] * link), whole=True) for link in instance.access[user]]
        for user in range(instance.users)
    ]
    for row in on:
        program.require(dict.fromkeys(row, 1.0), 1.0, 1.0)
    for broker in range(instance.brokers):
        most = max(float(instance.capacity[broker]), 1e-300)
        load = {on[user][broker]: float(instance.demand[user]) / most for user in range(instance.users)}
        program.require(load, 0.0, 1 + SLACK)
    trees = SpanningTrees(instance.core)
    for channel in range(instance.rates.shape[1]):
        _add_channel(program, instance, trees, on, channel)
    return _assignment(program.solve(), on)


def _add_channel(program: Program, instance: Instance, trees: SpanningTrees, on: list[list[int]], channel: int) -> None:
    subscribers = np.flatnonzero(instance.interests[:, channel]).tolist()
    publishers = np.flatnonzero(instance.rates[:, channel]).tolist()
    if not subscribers or not publishers:
        return
    sets = [np.array(members) for members in product([False, True], repeat=instance.brokers) if any(members)]
    chosen = [program.variable(whole=True) for _ in sets]
    program.require(dict.fromkeys(chosen, 1.0), 1.0, 1.0)
    for broker in range(instance.brokers):
        holding = {chosen[place]: 1.0 for place, members in enumerate(sets) if members[broker]}
        for user in subscribers:
            program.require({**holding, on[user][broker]: -1.0}, 0.0, 1.0)
        nobody = {on[user][broker]: 1.0 for user in subscribers}
        program.require({**nobody, **dict.fromkeys(holding, -1.0)}, 0.0, float(len(subscribers)))
    for user in publishers:
        rate = float(instance.rates[user, channel])
        both = [
            [program.variable(rate * trees.weight(members | _only(broker, instance.brokers))) for members in sets]
            for broker in range(instance.brokers)
        ]
        for broker, row in enumerate(both):
            program.require({**dict.fromkeys(row, 1.0), on[user][broker]: -1.0}, 0.0, 0.0)
        for place, choice in enumerate(chosen):
            program.require({**{row[place]: 1.0 for row in both}, choice: -1.0}, 0.0, 0.0)


def _only(broker: int, brokers: int) -> Mask:
    return np.asarray(np.arange(brokers) == broker)


def _assignment(values: Floats, on: list[list[int]]) -> Places:
    return np.array([int(np.argmax(values[row])) for row in on], dtype=np.int64)
