"""Do the properties hold in a state? What an observer sees of it: the agents, and what was logged."""

from __future__ import annotations

from collections.abc import Mapping
from math import inf, nextafter
from typing import Any

import networkx
import pyarrow as pa

from runtime.agent import Agent
from runtime.events import EventLog
from runtime.exploring.machine import Machine
from runtime.exploring.needs import EVERYTHING, Needs, Unforeseen
from runtime.exploring.rules import State
from runtime.exploring.space import Space
from runtime.network import Network
from runtime.properties import Property
from runtime.system import World
from runtime.testing.running import FAILS

Problem = tuple[str, str]
"""Which property, and what is wrong."""


class Judge:
    """Asks for each property where it is to hold, and once for all states that look alike."""

    def __init__(self, space: Space, only_at_the_end: bool = False) -> None:
        self.space = space
        self.machine: Machine = space.machine
        self.system = self.machine.scenario.system
        self._properties = self.system.properties()
        always = [found for found in self._properties if found.kind != "eventually"]
        self._always: list[Property] = [] if only_at_the_end else always
        self._seen: set[tuple[Any, ...]] = set()
        self._graphs: dict[frozenset[str], networkx.Graph] = {}
        self.sometimes: set[str] = set()
        self.unasked: set[str] = set()
        """What would come about in a state of which more is known: logs and clocks for its sake alone are too dear."""

        self.looked = 0

    def look(self, state: State, quiet: bool) -> Problem | None:
        """What is wrong in this state, if anything is."""
        kept, views = self.machine.kept, self.machine.views
        if not quiet and not self._always:
            return self._failed(state)
        clock = max(kept[node].clock for node in state.nodes)
        looks_like = (*(views[node] for node in state.nodes), state.history, clock, quiet)
        if looks_like in self._seen:
            return None
        self._seen.add(looks_like)
        self.looked += 1
        return self._failed(state) or self._judged(state, quiet, clock)

    def _failed(self, state: State) -> Problem | None:
        for node in state.nodes:
            if self.machine.kept[node].status == "failed":
                return FAILS, self.machine.kept[node].problem
        return None

    def _judged(self, state: State, quiet: bool, clock: float) -> Problem | None:
        world = self._world(state, clock)
        for found in self._properties if quiet else self._always:
            if found.kind == "sometimes":
                self._come_about(found, world)
            elif problems := self.system.problems(found, world):
                return found.name, problems[0].removeprefix(f"{found.name}: ")
        return None

    def _come_about(self, found: Property, world: World) -> None:
        if found.name in self.sometimes or found.name in self.unasked:
            return
        try:
            if self.system.come_about(found, world):
                self.sometimes.add(found.name)
        except Unforeseen:
            self.unasked.add(found.name)

    def _world(self, state: State, clock: float) -> World:
        alive: dict[str, Agent] = {}
        dead: dict[str, Agent] = {}
        for name, node in zip(self.machine.names, state.nodes, strict=True):
            kept = self.machine.kept[node]
            (alive if kept.status == "up" else dead)[name] = kept.agent
        log = self._log(state)
        world = SeenWorld(alive, dead, self.machine.scenario.network, log, clock, self.machine.needs)
        there = frozenset(alive)
        if there not in self._graphs:
            self._graphs[there] = world.graph
        world.__dict__["graph"] = self._graphs[there]
        return world

    def _log(self, state: State) -> AskedLog:
        log = AskedLog(self.machine.needs)
        last = -inf
        for row in self.space.histories[state.history]:
            name, (time, event, fields) = self.machine.rows[row]
            last = max(time, nextafter(last, inf))  # rows stand in the order in which they were written
            log.add(last, name, event, dict(fields))
        return log


class AskedLog(EventLog):
    """A log that holds what somebody asked for before, and says when something else is asked for."""

    def __init__(self, needs: Needs) -> None:
        super().__init__()
        self._needs = needs

    def _asked(self, event: str) -> None:
        if not self._needs.wants(event):
            raise Unforeseen(Needs(events=frozenset({event})))

    def count(self, event: str) -> int:
        self._asked(event)
        return super().count(event)

    def rows(self, event: str) -> list[dict[str, Any]]:
        self._asked(event)
        return super().since(event, 0)

    def since(self, event: str, place: int) -> list[dict[str, Any]]:
        self._asked(event)
        return super().since(event, place)

    def table(self, event: str) -> pa.Table:
        self._asked(event)
        return super().table(event)

    def counts(self) -> dict[str, int]:
        self._asked(EVERYTHING)
        return super().counts()

    def tables(self) -> dict[str, pa.Table]:
        self._asked(EVERYTHING)
        return super().tables()


class SeenWorld(World):
    """A world in which it is noticed whether somebody looks at the clock."""

    def __init__(
        self,
        agents: Mapping[str, Agent],
        dead: Mapping[str, Agent],
        network: Network,
        log: EventLog,
        clock: float,
        needs: Needs,
    ) -> None:
        vars(self).update(agents=agents, network=network, cut=frozenset(), events=log, dead=dead, found={})
        vars(self).update(_clock=clock, _needs=needs)

    @property
    def now(self) -> float:
        if not vars(self)["_needs"].clock:
            raise Unforeseen(Needs(clock=True))
        clock: float = vars(self)["_clock"]
        return clock
