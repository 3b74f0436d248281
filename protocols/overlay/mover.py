"""Who moves, and when: brokers move their busiest users to where the total cost falls (overlay, IV.C).

With one mover at a time, a turn goes round among the brokers. It carries the versions of the summaries that its last
holder knew; a broker waits until it knows as much, so it decides on what is true, and after a move the turn goes on
only when all brokers know of it. When all brokers in a row find nothing to do while nothing changes, the turn rests
where it is; its holder, like every broker, hears of any change and then goes on. The paper has no such order: each
broker moves users "independently". That is `many`: every broker decides on what it has heard so far, some of which is
already old, and tries again whenever it hears something new.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from protocols.overlay.knowledge import Resident
from protocols.overlay.messages import Accept, Decline, Introduce, RequestToMove, Try, Turn
from protocols.overlay.moves import Move
from protocols.overlay.serving import Serving
from runtime.agent import Node, Protocol, on

Movers = Literal["one", "many"]


@dataclass
class Plan:
    """All of it survives a crash."""

    turn: Turn | None = None
    """With one mover: held now."""

    resting: bool = False
    """Nobody had anything to do when this was known."""

    considered: tuple[int, ...] = ()
    awaited: bool = False
    """A `Try` is on its way."""

    moving: str | None = None
    stay: int = 0
    foreign: int = 0
    gain: float = 0.0
    decided: float = 0.0
    """When this was found to be a good move: the user may take its time to answer."""

    moves: int = 0
    promised: float = 0.0
    """What the moves were to save, all together."""

    asked: int = 0


class Moving(Protocol):
    durable: Plan

    def __init__(self, serving: Serving, movers: Movers, begin: float = 20.0, period: float = 1.0) -> None:
        self.serving = serving
        self.movers = movers
        self.begin = begin
        self.period = period
        self.durable = Plan()
        serving.mover = self

    def started(self, node: Node) -> None:
        brokers = len(self.serving.names)
        if self.movers == "one" and self.serving.me == 0:
            self.durable.turn = Turn(0, (0,) * brokers)
        if self.movers == "many" or self.durable.turn is not None:
            self.durable.awaited = True
            node.after(self.begin + self.pause(node), Try())
        node.after(self.begin, Introduce())

    def recovered(self, node: Node) -> None:
        self.introduce(node)
        if self.durable.awaited:
            node.after(self.pause(node), Try())

    @on(Introduce)
    def time_to_introduce(self, node: Node, sender: str, timer: Introduce) -> None:
        self.introduce(node)

    def introduce(self, node: Node) -> None:
        """Say what the links cost and how much room there is: users may come to a broker that has had none yet."""
        if self.serving.durable.version == 0:
            self.serving.change(node)

    def pause(self, node: Node) -> float:
        return self.period if self.movers == "one" else self.period * (0.5 + node.rng.random())

    def try_later(self, node: Node) -> None:
        if not self.durable.awaited:
            self.durable.awaited = True
            node.after(self.pause(node), Try())

    # Whose turn it is

    @on(Turn)
    def my_turn(self, node: Node, sender: str, turn: Turn) -> None:
        self.durable.turn = turn
        self.durable.resting = False
        self.news(node)

    def news(self, node: Node) -> None:
        """Something is known that was not before: is it time to go on?"""
        plan = self.durable
        if plan.moving is not None:
            here = self.serving.durable.residents.get(plan.moving)
            if (here is None or here.stay != plan.stay) and self.settled():
                self.moved(node)
        elif self.movers == "many":
            if plan.considered != self.serving.knows.versions():
                self.try_later(node)
        elif plan.turn is not None and self.can_decide(plan.turn) and not self.may_rest(plan.turn):
            self.try_later(node)

    def connected(self, node: Node) -> None:
        self.durable.considered = ()
        self.news(node)

    def may_rest(self, turn: Turn) -> bool:
        return self.durable.resting and turn.versions == self.serving.knows.versions()

    def settled(self) -> bool:
        """All brokers know all about the users here."""
        return not self.serving.durable.missing and not self.serving.durable.changed

    def can_decide(self, turn: Turn) -> bool:
        return self.serving.knows.as_much_as(turn.versions) and not self.awaits_somebody()

    def awaits_somebody(self) -> bool:
        """Is a user on its way here? Until it is connected, nobody can ask it to go on to somewhere else."""
        return not all(resident.connected for resident in self.serving.durable.residents.values())

    @on(Try)
    def attempt(self, node: Node, sender: str, timer: Try) -> None:
        plan = self.durable
        plan.awaited = False
        if plan.moving is not None or not self.settled():
            return  # `news` will come
        if self.movers == "one" and (plan.turn is None or not self.can_decide(plan.turn)):
            return
        plan.considered = self.serving.knows.versions()
        chosen = self.choose()
        if chosen is not None:
            plan.moving, move = chosen
            plan.foreign, plan.gain, plan.decided = move.foreign, move.gain, node.now
            plan.stay = self.serving.durable.residents[plan.moving].stay
            plan.asked += 1
            self.serving.sessions.tell(node, plan.moving, RequestToMove(self.serving.names[move.foreign]))
        elif self.movers == "one":
            self.nothing_to_do(node)

    def nothing_to_do(self, node: Node) -> None:
        turn = self.durable.turn
        assert turn is not None
        known = self.serving.knows.versions()
        quiet = turn.quiet + 1 if turn.versions == known else 1
        if quiet < len(self.serving.names):
            self.pass_turn(node, quiet)
        else:
            self.durable.turn = Turn(quiet, known)
            self.durable.resting = True

    def pass_turn(self, node: Node, quiet: int) -> None:
        names = self.serving.names
        turn = Turn(quiet, self.serving.knows.versions())
        if len(names) == 1:
            self.durable.turn = turn
            self.try_later(node)
            return
        self.durable.turn = None
        self.serving.sessions.tell(node, names[(self.serving.me + 1) % len(names)], turn)

    # Which user, and where to

    def choose(self) -> tuple[str, Move] | None:
        """The busiest user that saves anything, and where it saves most."""
        view, totals = self.serving.knows.view()
        about = [
            (user, resident, self.serving.knows.candidate(resident.register, totals))
            for user, resident in self.serving.durable.residents.items()
            if self.can_move(resident)
        ]
        versions = self.serving.knows.versions()
        for user, resident, candidate in sorted(about, key=lambda row: (-row[2].demand, row[0])):
            closed = [broker for broker, then in resident.refused.items() if then == versions]
            move = view.best_move(self.serving.me, candidate, closed)
            if move is not None:
                return user, move
        return None

    def can_move(self, resident: Resident) -> bool:
        busy = resident.foreign is not None or resident.confirm is not None
        return resident.in_force and resident.connected and not busy and not resident.declined

    # The user's answer, and the end of the hand-over

    @on(Accept)
    def accepted(self, node: Node, sender: str, answer: Accept) -> None:
        resident = self.serving.durable.residents.get(sender)
        if resident is None or sender != self.durable.moving:
            return
        if self.can_move(resident):
            self.serving.hand_over(node, sender, self.durable.foreign)
        else:  # it has registered anew since
            self.go_on(node)

    @on(Decline)
    def declined(self, node: Node, sender: str, answer: Decline) -> None:
        resident = self.serving.durable.residents.get(sender)
        if resident is not None:
            resident.declined = True
        if sender == self.durable.moving:
            self.go_on(node)

    def refused(self, node: Node, user: str) -> None:
        if user == self.durable.moving:
            self.go_on(node)

    def moved(self, node: Node) -> None:
        plan = self.durable
        plan.moves += 1
        plan.promised += plan.gain
        node.log(
            "move",
            user=plan.moving,
            foreign=self.serving.names[plan.foreign],
            gain=plan.gain,
            decided=plan.decided,
            cost=self.serving.knows.total_cost(),
        )
        self.go_on(node)

    def go_on(self, node: Node) -> None:
        self.durable.moving = None
        if self.movers == "many":
            self.try_later(node)
        elif self.durable.turn is not None:
            self.pass_turn(node, quiet=0)
