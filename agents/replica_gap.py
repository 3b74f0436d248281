"""How far from the best the stores have come: the optimum of problem (3), or a bound below it (replicas, VI)."""

from __future__ import annotations

from typing import Literal

import networkx
import numpy as np

from agents.replica_observer import hop_distances
from agents.replica_problem import Problem
from protocols.storage.replicas.decision import ROOM, Amounts
from protocols.storage.replicas.optimum import BOUND_ENTRIES, EXACT_CELLS, Instance, lower_bound, optimum
from runtime.errors import ScenarioError

How = Literal["none", "exact", "bound"]


def check_size(how: How, problem: Problem) -> None:
    """Refuse before the run what would not end after it."""
    stores, items = len(problem.stores), len(problem.catalogue.items)
    there = f"there are {stores} stores and {items} items"
    if how == "exact" and stores * items > EXACT_CELLS:
        allowed = f"stores times items may be {EXACT_CELLS}, such as 20 stores and 8 items"
        raise ScenarioError("storage.optimum", f'{there}: too many for "exact" ({allowed}); write "bound"')
    if how == "bound" and stores * stores * items > BOUND_ENTRIES:
        allowed = f"stores times stores times items may be {BOUND_ENTRIES}, such as 120 stores and 20 items"
        raise ScenarioError("storage.optimum", f'{there}: too many for "bound" ({allowed}); write "none"')


def least_traffic(how: How, problem: Problem, graph: networkx.Graph, rates: Amounts) -> float | None:
    """The optimum with the clients' access hops, or what it cannot be below; None if nobody asked or none was found.

    A network of which something is down at the end is another problem than the stores had: None.
    """
    if how == "none" or len(graph) < len(problem.stores) or not networkx.is_connected(graph):
        return None
    instance = instance_of(problem, graph, rates)
    access = problem.settings.access_hops * float(instance.weights.sum())
    if how == "bound":
        return lower_bound(instance) + access
    best = optimum(instance)
    return None if best is None else instance.traffic(best) + access


def instance_of(problem: Problem, graph: networkx.Graph, rates: Amounts) -> Instance:
    sizes = problem.catalogue.sizes
    capacities = np.array([problem.capacities[name] for name in problem.stores])
    hops = hop_distances(graph, problem.stores).astype(np.int64)
    return Instance(hops, rates.T * sizes[:, np.newaxis], sizes, capacities)


def gap_percent(traffic: float, least: float | None) -> float | None:
    """How much more than the least; above nothing at all there is no percentage."""
    if least is None or (least <= 0 and traffic > ROOM):
        return None
    return 100 * (traffic - least) / least if least > 0 else 0.0
