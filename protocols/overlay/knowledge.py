"""What a broker knows: its own users, and of the other brokers what their summaries say (overlay, IV.C)."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from protocols.overlay.content import Floats
from protocols.overlay.cost import Aggregates, SpanningTrees, core_cost, spanning_tree
from protocols.overlay.messages import Deliver, Forward, Register, Registered, Replicate, Summarize
from protocols.overlay.moves import Candidate, View


@dataclass
class Resident:
    """A user of this broker, during its stay number `stay`."""

    register: Register
    stay: int
    since: int
    """The first version of this broker's summary that includes the user."""

    predecessor: str | None = None
    """The broker that it came from, until that one has nothing more to redirect."""

    connected: bool = True
    waiting: list[Deliver | Registered] = field(default_factory=list)
    in_force: bool = False
    confirm: int | None = None
    """The version that its latest registration waits for."""

    foreign: int | None = None
    """The broker that it is being handed over to, and the first version of its summary that includes the user."""

    foreign_since: int | None = None
    known: tuple[int, ...] = ()
    """The versions of all summaries when the hand-over began."""

    held: list[Forward] = field(default_factory=list)
    updated: bool = False
    leaving: bool = False
    declined: bool = False
    refused: dict[int, tuple[int, ...]] = field(default_factory=dict)
    """Brokers that had no room, and the versions of all summaries then."""


@dataclass
class Asked:
    """To take over a user, by a broker that knows more than this one, which sees no room yet."""

    home: str
    wish: Replicate
    updates: list[Register] = field(default_factory=list)
    """What has been heard of the user since."""


@dataclass
class Departed:
    """A stay that is over; publications that were routed before everybody knew may still arrive for it."""

    since: int
    next: int
    next_since: int
    interests: frozenset[int]
    shrunk: int
    """The first version of this broker's summary without the user."""

    predecessor: str | None
    disconnected: bool = False
    """The user has said its last word here: nothing of it has to be sent on any more."""

    expired: bool = False
    fence: dict[int, int] | None = None
    """How many publications each broker had routed here when it heard that the user had gone."""

    later: dict[int, int] = field(default_factory=dict)
    """How many have arrived that each broker routed since: they may overtake the others, on another tree."""


@dataclass
class State:
    """All of it survives a crash."""

    version: int = 0
    changed: bool = False
    missing: dict[str, None] = field(default_factory=dict)
    acknowledged: dict[int, int] = field(default_factory=dict)
    known: dict[int, Summarize] = field(default_factory=dict)
    routed: dict[int, int] = field(default_factory=dict)
    arrived: dict[int, int] = field(default_factory=dict)
    residents: dict[str, Resident] = field(default_factory=dict)
    asked: dict[str, Asked] = field(default_factory=dict)
    departed: dict[str, dict[int, Departed]] = field(default_factory=dict)
    turned_away: dict[str, Register] = field(default_factory=dict)
    """Users that came when there was no room; they are told when there is."""

    core_paid: float = 0.0
    redirect_paid: float = 0.0
    redirected: int = 0
    astray: int = 0


class Knowledge:
    """Computes from a broker's state; keeps nothing but what can be computed again."""

    def __init__(self, state: State, me: int, links: Floats, capacity: float, channels: int) -> None:
        self.state = state
        self.me = me
        self.links = links
        self.capacity = capacity
        self.channels = channels
        self._trees: SpanningTrees | None = None
        self._rows = -1
        self._rooted: dict[tuple[int, ...], tuple[tuple[int, int], ...]] = {}

    @property
    def brokers(self) -> int:
        return len(self.links)

    def versions(self) -> tuple[int, ...]:
        """The version of each broker's summary that is known here."""
        known = self.state.known
        found = [known[b].version if b in known else 0 for b in range(self.brokers)]
        found[self.me] = self.state.version
        return tuple(found)

    def as_much_as(self, versions: tuple[int, ...]) -> bool:
        """Is all known here that whoever knows these versions knows?"""
        return all(mine >= told for mine, told in zip(self.versions(), versions, strict=True))

    # The own users

    def wants(self, register: Register) -> Floats:
        row = np.zeros(self.channels)
        row[list(register.interests)] = 1.0
        return row

    def summary(self, version: int) -> Summarize:
        """The own users as one bigger user."""
        rates, wanted, weights = (np.zeros(self.channels) for _ in range(3))
        own = fixed = 0.0
        for resident in self.state.residents.values():
            publishes, wants = np.array(resident.register.rates), self.wants(resident.register)
            link, to_itself = resident.register.costs[self.me], float(publishes @ wants)
            rates += publishes
            wanted += wants
            weights += link * wants
            own += to_itself
            fixed += link * (float(publishes.sum()) - to_itself)
        return Summarize(
            version,
            tuple(int(count) for count in wanted),
            tuple(rates.tolist()),
            own,
            tuple(weights.tolist()),
            fixed,
            tuple(self.links.tolist()),
            self.capacity,
        )

    # Everybody's

    def summaries(self) -> dict[int, Summarize]:
        """Of all brokers that have been heard of, the own one as it is at this moment."""
        return {**self.state.known, self.me: self.summary(self.state.version)}

    def trees(self) -> SpanningTrees:
        if self._trees is None or self._rows != len(self.state.known):
            core = np.zeros((self.brokers, self.brokers))
            for broker, summary in self.state.known.items():
                core[broker] = core[:, broker] = summary.links
            core[self.me] = core[:, self.me] = self.links
            self._trees, self._rows = SpanningTrees(core), len(self.state.known)
        return self._trees

    def demand(self, register: Register, totals: Floats) -> float:
        """b(out) + b(in) of this user, where all users together publish so much."""
        publishes = np.array(register.rates)
        return float(publishes.sum() + self.wants(register) @ (totals - publishes))

    def view(self) -> tuple[View, Floats]:
        """The brokers as they are known here, and what all users publish on each channel."""
        summaries = self.summaries()
        rates, wanted = np.zeros((self.brokers, self.channels)), np.zeros((self.brokers, self.channels))
        own, capacity = np.zeros(self.brokers), np.full(self.brokers, -1.0)
        for broker, summary in summaries.items():
            rates[broker], wanted[broker] = summary.rates, summary.subscribers
            own[broker], capacity[broker] = summary.own, summary.capacity
        totals: Floats = rates.sum(axis=0)
        load: Floats = rates.sum(axis=1) + wanted @ totals - own
        return View(Aggregates(rates, wanted), load, capacity, self.trees()), totals

    def room_for(self, register: Register) -> bool:
        """For a user that some broker has: what it publishes comes here already."""
        view, totals = self.view()
        return self._fits(view.load[self.me] + self.demand(register, totals))

    def room_for_newcomer(self, register: Register) -> bool:
        """For a user that nobody has yet: what it publishes will come to the users who are here, too."""
        view, totals = self.view()
        publishes = np.array(register.rates)
        reaching = float(view.sums.subscribers[self.me] @ publishes)
        return self._fits(view.load[self.me] + reaching + self.demand(register, totals + publishes))

    def _fits(self, load: float) -> bool:
        return bool(load <= self.capacity * (1 + 1e-9))

    def candidate(self, register: Register, totals: Floats) -> Candidate:
        return Candidate(
            np.array(register.rates), self.wants(register), np.array(register.costs), self.demand(register, totals)
        )

    def total_cost(self) -> float:
        """C1 + C2 as far as it is known here."""
        view, totals = self.view()
        access = sum(s.link_fixed + float(np.dot(s.link_weights, totals)) for s in self.summaries().values())
        return access + core_cost(view.sums, view.trees)

    def tree(self, channel: int) -> tuple[tuple[int, int], ...]:
        """The tree from here to all brokers with subscribers of the channel, as (parent, child) from the root on."""
        members = sorted({b for b, s in self.state.known.items() if s.subscribers[channel]} | {self.me})
        core = self.trees().core
        key = (len(self.state.known), *members)
        if key not in self._rooted:
            self._rooted[key] = _rooted(spanning_tree(core, np.array(members)), self.me)
        return self._rooted[key]


def _rooted(tree: list[tuple[int, int, float]], root: int) -> tuple[tuple[int, int], ...]:
    beside: dict[int, list[int]] = {}
    for a, b, _ in tree:
        beside.setdefault(a, []).append(b)
        beside.setdefault(b, []).append(a)
    edges: list[tuple[int, int]] = []
    seen, waiting = {root}, [root]
    while waiting:
        parent = waiting.pop(0)
        for child in sorted(beside.get(parent, [])):
            if child not in seen:
                seen.add(child)
                edges.append((parent, child))
                waiting.append(child)
    return tuple(edges)
