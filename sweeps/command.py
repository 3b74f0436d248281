"""`brokerlab sweep`: run the cells that are missing, aggregate, draw, judge, report."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import click

from runtime.completion import sweeps
from runtime.show import complain, say
from sweeps.api import Asked, perform
from sweeps.grid import Cell
from sweeps.results import Results
from sweeps.runner import Ran
from sweeps.store import Store
from sweeps.terminal import show_results
from sweeps.work import repeat_command

FINE, FAILED, UNDECIDED = 0, 1, 3


@click.command()
@click.argument("name", metavar="NAME|FILE", shell_complete=sweeps)
@click.option("--quick", is_flag=True, help="The sweep's small variant: about a minute.")
@click.option("--runs", type=click.IntRange(min=1), metavar="N", help="Instances at each point.")
@click.option("--seed", type=click.IntRange(min=0), help="Of the first instance; the others follow.")
@click.option("--out", type=click.Path(path_type=Path), metavar="DIR", help="Folder; else runs/NAME-sweep.")
@click.option("--retry-failed", is_flag=True, help="Also run the cells again that failed before.")
@click.option("--ray-address", metavar="A", help="A running Ray cluster, as in 10.0.0.1:6379; else this machine.")
@click.option("--spark-master", metavar="M", default="local[*]", show_default=True, help="Also spark:// and sc://.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object and nothing else.")
def sweep(name: str, as_json: bool, **asked: Any) -> int:
    """Run a grid of scenarios, and show what they have in common.

    NAME is a sweep that comes with brokerlab; FILE is a .py or .toml file that declares one. The same command goes
    on where it was stopped: what is finished is not computed again.

    \b
    brokerlab sweep coverage --quick
    brokerlab sweep coverage --runs 50 --out runs/large
    brokerlab sweep my_sweep.toml --spark-master 'local-cluster[2,1,1024]'

    DIR holds report.html, tables/*.csv and *.parquet, figures/*.svg and *.png, cells/ and events/.
    """
    swept = perform(Asked(name, **asked))
    if swept.results is None:
        complain("no cell finished: there is nothing to show")
        return FAILED
    _print(swept.results, swept.store, as_json)
    return _exit_code(swept.results, swept.ran, swept.cells, swept.store)


def _print(results: Results, store: Store, as_json: bool) -> None:
    if as_json:
        say(json.dumps(results.facts | {"claims": [each.row() for each in results.claims]}, indent=2) + "\n")
    else:
        show_results(results, store)


def _exit_code(results: Results, ran: Ran, cells: list[Cell], store: Store) -> int:
    """Why the exit code is not 0 goes to standard error, with the one command that repeats the first such run."""
    verdicts = Counter(results.verdicts)
    if ran.failed:
        complain(f"{len(ran.failed)} of {len(cells)} cells failed; see {store.failed}")
    for verdict in ("violated", "undecided"):
        if verdicts[verdict]:
            first = next(cell for cell in cells if results.verdict_of.get(cell.name) == verdict)
            complain(f"{verdicts[verdict]} of {len(cells)} cells are {verdict}, first {first}")
            click.echo(f"to repeat it: {repeat_command(store, first)}", err=True)
    if ran.failed or verdicts["violated"]:
        return FAILED
    return UNDECIDED if verdicts["undecided"] else FINE
