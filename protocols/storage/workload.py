"""The synthetic workload: how popular topics are, and where they are requested (planning, 6)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from protocols.storage.planning import TIE, Floats


def popularities(topics: int, exponent: float) -> Floats:
    """p_t ~ t^-s_p with sum 1; with a negative exponent the last topic is the most popular."""
    ranks = np.arange(1, topics + 1, dtype=np.float64) ** -exponent
    return np.asarray(ranks / ranks.sum())


def localities(topics: int, exponent: float) -> Floats:
    """l_t ~ t^-s_l with maximum 1: the part of the network in which the topic is requested."""
    ranks = np.arange(1, topics + 1, dtype=np.float64) ** -exponent
    return np.asarray(ranks / ranks.max())


def zipf_demand(distance: Floats, centres: Sequence[int], rate: float, popularity: float, locality: float) -> Floats:
    """r_i^t = rate * p_t at the ceil(l_t * N) brokers nearest to the topic's centre, in breadth-first order."""
    brokers, topics = len(distance), len(centres)
    demand = np.zeros((topics, brokers))
    shares = zip(popularities(topics, popularity), localities(topics, locality), strict=True)
    for t, (popular, local) in enumerate(shares):
        asking = int(np.ceil(local * brokers * (1 - TIE)))
        demand[t, np.argsort(distance[centres[t]], kind="stable")[:asking]] = rate * popular
    return demand
