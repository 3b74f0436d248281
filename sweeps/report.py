"""One self-contained report.html: claims, figures, parameters, tables, versions."""

from __future__ import annotations

import platform
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import tomli_w
from jinja2 import Environment, FileSystemLoader, StrictUndefined

from runtime.rundir import version_of
from sweeps.claims import Judged
from sweeps.grid import code_version
from sweeps.load import Found
from sweeps.store import write_whole

ROWS = 200
SHOWN = ("means", "differences", "convergence")
LEFT_OUT = {"low", "high", "q05", "q25", "q75", "q95", "percent_n"}
PACKAGES = ("brokerlab", "ray", "pyspark", "pyarrow", "numpy", "scipy", "matplotlib")


def write_report(
    path: Path,
    found: Found,
    tables: Mapping[str, pa.Table],
    claims: Sequence[Judged],
    figures: Sequence[Path],
    facts: Mapping[str, Any],
    command: str,
) -> None:
    environment = Environment(
        loader=FileSystemLoader(Path(__file__).parent),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    html = environment.get_template("report.html.j2").render(
        sweep=found.sweep,
        scenario=tomli_w.dumps(found.scenario),
        claims=[each.row() for each in claims],
        figures=[inline(svg.read_text("utf-8"), place) for place, svg in enumerate(figures)],
        tables=[_shown(name, tables[name]) for name in SHOWN if name in tables],
        facts=facts,
        failed=facts["failures"],
        versions=versions(),
        code=code_version(),
        command=command,
    )
    write_whole(path, html.encode())


def versions() -> list[str]:
    return [f"Python {platform.python_version()}", *(f"{package} {version_of(package)}" for package in PACKAGES)]


def inline(svg: str, place: int) -> str:
    """The drawing without its prologue, and with names of its own: several share one page."""
    svg = svg[svg.index("<svg") :]
    return re.sub(r'(\bid="|"#|url\(#)', lambda found: f"{found[0]}f{place}-", svg)


def _shown(name: str, table: pa.Table) -> dict[str, Any]:
    columns = [column for column in table.column_names if column not in LEFT_OUT]
    measured = table.filter(pc.field("n") > 0).select(columns)
    shown = [[_cell(row[column]) for column in columns] for row in measured.slice(0, ROWS).to_pylist()]
    return {"name": name, "columns": columns, "rows": shown, "total": len(measured)}


def _cell(value: Any) -> dict[str, Any]:
    if isinstance(value, float):
        return {"text": f"{value:.5g}", "number": True}
    return {"text": "" if value is None else str(value), "number": isinstance(value, int)}
