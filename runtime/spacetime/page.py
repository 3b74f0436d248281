"""The picture as one HTML page that needs nothing else: the data in it is columns, compressed."""

from __future__ import annotations

import base64
import json
import struct
import zlib
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, get_args

import numpy as np
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup
from numpy.typing import NDArray

from runtime.spacetime.model import FATES, LOST, Arrow, Fate, Happening, Kind, SpaceTime

PAGE = Path(__file__).parent / "page"
SCRIPTS = ("data.js", "view.js", "draw.js", "marks.js", "panel.js", "main.js")
KINDS: tuple[Kind, ...] = get_args(Kind)
ALL_FATES: tuple[Fate, ...] = get_args(Fate)
TIMER, UNDERLAY, COPY = 1, 2, 4

Column = NDArray[Any]


def page(spacetime: SpaceTime, preset: dict[str, Any] | None = None) -> str:
    """The whole page. `preset` says which filters are set when it opens: nodes, types, since, until."""
    environment = Environment(
        loader=FileSystemLoader(PAGE), autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    lost = sum(arrow.lost for arrow in spacetime.arrows)
    return environment.get_template("page.html.j2").render(
        caption=spacetime.caption,
        marks=spacetime.marks,
        counts={
            "nodes": len(spacetime.nodes),
            "events": spacetime.events,
            "messages": sum(not arrow.timer for arrow in spacetime.arrows),
            "lost": lost,
            "late": sum(bool(arrow.late) and not arrow.lost for arrow in spacetime.arrows),
            "crashes": sum(happening.kind == "crash" for happening in spacetime.happenings),
        },
        style=Markup((PAGE / "page.css").read_text("utf-8")),
        script=Markup("\n".join((PAGE / name).read_text("utf-8") for name in SCRIPTS)),
        data=packed(spacetime, preset or {}),
    )


def packed(spacetime: SpaceTime, preset: dict[str, Any]) -> str:
    """A JSON header and the columns it names one after the other, compressed, in base64."""
    strings = _Strings()
    columns = _event_columns(spacetime.happenings, strings) | _arrow_columns(spacetime, strings)
    header = {
        "nodes": spacetime.nodes,
        "homes": [spacetime.homes.get(name) for name in spacetime.nodes],
        "types": list(spacetime.types()) + sorted({arrow.type for arrow in spacetime.arrows} - set(spacetime.types())),
        "kinds": KINDS,
        "fates": [[fate, FATES[fate], fate in LOST] for fate in ALL_FATES],
        "marks": [[mark.text, mark.after] for mark in spacetime.marks],
        "end": spacetime.end,
        "preset": preset,
        "strings": strings.all,
        "columns": [[name, column.dtype.str[1:], len(column)] for name, column in columns.items()],
    }
    head = json.dumps(header, separators=(",", ":")).encode()
    head += b" " * (-len(head) % 8)
    body = b"".join(_aligned(column) for column in columns.values())
    return base64.b64encode(zlib.compress(struct.pack("<II", len(head), 0) + head + body, 6)).decode()


class _Strings:
    """Each text once; 0 stands for none."""

    def __init__(self) -> None:
        self.all: list[str] = []
        self._place: dict[str, int] = {}

    def __call__(self, text: str | None) -> int:
        if text is None:
            return 0
        if text not in self._place:
            self.all.append(text)
            self._place[text] = len(self.all)
        return self._place[text]


def _event_columns(happenings: Sequence[Happening], strings: _Strings) -> dict[str, Column]:
    changes = [change for found in happenings for change in found.changes]
    return {
        "e.number": _column("<u4", (found.number for found in happenings)),
        "e.node": _column("<u4", (found.node for found in happenings)),
        "e.kind": _column("<u1", (KINDS.index(found.kind) for found in happenings)),
        "e.arrival": _column("<f8", (found.arrival for found in happenings)),
        "e.wait": _column("<f8", (found.begun - found.arrival for found in happenings)),
        "e.busy": _column("<f8", (found.ended - found.begun for found in happenings)),
        "e.arrow": _column("<i4", (_place(found.arrow) for found in happenings)),
        "e.before": _column("<i4", (_place(found.before) for found in happenings)),
        "e.noticed": _column("<u1", (found.noticed for found in happenings)),
        "e.what": _column("<u4", (strings(found.what or None) for found in happenings)),
        "e.changes": _offsets(len(found.changes) for found in happenings),
        "e.logs": _offsets(len(found.logged) for found in happenings),
        "c.path": _column("<u4", (strings(change.path) for change in changes)),
        "c.before": _column("<u4", (strings(change.before) for change in changes)),
        "c.after": _column("<u4", (strings(change.after) for change in changes)),
        "l.text": _column("<u4", (strings(text) for found in happenings for text in found.logged)),
    }


def _arrow_columns(spacetime: SpaceTime, strings: _Strings) -> dict[str, Column]:
    arrows, happenings = spacetime.arrows, spacetime.happenings
    types = list(spacetime.types())
    types += sorted({arrow.type for arrow in arrows} - set(types))
    number = {name: place for place, name in enumerate(types)}

    def after_its_cause(arrow: Arrow) -> float:
        """Mostly 0, which compresses well; without a cause in the picture, the time itself."""
        return arrow.sent if arrow.cause is None else arrow.sent - happenings[arrow.cause].begun

    return {
        "a.cause": _column("<i4", (_place(arrow.cause) for arrow in arrows)),
        "a.effect": _column("<i4", (_place(arrow.effect) for arrow in arrows)),
        "a.source": _column("<u4", (arrow.source for arrow in arrows)),
        "a.target": _column("<u4", (arrow.target for arrow in arrows)),
        "a.after": _column("<f8", (after_its_cause(arrow) for arrow in arrows)),
        "a.arrival": _column("<f8", (np.nan if arrow.arrival is None else arrow.arrival for arrow in arrows))
        if any(arrow.effect is None and arrow.arrival is not None for arrow in arrows)
        else _column("<f8", ()),
        "a.type": _column("<u4", (number[arrow.type] for arrow in arrows)),
        "a.fields": _column("<u4", (strings(_fields(arrow)) for arrow in arrows)),
        "a.size": _column("<u4", (arrow.size for arrow in arrows)),
        "a.flags": _column("<u1", (TIMER * a.timer + UNDERLAY * a.underlay + COPY * a.copy for a in arrows)),
        "a.fate": _column("<u1", (ALL_FATES.index(arrow.fate) for arrow in arrows)),
        "a.late": _column("<u4", (strings("; ".join(arrow.late) or None) for arrow in arrows)),
    }


def _fields(arrow: Arrow) -> str | None:
    return "\n".join(f"{name}={value}" for name, value in arrow.fields) or None


def _column(kind: str, values: Iterable[float | int | bool]) -> Column:
    return np.array(list(values), dtype=kind)


def _offsets(lengths: Iterable[int]) -> Column:
    return np.cumsum([0, *lengths]).astype("<u4")


def _place(found: int | None) -> int:
    return -1 if found is None else found


def _aligned(column: Column) -> bytes:
    """As many bytes as a multiple of 8, so that a browser can lay arrays over them. Like bytes stand together."""
    width = column.dtype.itemsize
    data = column.view(np.uint8).reshape(-1, width).T.tobytes() if len(column) else b""
    return data + bytes(-len(data) % 8)
