"""What a person sees of a sweep on the terminal: how many cells, and what became of the claims."""

from __future__ import annotations

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table
from rich.text import Text

from runtime.show import say
from sweeps.claims import FAILS, HOLDS, PARTLY, Judged
from sweeps.results import Results
from sweeps.store import Store

WIDTH = 110
COLOURS = {HOLDS: "green", PARTLY: "yellow", FAILS: "red"}


def show_results(results: Results, store: Store) -> None:
    facts = results.facts
    verdicts = ", ".join(f"{count} {verdict}" for verdict, count in results.verdicts.items())
    say(
        f"{facts['finished']} of {facts['cells']} cells: {facts['computed']} computed, {facts['reused']} from before, "
        f"{facts['failed']} failed, {facts['damaged']} damaged files set aside; {verdicts}\n\n"
    )
    if results.claims:
        say(_drawn(_claims_table(results.claims)) + "\n")
    say(f"report  {store.folder / 'report.html'}\ntables  {store.folder / 'tables'}\n")


def _claims_table(claims: list[Judged]) -> Table:
    table = Table(box=SIMPLE_HEAD, show_edge=False, pad_edge=False)
    for column in ("claim", "claimed", "measured", "verdict"):
        table.add_column(column, overflow="fold")
    for judged in claims:
        row = judged.row()
        verdict = Text(judged.verdict, style=COLOURS.get(judged.verdict, ""))
        unit = f" {row['unit']}" if row["unit"] else ""
        table.add_row(row["sentence"], row["claimed"] + unit, row["measured"] + unit, verdict)
    return table


def _drawn(table: Table) -> str:
    screen = Console(markup=False, highlight=False, emoji=False)
    if not screen.is_terminal:
        screen.width = WIDTH
    with screen.capture() as drawn:
        screen.print(table)
    return "".join(f"{line.rstrip()}\n" for line in drawn.get().splitlines())
