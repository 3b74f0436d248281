"""The picture as SVG, for papers and pages: the same as on the page, with nothing to click."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape
from math import floor, inf, log10

from runtime.spacetime.model import FATES, Arrow, SpaceTime

LEFT, TOP, ROW, RIGHT, BOTTOM = 110.0, 64.0, 34.0, 24.0, 34.0
LIGHT = ("#2f6fb5", "#12806a", "#7a4fb5", "#5b7f1c", "#a0447e", "#1f8aa8", "#6b5b3e", "#3f51b5", "#00796b", "#8d6e00")
DARK = ("#6ba6e8", "#3fc1a4", "#b391ee", "#a3cc4f", "#e285bf", "#58c7e6", "#c2ad84", "#93a2ff", "#4db6ac", "#d8b942")
STYLE = """\
text { font: 11px system-ui, sans-serif; fill: #1b1f24; } .title { font-size: 15px; font-weight: 600; }
.soft { fill: #5d6673; } .paper { fill: #fff; } .line { stroke: #c9d0d8; } .arrow { fill: none; stroke-width: 1.3; }
.timer { stroke-dasharray: 2 3; opacity: .6; } .underlay { stroke-dasharray: 7 3; }
.late { stroke: #c76a00; stroke-width: 2; } .late-head { fill: #c76a00; }
.lost { stroke: #d1242f; stroke-dasharray: 5 3; } .cross { stroke: #d1242f; stroke-width: 2; fill: none; }
.down { fill: #d1242f; opacity: .15; } .up { fill: #1a7f37; } .wait { stroke: #e8a33d; stroke-width: 5; }
.busy { stroke: #8b95a1; stroke-width: 5; } .mark { fill: #d1242f; font-weight: 600; } .start { fill: #5d6673; }
"""
NIGHT = """\
text { fill: #e6eaef; } .soft { fill: #9aa5b1; } .paper { fill: #14181d; } .line { stroke: #3a434d; }
.late { stroke: #ffa94d; } .late-head { fill: #ffa94d; } .lost, .cross { stroke: #ff6b6b; } .down { fill: #ff6b6b; }
.mark { fill: #ff6b6b; } .up { fill: #4ac26b; }
"""


def svg_of(spacetime: SpaceTime, width: float | None = None) -> str:
    return "\n".join(_Drawing(spacetime, width).parts()) + "\n"


class _Drawing:
    def __init__(self, spacetime: SpaceTime, width: float | None) -> None:
        self.seen = spacetime
        times = [found.arrival for found in spacetime.happenings] + [arrow.sent for arrow in spacetime.arrows]
        self.since = min(times, default=0.0)
        self.until = max(spacetime.end, self.since + 1e-9)
        self.width = width or min(6000.0, max(900.0, LEFT + RIGHT + 14.0 * len(spacetime.happenings)))
        self.scale = (self.width - LEFT - RIGHT) / (self.until - self.since)
        self.height = TOP + ROW * len(spacetime.nodes) + BOTTOM + 15 * len(spacetime.marks)
        self.types = {name: place for place, name in enumerate(spacetime.types())}
        took = sorted(a.arrival - a.sent for a in spacetime.arrows if a.arrival is not None and not a.timer)
        self.usual = took[len(took) // 2] if took else (self.until - self.since) / 30

    def x(self, time: float) -> float:
        return LEFT + (min(max(time, self.since), self.until) - self.since) * self.scale

    def y(self, node: int) -> float:
        return TOP + (node + 0.5) * ROW

    def parts(self) -> Iterator[str]:
        size = f'width="{self.width:.0f}" height="{self.height:.0f}" viewBox="0 0 {self.width:.0f} {self.height:.0f}"'
        yield f'<svg xmlns="http://www.w3.org/2000/svg" {size} role="img">'
        yield f"<title>{escape(self.seen.caption.title)}: space-time diagram</title>"
        yield f"<style>\n{STYLE}{self._colours(LIGHT)}"
        yield f"@media (prefers-color-scheme: dark) {{\n{NIGHT}{self._colours(DARK)}}}\n</style>"
        yield '<rect class="paper" width="100%" height="100%"/>'
        yield from self._caption()
        yield from self._axis()
        yield from self._lines()
        for arrow in self.seen.arrows:
            yield from self._arrow(arrow)
        yield from self._points()
        for place, mark in enumerate(self.seen.marks):
            after = "" if mark.after is None else f" (after event {mark.after})"
            at = self.height - 12 - 15 * place
            yield f'<text class="mark" x="{LEFT:.0f}" y="{at:.0f}">{escape(mark.text + after)}</text>'
        yield "</svg>"

    def _colours(self, palette: tuple[str, ...]) -> str:
        rules = []
        for place in self.types.values():
            colour = palette[place % len(palette)]
            rules.append(f".t{place} {{ stroke: {colour}; }} .f{place} {{ fill: {colour}; }}\n")
        return "".join(rules)

    def _caption(self) -> Iterator[str]:
        caption = self.seen.caption
        verdict = f" ({caption.verdict})" if caption.verdict else ""
        yield f'<text class="title" x="12" y="20">{escape(caption.title + verdict)}</text>'
        place = LEFT
        for name, number in self.types.items():
            yield f'<rect class="f{number}" x="{place:.1f}" y="28" width="9" height="9"/>'
            yield f'<text x="{place + 13:.1f}" y="37">{escape(name)}</text>'
            place += 30 + 6.3 * len(name)
            if place > self.width - 140:
                break

    def _axis(self) -> Iterator[str]:
        least = (self.until - self.since) / max(1.0, (self.width - LEFT) / 110)
        power = 10.0 ** floor(log10(least))
        step = next(times * power for times in (1, 2, 5, 10) if times * power >= least)
        digits = max(0, -floor(log10(step) + 1e-9))
        yield '<text class="soft" x="12" y="56">time, s</text>'
        bottom = TOP + ROW * len(self.seen.nodes)
        tick = -floor(-self.since / step)
        while tick * step <= self.until:
            at = self.x(tick * step)
            yield f'<path class="line" d="M{at:.1f} {TOP - 4:.1f}V{bottom:.1f}" opacity=".35"/>'
            yield f'<text class="soft" x="{at + 2:.1f}" y="56">{tick * step:.{digits}f}</text>'
            tick += 1

    def _lines(self) -> Iterator[str]:
        for node, name in enumerate(self.seen.nodes):
            at = self.y(node)
            kind = ' class="soft"' if name in self.seen.homes else ""
            yield f'<text{kind} x="{LEFT - 10:.0f}" y="{at + 4:.1f}" text-anchor="end">{escape(name)}</text>'
            yield f'<path class="line" d="M{LEFT:.0f} {at:.1f}H{self.width - RIGHT:.1f}"/>'
        for node, since, until in self._downs():
            left, right, top = self.x(since), self.x(until), self.y(node) - 8
            yield f'<rect class="down" x="{left:.1f}" y="{top:.1f}" width="{right - left:.1f}" height="16"/>'

    def _downs(self) -> Iterator[tuple[int, float, float]]:
        since: dict[int, float] = {}
        for found in self.seen.happenings:
            if found.kind == "crash":
                since[found.node] = found.arrival
            elif found.kind == "recover":
                yield found.node, since.pop(found.node, -inf), found.arrival
        yield from ((node, at, inf) for node, at in since.items())

    def _arrow(self, arrow: Arrow) -> Iterator[str]:
        if arrow.fate == "cancelled":
            return
        x0, y0 = self.x(arrow.sent), self.y(arrow.source)
        x1, y1 = self.x(arrow.sent + self.usual if arrow.arrival is None else arrow.arrival), self.y(arrow.target)
        if arrow.arrival is None:
            x1, y1 = x0 + (x1 - x0) * 0.55, y0 + (y1 - y0) * 0.55
        number = self.types[arrow.type]
        look = "lost" if arrow.lost else "late" if arrow.late else f"t{number}"
        more = " timer" if arrow.timer else " underlay" if arrow.underlay else ""
        way = f"Q{(x0 + x1) / 2:.1f} {y0 + 24:.1f} {x1:.1f} {y1:.1f}" if arrow.timer else f"L{x1:.1f} {y1:.1f}"
        told = [arrow.text(), *([] if arrow.fate == "arrived" else [FATES[arrow.fate]]), *arrow.late]
        yield f"<g><title>{escape('; '.join(told))}</title>"
        yield f'<path class="arrow {look}{more}" d="M{x0:.1f} {y0:.1f}{way}"/>'
        if arrow.lost:
            yield f'<path class="cross" d="M{x1 - 4:.1f} {y1 - 4:.1f}l8 8m0-8l-8 8"/>'
        elif arrow.arrival is not None and not arrow.timer:
            yield _head(x0, y0, x1, y1, "late-head" if arrow.late else f"f{number}")
        yield "</g>"

    def _points(self) -> Iterator[str]:
        for found in self.seen.happenings:
            if not found.noticed:
                continue
            px, py = self.x(found.begun), self.y(found.node)
            for kind, since, until in (("wait", found.arrival, found.begun), ("busy", found.begun, found.ended)):
                if (until - since) * self.scale > 1:
                    yield f'<path class="{kind}" d="M{self.x(since):.1f} {py:.1f}H{self.x(until):.1f}"/>'
            if found.kind == "crash":
                cross = f"M{px - 6:.1f} {py - 6:.1f}l12 12m0-12l-12 12"
                yield f'<path class="cross" d="{cross}"><title>crash</title></path>'
            elif found.kind == "recover":
                yield f'<path class="up" d="M{px:.1f} {py - 6:.1f}l6 12h-12z"><title>recovery</title></path>'
            else:
                look = "start" if found.arrow is None else f"f{self.types[self.seen.arrows[found.arrow].type]}"
                name = f"#{found.number} {found.what or found.kind}"
                yield f'<circle class="{look}" cx="{px:.1f}" cy="{py:.1f}" r="3"><title>{escape(name)}</title></circle>'


def _head(x0: float, y0: float, x1: float, y1: float, look: str) -> str:
    long = ((x1 - x0) ** 2 + (y1 - y0) ** 2) ** 0.5 or 1.0
    ux, uy = (x1 - x0) / long * 8, (y1 - y0) / long * 8
    left = f"{x1 - ux - uy * 0.42:.1f} {y1 - uy + ux * 0.42:.1f}"
    right = f"{x1 - ux + uy * 0.42:.1f} {y1 - uy - ux * 0.42:.1f}"
    return f'<path class="{look}" d="M{x1:.1f} {y1:.1f}L{left}L{right}z"/>'
