"""What a broker computes from what it knows, beside the same from full knowledge."""

from __future__ import annotations

from random import Random

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from protocols.overlay.content import Instance, Places
from protocols.overlay.cost import loads
from protocols.overlay.knowledge import Knowledge, Resident, State
from protocols.overlay.messages import Register
from tests.protocols.overlay_cases import Small, instances


def knowledge_of(instance: Instance, assignment: Places, me: int, capacity: float = 1.0) -> Knowledge:
    """Of a broker that has heard of all users but the one that is nowhere (-1)."""
    brokers = [
        Knowledge(State(version=1), place, instance.core[place], float(capacity), instance.rates.shape[1])
        for place in range(instance.brokers)
    ]
    for user, broker in enumerate(assignment.tolist()):
        if broker >= 0:
            brokers[broker].state.residents[f"u{user}"] = Resident(register_of(instance, user), stay=0, since=1)
    for other in brokers:
        if other is not brokers[me]:
            brokers[me].state.known[other.me] = other.summary(1)
    return brokers[me]


def register_of(instance: Instance, user: int) -> Register:
    interests = tuple(np.flatnonzero(instance.interests[user]).tolist())
    return Register(1, interests, tuple(instance.rates[user].tolist()), tuple(instance.access[user].tolist()))


@settings(max_examples=100)
@given(instances(most_users=8), st.randoms(use_true_random=False))
def test_there_is_room_for_whoever_leaves_the_broker_within_its_capacity(small: Small, rng: Random) -> None:
    """For a newcomer, and for a user who is with another broker now."""
    instance = small.instance()
    assignment = np.array([rng.randrange(instance.brokers) for _ in range(small.users)])
    me, user = int(assignment[-1]), small.users - 1
    load, register = loads(instance, assignment)[me], register_of(instance, user)
    nowhere, elsewhere = assignment.copy(), assignment.copy()
    nowhere[user] = -1
    elsewhere[user] = (me + 1) % instance.brokers
    for capacity, room in ((load * 1.001 + 1e-6, True), (load * 0.999 - 1e-6, False)):
        assert knowledge_of(instance, nowhere, me, capacity).room_for_newcomer(register) is room
        if instance.brokers > 1:
            assert knowledge_of(instance, elsewhere, me, capacity).room_for(register) is room
