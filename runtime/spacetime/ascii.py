"""The picture as text: time runs downwards, each node has a column, each line is one event."""

from __future__ import annotations

from collections.abc import Iterator

from runtime.spacetime.model import FATES, Arrow, Happening, SpaceTime

GAP = 3
TIME = 10
SIGNS = {"start": "o", "crash": "X", "recover": "^", "timer": "*", "hint": "?", "message": "*"}


def text_of(spacetime: SpaceTime) -> str:
    """The picture. Messages stand at their arrival, what never arrives at its sending."""
    width = max(map(len, spacetime.nodes), default=1) + GAP
    columns = [TIME + GAP + width * place + width // 2 for place in range(len(spacetime.nodes))]
    head = [" "] * (TIME + GAP + width * len(spacetime.nodes))
    for name, column in zip(spacetime.nodes, columns, strict=True):
        start = column - len(name) // 2
        head[start : start + len(name)] = name
    title = " ".join(filter(None, [spacetime.caption.title, *(f"{k} {v}" for k, v in spacetime.caption.facts[:2])]))
    verdict = f": {spacetime.caption.verdict}" if spacetime.caption.verdict else ""
    lines = [f"{title}{verdict}", "", "time, s".rjust(TIME) + "".join(head)[TIME:].rstrip()]
    canvas = _Canvas(spacetime, columns)
    lines += [line.rstrip() for line in canvas.lines()]
    lines += ["", "o start   * event   ----> message   ---x lost   X crash   ^ recovery   : down"]
    lines += [
        mark.text if mark.after is None else f"{mark.text} (after event {mark.after})" for mark in spacetime.marks
    ]
    return "\n".join(lines) + "\n"


class _Canvas:
    def __init__(self, spacetime: SpaceTime, columns: list[int]) -> None:
        self.spacetime = spacetime
        self.columns = columns
        self.down = [False] * len(columns)

    def lines(self) -> Iterator[str]:
        rows: list[tuple[float, int, Happening | Arrow]] = [
            (found.begun, place, found) for place, found in enumerate(self.spacetime.happenings) if found.noticed
        ]
        rows += [
            (arrow.sent if arrow.arrival is None else arrow.arrival, len(self.spacetime.happenings), arrow)
            for arrow in self.spacetime.arrows
            if arrow.fate not in ("arrived", "cancelled")
        ]
        starts = [found for _, _, found in rows if isinstance(found, Happening) and found.kind == "start"]
        if starts:
            yield self._row(starts[0].begun, {found.node: "o" for found in starts}, "start")
        for time, _, found in sorted(rows, key=lambda row: row[:2]):
            if isinstance(found, Arrow):
                yield self._lost(time, found)
            elif found.kind != "start":
                yield self._happening(found)

    def _happening(self, found: Happening) -> str:
        if found.kind == "crash":
            self.down[found.node] = True
        if found.kind == "recover":
            self.down[found.node] = False
        arrow = None if found.arrow is None else self.spacetime.arrows[found.arrow]
        words = found.kind if arrow is None else arrow.text()
        if found.kind == "hint":
            words = found.what
        if arrow is not None and arrow.timer:
            words = f"timer {words}"
        late = f"  late: {'; '.join(arrow.late)}" if arrow is not None and arrow.late else ""
        copy = "  second copy" if arrow is not None and arrow.copy else ""
        row = self._row(found.begun, {found.node: SIGNS[found.kind]}, f"#{found.number} {words}{copy}{late}")
        if arrow is None or arrow.timer:
            return row
        return self._with_line(row, arrow, ">" if arrow.target > arrow.source else "<", 1)

    def _lost(self, time: float, arrow: Arrow) -> str:
        row = self._row(time, {}, f"{arrow.text()}  {FATES[arrow.fate]}")
        share = 1 if arrow.arrival is not None else 2
        return self._with_line(row, arrow, "x" if arrow.lost else ".", share)

    def _with_line(self, row: str, arrow: Arrow, head: str, share: int) -> str:
        """Draw from the sender's column towards the receiver's; only half of the way, if `share` is 2."""
        here, there = self.columns[arrow.source], self.columns[arrow.target]
        there = here + (there - here) // share if share > 1 else there
        low, high = min(here, there), max(here, there)
        letters = list(row)
        for place in range(low + 1, high):
            letters[place] = "-"
        tip = there - 1 if there > here else there + 1
        letters[tip if share == 1 else there] = head
        return "".join(letters)

    def _row(self, time: float, signs: dict[int, str], words: str) -> str:
        letters = list(f"{time:.4f}".rjust(TIME) + " " * (self.columns[-1] + GAP + 2 - TIME if self.columns else 0))
        for node, column in enumerate(self.columns):
            letters[column] = signs.get(node, ":" if self.down[node] else "|")
        return "".join(letters) + words
