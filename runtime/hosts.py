"""Hosts: what runs inside a Ray actor. A host holds one share of the network, in step with the others or free.

A worker gets the scenario as it was read, with the files that it names, and builds its share from that: network,
faults and agents follow from the scenario and its seed, so no live object travels.
"""

from __future__ import annotations

import gc
import os
import tempfile
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from runtime.agent import LinkChanged
from runtime.partition import partition
from runtime.rundir import named_files
from runtime.scenario import Scenario, check
from runtime.share import Share, Step
from runtime.tally import Tally
from runtime.trace import Event, Recorder

QUIET_COLLECTOR = 200_000, 50, 100


@dataclass(frozen=True)
class Kit:
    """A scenario to take along: its data, and the files that it names, by name."""

    name: str
    data: dict[str, Any]
    files: dict[str, bytes]
    shares: int
    watch: str | None = None
    """The event whose rows are told as the run goes on."""

    @classmethod
    def of(cls, scenario: Scenario, shares: int, watch: str | None = None) -> Kit:
        files = {path.name: path.read_bytes() for path in named_files(scenario.data, scenario.folder)}
        return cls(scenario.name, scenario.data, files, shares, watch)

    def unpack(self) -> Scenario:
        with tempfile.TemporaryDirectory(prefix="brokerlab-") as folder:
            data = dict(self.data)
            for name, content in self.files.items():
                (Path(folder) / name).write_bytes(content)
            if "file" in data["network"]:
                data["network"] = {**data["network"], "file": Path(data["network"]["file"]).name}
            file, colon, attribute = data["protocol"].rpartition(":")
            if colon:
                data["protocol"] = f"{Path(file).name}:{attribute}"
            return check(data, Path(folder), self.name)


class Host:
    """One share of the network, as a Ray actor runs it."""

    def __init__(self, kit: Kit, number: int) -> None:
        gc.set_threshold(*QUIET_COLLECTOR)  # also between two steps
        self.scenario = kit.unpack()
        shares = partition(self.scenario.network.neighbours, kit.shares)
        owner = {name: place for place, share in enumerate(shares) for name in share}
        system, plan = self.scenario.system, self.scenario.plan
        self.share = Share(system.network, system.agent, self.scenario.seed, plan, owner, number)
        self.watch = kit.watch
        self.told = 0
        self.recorder: Recorder | None = None
        self.origin = 0.0
        self.scale = 1.0

    def ready(self) -> int:
        """How many windows this share may run before it must hear from the others."""
        return self.share.lookahead()

    def pid(self) -> int:
        return os.getpid()

    def begin(self) -> Step:
        return self.share.begin()

    def step(self, first: int, last: int, batches: Sequence[bytes], until: float, max_events: float) -> Step:
        step = self.share.step(first, last, batches, until, max_events)
        if self.watch is None:
            return step
        news = tuple(self.share.events.since(self.watch, self.told))
        self.told += len(news)
        return replace(step, news=news)

    def snapshot(self) -> bytes:
        return pickled(self.share.state())

    def restore(self, snapshot: bytes) -> None:
        self.share.restore(unpickled(snapshot))
        self.told = 0 if self.watch is None else self.share.events.counts().get(self.watch, 0)

    def tally(self) -> Tally:
        return self.share.tally()

    def agents(self) -> bytes:
        """The agents that are up, for whoever looks at how the run ended."""
        return pickled(self.share.alive())

    # Free-running

    def set_free(self, origin: float, scale: float) -> Step:
        """Start the agents; from now on virtual time follows the real one, from this moment of the epoch."""
        self.recorder = Recorder(self.share)
        self.origin = origin
        self.scale = scale
        return replace(self.share.begin(), due=self.share.due())

    def pump(self, batches: Iterable[bytes], until: float, max_events: float) -> Step:
        """Take in what came and let everything happen that is due by now, by this host's clock if it has one."""
        for batch in batches:
            self.share.receive_late(batch)
        if not self.scale:
            return self.share.catch_up(until, max_events)
        clock = min(max(self.share.now, (time.time() - self.origin) / self.scale), until)
        return self.share.catch_up(clock, max_events, clock)

    def lost(self, names: Sequence[str]) -> None:
        """Another host died, and its nodes with it: their neighbours here may notice."""
        for name in names:
            for peer in self.share.network.neighbours[name]:
                if self.share.is_here(peer):
                    self.share.hint(peer, LinkChanged(name))

    def events(self) -> list[Event]:
        return [] if self.recorder is None else self.recorder.trace.events


def pickled(thing: Any) -> bytes:
    from ray import cloudpickle

    dumped: bytes = cloudpickle.dumps(thing)  # type: ignore[no-untyped-call]
    return dumped


def unpickled(snapshot: bytes) -> Any:
    from ray import cloudpickle

    return cloudpickle.loads(snapshot)
