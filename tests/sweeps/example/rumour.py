"""A rumour that each node tells on to a few neighbours; with the mishaps that tests ask for."""

import os
import time
from pathlib import Path

from runtime.agent import Protocol, on
from runtime.message import message
from runtime.properties import eventually

BETWEEN = os.environ.get("TEST_STOP_BEFORE_RENAME")
if BETWEEN:
    really_replace = Path.replace

    def replace(path, target):
        """Stop for ever, once, with a cell's file written and not yet under its name."""
        if Path(target).parent.name == "cells" and not Path(BETWEEN).exists():
            Path(BETWEEN).touch()
            time.sleep(600)
        return really_replace(path, target)

    Path.replace = replace


@message
class Rumour:
    hops: int


class Spread(Protocol):
    def __init__(self, fanout: int = 2, wrong: bool = False, crash_once: str = "", limp: bool = False):
        self.fanout = fanout
        self.wrong = wrong
        self.crash_once = crash_once
        self.limp = limp
        self.hops = None

    def started(self, node):
        if node.id == "n1":
            time.sleep(float(os.environ.get("TEST_SLOW_S", "0")))
            self._stumble()
            self.heard(node, "n1", Rumour(0))

    def _stumble(self):
        if self.wrong:
            raise ValueError("no such rumour")
        if self.crash_once and not Path(self.crash_once).exists():
            Path(self.crash_once).touch()
            os._exit(9)

    @on(Rumour)
    def heard(self, node, sender, rumour):
        if self.hops is not None:
            return
        self.hops = rumour.hops
        node.log("learned", round=rumour.hops, gain=node.rng.random())
        friends = [peer for peer in node.neighbours if peer != sender]
        for peer in sorted(node.rng.sample(friends, min(self.fanout, len(friends)))):
            node.send(peer, Rumour(rumour.hops + 1))

    def result(self):
        return {"knows": self.hops is not None}

    @eventually
    @staticmethod
    def the_limping_hear(world):
        for name, spread in world.protocols(Spread).items():
            if spread.limp and spread.hops is None:
                yield f"{name} has not heard"
