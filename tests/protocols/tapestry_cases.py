"""Cases for Tapestry: a small description drawn by Hypothesis, grown into a run by its seed."""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import Any, Literal

import networkx
from hypothesis import strategies as st

from protocols.channel import Channel
from protocols.dissemination.identifiers import DIGITS, full_tables, in_digits, nearest
from protocols.dissemination.tapestry import Tapestry
from protocols.dissemination.vigil import LinkVigil, Vigil
from runtime.agent import Agent
from runtime.faults import FaultPlan
from runtime.network import from_networkx
from runtime.schedule import at_random, by_priority, steer
from runtime.simulator import Simulator

DELAYS = (1.0, "uniform(0.1, 5)", "exponential(0.1, 2)")


@dataclass(frozen=True)
class Mesh:
    """So many members at the start and newcomers, who leave and crash; the seed decides the rest."""

    members: int
    newcomers: int
    seed: int
    base: int = 4
    digits: int = 4
    leaving: int = 0
    crashes: int = 0
    deaths: int = 0
    at_once: bool = False
    reliable: bool = False
    schedule: Literal["timed", "random", "priority"] = "timed"

    def build(self) -> Simulator:
        rng = random.Random(self.seed)
        count = min(self.members + self.newcomers, self.base**self.digits)
        names = [f"n{place}" for place in range(count)]
        numbers = rng.sample(range(self.base**self.digits), count)
        identifiers = {n: in_digits(number, self.base, self.digits) for n, number in zip(names, numbers, strict=True)}
        members = names[: self.members]
        name_of = {identifier: name for name, identifier in identifiers.items()}
        tables = full_tables([identifiers[name] for name in members], self.base)
        # Everybody knows everybody by name, so that the living stay connected whoever fails.
        network = from_networkx(networkx.complete_graph(names), rng.choice(DELAYS))
        arrival = {n: 1.0 if self.at_once else rng.uniform(0, 30) for n in names}
        departure = {n: rng.uniform(0, 40) for n in rng.sample(names[1:], max(0, min(self.leaving, count - 2)))}
        plan = FaultPlan(self.seed)
        # The first member stays, or nobody would be there for the others to join.
        for place, name in enumerate(rng.sample(names[1:], min(self.crashes + self.deaths, max(0, count - 3)))):
            at = rng.uniform(0, 60)
            until = at + rng.uniform(0.1, 60) if place < self.crashes else float("inf")
            plan.crashes[name] = [(at, until)]

        def agent(name: str) -> Agent:
            own = identifiers[name]
            table = [(other, name_of[other]) for other in tables[own].values()] if name in members else None
            tapestry = Tapestry(own, self.base, table, arrival[name], departure.get(name), 40.0, identifiers)
            if name in members:
                tapestry.begin_with((i, name_of[i]) for i, other in tables.items() if own in other.values())
            layer = Channel(10.0, suspect_after=4) if self.reliable else None
            return Agent([tapestry, (Vigil if layer else LinkVigil)(tapestry, 40.0)], layer)

        return Simulator(network, agent, self.seed, plan)

    def problems(self, limit: int = 400_000) -> list[str]:
        sim = self.build()
        rng = random.Random(self.seed)
        if self.schedule == "timed":
            quiet = sim.run(max_events=limit)
        else:
            choose = at_random(rng) if self.schedule == "random" else by_priority(rng)
            quiet = steer(sim, choose, max_events=limit)
        return wrong_tables(sim.alive(), self.base, rng) if quiet else ["it never became quiet"]


def wrong_tables(agents: dict[str, Agent], base: int, rng: random.Random) -> list[str]:
    """Compare every table with full knowledge, and follow routes from everywhere to the roots of some keys."""
    found = {name: agent.find(Tapestry) for name, agent in agents.items()}
    tapestries = {name: t for name, t in found.items() if t is not None and not t.durable.left}
    by_identifier = {t.identifier: name for name, t in tapestries.items()}
    wanted = full_tables(by_identifier, base)
    problems = []
    for name, tapestry in tapestries.items():
        table = {slot: contact.identifier for slot, contact in tapestry.table.items()}
        if not tapestry.joined:
            problems.append(f"{name} has not joined")
        if table != wanted[tapestry.identifier]:
            wrong = sorted(table.items() ^ wanted[tapestry.identifier].items())
            problems.append(f"{name} ({tapestry.identifier}) has a wrong table: {wrong}")
    length = len(next(iter(by_identifier)))
    for _ in range(5):
        key = "".join(rng.choice(DIGITS[:base]) for _ in range(length))
        root = by_identifier[nearest(key, by_identifier, base)]
        for name in tapestries:
            here, level = name, 0
            while here in tapestries:
                hop, level = tapestries[here].next_hop(key, level)
                if hop is None:
                    break
                here = hop.name
            if here != root:
                problems.append(f"{name} finds {here} as the root of {key}, not {root}")
    return problems


def meshes(most: int = 20, **fixed: Any) -> st.SearchStrategy[Mesh]:
    drawn: dict[str, st.SearchStrategy[Any]] = {
        "members": st.integers(1, most // 2),
        "newcomers": st.integers(1, most // 2),
        "seed": st.integers(0, 2**32),
        "base": st.sampled_from([2, 3, 4, 16]),
        "digits": st.sampled_from([5, 6]),
        "at_once": st.booleans(),
        "schedule": st.sampled_from(["timed", "random", "priority"]),
    }
    drawn |= {name: st.integers(0, 3) for name, value in fixed.items() if value == "some"}
    drawn |= {name: st.just(value) for name, value in fixed.items() if value != "some"}
    return st.builds(Mesh, **drawn)
