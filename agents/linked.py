"""Brokers that speak to others to whom they have no link: over the brokers in between."""

from __future__ import annotations

from collections.abc import Sequence

from protocols.ways import Ways
from runtime.agent import Agent
from runtime.network import Network
from runtime.parts import Part, PartedAgent


def is_complete(network: Network) -> bool:
    """Is there a link between any two brokers?"""
    brokers = network.brokers
    links = sum(peer not in network.homes for name in brokers for peer in network.neighbours[name])
    return links == len(brokers) * (len(brokers) - 1)


def over_links(
    system: str, agent: Agent, name: str, network: Network, neighbours: Sequence[str], meshed: bool = False
) -> PartedAgent:
    """The agent with ways to all brokers: to neighbours without a link and, if meshed, where it went past the overlay.

    The network is that of the brokers; the neighbours are those of the agent.
    """
    ways = Ways(next_hops(network, name))
    linked = tuple(peer for peer in network.neighbours[name] if peer not in network.homes)
    parts = [Part(system, agent.protocols, tuple(neighbours), ways, meshed), Part("ways", (ways,), linked)]
    return PartedAgent(parts, agent.layer)


def next_hops(network: Network, name: str) -> dict[str, str]:
    """Over which neighbour this broker reaches each of the others, on a way with the fewest hops."""
    hops: dict[str, str] = {}
    frontier = [name]
    while frontier:
        reached = []
        for broker in frontier:
            for peer in network.neighbours[broker]:
                if peer != name and peer not in hops and peer not in network.homes:
                    hops[peer] = hops.get(broker, peer)
                    reached.append(peer)
        frontier = reached
    return hops
