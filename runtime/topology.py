"""The [network] section: an edge list, a file, or a kind of graph that is made from the run's seed.

A kind of one's own is one more class here: its keys, its number of nodes and links, and its pairs.
"""

from __future__ import annotations

import math
import re
from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal, NamedTuple, Self, get_args
from xml.etree.ElementTree import ParseError

import networkx
import numpy as np
from numpy.typing import NDArray
from pydantic import (
    Discriminator,
    Field,
    PlainSerializer,
    PlainValidator,
    Strict,
    Tag,
    ValidationInfo,
    field_validator,
    model_validator,
)

from runtime.distributions import FORMS, Delay, Distribution, Duration, parse_call, positive_delay
from runtime.errors import ScenarioError
from runtime.network import (
    LinkModel,
    Neighbours,
    Network,
    Pairs,
    from_networkx,
    link_name,
    neighbours_of,
    require_connected,
)
from runtime.settings import ManyForms, Settings, Several, one_of, problem_at
from runtime.streams import derive

MOST_LINKS = 20_000_000

Nodes = Annotated[int, Field(ge=1, examples=[20])]
Bandwidth = Annotated[float, Field(gt=0)]
Rng = np.random.Generator
Links = dict[tuple[str, str], LinkModel]


def build(settings: NetworkSettings, seed: int, folder: Path) -> Network:
    """The network of these settings: always the same for the same seed. Files are sought in the folder."""
    drawn_from = settings.seed if settings.seed is not None else seed
    return settings.network(np.random.Generator(np.random.PCG64(derive(drawn_from, "network"))), folder)


class NetworkSettings(ManyForms):
    seed: int | None = None
    """The network is drawn from this instead of the run's seed: different runs on the same network."""

    delay: Delay = Distribution(1.0)
    access_delay: Delay | None = None
    underlay_delay: Delay | None = None
    bandwidth: Bandwidth | None = None
    service: Duration | None = None

    @classmethod
    def form(cls, data: Mapping[str, Any]) -> type[Any]:
        if cls is not NetworkSettings:
            return cls
        given = [key for key in ("edges", "file", "kind") if key in data]
        if len(given) != 1:
            found = f"{' and '.join(given)} are both there" if given else "none of them is there"
            raise ValueError(f"write exactly one of edges, file and kind; {found}")
        if given != ["kind"]:
            return EdgeList if given == ["edges"] else GraphFile
        kind = data["kind"]
        if not isinstance(kind, str) or kind not in Generated.kinds:
            raise problem_at("kind", problem=one_of(kind, list(Generated.kinds)))
        return Generated.kinds[kind]

    @abstractmethod
    def network(self, rng: Rng, folder: Path) -> Network: ...

    def over(
        self,
        neighbours: Neighbours,
        links: Links | None = None,
        positions: dict[str, tuple[float, float]] | None = None,
    ) -> Network:
        default = self.default_link()
        return Network(
            neighbours,
            default,
            access_delay=self.access_delay or default.delay,
            underlay_delay=self.underlay_delay or default.delay,
            service=self.service,
            exceptions={ends: link for ends, link in sorted((links or {}).items()) if link != default},
            positions=positions or {},
        )

    def default_link(self) -> LinkModel:
        return LinkModel(self.delay, self.bandwidth)


# Written by hand


class LinkSettings(Settings):
    delay: Delay | None = None
    bandwidth: Bandwidth | None = None

    def over(self, default: LinkModel) -> LinkModel:
        return LinkModel(self.delay or default.delay, self.bandwidth or default.bandwidth)


class Edge(NamedTuple):
    a: str
    b: str
    link: LinkModel


Name = Annotated[str, Field(min_length=1)]


def _shape(edge: Any) -> str | None:
    return {2: "plain", 3: "own link"}.get(len(edge)) if isinstance(edge, list | tuple) else None


EdgeEntry = Annotated[
    Annotated[tuple[Name, Name], Strict(False), Tag("plain")]
    | Annotated[tuple[Name, Name, LinkSettings], Strict(False), Tag("own link")],
    Discriminator(
        _shape,
        custom_error_type="edge",
        custom_error_message='write two names, ["n1", "n2"], or two names and a table, ["n1", "n2", { delay = 2.0 }]',
    ),
]


class EdgeList(NetworkSettings):
    edges: Annotated[Several[EdgeEntry], Field(min_length=1, examples=[[["n1", "n2"], ["n1", "n3"]]])]

    def network(self, rng: Rng, folder: Path) -> Network:
        default = self.default_link()
        edges = [Edge(a, b, own[0].over(default) if own else default) for a, b, *own in self.edges]
        neighbours, links = joined(
            edges,
            told=lambda place: f"edges[{place}]",
            refuse=lambda place, problem: ScenarioError(f"network.edges[{place}]", problem),
        )
        require_connected(neighbours, "network.edges")
        return self.over(neighbours, links)


class GraphFile(NetworkSettings):
    file: str = Field(examples=["overlay.graphml"])

    def network(self, rng: Rng, folder: Path) -> Network:
        path = folder / self.file
        readers = {".graphml": self._graphml, ".edges": self._lines, ".txt": self._lines, ".csv": self._lines}
        if path.suffix not in readers:
            raise self._refused(f"the name must end in one of: {', '.join(readers)}")
        try:
            return readers[path.suffix](path)
        except FileNotFoundError:
            raise self._refused(f"not found; it was sought as {path}") from None
        except OSError as error:
            raise self._refused(error.strerror or str(error)) from None
        except UnicodeDecodeError:
            raise self._refused("not a text file in UTF-8") from None

    def _refused(self, problem: str, line: int | None = None) -> ScenarioError:
        place = self.file if line is None else f"{self.file}, line {line}"
        return ScenarioError("network.file", f"{place}: {problem}")

    def _graphml(self, path: Path) -> Network:
        try:
            graph = networkx.read_graphml(path)
        except (ParseError, networkx.NetworkXError, ValueError, KeyError) as error:
            raise self._refused(f"not GraphML: {error}") from None
        try:
            return from_networkx(
                graph, self.delay, self.bandwidth, self.service, self.underlay_delay, self.access_delay
            )
        except ScenarioError as error:
            raise self._refused(error.problem) from None

    def _lines(self, path: Path) -> Network:
        """Two names on each line and, where it differs, the link's delay; # begins a comment."""
        numbers, edges = [], []
        for number, line in enumerate(path.read_text("utf-8-sig").splitlines(), 1):
            if words := line.partition("#")[0].strip():
                numbers.append(number)
                edges.append(self._edge(words, number))
        if not edges:
            raise self._refused("there is no edge in it")
        neighbours, links = joined(
            edges,
            told=lambda place: f"line {numbers[place]}",
            refuse=lambda place, problem: self._refused(problem, numbers[place]),
        )
        require_connected(neighbours, "network.file", f"{self.file}: ")
        return self.over(neighbours, links)

    def _edge(self, words: str, line: int) -> Edge:
        match re.split(r"\s*,\s*|\s+", words):
            case [a, b] if a and b:
                return Edge(a, b, self.default_link())
            case [a, b, delay] if a and b:
                return Edge(a, b, LinkModel(self._delay(delay, line), self.bandwidth))
        raise self._refused(f"{words!r} is no edge; write two names, and a delay where it differs", line)

    def _delay(self, word: str, line: int) -> Distribution:
        try:
            return positive_delay(float(word))
        except ValueError:
            raise self._refused(f"{word!r} is not a delay; write a number above 0", line) from None


def joined(
    edges: Sequence[Edge], told: Callable[[int], str], refuse: Callable[[int, str], ScenarioError]
) -> tuple[Neighbours, Links]:
    """The neighbours of every node and the model of every link."""
    seen: dict[tuple[str, str], int] = {}
    for place, (a, b, _) in enumerate(edges):
        if a == b:
            raise refuse(place, f"{a} is linked to itself")
        before = seen.setdefault(link_name(a, b), place)
        if before != place:
            raise refuse(place, f"the link {a}-{b} is there already, in {told(before)}")
    present = dict.fromkeys(name for ends in seen for name in ends)
    places = {name: place for place, name in enumerate(present)}
    pairs = np.array([(places[a], places[b]) for a, b in seen], dtype=np.int64)
    return neighbours_of(list(places), pairs), {link_name(a, b): link for a, b, link in edges}


# Made from the seed


class Generated(NetworkSettings):
    kinds: ClassVar[dict[str, type[Generated]]] = {}

    @classmethod
    def __pydantic_init_subclass__(cls, **arguments: Any) -> None:
        if "kind" in cls.model_fields:
            (kind,) = get_args(cls.model_fields["kind"].annotation)
            Generated.kinds[kind] = cls

    @property
    @abstractmethod
    def node_count(self) -> int: ...

    @property
    def link_count(self) -> int:
        return self.node_count - 1

    @abstractmethod
    def pairs(self, rng: Rng) -> Pairs: ...

    @model_validator(mode="after")
    def _fits_into_memory(self) -> Self:
        if self.link_count > MOST_LINKS:
            raise ValueError(f"this network has {self.link_count:,} links; the most is {MOST_LINKS:,}")
        return self

    def network(self, rng: Rng, folder: Path) -> Network:
        return self.over(neighbours_of(names(self.node_count), self.pairs(rng)))


class WithNodes(Generated):
    nodes: Nodes

    @property
    def node_count(self) -> int:
        return self.nodes


class Line(WithNodes):
    kind: Literal["line"]

    def pairs(self, rng: Rng) -> Pairs:
        return _columns(np.arange(self.nodes - 1), np.arange(1, self.nodes))


class Star(WithNodes):
    kind: Literal["star"]

    def pairs(self, rng: Rng) -> Pairs:
        return _columns(np.zeros(self.nodes - 1), np.arange(1, self.nodes))


class Ring(WithNodes):
    kind: Literal["ring"]
    nodes: int = Field(ge=3, examples=[20])

    @property
    def link_count(self) -> int:
        return self.nodes

    def pairs(self, rng: Rng) -> Pairs:
        return _columns(np.arange(self.nodes), (np.arange(self.nodes) + 1) % self.nodes)


class Grid(Generated):
    kind: Literal["grid"]
    rows: int = Field(ge=1, examples=[4])
    columns: int = Field(ge=1, examples=[5])

    @property
    def node_count(self) -> int:
        return self.rows * self.columns

    @property
    def link_count(self) -> int:
        return self.rows * (self.columns - 1) + (self.rows - 1) * self.columns

    def pairs(self, rng: Rng) -> Pairs:
        place = np.arange(self.node_count).reshape(self.rows, self.columns)
        across = _columns(place[:, :-1].ravel(), place[:, 1:].ravel())
        down = _columns(place[:-1].ravel(), place[1:].ravel())
        return np.concatenate([across, down])


class BalancedTree(Generated):
    kind: Literal["balanced-tree"]
    branching: int = Field(ge=1, examples=[3])
    height: int = Field(ge=0, le=MOST_LINKS, examples=[4])

    @property
    def node_count(self) -> int:
        count = level = 1
        for _ in range(self.height):
            level *= self.branching
            count += level
            if count > MOST_LINKS + 1:
                break
        return count

    def pairs(self, rng: Rng) -> Pairs:
        children = np.arange(1, self.node_count)
        return _columns((children - 1) // self.branching, children)


class RandomTree(WithNodes):
    """Every labelled tree is equally likely."""

    kind: Literal["random-tree"]

    def pairs(self, rng: Rng) -> Pairs:
        return random_tree(self.nodes, rng)


class RandomGraph(WithNodes):
    """A random tree, so that the network is connected, and random further links up to the degree."""

    kind: Literal["random-graph"]
    degree: float = Field(ge=0, examples=[3.0])

    @field_validator("degree")
    @classmethod
    def _possible(cls, degree: float, others: ValidationInfo) -> float:
        nodes = others.data.get("nodes")
        if nodes is not None and not nodes - 1 <= round(nodes * degree / 2) <= nodes * (nodes - 1) // 2:
            least = math.ceil(2000 * (nodes - 1) / nodes) / 1000
            raise ValueError(f"{degree:g} is not possible with {nodes} nodes; write {least:g} to {nodes - 1}")
        return degree

    @property
    def link_count(self) -> int:
        return round(self.nodes * self.degree / 2)

    def pairs(self, rng: Rng) -> Pairs:
        tree = random_tree(self.nodes, rng)
        return np.concatenate([tree, _further(tree, self.nodes, self.link_count - len(tree), rng)])


class Complete(WithNodes):
    kind: Literal["complete"]

    @property
    def link_count(self) -> int:
        return _pair_count(self.nodes)

    def pairs(self, rng: Rng) -> Pairs:
        return _pair(np.arange(self.link_count))


@dataclass(frozen=True, slots=True)
class Length(Distribution):
    """A constant delay for each link, by its length; the floor where there is no length."""

    scale: float = 1.0

    def over(self, length: float) -> Distribution:
        return Distribution(max(self.floor, self.scale * length))

    def __str__(self) -> str:
        return f"length({self.scale!r}, {self.floor!r})"


def _delay_or_length(text: Any) -> Distribution:
    if not isinstance(text, str) or not text.strip().startswith("length"):
        return positive_delay(text)
    _, numbers = parse_call(text, f'{FORMS} or "length(10.0, 0.1)"')
    if len(numbers) != 2 or numbers[1] <= 0:
        raise ValueError(f"{text}: write length(scale, floor) with a floor above 0")
    return Length(numbers[1], scale=numbers[0])


class Plane(WithNodes):
    """Points in the unit square; a link may take as long as it is."""

    kind: Literal["plane"]
    connect: Literal["complete", "nearest"] = Field(examples=["nearest"])
    neighbours: int | None = Field(default=None, ge=1, examples=[4])
    delay: Annotated[Distribution, PlainValidator(_delay_or_length), PlainSerializer(str)] = Distribution(1.0)

    @model_validator(mode="after")
    def _neighbours_where_they_count(self) -> Self:
        if self.connect == "complete" and self.neighbours is not None:
            raise problem_at("neighbours", problem='leave it out, or write connect = "nearest"')
        if self.connect == "nearest" and self.neighbours is None:
            raise problem_at("neighbours", problem="missing; write e.g. neighbours = 4")
        if self.neighbours is not None and self.neighbours >= self.nodes:
            possible = f"{self.nodes} nodes; write 1 to {self.nodes - 1}" if self.nodes > 1 else "one node"
            raise problem_at("neighbours", problem=f"{self.neighbours} is not possible with {possible}")
        return self

    @property
    def link_count(self) -> int:
        return _pair_count(self.nodes) if self.neighbours is None else self.nodes * (self.neighbours + 1)

    def default_link(self) -> LinkModel:
        delay = self.delay.over(0.0) if isinstance(self.delay, Length) else self.delay
        return LinkModel(delay, self.bandwidth)

    def pairs(self, rng: Rng) -> Pairs:
        return self._pairs_of(self._points(rng))

    def network(self, rng: Rng, folder: Path) -> Network:
        points = self._points(rng)
        pairs = self._pairs_of(points)
        name = names(self.nodes)
        links: Links = {}
        if isinstance(self.delay, Length):
            lengths = _distance(points[pairs[:, 0]], points[pairs[:, 1]])
            for (a, b), length in zip(pairs.tolist(), lengths.tolist(), strict=True):
                links[link_name(name[a], name[b])] = LinkModel(self.delay.over(length), self.bandwidth)
        positions = sorted((name[place], (x, y)) for place, (x, y) in enumerate(points.tolist()))
        return self.over(neighbours_of(name, pairs), links, dict(positions))

    def _points(self, rng: Rng) -> NDArray[np.float64]:
        return rng.random((self.nodes, 2))

    def _pairs_of(self, points: NDArray[np.float64]) -> Pairs:
        if self.neighbours is None:
            return _pair(np.arange(self.link_count))
        near = np.concatenate([_nearest(points, self.neighbours), shortest_tree(points)])
        return _pair(np.unique(_rank(near)))


# Graphs


def names(count: int) -> list[str]:
    return [f"n{number}" for number in range(1, count + 1)]


def random_tree(nodes: int, rng: Rng) -> Pairs:
    """The tree of a random Prüfer sequence."""
    if nodes < 2:
        return np.empty((0, 2), dtype=np.int64)
    code = rng.integers(0, nodes, size=nodes - 2)
    missing = (np.bincount(code, minlength=nodes) + 1).tolist()
    leaves = []
    smallest = leaf = missing.index(1)
    for node in code.tolist():
        leaves.append(leaf)
        missing[node] -= 1
        if missing[node] == 1 and node < smallest:
            leaf = node
        else:
            smallest = leaf = missing.index(1, smallest + 1)
    return _columns([*leaves, leaf], [*code, nodes - 1])


def _further(tree: Pairs, nodes: int, count: int, rng: Rng) -> Pairs:
    """So many of the pairs that are not in the tree, all equally likely."""
    taken = np.sort(_rank(tree))
    chosen = rng.choice(_pair_count(nodes) - len(tree), size=count, replace=False, shuffle=False)
    # The k-th free pair stands behind k free ones and all taken ones before it.
    return _pair(chosen + np.searchsorted(taken - np.arange(len(taken)), chosen, side="right"))


def shortest_tree(points: NDArray[np.float64]) -> Pairs:
    """The minimum spanning tree of points in the plane, by Prim's algorithm."""
    outside = np.full(len(points), True)
    parent = np.zeros(len(points), dtype=np.int64)
    distance = np.full(len(points), np.inf)
    newest = 0
    children = []
    for _ in range(len(points) - 1):
        outside[newest] = False
        from_newest = _distance(points, points[newest])
        nearer = outside & (from_newest < distance)
        distance[nearer] = from_newest[nearer]
        parent[nearer] = newest
        newest = int(np.where(outside, distance, np.inf).argmin())
        children.append(newest)
    return _columns(parent[children], children)


def _nearest(points: NDArray[np.float64], count: int) -> Pairs:
    found = []
    for place, point in enumerate(points):
        distance = _distance(points, point)
        distance[place] = np.inf
        found.append(np.argpartition(distance, count - 1)[:count])
    return _columns(np.repeat(np.arange(len(points)), count), np.concatenate(found))


def _distance(a: NDArray[np.float64], b: NDArray[np.float64]) -> NDArray[np.float64]:
    apart = a - b
    return np.sqrt(apart[:, 0] ** 2 + apart[:, 1] ** 2)


def _columns(a: Any, b: Any) -> Pairs:
    return np.column_stack([np.asarray(a, dtype=np.int64), np.asarray(b, dtype=np.int64)])


def _pair_count(nodes: int) -> int:
    return nodes * (nodes - 1) // 2


def _rank(pairs: Pairs) -> NDArray[np.int64]:
    """The place of each pair in 01, 02, 12, 03, 13, 23, ..."""
    low: NDArray[np.int64] = pairs.min(axis=1)
    high: NDArray[np.int64] = pairs.max(axis=1)
    return high * (high - 1) // 2 + low


def _pair(rank: NDArray[np.int64]) -> Pairs:
    # Exact: with at most MOST_LINKS + 1 nodes, no rank is large enough for the root to be rounded up.
    high = ((1 + np.sqrt(1 + 8 * rank)) / 2).astype(np.int64)
    return _columns(rank - high * (high - 1) // 2, high)
