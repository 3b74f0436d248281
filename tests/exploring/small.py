"""Small protocols to explore. Each tells, in properties that always hold, what states and ends were looked at."""

from __future__ import annotations

from runtime.agent import Node, Protocol, on
from runtime.message import message
from runtime.system import World
from runtime.testing import always, eventually

STATES: set[str] = set()
ENDS: set[str] = set()


@message(tag="explored.Word")
class Word:
    number: int


@message(tag="explored.Ring")
class Ring:
    """A timer."""

    number: int


class Noting(Protocol):
    """Whatever state it is in, somebody writes it down."""

    def told(self) -> object:
        return {key: value for key, value in sorted(vars(self).items()) if key != "timer"}

    @always
    @staticmethod
    def every_state_is_noted(world: World) -> list[str]:
        """Never violated."""
        STATES.add(_seen(world))
        return []

    @eventually
    @staticmethod
    def every_end_is_noted(world: World) -> list[str]:
        """Never violated."""
        ENDS.add(_seen(world))
        return []


def _seen(world: World) -> str:
    alive = [(name, found.told()) for name, found in sorted(world.protocols(Noting).items())]
    return str((alive, sorted(world.dead)))


class Chain(Noting):
    """Everybody tells its neighbours one word and passes the first that it hears on, one higher."""

    def __init__(self) -> None:
        self.heard: list[tuple[str, int]] = []

    def started(self, node: Node) -> None:
        node.broadcast(Word(0))

    @on(Word)
    def hear(self, node: Node, sender: str, word: Word) -> None:
        self.heard.append((sender, word.number))
        if len(self.heard) == 1 and word.number < 1:
            node.broadcast(Word(word.number + 1), skip=sender)


class Words(Noting):
    """Everybody tells its neighbours two words."""

    def __init__(self) -> None:
        self.heard: list[int] = []

    def started(self, node: Node) -> None:
        node.broadcast(Word(1))
        node.broadcast(Word(2))

    @on(Word)
    def hear(self, node: Node, sender: str, word: Word) -> None:
        self.heard.append(word.number)


class Flood(Noting):
    """The largest number wins; whoever hears a smaller one says nothing."""

    def __init__(self) -> None:
        self.largest = 0
        self.durable = [0]

    def started(self, node: Node) -> None:
        self.durable[0] += 1
        self._learn(node, int(node.id[1:]), None)

    @on(Word)
    def hear(self, node: Node, sender: str, word: Word) -> None:
        if word.number > self.largest:
            self._learn(node, word.number, sender)

    def _learn(self, node: Node, number: int, sender: str | None) -> None:
        self.largest = number
        node.broadcast(Word(number), skip=sender)


class Clocks(Noting):
    """Two timers each; a word that comes in time cancels the second."""

    def __init__(self) -> None:
        self.rung: list[int] = []
        self.timer: int | None = None

    def started(self, node: Node) -> None:
        node.after(1.0, Ring(1))
        self.timer = node.after(2.0, Ring(2))

    @on(Ring)
    def ring(self, node: Node, sender: str, timer: Ring) -> None:
        self.rung.append(timer.number)
        if timer.number == 1:
            node.broadcast(Word(1))

    @on(Word)
    def hear(self, node: Node, sender: str, word: Word) -> None:
        self.rung.append(0)
        if self.timer is not None:
            node.cancel(self.timer)
            self.timer = None


class Dice(Noting):
    """Everybody draws a number for each word that it hears."""

    def __init__(self) -> None:
        self.drawn: list[tuple[str, int]] = []

    def started(self, node: Node) -> None:
        node.broadcast(Word(node.rng.randrange(10)))

    @on(Word)
    def hear(self, node: Node, sender: str, word: Word) -> None:
        self.drawn.append((sender, node.rng.randrange(1000)))


class Fragile(Chain):
    """Falls over a word from the third node that comes after another."""

    @on(Word)
    def hear(self, node: Node, sender: str, word: Word) -> None:
        if sender == "n3" and self.heard:
            raise ValueError("not now")
        super().hear(node, sender, word)


class Endless(Protocol):
    """Two nodes throw a ball for ever."""

    def started(self, node: Node) -> None:
        if node.id == "n1":
            node.broadcast(Word(0))

    @on(Word)
    def hear(self, node: Node, sender: str, word: Word) -> None:
        node.send(sender, word)

    @always
    @staticmethod
    def nothing_is_wrong(world: World) -> list[str]:
        """Never violated."""
        return []


class Forgetful(Noting):
    """Says a word when it starts and when it is told one; a stale word is believed after a crash."""

    def __init__(self) -> None:
        self.known: list[int] = []
        self.durable = [0]

    def started(self, node: Node) -> None:
        self.durable[0] += 1
        node.broadcast(Word(self.durable[0]))

    @on(Word)
    def hear(self, node: Node, sender: str, word: Word) -> None:
        if word.number not in self.known:
            self.known.append(word.number)
