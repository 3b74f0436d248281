"""One node for several systems: the agents that each of them would put there become the parts of one.

Two protocols belong to the node and not to a system, so there is one of each: Presence, for a node that crashes and
returns says so once and all parts hear of it; and Ways, for the links lead to the same brokers whoever asks.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from protocols.presence import Presence, Watcher
from protocols.ways import Ways
from runtime.agent import Agent, Layer, Node, Protocol
from runtime.parts import Part, PartedAgent


class Watching(Watcher):
    """A watcher of one part: it hears only of the neighbours of this part."""

    def __init__(self, watcher: Watcher, part: Part) -> None:
        self.watcher = watcher
        self.part = part

    def neighbour_down(self, node: Node, peer: str) -> None:
        if peer in self.part.known:
            self.watcher.neighbour_down(self.part.seen(node), peer)

    def introduce(self, node: Node, peer: str) -> None:
        if peer in self.part.known:
            self.watcher.introduce(self.part.seen(node), peer)


def shared_agent(
    agents: Mapping[str, Agent], neighbours: Mapping[str, tuple[str, ...]], layer: Layer | None
) -> PartedAgent:
    """One agent made of those that these systems have for a node, each with the neighbours that it has there."""
    parts = [part for system, agent in agents.items() for part in _parts(system, agent, neighbours[system])]
    ways = next((part for part in parts if isinstance(part.protocols[0], Ways)), None)
    own = [part for part in parts if not isinstance(part.protocols[0], Ways)]
    if ways is not None:
        for part in own:
            part.carrier = None if part.carrier is None else ways.protocols[0]  # type: ignore[assignment]
    return PartedAgent([*_presence(own), *own, *([ways] if ways is not None else [])], layer)


def _parts(system: str, agent: Agent, neighbours: tuple[str, ...]) -> Iterable[Part]:
    return agent.parts if isinstance(agent, PartedAgent) else [Part(system, agent.protocols, neighbours)]


def _presence(parts: Iterable[Part]) -> list[Part]:
    """Takes the parts' own presences away and makes one of them, for all who have one."""
    watchers: list[Watcher] = []
    known: set[str] = set()
    found = False
    for part in parts:
        rest: list[Protocol] = []
        for protocol in part.protocols:
            if isinstance(protocol, Presence):
                found = True
                known.update(part.neighbours)
                watchers += [Watching(watcher, part) for watcher in protocol.watchers]
            else:
                rest.append(protocol)
        part.protocols = tuple(rest)
    return [Part("presence", (Presence(watchers),), tuple(sorted(known)))] if found else []
