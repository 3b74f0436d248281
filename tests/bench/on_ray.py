"""Flooding on Ray: one actor per node and one call per message, as one would begin, against hosts of many agents.

Starting actors is told apart from running. Every contestant must find every distance; at sizes where that is
affordable the lock-step run must have the simulator's fingerprint. `python -m tests.bench.on_ray` runs this alone.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

import click
import ray
from rich.console import Console
from rich.table import Table

from runtime.agent import Agent
from runtime.cluster import cluster
from runtime.freerun import FreeRun
from runtime.lockstep import LockStep
from runtime.scenario import Scenario, check
from runtime.simulator import Simulator
from tests.bench.overlay import DEGREE, FAR, LONGEST_DELAY, SEED, SHORTEST_DELAY, Distances, Overlay, random_overlay

ACTORS = 2
NAIVE, QUICK_NAIVE = 120, 24
LARGE, QUICK_LARGE = (10_000, 100_000), (10_000,)
LULL_S = 1.0
"""Between two looks at the naive nodes: to look is a call to each of them, and slows them down."""
ROUNDS = 2
WIDTH = 110


@dataclass(frozen=True)
class RayScore:
    nodes: int
    contestant: str
    actors: int
    messages: int
    start_s: float
    run_s: float
    bytes_per_agent: float
    """Resident memory of the processes that hold the agents, shared among the agents."""

    crossing_bytes: int = 0
    """What went from actor to actor, in batches."""

    @property
    def messages_per_s(self) -> float:
        return self.messages / self.run_s


@dataclass(frozen=True)
class RayAim:
    what: str
    factor: float
    reached: float

    @property
    def met(self) -> bool:
        return self.reached >= self.factor


# One actor per node, one remote call per message


class NaiveNode:
    """The smallest honest version: distances are right at the end, quiescence is seen by counting."""

    def __init__(self, number: int) -> None:
        self.number = number
        self.hops: dict[int, int] = {}
        self.peers: dict[int, Any] = {}
        self.sent = self.received = 0
        self.heard_at = 0.0

    def meet(self, peers: dict[int, Any]) -> None:
        self.peers = peers

    def hear(self, sender: int, source: int, hops: int) -> None:
        self.received += sender >= 0
        self.heard_at = time.time()
        if hops < self.hops.get(source, FAR):
            self.hops[source] = hops
            for number, peer in self.peers.items():
                if number != sender:
                    self.sent += 1
                    peer.hear.remote(self.number, source, hops + 1)

    def counts(self) -> tuple[int, int, float]:
        return self.sent, self.received, self.heard_at

    def known(self) -> dict[int, int]:
        return self.hops

    def memory(self) -> int:
        return resident_bytes()


def naive(overlay: Overlay) -> RayScore:
    started = time.perf_counter()
    actor: Any = ray.remote(NaiveNode)
    nodes = [actor.options(num_cpus=0).remote(number) for number in range(len(overlay.names))]
    ray.get([node.meet.remote({p: nodes[p] for p in overlay.neighbours[n]}) for n, node in enumerate(nodes)])
    start_s = time.perf_counter() - started
    begun = time.time()
    for source in overlay.sources:
        nodes[source].hear.remote(-1, source, 0)
    before = (-1, -1)
    while True:
        counts = ray.get([node.counts.remote() for node in nodes])
        sent, received = sum(count[0] for count in counts), sum(count[1] for count in counts)
        if sent == received and before == (sent, received):  # two looks: a count may be older than the others
            break
        before = sent, received
        time.sleep(LULL_S)
    run_s = max(count[2] for count in counts) - begun
    memory = sum(ray.get([node.memory.remote() for node in nodes])) / len(nodes)
    known = ray.get([node.known.remote() for node in nodes])
    _agree("naive Ray", overlay, [[hops[source] for source in overlay.sources] for hops in known])
    for node in nodes:
        ray.kill(node)
    return RayScore(len(nodes), "naive Ray", len(nodes), received, start_s, run_s, memory)


# Ours


def flooding(overlay: Overlay) -> Scenario:
    data = {
        "protocol": "flood_protocol.py:Flood",
        "seed": SEED,
        "network": {
            "kind": "random-graph",
            "nodes": len(overlay.names),
            "degree": DEGREE,
            "delay": f"uniform({SHORTEST_DELAY}, {LONGEST_DELAY})",
        },
        "settings": {"sources": overlay.source_names},
        "limits": {"events": 100_000_000},
    }
    return check(data, Path(__file__).parent)


def simulator(overlay: Overlay) -> tuple[RayScore, str]:
    scenario = flooding(overlay)
    before = resident_bytes()
    started = time.perf_counter()
    sim = Simulator(scenario.network, scenario.system.agent, scenario.seed)
    built = time.perf_counter()
    memory = (resident_bytes() - before) / len(overlay.names)
    sim.run()
    run_s = time.perf_counter() - built
    _agree("simulator", overlay, _distances(overlay, sim.alive()))
    score = RayScore(len(overlay.names), "simulator", 0, sim.handled, built - started, run_s, memory)
    return score, sim.fingerprint()


def lock_step(overlay: Overlay, fingerprint: str, actors: int = ACTORS) -> RayScore:
    started = time.perf_counter()
    run = Counted(flooding(overlay), actors)
    ready = time.perf_counter()
    run.run()
    run_s = time.perf_counter() - ready
    tally = run.tally()
    if tally.fingerprint() != fingerprint:
        raise AssertionError(f"lock-step at {len(overlay.names)} nodes: another fingerprint than the simulator's")
    memory = _memory([seat.actor for seat in run.seats]) / len(overlay.names)
    run.close()
    name = "brokerlab, lock-step"
    return RayScore(len(overlay.names), name, actors, tally.handled, ready - started, run_s, memory, run.carried)


class Counted(LockStep):
    """Lock-step that knows how many bytes went from host to host."""

    carried = 0

    def _step(self, calls: Any) -> None:
        super()._step(calls)
        self.carried += sum(len(batch) for seat in self.seats for batch in seat.inbox)


def free_running(overlay: Overlay, actors: int = ACTORS) -> RayScore:
    started = time.perf_counter()
    run = FreeRun(flooding(overlay), actors, 0.0)
    ready = time.perf_counter()
    run.run()
    run_s = time.perf_counter() - ready
    _agree("free-running", overlay, _distances(overlay, run.agents()))
    memory = _memory([runner.actor for runner in run.runners]) / len(overlay.names)
    messages = run.tally().handled
    run.close()
    name = "brokerlab, free-running"
    return RayScore(len(overlay.names), name, actors, messages, ready - started, run_s, memory)


def _distances(overlay: Overlay, agents: dict[str, Agent]) -> Distances:
    known: list[dict[str, int]] = [agents[name].protocols[0].hops for name in overlay.names]  # type: ignore[attr-defined]
    return [[hops[name] for name in overlay.source_names] for hops in known]


def _agree(name: str, overlay: Overlay, found: Distances) -> None:
    if found != overlay.distances:
        raise AssertionError(f"{name} at {len(overlay.names)} nodes: distances differ from BFS")


def resident_bytes() -> int:
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * 4096


def _memory(actors: Sequence[Any]) -> int:
    pids = ray.get([actor.pid.remote() for actor in actors])
    return sum(int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * 4096 for pid in pids)


def ray_race(quick: bool) -> tuple[list[RayScore], list[RayAim]]:
    scores: list[RayScore] = []
    aims: list[RayAim] = []
    with cluster():
        overlay = random_overlay(NAIVE)
        alone, fingerprint = _best_alone(overlay)
        ours = _best(lambda: lock_step(overlay, fingerprint))
        free = _best(lambda: free_running(overlay))
        begun = naive(random_overlay(QUICK_NAIVE) if quick else overlay)
        scores += [alone, ours, free, begun]
        what = f"lock-step at {NAIVE} nodes / naive Ray at {begun.nodes}, messages/s"
        aims.append(RayAim(what, 80.0, ours.messages_per_s / begun.messages_per_s))
        for nodes in QUICK_LARGE if quick else LARGE:
            large = random_overlay(nodes)
            alone, expected = _best_alone(large)
            ours = _best(partial(lock_step, large, expected))
            scores += [alone, ours]
            factor = 1.0 if nodes == LARGE[0] else 1.3
            aims.append(RayAim(f"lock-step / simulator at {nodes:,} nodes", factor, alone.run_s / ours.run_s))
    return scores, aims


def _best(turn: Callable[[], RayScore]) -> RayScore:
    return min((turn() for _ in range(ROUNDS)), key=lambda score: score.run_s)


def _best_alone(overlay: Overlay) -> tuple[RayScore, str]:
    return min((simulator(overlay) for _ in range(ROUNDS)), key=lambda found: found[0].run_s)


def ray_table(scores: Sequence[RayScore]) -> Table:
    table = Table(title="Flooding on Ray", title_justify="left")
    for column in (
        "nodes",
        "contestant",
        "actors",
        "messages",
        "start s",
        "run s",
        "msgs/s",
        "kB/agent",
        "MB sent",
    ):
        table.add_column(column, justify="left" if column == "contestant" else "right", no_wrap=True)
    for score in scores:
        if score.contestant == "simulator":
            table.add_section()
        table.add_row(
            f"{score.nodes:,}",
            score.contestant.removeprefix("brokerlab, "),
            str(score.actors or "-"),
            f"{score.messages:,}",
            f"{score.start_s:.2f}",
            f"{score.run_s:.3f}",
            f"{score.messages_per_s:,.0f}",
            f"{score.bytes_per_agent / 1000:,.1f}",
            f"{score.crossing_bytes / 1e6:.1f}" if score.crossing_bytes else "-",
        )
    return table


def ray_aims_table(aims: Sequence[RayAim]) -> Table:
    table = Table(title="Aims on Ray", title_justify="left")
    for column in ("compared", "at least", "reached", "verdict"):
        table.add_column(column, justify="left" if column in ("compared", "verdict") else "right")
    for aim in aims:
        table.add_row(aim.what, f"{aim.factor:.1f} x", f"{aim.reached:.2f} x", "met" if aim.met else "not met")
    return table


def ray_as_json(scores: Sequence[RayScore], aims: Sequence[RayAim]) -> dict[str, Any]:
    return {
        "ray": [asdict(score) | {"messages_per_s": score.messages_per_s} for score in scores],
        "ray_aims": [asdict(aim) | {"met": aim.met} for aim in aims],
    }


@click.command()
@click.option("--quick", is_flag=True, help="Naive Ray with 24 nodes, and nothing of 100 000.")
def main(quick: bool) -> None:
    console = Console(width=WIDTH)
    scores, aims = ray_race(quick)
    console.print(ray_table(scores))
    console.print(ray_aims_table(aims))


if __name__ == "__main__":
    main()
