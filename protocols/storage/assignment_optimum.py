"""The exact optimum of the assignment, by integer programming (planning, 5.3: the problem is NP-complete).

x[t, s] says whether store s holds topic t, y[t, l, s] which part of broker l's requests goes there:

    minimise    sum r_l^t * d(l, s) * y[t, l, s]
    such that   sum over s of x[t, s] = k_t,   sum over t of x[t, s] <= L,
                sum over s of y[t, l, s] = 1,  y[t, l, s] <= x[t, s].

Stores and degrees are given; only what step 4 decides is optimised. y needs no integrality: it follows x.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.optimize import Bounds, LinearConstraint, milp
from scipy.sparse import coo_array, csr_array, eye_array, hstack, kron

from protocols.storage.assignment import check_fits
from protocols.storage.planning import Floats

MOST_VARIABLES = 20_000
"""Beyond this the solver may need minutes."""


def best_assignment(
    distance: Floats, demand: Floats, degrees: Sequence[int], stores: Sequence[int], capacity: int
) -> tuple[tuple[int, ...], ...]:
    """The holders of each topic with the least traffic (3)."""
    check_fits(degrees, len(stores), capacity)
    topics, count = len(degrees), len(stores)
    asking = [np.flatnonzero(rates) for rates in demand]
    served = [(t, int(broker)) for t in range(topics) for broker in asking[t]]
    assignments, flows = topics * count, len(served) * count
    if flows > MOST_VARIABLES:
        raise ValueError(f"{flows} variables are too many for the exact optimum; at most {MOST_VARIABLES}")
    hops = distance[:, list(stores)]
    cost = np.concatenate([np.zeros(assignments), *(demand[t, broker] * hops[broker] for t, broker in served)])
    found = milp(
        cost,
        integrality=np.concatenate([np.ones(assignments), np.zeros(flows)]),
        bounds=Bounds(0, 1),
        constraints=_constraints([t for t, _ in served], degrees, count, capacity),
    )
    if found.x is None:
        raise RuntimeError(f"the solver found no assignment: {found.message}")
    held = found.x[:assignments].reshape(topics, count) > 0.5
    return tuple(tuple(sorted(stores[place] for place in np.flatnonzero(row).tolist())) for row in held)


def _constraints(topic_of: Sequence[int], degrees: Sequence[int], count: int, capacity: int) -> list[LinearConstraint]:
    topics, rows = len(degrees), len(topic_of)
    none = csr_array((topics, rows * count))
    each_topic = kron(eye_array(topics), np.ones((1, count)))
    each_store = kron(np.ones((1, topics)), eye_array(count))
    each_flow = kron(eye_array(rows), np.ones((1, count)))
    places = np.asarray(topic_of)[:, None] * count + np.arange(count)
    holds = coo_array(
        (-np.ones(rows * count), (np.arange(rows * count), places.ravel())), (rows * count, topics * count)
    )
    return [
        LinearConstraint(hstack([each_topic, none]), degrees, degrees),
        LinearConstraint(hstack([each_store, csr_array((count, rows * count))]), 0, capacity),
        *(
            [
                LinearConstraint(hstack([csr_array((rows, topics * count)), each_flow]), 1, 1),
                LinearConstraint(hstack([holds, eye_array(rows * count)]), -np.inf, 0),
            ]
            if rows
            else []
        ),
    ]
