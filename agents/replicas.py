"""The replicas systems: stores that manage their storage on-line, holistically or myopically (replicas)."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import replace
from typing import Any, ClassVar

from agents.cases.replicas import holistic_case, myopic_case
from agents.replica_gap import check_size, gap_percent, least_traffic
from agents.replica_load import objectives, peak_load, unbalanced
from agents.replica_observer import Replaced, Traffic, beneficial, history, sequential
from agents.replica_problem import Problem
from agents.replica_settings import ReplicasSettings
from agents.replica_store import Turns, replica_store
from agents.reports.replicas import replicas_report
from protocols.storage.replicas.decision import ROOM, Amounts, Policy
from protocols.storage.replicas.knowledge import Knowledge
from protocols.storage.replicas.replacing import Limits, Replacing
from protocols.storage.replicas.writer import Writer
from protocols.storage.replicas.writing import Writing
from runtime.agent import Agent
from runtime.errors import ScenarioError
from runtime.events import EventLog
from runtime.network import Network
from runtime.properties import always, eventually, sometimes
from runtime.report import Report
from runtime.system import MakeLayer, System, World
from runtime.testing.cases import Case, Draw


class ReplicasSystem(System):
    section = "storage"
    Settings = ReplicasSettings
    settings: ReplicasSettings
    holistic: ClassVar[bool]
    headings: ClassVar = {"placement": ("store", "items")}
    only_with: ClassVar = {"Closed": ()}  # a store of this kind crashes, it does not fail politely
    tolerates: ClassVar = ("drop", "duplicate", "reorder", "delay", "partition", "crash", "death")

    def __init__(
        self, settings: ReplicasSettings, network: Network, seed: int, layer: MakeLayer = lambda: None
    ) -> None:
        super().__init__(settings, network, seed, layer)
        self.problem = Problem(settings, network.brokers, seed)
        catalogue = self.problem.catalogue
        self._sizes = dict(zip(catalogue.items, catalogue.sizes.tolist(), strict=True))
        self._seen: tuple[World, list[Replaced]] | None = None
        self._read: tuple[EventLog | None, list[dict[str, Any]]] = None, []
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
        events = world.events
        if self._read[0] is not events or len(self._read[1]) != events.count("replacement"):
            self._read = events, events.rows("replacement")
        return self._read[1]

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

    def report(self, world: World, report: Report) -> None:
        replicas_report(self, world, report, self._history(world))

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

    @always
    def capacities_are_kept(self, world: World) -> Iterable[str]:
        """No store holds more than fits."""
        for name, items in _held(world).items():
            used, most = sum(self._sizes[item] for item in items), self.problem.capacities[name]
            if used > most + ROOM:
                yield f"{name} holds {used:g}, its capacity is {most:g}"

    @always
    def the_last_replica_stays(self, world: World) -> Iterable[str]:
        """Of every item there is a replica somewhere, be it in a store that is down."""
        held = _held(world) | _held(World(world.dead, world.network))
        if len(held) == len(self.problem.stores):  # what a dead store holds, not every observer sees
            there = {item for items in held.values() for item in items}
            for item in self.problem.catalogue.items:
                if item not in there:
                    yield f"there is no replica of {item} any more"

    @always
    def one_writer_at_a_time(self, world: World) -> Iterable[str]:
        """Two stores never make a change at the same position of a token."""
        if self.settings.writers == 0:
            return
        seen: dict[tuple[Any, ...], str] = {}
        for row in self._rows(world):
            position = (row["epoch"], row["claimer"], row["token"], row["position"])
            if position in seen:
                yield f"{seen[position]} and {row['node']} both made change {position}"
            seen[position] = row["node"]

    @eventually
    def everybody_knows_the_replicas(self, world: World) -> Iterable[str]:
        """Every store knows what all the stores that it can reach hold."""
        held = _held(world)
        for name, knowledge in world.protocols(Knowledge).items():
            for peer in knowledge.topology().members:
                known = knowledge.holdings.get(peer)
                if peer in held and (known is None or known.items != held[peer]):
                    thought = "does not know what" if known is None else f"thinks that {known.items} is what"
                    yield f"{name} {thought} {peer} holds: {held[peer]}"

    @eventually
    def no_replacement_is_left(self, world: World) -> Iterable[str]:
        """No store could still lower what it minimises, and every store knows that it is so.

        Each fact travels once over each link. Where raw links lose one for good, nobody can be sure of anything.
        """
        if self.layer() is None and _has_missed_links(world):
            return []
        held = _held(world)
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

    @sometimes
    def a_replica_is_replaced(self, world: World) -> bool:
        """A store drops something for something else."""
        return world.events.count("replacement") > 0

    @sometimes
    def a_new_epoch_is_claimed(self, world: World) -> bool:
        """Somebody misses the token and claims another epoch than the first."""
        return any(knowledge.durable.epoch[0] > 1 for knowledge in world.protocols(Knowledge).values())

    @sometimes
    def an_old_token_is_fenced(self, world: World) -> bool:
        """A store loses the token that it holds, because a new epoch has begun."""
        return world.events.count("fenced") > 0

    def _levels(self, world: World) -> list[tuple[float, float, float]]:
        """When each replacement was made, and what is to be minimised before and after it."""
        if not self.policy.load_weight:
            return [(change.time, change.before, change.after) for change in self._history(world)]
        return list(objectives(self.problem, self.network.graph(), self._history(world), self.policy.load_weight))


class HolisticSystem(ReplicasSystem):
    """Stores that minimise the whole network's traffic, by messages"""

    holistic = True

    @classmethod
    def case(cls, draw: Draw) -> Case:
        return holistic_case(draw)

    @eventually
    def traffic_never_rose(self, world: World) -> Iterable[str]:
        """One writer on a network that stays as it is never makes rise what it minimises."""
        known = world.protocols(Knowledge).values()
        disturbed = any(links.number > 1 for knowledge in known for links in knowledge.links.values())
        if self.settings.writers != 1 or len(self.problem.rates_since) > 1 or disturbed:
            return []
        what = "traffic with its load" if self.policy.load_weight else "traffic"
        return [
            f"the {what} rose from {before:g} to {after:g} at {time:g}"
            for time, before, after in self._levels(world)
            if after > before + ROOM
        ]


class MyopicSystem(ReplicasSystem):
    """Stores that minimise the traffic of their own clients, by messages"""

    holistic = False

    @classmethod
    def case(cls, draw: Draw) -> Case:
        return myopic_case(draw)


def _held(world: World) -> dict[str, tuple[str, ...]]:
    return {name: known.durable.items for name, known in world.protocols(Knowledge).items()}


def _has_missed_links(world: World) -> bool:
    """Has somebody not heard what another one last said of its links?"""
    stores = world.protocols(Knowledge)
    latest = {name: store.links[name].number for name, store in stores.items()}
    known = [{name: fact.number for name, fact in store.links.items() if name in latest} for store in stores.values()]
    return any(numbers != latest for numbers in known)


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
