"""The replicas systems: stores that manage their storage on-line, holistically or myopically (replicas)."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field

from agents.replica_gap import How, check_size, gap_percent, least_traffic
from agents.replica_load import objectives, peak_load, unbalanced
from agents.replica_observer import Replaced, Traffic, beneficial, history, sequential
from agents.replica_problem import Positive, Problem, ProblemSettings
from agents.replica_store import Turns, replica_store
from protocols.storage.replicas.decision import ROOM, Amounts, Policy
from protocols.storage.replicas.knowledge import Knowledge
from protocols.storage.replicas.replacing import Limits, Replacing
from protocols.storage.replicas.writer import Writer
from protocols.storage.replicas.writing import Writing
from runtime.agent import Agent
from runtime.errors import ScenarioError
from runtime.network import Network
from runtime.system import MakeLayer, System, World

Count = Annotated[int, Field(ge=1)]


class ReplicasSettings(ProblemSettings):
    """The scenario's [storage]."""

    writers: Annotated[int, Field(ge=0)] = 1
    period: Positive = 10.0
    clock: Literal["random", "regular"] = "random"
    patience: Positive | Literal["never"] | None = None
    thinking: dict[str, Positive] = Field(default_factory=dict)
    search: Literal["paper", "knapsack"] = "paper"
    replacement_cost: Annotated[float, Field(ge=0)] = 0.0
    load_weight: Annotated[float, Field(ge=0)] = 0.0
    guarded: bool | Literal["auto"] = "auto"
    same_decision_limit: Count = 20
    replacement_limit: Count | None = None
    optimum: How = "none"


class ReplicasSystem(System):
    section = "storage"
    Settings = ReplicasSettings
    settings: ReplicasSettings
    holistic: ClassVar[bool]
    headings: ClassVar = {"placement": ("store", "items")}

    def __init__(
        self, settings: ReplicasSettings, network: Network, seed: int, layer: MakeLayer = lambda: None
    ) -> None:
        super().__init__(settings, network, seed, layer)
        self.problem = Problem(settings, network.brokers, seed)
        self._seen: tuple[World, list[Replaced]] | None = None
        for name in settings.thinking:
            if name not in network.brokers:
                raise ScenarioError(f"storage.thinking.{name}", f"node {name} is not in [network]")
        check_size(settings.optimum, self.problem)
        self._check_load_weight()
        guarded = settings.writers != 1 if settings.guarded == "auto" else settings.guarded
        self.policy = Policy(settings.replacement_cost, settings.search, guarded, settings.load_weight)
        # Long enough for a lap in which every store fetches something from some hops away.
        ample = 20 * len(network.brokers) * network.default.delay.mean
        self._patience = None if settings.patience == "never" else settings.patience or ample
        most = settings.replacement_limit or max(50, 5 * len(self.problem.catalogue.items))
        self._limits = Limits(settings.same_decision_limit, most)

    def _check_load_weight(self) -> None:
        if self.settings.load_weight and not self.holistic:
            raise ScenarioError("storage.load_weight", "a myopic store knows nobody's load; write 0 or holistic")
        if self.settings.load_weight and self.settings.search != "paper":
            raise ScenarioError("storage.load_weight", 'loads make it no knapsack; write 0 or search = "paper"')

    def agent(self, name: str) -> Agent:
        problem = self.problem
        place = problem.stores.index(name)
        first, *later = [(since, rates[place]) for since, rates in problem.rates_since]
        settings = self.settings
        thinking, regular = settings.thinking.get(name, 0.0), settings.clock == "regular"
        turns = Turns(settings.writers, self._patience, settings.period, thinking, regular)
        return replica_store(
            name,
            problem.catalogue,
            problem.placement[name],
            first[1],
            problem.capacities[name],
            self.policy,
            self.holistic,
            turns,
            self._limits,
            _with_their_own(later, first[1]),
            self.layer(),
        )

    # What was seen

    def _rows(self, world: World) -> list[dict[str, Any]]:
        return world.events.rows("replacement")

    def observe(self, world: World) -> None:
        for made in self._history(world):
            world.events.add(
                made.time, made.store, "traffic_level", {"ont": made.after, "change": made.after - made.before}
            )

    def _history(self, world: World) -> list[Replaced]:
        if self._seen is None or self._seen[0] is not world:
            self._seen = world, list(history(self.problem, self.network.graph(), self._rows(world)))
        return self._seen[1]

    def results(self, world: World) -> dict[str, Any]:
        problem, settings = self.problem, self.settings
        placement = {name: list(known.durable.items) for name, known in sorted(world.protocols(Knowledge).items())}
        traffic = Traffic(problem, world.graph)
        for store, items in placement.items():
            traffic.put(store, items)
        rates = problem.rates_at(world.now)
        made = self._history(world)
        writers = list(world.protocols(Writer).values())
        tokens = [writer for writer in writers if isinstance(writer, Writing)]
        stopped = sorted({writer.stopped for writer in writers} - {""})
        ont = traffic.total(rates, settings.access_hops)
        optimum = least_traffic(settings.optimum, problem, world.graph, rates)
        counts = {name: replacing.durable for name, replacing in sorted(world.protocols(Replacing).items())}
        return {
            "ont": ont,
            "ont_between_stores": traffic.total(rates, 0.0),
            "optimum": optimum,
            "gap_percent": gap_percent(ont, optimum),
            "peak_load": peak_load(problem, world.graph, placement, rates),
            "equilibrium": not stopped and all(writer.at_rest for writer in writers),
            "stopped": stopped[0] if stopped else None,
            "ont_single_writer": self._single_writer(),
            "settled_at": made[-1].time if made else 0.0,
            "wasted_replacements": sum(after >= before - ROOM for _, before, after in self._levels(world)),
            "fetched_volume_hops": sum(row["size"] * row["hops"] for row in world.events.rows("fetch")),
            "epochs": max((token.epoch[0] for token in tokens), default=0),
            "token_waits": sum(token.waits for token in tokens),
            "token_waited_s": sum(token.waited_s for token in tokens),
            "replacements": _each_and_mean({name: count.replacements for name, count in counts.items()}),
            "iterations": _each_and_mean({name: count.iterations for name, count in counts.items()}),
            "placement": placement,
            "history": [change.row() for change in made],
        }

    def _single_writer(self) -> float | None:
        """What the paper's single writer would have reached from the same configuration, where there were others."""
        if self.settings.writers == 1 and not self.policy.guarded:
            return None
        paper = replace(self.policy, guarded=False)
        traffic = Traffic(self.problem, self.network.graph())
        for store, items in sequential(self.problem, self.network.graph(), paper, self.holistic).items():
            traffic.put(store, items)
        return traffic.total(self.problem.rates_at(math.inf), self.settings.access_hops)

    # What should hold

    def violations(self, world: World) -> list[str]:
        held = _held(world)
        return [
            *self.dangers(world),
            *self._ignorant(world, held),
            *self._not_settled(world, held),
            *self._rises(world),
        ]

    def dangers(self, world: World) -> list[str]:
        """What must never happen, however the network fares; at quiescence and before."""
        return [*self._misplaced(_held(world)), *self._two_at_one_position(world)]

    def _misplaced(self, held: dict[str, tuple[str, ...]]) -> list[str]:
        problem = self.problem
        sizes = dict(zip(problem.catalogue.items, problem.catalogue.sizes, strict=True))
        found = [
            f"{name} holds {used:g}, its capacity is {problem.capacities[name]:g}"
            for name, items in held.items()
            if (used := sum(sizes[item] for item in items)) > problem.capacities[name] + ROOM
        ]
        if len(held) == len(problem.stores):  # what a dead store holds, nobody sees
            there = {item for items in held.values() for item in items}
            found += [f"the last replica of {item} has left" for item in sizes if item not in there]
        return found

    def _two_at_one_position(self, world: World) -> list[str]:
        if self.settings.writers == 0:
            return []
        found: list[str] = []
        seen: dict[tuple[Any, ...], str] = {}
        for row in self._rows(world):
            position = (row["epoch"], row["claimer"], row["token"], row["position"])
            if position in seen:
                found.append(f"{seen[position]} and {row['node']} both made change {position}")
            seen[position] = row["node"]
        return found

    def _ignorant(self, world: World, held: dict[str, tuple[str, ...]]) -> list[str]:
        found = []
        for name, knowledge in world.protocols(Knowledge).items():
            for peer in knowledge.topology().members:
                if peer in held and knowledge.holdings[peer].items != held[peer]:
                    found.append(f"{name} thinks that {peer} holds {knowledge.holdings[peer].items}, not {held[peer]}")
        return found

    def _not_settled(self, world: World, held: dict[str, tuple[str, ...]]) -> list[str]:
        writers = world.protocols(Writer)
        if any(writer.stopped for writer in writers.values()):
            return []
        found = [f"{name} does not know of the equilibrium" for name, w in writers.items() if not w.at_rest]
        rates = self.problem.rates_at(world.now)
        if self.policy.load_weight:
            found += unbalanced(self.problem, world.graph, held, rates, self.policy)
        elif self.settings.search == "paper":
            found += beneficial(
                self.problem,
                world.graph,
                held,
                rates,
                self.holistic,
                self.policy.replacement_cost,
                self.policy.guarded,
            )
        return found

    def _rises(self, world: World) -> list[str]:
        """One holistic writer on a network that stays as it is never makes rise what it minimises."""
        known = world.protocols(Knowledge).values()
        disturbed = any(links.number > 1 for knowledge in known for links in knowledge.links.values())
        if self.settings.writers != 1 or not self.holistic or len(self.problem.rates_since) > 1 or disturbed:
            return []
        what = "traffic with its load" if self.policy.load_weight else "traffic"
        return [
            f"the {what} rose from {before:g} to {after:g} at {time:g}"
            for time, before, after in self._levels(world)
            if after > before + ROOM
        ]

    def _levels(self, world: World) -> list[tuple[float, float, float]]:
        """When each replacement was made, and what is to be minimised before and after it."""
        if not self.policy.load_weight:
            return [(change.time, change.before, change.after) for change in self._history(world)]
        return list(objectives(self.problem, self.network.graph(), self._history(world), self.policy.load_weight))


class HolisticSystem(ReplicasSystem):
    """Stores that minimise the whole network's traffic, by messages"""

    holistic = True


class MyopicSystem(ReplicasSystem):
    """Stores that minimise the traffic of their own clients, by messages"""

    holistic = False


def _held(world: World) -> dict[str, tuple[str, ...]]:
    return {name: known.durable.items for name, known in world.protocols(Knowledge).items()}


def _with_their_own(later: list[tuple[float, Amounts]], first: Amounts) -> list[tuple[float, Amounts]]:
    """A store hears of a change only if it concerns its own clients."""
    kept, last = [], first
    for since, rates in later:
        if (rates != last).any():
            kept.append((since, rates))
            last = rates
    return kept


def _each_and_mean(counts: dict[str, int]) -> dict[str, Any]:
    return {"mean": sum(counts.values()) / len(counts) if counts else 0.0, "per_store": counts}
