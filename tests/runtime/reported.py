"""The data of a report page, as its script reads them."""

from __future__ import annotations

import base64
import json
import re
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from runtime.report.data import page_data
from runtime.report.page import report_of
from runtime.run import Outcome


@dataclass(frozen=True)
class Shown:
    """What the page shows of a run."""

    data: dict[str, Any]

    def held(self, time: float) -> dict[str, list[str]]:
        """What each node of which this is said holds at this time."""
        return {name: [self.data["items"][i] for i in held] for name, held in self._at("held", time).items()}

    def homes(self, time: float) -> dict[str, str | None]:
        nodes = self.data["nodes"]
        first = {name: home for name, home in zip(nodes, self.data["home"], strict=True) if home >= 0}
        now = first | self._at("homes", time)
        return {name: None if home < 0 else nodes[home] for name, home in now.items()}

    def _at(self, what: str, time: float) -> dict[str, Any]:
        changes = self.data[what]
        rows = zip(changes["t"], changes["n"], changes["v"], strict=True)
        return {self.data["nodes"][node]: value for at, node, value in rows if at <= time}

    def line(self, title: str, name: str) -> list[tuple[float, float | None]]:
        (curve,) = [curve for curve in self.data["curves"] if curve["title"] == title]
        (line,) = [line for line in curve["lines"] if line["name"] == name]
        return list(zip(line["t"], line["v"], strict=True))


def shown(outcome: Outcome) -> Shown:
    report, mistake = report_of(outcome)
    assert mistake is None, mistake
    return Shown(page_data(outcome, report)[0])


def kept(page: Path) -> Shown:
    (packed,) = re.findall(r'<script type="text/plain" id="data">([^<]*)</script>', page.read_text("utf-8"))
    return Shown(json.loads(zlib.decompress(base64.b64decode(packed))))
