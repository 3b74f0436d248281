"""A million nodes: every node learns how far its nearest source is.

Runs in a process of its own, so that its memory does not disturb the other measurements:
`python -m tests.bench.million 1000000` prints a JSON object.
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
from dataclasses import asdict, dataclass
from pathlib import Path
from time import perf_counter

from runtime.agent import Agent, Node, Protocol, on
from runtime.message import message
from runtime.simulator import Simulator
from tests.bench.overlay import FAR, SEED, random_overlay


@dataclass(frozen=True)
class Crowd:
    nodes: int
    network_s: float
    agents_s: float
    run_s: float
    messages: int
    sent_bytes: int
    network_bytes: int
    agents_bytes: int
    peak_bytes: int

    @property
    def messages_per_s(self) -> float:
        return self.messages / self.run_s

    @property
    def bytes_per_agent(self) -> float:
        """All that is there after construction, the agent's part of the network included."""
        return (self.network_bytes + self.agents_bytes) / self.nodes


@message
class SourceAt:
    hops: int


class Nearest(Protocol):
    """A nearer source is kept and told to all other neighbours."""

    def __init__(self, source: bool) -> None:
        self.hops = 0 if source else FAR

    def started(self, node: Node) -> None:
        if self.hops == 0:
            node.broadcast(SourceAt(1))

    @on(SourceAt)
    def heard(self, node: Node, sender: str, news: SourceAt) -> None:
        if news.hops < self.hops:
            self.hops = news.hops
            node.broadcast(SourceAt(news.hops + 1), skip=sender)


def crowd(nodes: int) -> Crowd:
    """Measured in a new process."""
    root = Path(__file__).parents[2]
    command = [sys.executable, "-m", "tests.bench.million", str(nodes)]
    done = subprocess.run(command, cwd=root, check=True, stdout=subprocess.PIPE)
    return Crowd(**json.loads(done.stdout))


def measure(nodes: int) -> Crowd:
    empty, start = _memory(), perf_counter()
    overlay = random_overlay(nodes)
    sources = set(overlay.source_names)
    linked, network_built = _memory(), perf_counter()
    simulator = Simulator(overlay.network, lambda name: Agent([Nearest(name in sources)]), SEED)
    full, built = _memory(), perf_counter()
    simulator.run()
    done, peak = perf_counter(), _peak_memory()
    found = [node.agent.protocols[0].hops for node in simulator.nodes.values()]
    if found != [min(hops) for hops in overlay.distances]:
        raise AssertionError(f"{nodes} nodes: distances differ from BFS")
    return Crowd(
        nodes,
        network_s=network_built - start,
        agents_s=built - network_built,
        run_s=done - built,
        messages=simulator.handled,
        sent_bytes=sum(size for _, size in simulator.sent.values()),
        network_bytes=linked - empty,
        agents_bytes=full - linked,
        peak_bytes=peak,
    )


def _memory() -> int:
    """What this process holds now; where the system does not tell, the most that it ever held."""
    status = Path("/proc/self/statm")
    if status.exists():
        return int(status.read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    return _peak_memory()


def _peak_memory() -> int:
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024


if __name__ == "__main__":
    print(json.dumps(asdict(measure(int(sys.argv[1])))))
