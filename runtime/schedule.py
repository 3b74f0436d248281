"""Runs driven by choices: which of the pending messages is delivered next?

Delays then no longer matter; every order that an asynchronous network allows can be had. Timers never come
early: choosing one moves the clock at least to the time it was set for, so a late one is all a protocol sees.

What is pending stands in a row: first messages, the one that has waited longest in front, then timers and the
environment's orders by their time. Whoever always takes the first has a fast network in which nothing is overtaken;
so a schedule can be written down as the few steps at which something else was taken (`Deviations`).
"""

from __future__ import annotations

import random
from bisect import bisect_left, insort
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from heapq import heappop, heappush

from runtime.links import COUNT_BITS, COUNT_MASK, Link
from runtime.simnode import Entry
from runtime.simulator import ENVIRONMENT, Simulator

STEP = 1e-3
"""How far the clock moves from one delivery to the next."""

Choose = Callable[[Sequence[Entry]], int]
"""Which of the pending events comes next. The environment's orders and timers are events too."""

Deviations = Mapping[int, int]
"""At which steps, counted from 0, not the first in the row was taken, and which place instead."""

Held = Sequence[tuple[int, int, int]]
"""At which step what stands at which place of the row is held back, and until which step."""


def at_random(rng: random.Random, patience: int = 10) -> Choose:
    """Any event, but a timer only if it is drawn that often in a row: time-outs outrun the network rarely."""

    def choose(pending: Sequence[Entry]) -> int:
        choice = rng.randrange(len(pending))
        for _ in range(patience - 1):
            if not _own(pending[choice]):
                break
            choice = rng.randrange(len(pending))
        return choice

    return choose


def by_priority(rng: random.Random, changes: int = 3, within: int = 300) -> Choose:
    """Links that starve: each has a priority, the highest always wins, and now and then the winner becomes last.

    Few changes at random moments find most ordering bugs (Burckhardt et al., ASPLOS 2010). Timers come last. After
    `within` steps the first in the row is taken: who starved for ever would never come to rest over repaired links.
    """
    priority: dict[int, float] = {}
    moments = {rng.randrange(within) for _ in range(changes)}
    step = 0

    def rank(entry: Entry) -> float:
        place = entry[1] >> COUNT_BITS
        if place not in priority:
            priority[place] = rng.random() - 10 * _own(entry)
        return priority[place]

    def choose(pending: Sequence[Entry]) -> int:
        nonlocal step
        step += 1
        if step > within:
            return 0
        ranks = [rank(entry) for entry in pending]
        choice = ranks.index(max(ranks))
        if step in moments:
            priority[pending[choice][1] >> COUNT_BITS] = min(priority.values()) - 1
        return choice

    return choose


def delay_bounded(rng: random.Random, delays: int = 5, within: int = 300) -> Choose:
    """The first in the row, but now and then another: few delays find most ordering bugs (Emmi et al., POPL 2011)."""
    moments = {rng.randrange(within) for _ in range(delays)}
    step = -1

    def choose(pending: Sequence[Entry]) -> int:
        nonlocal step
        step += 1
        return rng.randrange(len(pending)) if step in moments else 0

    return choose


def by_deviations(deviations: Deviations, held: Held = ()) -> Choose:
    """The first in the row, but at these steps another; the last, where the row is shorter than that.

    Whoever is held back does not count, unless there is nobody else.
    """
    begin: dict[int, list[tuple[int, int]]] = {}
    for at, place, until in held:
        begin.setdefault(at, []).append((place, until))
    waiting: dict[int, int] = {}
    step = -1

    def choose(pending: Sequence[Entry]) -> int:
        nonlocal step
        step += 1
        place = deviations.get(step, 0)
        if not held:
            return min(place, len(pending) - 1)
        row = [entry[1] for entry in pending]
        for held_place, until in begin.get(step, ()):
            waiting[row[min(held_place, len(row) - 1)]] = until
        free = [place for place, key in enumerate(row) if waiting.get(key, 0) <= step] or [*range(len(row))]
        return free[min(place, len(free) - 1)]

    return choose


Called = tuple[str, str, str]
"""What an event is called in any run: whose it is, to whom it goes, and which kind of message it is."""

Order = Sequence[tuple[Called, int]]
"""Events with their ranks: the lower comes first. The second one that is called so, is the second to happen."""


def by_order(order: Order) -> Choose:
    """As in another run, as far as the same events are there; what is not in the order comes last, as in the row."""
    ranks: dict[Called, deque[int]] = {}
    for called, rank in order:
        ranks.setdefault(called, deque()).append(rank)
    none = deque([len(order)])

    def choose(pending: Sequence[Entry]) -> int:
        entries = list(pending)
        choice = min(range(len(entries)), key=lambda place: (ranks.get(_called(entries[place])) or none)[0])
        if found := ranks.get(_called(entries[choice])):
            found.popleft()
        return choice

    return choose


def _called(entry: Entry) -> Called:
    return entry[2].source, entry[2].peer, type(entry[3]).__name__


MOST_EXPLAINED = 30_000
"""More than that nobody reads, in few words or in many, and it would take long to find them."""


class Noting:
    """A way to choose that remembers what it chose, so that the run can be had again."""

    def __init__(self, choose: Choose) -> None:
        self._choose = choose
        self._step = -1
        self.deviations: dict[int, int] = {}
        self.order: list[Called] = []
        self.skipped: list[tuple[int, list[int]]] = []
        """The steps at which not the first was taken, and who stood before it."""

        self.taken: dict[int, int] = {}
        """When those who had been skipped were taken."""

        self._late: set[int] = set()

    def __call__(self, pending: Sequence[Entry]) -> int:
        self._step += 1
        choice = self._choose(pending)
        if choice:
            self.deviations[self._step] = choice
            self.skipped.append((self._step, [pending[place][1] for place in range(choice)]))
            self._late.update(self.skipped[-1][1])
        entry = pending[choice]
        if entry[1] in self._late:
            self.taken[entry[1]] = self._step
        self.order.append(_called(entry))
        return choice

    def in_few(self) -> tuple[dict[int, int], list[tuple[int, int, int]]]:
        """The same choices in few words: deviations, and who is held back for how long.

        Each who was skipped was so because it was held back, or because of a deviation at that step.
        """
        if sum(len(row) for _, row in self.skipped) > MOST_EXPLAINED:
            return dict(self.deviations), []
        numbers = {
            key: -1 - place for place, key in enumerate(dict.fromkeys(k for _, row in self.skipped for k in row))
        }
        reasons = _cover([(step, numbers[key]) for step, row in self.skipped for key in row])
        deviations: dict[int, int] = {}
        held: dict[int, tuple[int, int, int]] = {}
        for step, row in self.skipped:
            for place, key in enumerate(row):
                if numbers[key] in reasons and key not in held:
                    held[key] = (step, place, self.taken.get(key, self._step + 1))
            if skipped := sum(1 for key in row if key not in held):
                deviations[step] = skipped
        return deviations, list(held.values())


def _cover(pairs: list[tuple[int, int]]) -> set[int]:
    """Few numbers such that each pair has one of them: again and again the one that most of the others have."""
    partners: dict[int, set[int]] = {}
    for one, other in pairs:
        partners.setdefault(one, set()).add(other)
        partners.setdefault(other, set()).add(one)
    cover = set()
    heap = sorted((-len(found), number) for number, found in partners.items())
    while heap:
        count, number = heappop(heap)
        if -count > len(partners[number]):
            heappush(heap, (-len(partners[number]), number))
        elif count:
            cover.add(number)
            for partner in partners[number]:
                partners[partner].discard(number)
            partners[number] = set()
    return cover


def _own(entry: Entry) -> bool:
    return entry[2].source == entry[2].peer


def _on_the_overlay(link: Link) -> bool:
    """Links of the overlay are those that faults strike; the underlay keeps the order of what is sent over it."""
    return link.target._sim.nodes[link.source]._links.get(link.peer) is link


def steer(
    sim: Simulator,
    choose: Choose,
    fifo: bool = True,
    max_events: float = 1_000_000,
    step_s: float = STEP,
    after: Callable[[Simulator], None] | None = None,
    own_clocks: bool = False,
) -> bool:
    """Run by choices until nothing is pending (True) or the limit is reached (False).

    With `fifo`, each link keeps its order and only its first message is offered; without, every message is. `after`
    is called when everything has started, and after every event. With `own_clocks`, time passes at a node only while
    it waits for its own timers.
    """
    sim.start(timed=False)
    sim.crash_times.clear()
    if after is not None:
        after(sim)
    pending = _Pending(fifo)
    clock = max(sim.now, *(node.now for node in sim.nodes.values()))
    while sim.handled < max_events:
        pending.add(sim.take_pending())
        pending.forget(sim)
        if not pending:
            return True
        entry = pending.take(choose(pending))
        link = entry[2]
        # A node that worked is ahead of the clock: nothing may arrive before it was sent.
        clock = link.target.now if own_clocks else max(clock, link.target.now) + step_s
        if link.source in (ENVIRONMENT, link.peer):
            clock = max(clock, entry[0])
        sim.deliver((clock, *entry[1:]))
        clock = max(clock, link.target.now)
        if after is not None:
            after(sim)
    sim.timers = sorted(pending.all())  # for whoever goes on
    return False


Rank = tuple[int, float, int, int]
"""Where the head of a queue stands in the row: messages first, then by time; and which queue it is."""


class _Pending(Sequence[Entry]):
    """What may be delivered next. A queue for each link keeps its order; its head is the option."""

    def __init__(self, fifo: bool) -> None:
        self._fifo = fifo
        self._queues: dict[int, list[tuple[float, int, int, Entry]]] = {}
        self._row: list[Rank] = []
        self._born = 0
        self._forgotten: tuple[int, int] | None = None

    def add(self, entries: list[Entry]) -> None:
        # By place and number, not by time: what is offered must not depend on the delays.
        for entry in sorted(entries, key=lambda entry: entry[1]):
            self._born += 1
            queue, time, place = self._place(entry)
            waiting = self._queues.setdefault(queue, [])
            if waiting:
                del self._row[bisect_left(self._row, self._rank(queue))]
            heappush(waiting, (time, place, self._born, entry))
            insort(self._row, self._rank(queue))

    def _place(self, entry: Entry) -> tuple[int, float, int]:
        """The queue in which an event waits, and its place there."""
        time, key, link, _ = entry
        if link.source == ENVIRONMENT:
            # One queue for all nodes: nobody hears of a crash before it has happened.
            return 0, time, key & COUNT_MASK
        if link.source == link.peer:
            return key >> COUNT_BITS, time, key
        return key >> COUNT_BITS if self._fifo or not _on_the_overlay(link) else -key, 0.0, key

    def _rank(self, queue: int) -> Rank:
        time, place, born, entry = self._queues[queue][0]
        if entry[2].source in (ENVIRONMENT, entry[2].peer):
            return 1, time, place, queue
        return 0, 0.0, born, queue

    def take(self, choice: int) -> Entry:
        queue = self._row.pop(choice)[-1]
        *_, entry = heappop(self._queues[queue])
        if self._queues[queue]:
            self._forgotten = None  # who comes next was not looked at before
            insort(self._row, self._rank(queue))
        else:
            del self._queues[queue]
        return entry

    def forget(self, sim: Simulator) -> None:
        """Timers that were cancelled, or died with their node, are not offered."""
        if self._forgotten == (len(sim.cancelled), sim.plan.fired["crash"]):
            return
        choice = bisect_left(self._row, (1,))
        while choice < len(self._row):
            _, key, link, _ = self[choice]
            if link.source == link.peer and (key in sim.cancelled or link is not link.target._own):
                self.take(choice)
                sim.cancelled.discard(key)
                choice = bisect_left(self._row, (1,))
            else:
                choice += 1
        self._forgotten = (len(sim.cancelled), sim.plan.fired["crash"])

    def all(self) -> list[Entry]:
        """Also what is not offered yet."""
        return [entry for queue in self._queues.values() for *_, entry in queue]

    def __len__(self) -> int:
        return len(self._row)

    def __iter__(self) -> Iterator[Entry]:
        return (self._queues[queue][0][-1] for *_, queue in self._row)

    def __getitem__(self, choice: int) -> Entry:  # type: ignore[override]
        return self._queues[self._row[choice][-1]][0][-1]
