"""The network: who is linked to whom, and how long a message takes."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from numbers import Real
from typing import Any, NamedTuple

import networkx
import numpy as np
from numpy.typing import NDArray

from runtime.distributions import Distribution, parse_distribution, positive_delay
from runtime.errors import LocalityError, ScenarioError

Neighbours = dict[str, tuple[str, ...]]
Pairs = NDArray[np.int64]  # one row for each link: two positions in a list of names


class LinkModel(NamedTuple):
    delay: Distribution
    bandwidth: float | None = None  # bytes per second; None: a message's size does not matter


@dataclass(frozen=True)
class Network:
    """Brokers and their overlay links, and the agents that are attached to a broker each.

    Names are in sorted order everywhere. Only links that differ from the default have a model of their
    own, so that a million nodes stay small.
    """

    neighbours: Neighbours
    default: LinkModel
    access_delay: Distribution
    underlay_delay: Distribution
    service: Distribution | None = None
    homes: dict[str, str] = field(default_factory=dict)
    exceptions: dict[tuple[str, str], LinkModel] = field(default_factory=dict)
    positions: dict[str, tuple[float, float]] = field(default_factory=dict)

    def link(self, a: str, b: str) -> LinkModel:
        if not self._linked(a, b):
            raise LocalityError(f"{a} and {b} are not linked")
        if a in self.homes or b in self.homes:
            return self._access
        return self.exceptions.get(link_name(a, b), self.default)

    @cached_property
    def brokers(self) -> tuple[str, ...]:
        return tuple(name for name in self.neighbours if name not in self.homes)

    @cached_property
    def shortest_delay(self) -> float:
        """No message arrives sooner than this after it was sent."""
        floors = [self.underlay_delay.floor, *(link.delay.floor for link in self.exceptions.values())]
        if self.homes:
            floors.append(self.access_delay.floor)
        links = sum(map(len, self.neighbours.values())) // 2
        if links > len(self.homes) + len(self.exceptions):
            floors.append(self.default.delay.floor)
        return min(floors)

    def attach(self, homes: Mapping[str, str], key: str = "homes") -> Network:
        """The network with these agents on it, each linked to its broker; the key is for errors."""
        guests: dict[str, list[str]] = {}
        for agent, home in sorted(homes.items()):
            if agent in self.neighbours:
                raise ScenarioError(f"{key}.{agent}", f"the name {agent} is taken")
            if home not in self.neighbours or home in self.homes:
                raise ScenarioError(f"{key}.{agent}", f"broker {home} is not in [network]")
            guests.setdefault(home, []).append(agent)
        neighbours: Neighbours = self.neighbours | {agent: (home,) for agent, home in homes.items()}
        for home, agents in guests.items():
            neighbours[home] = tuple(sorted((*neighbours[home], *agents)))
        return replace(self, neighbours=_sorted(neighbours), homes=_sorted(self.homes | dict(homes)))

    def graph(self) -> networkx.Graph:
        """The brokers and the links between them; their models stay here."""
        graph = networkx.Graph()
        graph.add_nodes_from(self.brokers)
        graph.add_edges_from((a, b) for a in self.brokers for b in self.neighbours[a] if a < b and b not in self.homes)
        return graph

    @cached_property
    def _access(self) -> LinkModel:
        return LinkModel(self.access_delay, self.default.bandwidth)

    def _linked(self, a: str, b: str) -> bool:
        peers = self.neighbours.get(a, ())
        place = bisect_left(peers, b)
        return place < len(peers) and peers[place] == b


def link_name(a: str, b: str) -> tuple[str, str]:
    return (a, b) if a < b else (b, a)


def neighbours_of(names: Sequence[str], pairs: Pairs) -> Neighbours:
    """Every name with its neighbours, in sorted order. A pair stands for a link in both directions."""
    order = sorted(range(len(names)), key=names.__getitem__)
    ordered = [names[place] for place in order]
    rank = np.empty(len(names), dtype=np.int64)
    rank[order] = np.arange(len(names))
    both = np.concatenate([rank[pairs], rank[pairs[:, ::-1]]])
    both = both[np.lexsort((both[:, 1], both[:, 0]))]
    peers = np.array(ordered, dtype=object)[both[:, 1]].tolist()
    ends = np.cumsum(np.bincount(both[:, 0], minlength=len(names))).tolist()
    return {name: tuple(peers[start:end]) for name, start, end in zip(ordered, [0, *ends], ends, strict=False)}


def cut_off(neighbours: Neighbours) -> tuple[str, str] | None:
    """Two names without a path between them, if there are any."""
    start = next(iter(neighbours))
    reached = {start}
    frontier = [start]
    while frontier:
        for peer in neighbours[frontier.pop()]:
            if peer not in reached:
                reached.add(peer)
                frontier.append(peer)
    return next(((start, name) for name in neighbours if name not in reached), None)


def require_connected(neighbours: Neighbours, key: str, place: str = "") -> None:
    if apart := cut_off(neighbours):
        raise ScenarioError(key, f"{place}not connected: there is no path from {apart[0]} to {apart[1]}")


def from_networkx(
    graph: networkx.Graph,
    delay: Distribution | str | float = 1.0,
    bandwidth: float | None = None,
    service: Distribution | str | float | None = None,
    underlay_delay: Distribution | str | float | None = None,
    access_delay: Distribution | str | float | None = None,
    key: str = "network",
) -> Network:
    """Any undirected graph. Edge attributes `delay` and `bandwidth` count; the key is for errors."""
    default = LinkModel(positive_delay(delay), bandwidth)
    names = _names(graph, key)
    edges = _edges(graph, names, key)
    places = {name: place for place, name in enumerate(names.values())}
    pairs = np.array([(places[a], places[b]) for a, b in edges], dtype=np.int64).reshape(-1, 2)
    neighbours = neighbours_of(list(places), pairs)
    require_connected(neighbours, key)
    links = {ends: _link_model(ends, attributes, default, key) for ends, attributes in edges.items()}
    return Network(
        neighbours,
        default,
        access_delay=default.delay if access_delay is None else positive_delay(access_delay),
        underlay_delay=default.delay if underlay_delay is None else positive_delay(underlay_delay),
        service=None if service is None else parse_distribution(service),
        exceptions=_sorted({ends: link for ends, link in links.items() if link != default}),
    )


def _names(graph: networkx.Graph, key: str) -> dict[Any, str]:
    if graph.is_directed():
        raise ScenarioError(key, "the graph is directed; links go both ways: write an undirected graph")
    if not len(graph):
        raise ScenarioError(key, "the graph is empty; write at least one node")
    labels: dict[str, Any] = {}
    for label in graph:
        if str(label) in labels:
            raise ScenarioError(key, f"two nodes have the same name: {labels[str(label)]!r} and {label!r}")
        labels[str(label)] = label
    return {label: name for name, label in labels.items()}


def _edges(graph: networkx.Graph, names: dict[Any, str], key: str) -> dict[tuple[str, str], dict[str, Any]]:
    edges: dict[tuple[str, str], dict[str, Any]] = {}
    for a, b, attributes in graph.edges(data=True):
        ends = link_name(names[a], names[b])
        if a == b:
            raise ScenarioError(key, f"{ends[0]} is linked to itself")
        if ends in edges:
            raise ScenarioError(key, f"the link {ends[0]}-{ends[1]} is there twice")
        edges[ends] = attributes
    return edges


def _link_model(ends: tuple[str, str], attributes: Mapping[str, Any], default: LinkModel, key: str) -> LinkModel:
    try:
        delay = positive_delay(attributes.get("delay", default.delay))
        bandwidth = attributes.get("bandwidth", default.bandwidth)
        return LinkModel(delay, None if bandwidth is None else _positive(bandwidth))
    except ValueError as error:
        raise ScenarioError(key, f"link {ends[0]}-{ends[1]}: {error}") from None


def _positive(bandwidth: Any) -> float:
    number = isinstance(bandwidth, Real) and not isinstance(bandwidth, bool)
    if not number or not 0 < bandwidth < float("inf"):
        raise ValueError(f"{bandwidth} is not a bandwidth; write a number of bytes per second above 0")
    return float(bandwidth)


def _sorted(table: dict[Any, Any]) -> dict[Any, Any]:
    return dict(sorted(table.items()))
