"""What a report shows of a run beside what it shows of every run. A protocol says it in a few lines:

    def report(self, world, report):
        for row in world.events.rows("replacement"):
            report.hold(row["time"], row["node"], row["items"].split(","))
        report.curve("traffic", {"total": levels}, unit="messages per second")

What is said of a node holds from that time on, until something else is said of it. Nothing needs to be said in order.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from runtime.errors import AgentError

Points = Iterable[tuple[float, float | None]]


@dataclass(frozen=True)
class Curve:
    """Lines over virtual time; a value that is None interrupts its line."""

    title: str
    lines: dict[str, list[tuple[float, float | None]]]
    unit: str
    stepped: bool
    about: str


@dataclass(frozen=True)
class Panel:
    """A table, bars or a drawing of the protocol's own."""

    title: str
    kind: str
    content: Any
    about: str


@dataclass
class Layer:
    """Arrows that are drawn over the network when the reader asks for them."""

    title: str
    about: str
    check: Callable[[str], str] = str
    arrows: list[tuple[str, str, str, float, float | None]] = field(default_factory=list)

    def arrow(self, source: str, target: str, label: str = "", since: float = 0.0, until: float | None = None) -> None:
        """An arrow from one node to another, from this time on; with `until`, only up to then."""
        self.arrows.append((self.check(source), self.check(target), label, float(since), until))


@dataclass
class Report:
    """Collects what is to be shown."""

    holding: str = "holds"
    """The word before what a node holds, and over the list of all that is held somewhere."""

    items: list[str] = field(default_factory=list)
    """What can be held, in the order of its colours; what is not named here follows in the order of its names."""

    lettered: bool = True
    """Is what a node holds written beside it on the map, or only seen by its colour?"""

    results: Mapping[str, Any] = field(default_factory=dict)
    """The run's results."""

    nodes: Container[str] | None = None
    """The nodes that there are; where they are known, other names are refused."""

    crashes: Mapping[str, Sequence[tuple[float, float]]] = field(default_factory=dict)
    """From when to when each node was down."""

    held: list[tuple[float, str, tuple[str, ...]]] = field(default_factory=list)
    texts: list[tuple[float, str, str]] = field(default_factory=list)
    homes: list[tuple[float, str, str | None]] = field(default_factory=list)
    spans: list[tuple[float, float | None, str]] = field(default_factory=list)
    moments: list[tuple[float, str]] = field(default_factory=list)
    places: dict[str, tuple[float, float]] = field(default_factory=dict)
    kinds: dict[str, str] = field(default_factory=dict)
    painted: dict[str, str] = field(default_factory=dict)
    layers: list[Layer] = field(default_factory=list)
    curves: list[Curve] = field(default_factory=list)
    panels: list[Panel] = field(default_factory=list)

    def _known(self, node: str) -> str:
        if self.nodes is not None and node not in self.nodes:
            raise AgentError(f"the report speaks of {node!r}, which is no node of the network")
        return node

    # Nodes over time

    def hold(self, time: float, node: str, items: Iterable[str]) -> None:
        """From this time on the node holds these items. They are written beside it and give it its colour."""
        if isinstance(items, str):
            raise AgentError(f"report.hold({time!r}, {node!r}, {items!r}): write a list of items, not text")
        self.held.append((float(time), self._known(node), tuple(items)))

    def text(self, time: float, node: str, text: str) -> None:
        """From this time on this is to be read where the node is described; lines are kept."""
        self.texts.append((float(time), self._known(node), text))

    def home(self, time: float, node: str, broker: str | None) -> None:
        """From this time on the node is attached to this broker; None: it is not there."""
        self.homes.append((float(time), self._known(node), None if broker is None else self._known(broker)))

    def place(self, node: str, x: float, y: float) -> None:
        """Where the node is drawn, in any scale; the others follow only if all brokers have a place."""
        self.places[self._known(node)] = (float(x), float(y))

    def kind(self, node: str, kind: str) -> None:
        """What sort of node this is: "store", "publisher". Each sort has its own shape."""
        self.kinds[self._known(node)] = kind

    def paint(self, node: str, item: str) -> None:
        """Give the node this item's colour, whatever it holds."""
        self.painted[self._known(node)] = item

    def is_down(self, node: str, time: float) -> bool:
        return any(since <= time < until for since, until in self.crashes.get(node, ()))

    def layer(self, title: str, about: str = "") -> Layer:
        """A set of arrows between nodes, to be chosen by the reader; the first one is shown at once."""
        self.layers.append(Layer(title, about, self._known))
        return self.layers[-1]

    # The run over time

    def moment(self, time: float, text: str) -> None:
        """Something that happened to the whole network; marked on the slider."""
        self.moments.append((float(time), text))

    def span(self, since: float, until: float | None, text: str) -> None:
        """A part of the run with a name, shaded in every curve."""
        self.spans.append((float(since), until, text))

    def curve(
        self, title: str, lines: Mapping[str, Points], unit: str = "", stepped: bool = True, about: str = ""
    ) -> None:
        """Lines over virtual time. Stepped: a value holds until the next one."""
        drawn = {name: sorted(points, key=lambda point: point[0]) for name, points in lines.items()}
        self.curves.append(Curve(title, drawn, unit, stepped, about))

    # Panels of one's own

    def table(self, title: str, columns: Sequence[str], rows: Iterable[Sequence[Any]], about: str = "") -> None:
        every = [list(row) for row in rows]
        for row in every:
            if len(row) != len(columns):
                raise AgentError(f"report.table({title!r}): {len(columns)} columns, but a row of {len(row)}: {row}")
        self.panels.append(Panel(title, "table", (list(columns), every), about))

    def bars(self, title: str, values: Mapping[str, float], unit: str = "", about: str = "") -> None:
        self.panels.append(Panel(title, "bars", (dict(values), unit), about))

    def svg(self, title: str, drawing: str, about: str = "") -> None:
        """A drawing in SVG. It is shown as an image: it needs its own colours, and scripts in it do nothing."""
        self.panels.append(Panel(title, "svg", drawing, about))
