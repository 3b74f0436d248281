"""Termination of a diffusing computation: E. W. Dijkstra, C. S. Scholten, Information Processing Letters 11 (1980)."""

from runtime.agent import Protocol, on
from runtime.message import message
from runtime.testing import always, eventually, sometimes


@message
class Task:
    depth: int


@message
class Signal:
    """One for each task: what it has set off is over."""


@message
class WorkDone:
    """A timer: the task of this depth is finished, and leads to others."""

    depth: int


class Termination(Protocol):
    """The root learns when the work that it has set off is over everywhere, and not before.

    A node's first task makes its sender the node's parent; every other task is signalled at once. When a node has
    nothing left to do, and all its own tasks are signalled, it signals its parent and is free again.
    """

    tolerates = ("delay", "drop", "duplicate", "reorder")

    def __init__(self, root: str, depth: int = 3):
        self.root = root
        self.depth = depth
        self.parent = None
        self.working = 0
        self.unsignalled = 0
        self.announced = False
        self.sent = self.received = self.signals = self.times_engaged = 0

    def started(self, node):
        if node.id == self.root:
            self.work(node, self.depth)

    @on(Task)
    def asked(self, node, sender, task):
        self.received += 1
        first = self.parent is None and node.id != self.root
        if first:
            self.parent = sender
            self.times_engaged += 1
            node.log("engaged", parent=sender)
        self.work(node, task.depth)
        if not first:
            node.send(sender, Signal())
        self.rest(node)

    def work(self, node, depth):
        self.working += 1
        node.after(node.rng.uniform(0.5, 5.0), WorkDone(depth))

    @on(WorkDone)
    def work_done(self, node, sender, work):
        self.working -= 1
        for peer in node.neighbours if work.depth else ():
            if node.rng.random() < 0.6:
                self.sent += 1
                self.unsignalled += 1
                node.send(peer, Task(work.depth - 1))
        self.rest(node)

    @on(Signal)
    def signalled(self, node, sender, signal):
        self.signals += 1
        self.unsignalled -= 1
        self.rest(node)

    def rest(self, node):
        """If nothing is left to do here, say so."""
        if self.unsignalled or self.working:
            return
        if node.id == self.root:
            self.announced = True
        elif self.parent is not None:
            node.send(self.parent, Signal())
            self.parent = None
            node.log("freed")

    def result(self):
        return {"tasks": self.received, "engaged": self.times_engaged, "announced": self.announced}

    @staticmethod
    def report(world, report):
        """In report.html: who is engaged by whom, and how many are."""
        steps = sorted(world.events.rows("engaged") + world.events.rows("freed"), key=lambda row: row["time"])
        busy, curve, tree = {}, [(0.0, 0)], report.layer("the tree")
        for row in steps:
            time, name = row["time"], row["node"]
            if "parent" in row:
                busy[name] = time, row["parent"]
            else:
                since, parent = busy.pop(name)
                tree.arrow(parent, name, "engages", since, time)
            report.hold(time, name, ["engaged"] if name in busy else [])
            curve.append((time, len(busy)))
        report.curve("who is engaged", {"nodes": curve})

    @always
    @staticmethod
    def nothing_is_announced_too_soon(world):
        """Once the root announces the end, nobody works and no task is on its way."""
        nodes = world.protocols(Termination)
        if any(one.announced for one in nodes.values()):
            for name, one in nodes.items():
                if one.working:
                    yield f"{name} still works"
            if sum(one.sent for one in nodes.values()) > sum(one.received for one in nodes.values()):
                yield "a task is still on its way"

    @eventually
    @staticmethod
    def the_end_is_announced(world):
        """The root announces the end, and nobody is engaged any more."""
        for name, one in world.protocols(Termination).items():
            if name == one.root and not one.announced:
                yield f"{name} announces nothing"
            if one.parent is not None:
                yield f"{name} still has a parent, {one.parent}"

    @eventually
    @staticmethod
    def a_signal_for_each_task(world):
        """Detection costs exactly one message for each task."""
        nodes = world.protocols(Termination).values()
        tasks, signals = sum(one.sent for one in nodes), sum(one.signals for one in nodes)
        if tasks != signals:
            yield f"{tasks} tasks, {signals} signals"

    @sometimes
    @staticmethod
    def somebody_is_engaged_again(world):
        """A node that was free gets a second parent."""
        return any(one.times_engaged > 1 for one in world.protocols(Termination).values())

    @staticmethod
    def case(draw):
        names = draw.names(least=2)
        return draw.case(
            {
                "seed": draw.seed,
                "links": draw.links,
                "network": draw.graph(names),
                "settings": {"root": draw.rng.choice(names), "depth": draw.count(3, least=1)},
                "faults": draw.trouble(names),
            }
        )
