"""For scripts and notebooks: run a scenario with one call, and get what it showed as tables and graphs.

from runtime.api import run_scenario

run = run_scenario("holistic", seed=3, change={"storage.capacity": 2})
run.verdict, run.summary["messages"]
run.tables["replacement"].to_pandas()      # what the agents logged, as Arrow tables
networkx.draw(run.graph)                # who is linked to whom, and what each node is
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

import networkx
import pyarrow as pa

from runtime.progress import Progress
from runtime.run import Outcome, simulate
from runtime.rundir import claim, save
from runtime.scenario import Scenario, change_key, check, find, read

Named = str | Path | Mapping[str, Any] | Scenario


@dataclass(frozen=True)
class Run:
    """What a run showed."""

    outcome: Outcome

    @property
    def verdict(self) -> str:
        """valid, violated, or undecided if a limit was reached first."""
        return self.outcome.verdict

    @property
    def violations(self) -> list[str]:
        return self.outcome.violations

    @cached_property
    def summary(self) -> dict[str, Any]:
        """What `brokerlab run --json` prints."""
        return self.outcome.summary()

    @cached_property
    def tables(self) -> dict[str, pa.Table]:
        """A table for each kind of event that the agents logged, and `messages`: what was sent, by type."""
        kinds = ("by_type", "underlay", "carried")
        rows = [
            {"type": tag, "way": way, **counts}
            for way, kind in zip(("overlay", "underlay", "carried"), kinds, strict=True)
            for tag, counts in self.summary[kind].items()
        ]
        columns = {
            "type": pa.string(),
            "way": pa.string(),
            "messages": pa.int64(),
            "bytes": pa.int64(),
        }
        return {"messages": pa.Table.from_pylist(rows, pa.schema(columns)), **self.outcome.tally.events.tables()}

    @cached_property
    def graph(self) -> networkx.Graph:
        """All nodes, those that are attached to a broker too; `home` says to which, `up` whether it ended alive."""
        network = self.outcome.scenario.network
        graph = networkx.Graph()
        for name in network.neighbours:
            graph.add_node(name, home=network.homes.get(name), up=name in self.outcome.agents)
        for name, peers in network.neighbours.items():
            graph.add_edges_from((name, peer) for peer in peers)
        return graph


def run_scenario(
    scenario: Named,
    *,
    seed: int | None = None,
    change: Mapping[str, Any] | None = None,
    on: Literal["sim", "ray"] = "sim",
    out: str | Path | None = None,
    trace: bool = False,
    **ray: Any,
) -> Run:
    """Run a scenario: the name of a shipped one, a file, or a dict as one would write it in TOML.

    `change` sets keys, written with dots, to other values. With `on="ray"`, `clock`, `agents_per_actor`, `address` and
    `time_scale` are those of the command line. With `out`, the run is kept in that folder, as `--out` does.
    """
    ready = prepare(scenario, seed, change)
    folder = None if out is None else Path(out)
    if folder is not None:
        claim(folder, ready)
    with Progress() as progress:
        if on == "sim":
            outcome = simulate(ready, progress, trace)
        else:
            from runtime.onray import RayOptions, run_on_ray  # Ray takes a second to import

            outcome = run_on_ray(ready, RayOptions(**ray), progress, progress.note)
    if folder is not None:
        save(outcome, folder)
    return Run(outcome)


def prepare(
    scenario: str | Path | Mapping[str, Any] | Scenario,
    seed: int | None = None,
    change: Mapping[str, Any] | None = None,
) -> Scenario:
    """The scenario with these changes, checked and ready to run."""
    if isinstance(scenario, Scenario):
        data, folder, name = dict(scenario.data), scenario.folder, scenario.name
    elif isinstance(scenario, Mapping):
        data, folder, name = dict(scenario), Path(), "scenario"
    else:
        path = find(str(scenario))
        data, folder, name = read(path), path.parent, path.name
    for key, value in (change or {}).items():
        change_key(data, key, value)
    if seed is not None:
        data["seed"] = seed
    return check(data, folder, name)
