"""Watches a simulator while somebody runs it, and keeps what a diagram needs. A run without it pays nothing."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from runtime.agent import LinkChanged, Timer
from runtime.links import COPIES, COUNT_MASK, Link, Special
from runtime.message import Message, encode
from runtime.simnode import Entry, SimNode
from runtime.simulator import ENVIRONMENT, Crashes, Recovers, Send, Simulator
from runtime.spacetime.model import Arrow, Caption, Fate, Happening, Kind, Mark, SpaceTime, lines_of
from runtime.spacetime.states import StateWatch, word

FAULTS: dict[str, Fate] = {"drop": "dropped", "partition": "cut off"}
SLOWED = {"delay": "delayed by a fault", "reorder": "held back by a fault"}
Key = tuple[str, str, int]


class Collector:
    """Made before the run begins; `finish` gives the picture when it is over."""

    def __init__(self, sim: Simulator, states: bool = True) -> None:
        self._sim = sim
        self._names = lines_of(sim.network)
        self._line = {name: place for place, name in enumerate(self._names)}
        self._happenings = [Happening(0, line, "start", sim.now, sim.now, sim.now) for line in range(len(self._names))]
        self._arrows: list[Arrow] = []
        self._sent: dict[Key, int] = {}
        self._latest = list(range(len(self._names)))
        self._newest: dict[tuple[str, str], int] = {}
        self._open: list[tuple[int, SimNode]] = [(self._line[name], node) for name, node in sim.nodes.items()]
        self._watch = StateWatch() if states else None
        for node in sim.nodes.values():
            if self._watch is not None:
                self._watch.changes(node.id, node.agent)
        self._before = sim.observer
        self._instrument()

    def _instrument(self) -> None:
        sim = self._sim
        sim.observer = self._saw
        watched = _watched(self)
        for node in sim.nodes.values():
            node.__class__ = watched
        for name in ("transmit", "_waits"):
            setattr(sim, name, getattr(self, name))

    def finish(self, caption: Caption | None = None, marks: Sequence[Mark] = ()) -> SpaceTime:
        """What was seen. The simulator is as it was before; it can go on, unseen."""
        self.settle()
        sim = self._sim
        sim.observer = self._before
        for node in sim.nodes.values():
            node.__class__ = SimNode
        for name in ("transmit", "_waits"):
            delattr(sim, name)
        self._judge()
        homes = dict(sim.network.homes)
        return SpaceTime(self._names, homes, self._happenings, self._arrows, caption or Caption("a run"), list(marks))

    @property
    def names(self) -> list[str]:
        """The nodes, in the order of their lines."""
        return self._names

    @property
    def arrows(self) -> list[Arrow]:
        """All that was sent until now."""
        return self._arrows

    def settle(self) -> Happening | None:
        """Close the event that was seen last, now that its handler is done; gives it with all that it changed."""
        closed = None
        for place, node in self._open:
            closed = self._happenings[place]
            if closed.noticed:
                closed.ended = max(closed.begun, node.now)
                if self._watch is not None:
                    closed.changes = self._watch.changes(node.id, node.agent)
        self._open = []
        return closed

    # What the simulator tells

    def _saw(self, entry: Entry) -> None:
        """An event is about to happen."""
        self.settle()
        if self._before is not None:
            self._before(entry)
        arrival, _, link, message = entry
        node = link.target
        line, place = self._line[node.id], len(self._happenings)
        kind = _kind(link, message)
        down = node.handlers is self._sim._gone
        happening = Happening(place - len(self._names) + 1, line, kind, arrival, max(arrival, node.now), arrival)
        happening.noticed = not down if kind != "hint" else message.__class__ in node.handlers
        if kind in ("crash", "recover"):
            happening.noticed, happening.begun = True, arrival
        if kind == "hint":
            happening.what = f"something happened to the link with {message.peer}"
        self._happenings.append(happening)
        if link.source != ENVIRONMENT:
            happening.arrow = self._arrive(place, entry, down)
            happening.what = self._arrows[happening.arrow].type
        if happening.noticed:
            happening.before, self._latest[line] = self._latest[line], place
        self._open = [(place, node)]

    def _arrive(self, place: int, entry: Entry, down: bool) -> int:
        arrival, key, link, _ = entry
        number = key & COUNT_MASK
        first = self._sent[link.source, link.peer, number - number % COPIES]
        arrow = self._arrows[first]
        if arrow.effect is not None:
            first, arrow = self._double(arrow)
        arrow.arrival, arrow.effect = arrival, place
        arrow.fate = "node down" if down else "arrived"
        if not arrow.timer:
            road = (link.source, link.peer)
            newest = self._newest.get(road, -1)
            if number < newest and not arrow.copy:
                arrow.late += ("overtaken by a later message",)
            self._newest[road] = max(number, newest)
        return first

    def _double(self, arrow: Arrow) -> tuple[int, Arrow]:
        """The same message arrives a second time."""
        copy = Arrow(arrow.cause, arrow.source, arrow.target, arrow.sent, arrow.type, arrow.fields, arrow.size)
        copy.underlay, copy.copy = arrow.underlay, True
        self._arrows.append(copy)
        return len(self._arrows) - 1, copy

    def _waits(self, node: SimNode, arrival: float) -> bool:
        waits = Simulator._waits(self._sim, node, arrival)
        happening = self._happenings[-1]
        if not waits:
            self._forget(happening)
        elif happening.arrow is not None:
            arrow = self._arrows[happening.arrow]
            arrow.late += (f"waited {word(happening.begun - arrival)} s in its receiver's queue",)
        return waits

    def _forget(self, happening: Happening) -> None:
        """The node crashes before it gets there."""
        happening.noticed = False
        if happening.before is not None:
            self._latest[happening.node], happening.before = happening.before, None
        if happening.arrow is not None:
            arrow = self._arrows[happening.arrow]
            arrow.fate = "cancelled" if arrow.timer else "queue lost"

    def transmit(self, link: Link, special: Special, message: Any, size: int, send: Send) -> None:
        fired = None if special.faults is None else special.faults.fired.copy()
        Simulator.transmit(self._sim, link, special, message, size, send)
        if fired is None or special.faults is None:
            return
        arrow = self._arrows[self._sent[link.source, link.peer, send[0]]]
        for fault in special.faults.fired - fired:
            arrow.fate = FAULTS.get(fault, arrow.fate)
            if fault in SLOWED:
                arrow.late += (SLOWED[fault],)

    # What the nodes do

    def sends(self, node: SimNode, links: Sequence[Link], message: Message, number: int, underlay: bool) -> None:
        kind, fields, size = type_of(message), fields_of(message), len(encode(message))
        source = self._line[node.id]
        for link in links:
            self._sent[node.id, link.peer, number] = len(self._arrows)
            target = self._line[link.peer]
            arrow = Arrow(self._latest[source], source, target, node.now, kind, fields, size, underlay=underlay)
            arrow.fate = "lost"  # until it arrives
            self._arrows.append(arrow)

    def sets_timer(self, node: SimNode, message: Message, number: int) -> None:
        line = self._line[node.id]
        self._sent[node.id, node.id, number] = len(self._arrows)
        timer = Arrow(self._latest[line], line, line, node.now, type_of(message), fields_of(message), timer=True)
        timer.fate = "cancelled"
        self._arrows.append(timer)

    def logs(self, node: SimNode, event: str, fields: dict[str, Any]) -> None:
        words = ", ".join(f"{name}={word(value, 60)}" for name, value in fields.items())
        self._happenings[self._latest[self._line[node.id]]].logged.append(f"{event}({words})")

    # What became of the rest

    def _judge(self) -> None:
        sim = self._sim
        for batch in (*sim.windows.values(), sim.timers):
            for _, key, link, _ in batch:
                number = key & COUNT_MASK
                sent = self._sent.get((link.source, link.peer, number - number % COPIES))
                if sent is not None and self._arrows[sent].effect is None and key not in sim.cancelled:
                    self._arrows[sent].fate = "under way"
        if sim.recording is not None:
            self._find_late_arrivals()

    def _find_late_arrivals(self) -> None:
        """A free run's messages are late if they took longer than their links do."""
        network = self._sim.network
        for arrow in self._arrows:
            if arrow.timer or arrow.underlay or arrow.arrival is None:
                continue
            model = network.link(self._names[arrow.source], self._names[arrow.target])
            took = arrow.arrival - arrow.sent
            if model.bandwidth is None and took > model.delay.ceiling * (1 + 1e-9):
                usual = word(model.delay.ceiling)
                arrow.late += (f"took {word(took)} s on a link that takes at most {usual} s",)


def type_of(message: Message) -> str:
    """The message's name; with the name of the message that it carries, if it carries one."""
    inner = next((value for value in message[1:] if isinstance(value, Message)), None)
    return message.tag if inner is None else f"{message.tag}[{type_of(inner)}]"


def fields_of(message: Message) -> tuple[tuple[str, str], ...]:
    return tuple((name, word(value, 300)) for name, value in zip(message.fields, message[1:], strict=True))


def _kind(link: Link, message: Any) -> Kind:
    if isinstance(message, Crashes):
        return "crash"
    if isinstance(message, Recovers):
        return "recover"
    if isinstance(message, LinkChanged) and link.source == ENVIRONMENT:
        return "hint"
    return "timer" if link.source == link.peer else "message"


def _watched(collector: Collector) -> type[SimNode]:
    """A node that tells the collector what it does."""

    class Watched(SimNode):
        __slots__ = ()

        def _emit(
            self, links: Sequence[Link], skip: str | None, message: Any, sent: dict[type[Any], list[int]]
        ) -> None:
            encode(message)  # what is no message is refused before anything is kept
            ways = [link for link in links if link.peer != skip]
            collector.sends(self, ways, message, self._count + COPIES, sent is self._sim.sent_underlay)
            super()._emit(links, skip, message, sent)

        def after(self, delay_s: float, message: object) -> Timer:
            timer = super().after(delay_s, message)
            assert isinstance(message, Message)
            collector.sets_timer(self, message, self._count)
            return timer

        def log(self, event: str, **fields: Any) -> None:
            super().log(event, **fields)
            collector.logs(self, event, fields)

    return Watched
