"""The states of a network and the steps between them.

A state is: the state of each node, the messages on each link, how many faults may still strike, what the environment
still has to say, and what was logged, if a property looks at it. Its digest is the exclusive or of its parts' digests,
128 bits each, so that a step changes only those of the parts that it touches.
"""

from __future__ import annotations

from collections.abc import Iterable

from runtime.exploring.canonical import digest_of
from runtime.exploring.machine import OVERLAY, UNDERLAY, Effect, Machine, Status
from runtime.exploring.needless import Watch
from runtime.exploring.rules import SPENT, Budget, Hints, Queue, Rules, State
from runtime.exploring.steps import (
    CRASH,
    DELIVER,
    DIE,
    DOUBLE,
    FIRE,
    HINT,
    LOSE,
    ON_LINKS,
    RECOVER,
    SPENT_BY,
    Catalogue,
    Step,
    Steps,
)


class Space:
    """Which steps a state allows, and where they lead."""

    def __init__(self, machine: Machine, rules: Rules, watch: Watch | None = None) -> None:
        """With a watch, messages that do nothing are taken at once."""
        self.machine = machine
        self.rules = rules
        self.watch = watch
        self.targets = [target for _, target in machine.links]
        self._links_to: list[list[int]] = [[] for _ in machine.names]
        for link, target in enumerate(self.targets):
            self._links_to[target].append(link)
        self.catalogue = Catalogue(self.targets, len(machine.names), rules.timers != "any")
        names = machine.names
        self._can_crash = frozenset(place for place, name in enumerate(names) if not rules.at or name in rules.at)
        self._may_return = bool(rules.budget.crashes or rules.budget.deaths)
        self.histories: list[tuple[int, ...]] = [()]
        self._history_numbers: dict[tuple[int, ...], int] = {(): 0}
        self._queue_digests: dict[tuple[int, Queue], int] = {}
        self._rest_digests: dict[tuple[Budget, Hints, int], int] = {}

    # Digests

    def _of_queue(self, link: int, queue: Queue) -> int:
        key = (link, queue)
        found = self._queue_digests.get(key)
        if found is None:
            parts = [self.machine.message_digests[number].to_bytes(16, "big") for number in queue]
            found = self._queue_digests[key] = digest_of(b"queue", b"%d" % link, *parts) if queue else 0
        return found

    def _of_rest(self, left: Budget, hints: Hints, history: int) -> int:
        key = (left, hints, history)
        found = self._rest_digests.get(key)
        if found is None:
            rows = repr([self.machine.rows[row] for row in self.histories[history]])
            found = self._rest_digests[key] = digest_of(b"rest", repr((left, hints)).encode(), rows.encode())
        return found

    # Steps

    def first(self) -> State:
        """Everybody has started."""
        effects = self.machine.begin()
        nodes = tuple(effect.node for effect in effects)
        queues: list[Queue] = [() for _ in self.targets]
        rows: list[int] = []
        for effect in effects:
            for link, message in effect.sends:
                queues[link] = self._with(queues[link], message)
            rows += effect.rows
        if self.watch is not None:
            self._take_needless(nodes, queues, self.rules.budget, range(len(queues)))
        history = self._after(0, tuple(rows))
        digest = self._of_rest(self.rules.budget, (), history)
        for node in nodes:
            digest ^= self.machine.digests[node]
        for link, queue in enumerate(queues):
            digest ^= self._of_queue(link, queue)
        return State(nodes, tuple(queues), self.rules.budget, (), history, digest)

    def steps(self, state: State) -> Steps:
        """All that can happen next."""
        found = 0
        deliver = self.catalogue.deliver
        if self.rules.fifo:
            for link, queue in enumerate(state.queues):
                if queue:
                    found |= 1 << deliver[link]
        else:
            found = self._on_links(state, DELIVER)
        back = self._returns(state) if self._may_return else 0
        found |= back | self._timers(state, bool(found) or (bool(back) and self.rules.back == "soon"))
        if state.left != SPENT:
            found |= self._faults(state)
        return found

    def is_quiet(self, steps: Steps) -> bool:
        """Nothing is left to happen, unless another fault strikes."""
        return not steps or not steps & ~self.catalogue.faults

    def _on_links(self, state: State, kind: int) -> Steps:
        found = 0
        for link, queue in enumerate(state.queues):
            for what in self.heads(queue):
                if kind == DELIVER or self._can_be_struck(queue[0] if what < 0 else what):
                    found |= 1 << self.catalogue.number(kind, link, what)
        return found

    def _can_be_struck(self, number: int) -> bool:
        message, way = self.machine.messages[number]
        return way == OVERLAY and (not self.rules.only or message.tag in self.rules.only)

    def heads(self, queue: Queue) -> tuple[int, ...]:
        """What can be taken from this queue: its first message (-1), or any of them."""
        if not queue:
            return ()
        return (-1,) if self._ordered(queue[0]) else tuple(dict.fromkeys(queue))

    def _timers(self, state: State, in_flight: bool) -> Steps:
        if in_flight and self.rules.timers != "any":
            return 0
        fire, due_in = self.catalogue.fire, self.machine.due_in
        waiting = [(due, place) for place, node in enumerate(state.nodes) if (due := due_in[node]) is not None]
        if not waiting:
            return 0
        if self.rules.timers == "due":
            first = min(due for due, _ in waiting)
            waiting = [(due, place) for due, place in waiting if due == first]
        return sum(1 << fire[place] for _, place in waiting)

    def _returns(self, state: State) -> Steps:
        """Neighbours hear of a crash one by one; the node is back after that."""
        if state.hints:
            return 1 << self.catalogue.number(HINT, state.hints[0][0])
        return self._with_status(state, "down", RECOVER)

    def _with_status(self, state: State, status: Status, kind: int) -> Steps:
        kept, number = self.machine.kept, self.catalogue.number
        there = [place for place in sorted(self._can_crash) if kept[state.nodes[place]].status == status]
        return sum(1 << number(kind, place) for place in there)

    def _faults(self, state: State) -> Steps:
        found = 0
        losses, duplicates, crashes, deaths = state.left
        if losses:
            found |= self._on_links(state, LOSE)
        if duplicates:
            found |= self._on_links(state, DOUBLE)
        if crashes and not state.hints:
            found |= self._with_status(state, "up", CRASH)
        if deaths and not state.hints:
            found |= self._with_status(state, "up", DIE)
        return found

    def effect(self, state: State, number: int) -> Effect:
        """What the step does to the node to which it happens."""
        machine, (kind, where, _) = self.machine, self.catalogue.all[number]
        if kind in (DELIVER, DOUBLE):
            source, target = machine.links[where]
            return machine.deliver(state.nodes[target], source, self.message(state, number))
        if kind == FIRE:
            return machine.fire(state.nodes[where])
        if kind == LOSE:
            return Effect(state.nodes[self.targets[where]])
        if kind == HINT:
            return machine.hint(state.nodes[where], state.hints[0][1])
        if kind == RECOVER:
            return machine.recover(state.nodes[where])
        return machine.crash(state.nodes[where], "down" if kind == CRASH else "dead")

    def message(self, state: State, number: int) -> int:
        """The message that the step takes from its link."""
        _, where, what = self.catalogue.all[number]
        return state.queues[where][0] if what < 0 else what

    def after(self, state: State, number: int) -> State:
        """The state to which this step leads."""
        effect = self.effect(state, number)
        step = self.catalogue.all[number]
        kind = step.kind
        nodes, queues, left, hints, history, digest = state
        place = self.catalogue.places[number]
        digests = self.machine.digests
        if kind == FIRE and self.rules.timers == "due":
            nodes = self._all_later(state, place)
            for before, now in zip(state.nodes, nodes, strict=True):
                digest ^= digests[before] ^ digests[now]
        if effect.node != nodes[place]:
            digest ^= digests[nodes[place]] ^ digests[effect.node]
            nodes = (*nodes[:place], effect.node, *nodes[place + 1 :])
        if effect.rows or kind != DELIVER:
            left, hints, later = self._rest(state, step, effect)
            digest ^= self._of_rest(state.left, state.hints, history) ^ self._of_rest(left, hints, later)
            history = later
        queues, digest = self._moved(state, number, effect, nodes, left, digest)
        return State(nodes, queues, left, hints, history, digest)

    def _moved(
        self, state: State, number: int, effect: Effect, nodes: tuple[int, ...], left: Budget, digest: int
    ) -> tuple[tuple[Queue, ...], int]:
        """The messages on the links after this step."""
        kind, where, _ = self.catalogue.all[number]
        before = state.queues
        now = list(before)
        touched = {link for link, _ in effect.sends}
        if kind in ON_LINKS:
            touched.add(where)
            now[where] = self._taken(before[where], self.message(state, number), kind == DOUBLE)
        for link, message in effect.sends:
            now[link] = self._with(now[link], message)
        if self.watch is not None:
            if kind not in ON_LINKS:
                touched.update(range(len(now)))
            elif nodes is not state.nodes:
                touched.update(self._links_to[self.catalogue.places[number]])
            self._take_needless(nodes, now, left, touched)
        for link in touched:
            if now[link] is not before[link]:
                digest ^= self._of_queue(link, before[link]) ^ self._of_queue(link, now[link])
        return tuple(now), digest

    def may_crash(self, place: int, left: Budget) -> bool:
        return bool(left.crashes or left.deaths) and place in self._can_crash

    def _take_needless(self, nodes: tuple[int, ...], queues: list[Queue], left: Budget, links: Iterable[int]) -> None:
        """Take what does nothing from the heads of these links."""
        assert self.watch is not None
        does_nothing = self.watch.does_nothing
        for link in links:
            if queues[link]:
                source, target = self.machine.links[link]
                node, may_crash = nodes[target], self.may_crash(target, left)
                queue = queues[link]
                if self._ordered(queue[0]):
                    while queue and does_nothing(node, source, queue[0], may_crash):
                        queue = queue[1:]
                else:
                    queue = tuple(message for message in queue if not does_nothing(node, source, message, may_crash))
                queues[link] = queue

    def _all_later(self, state: State, place: int) -> tuple[int, ...]:
        """Clocks agree: what one node has waited for, all the others have waited for, too."""
        passed = self.machine.due_in[state.nodes[place]] or 0.0
        elapse = self.machine.elapse
        return tuple(node if other == place else elapse(node, passed) for other, node in enumerate(state.nodes))

    def _rest(self, state: State, step: Step, effect: Effect) -> tuple[Budget, Hints, int]:
        left, hints = state.left, state.hints
        spent = SPENT_BY.get(step.kind)
        if spent is not None:
            left = Budget(*(amount - (place == spent) for place, amount in enumerate(left)))
        if step.kind in (CRASH, DIE):
            hints = self._hints(state, step.where)
        elif step.kind == HINT:
            hints = hints[1:]
        return left, hints, self._after(state.history, effect.rows)

    def _hints(self, state: State, gone: int) -> Hints:
        machine = self.machine
        peers = sorted(machine.places[name] for name in machine.nodes[gone].neighbours)
        return tuple((peer, gone) for peer in peers if machine.hears_of_links(state.nodes[peer]))

    def _after(self, history: int, rows: tuple[int, ...]) -> int:
        if not rows:
            return history
        longer = self.histories[history] + rows
        number = self._history_numbers.setdefault(longer, len(self.histories))
        if number == len(self.histories):
            self.histories.append(longer)
        return number

    def _with(self, queue: Queue, message: int) -> Queue:
        if self._ordered(message):
            return (*queue, message)
        return tuple(sorted((*queue, message)))

    def _ordered(self, message: int) -> bool:
        return self.rules.fifo or self.machine.messages[message][1] == UNDERLAY

    def _taken(self, queue: Queue, message: int, stays: bool) -> Queue:
        place = queue.index(message)
        if not stays:
            return (*queue[:place], *queue[place + 1 :])
        rest = (*queue[:place], self.machine.as_copy(message), *queue[place + 1 :])
        return rest if self.rules.fifo else tuple(sorted(rest))
