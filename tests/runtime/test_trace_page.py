"""The page of a run in a real browser: it opens offline, and what it shows is what happened."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page

from runtime.spacetime import Caption, Collector, Mark
from runtime.spacetime.page import page
from runtime.spacetime.rerun import draw
from tests.runtime.browser import IN_CHROMIUM, strokes
from tests.runtime.command import brokerlab
from tests.runtime.spacetime_cases import before, clocked, clocks, faulty, large

pytestmark = IN_CHROMIUM

FAULTS = (
    'faults=[{kind="drop", probability=0.1}, {kind="reorder", probability=0.05}, '
    '{kind="crash", nodes=["b3"], at=53.0, recover_after=15}]'
)


class Opened:
    """A page with everything that the browser says about it."""

    def __init__(self, browser: Browser, file: Path, scheme: Any = "light") -> None:
        self.complaints: list[str] = []
        self.requests: list[str] = []
        self.page: Page = browser.new_page(viewport={"width": 1400, "height": 850}, color_scheme=scheme)
        self.page.on("console", lambda said: self.complaints.append(said.text))
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.on("request", lambda request: self.requests.append(request.url))
        self.page.goto(file.as_uri())
        self.page.evaluate("diagram.ready")

    def ask(self, question: str) -> Any:
        return self.page.evaluate(question)

    def settle(self) -> None:
        self.page.evaluate("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")

    def click(self, place: list[float]) -> None:
        box = self.page.locator("#picture").bounding_box()
        assert box is not None
        self.page.mouse.click(box["x"] + place[0], box["y"] + place[1])
        self.settle()

    def colour(self, x: float, y: float) -> tuple[int, int, int]:
        question = f'document.getElementById("picture").getContext("2d").getImageData({x}, {y}, 1, 1).data.slice(0, 3)'
        red, green, blue = self.ask(f"Array.from({question})")
        return red, green, blue

    def pixels(self, looks: str) -> int:
        """How many pixels of the picture look like this."""
        return int(
            self.ask(
                f"""() => {{
                  const paper = document.getElementById("picture");
                  const all = paper.getContext("2d").getImageData(0, 0, paper.width, paper.height).data;
                  let count = 0;
                  for (let at = 0; at < all.length; at += 4) {{
                    const [r, g, b] = [all[at], all[at + 1], all[at + 2]];
                    if ({looks}) count++;
                  }}
                  return count;
                }}"""
            )
        )


RED = "r - g > 90 && r - b > 80 && Math.abs(g - b) < 60"
GREEN = "g - r > 70 && g - b > 50"


@pytest.fixture(scope="module")
def lossy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("runs") / "lossy"
    brokerlab("run", "coverage", "--set", "links=reliable", "--set", FAULTS, "--out", folder, "--trace")
    assert brokerlab("trace", folder).exit_code == 0
    return folder


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_it_opens_alone_and_says_what_it_is(browser: Browser, lossy: Path, scheme: str) -> None:
    opened = Opened(browser, lossy / "trace.html", scheme)
    assert opened.complaints == []
    assert opened.requests == [(lossy / "trace.html").as_uri()]
    head = opened.page.locator("header").inner_text()
    seen = draw(lossy)
    for words in ("coverage", "valid", "seed 7", f"{seen.events:,} events", "1 crash", "15 nodes"):
        assert words in head
    assert f"{sum(arrow.lost for arrow in seen.arrows)} lost" in head
    assert "lost" in opened.page.locator("#legend").inner_text()
    paper = opened.ask("getComputedStyle(document.body).backgroundColor")
    assert paper == ("rgb(255, 255, 255)" if scheme == "light" else "rgb(20, 24, 29)")
    assert opened.ask("diagram.level()") == "arrows"
    opened.page.close()


def test_losses_and_crashes_are_seen(browser: Browser, lossy: Path) -> None:
    opened = Opened(browser, lossy / "trace.html")
    assert opened.pixels(RED) > 500
    assert opened.pixels(GREEN) > 20
    quiet = lossy.parent / "quiet"
    brokerlab("run", "coverage", "--out", quiet, "--trace")
    brokerlab("trace", quiet)
    other = Opened(browser, quiet / "trace.html")
    assert other.pixels(RED) == other.pixels(GREEN) == 0
    opened.page.close()
    other.page.close()


def test_filters_hide_and_bring_back(browser: Browser, lossy: Path) -> None:
    opened, seen = Opened(browser, lossy / "trace.html"), draw(lossy)
    everything = opened.ask("[diagram.shownEvents(), diagram.shownArrows()]")
    noticed = sum(found.noticed for found in seen.happenings)
    assert everything[0] == noticed
    opened.page.locator('#types input[data-name="Ack"]').uncheck()
    acks = [arrow for arrow in seen.arrows if arrow.type == "Ack"]
    heard = sum(arrow.effect is not None and seen.happenings[arrow.effect].noticed for arrow in acks)
    assert opened.ask("[diagram.shownEvents(), diagram.shownArrows()]") == [noticed - heard, everything[1] - len(acks)]
    opened.page.locator("#types .finder button[data-do=none]").click()
    assert opened.ask("diagram.shownArrows()") == 0
    opened.page.locator("#types .finder input").fill("adver")
    assert opened.page.locator("#types li").count() == 1
    opened.page.locator("#types .finder button[data-do=all]").click()
    advertised = [a for a in seen.arrows if "Advertise" in a.type]
    assert opened.ask("diagram.shownArrows()") == len(advertised)
    opened.page.locator("#types .finder input").fill("")
    opened.page.locator("#types .finder button[data-do=all]").click()
    opened.page.locator("#nodes .finder button[data-do=none]").click()
    for name in ("b2", "b3"):
        opened.page.locator(f'#nodes input[data-name="{name}"]').check()
    two = {"b2", "b3"}
    between = [
        a
        for a in seen.arrows
        if {seen.nodes[a.source], seen.nodes[a.target]} <= two and not (a.timer and a.effect is None)
    ]
    assert opened.ask("diagram.shownArrows()") == len(between)
    assert opened.ask("diagram.shownEvents()") == sum(f.noticed and seen.nodes[f.node] in two for f in seen.happenings)
    assert opened.complaints == []
    opened.page.close()


def test_a_click_shows_the_message_and_what_it_changed(browser: Browser, lossy: Path) -> None:
    opened, seen = Opened(browser, lossy / "trace.html"), draw(lossy)
    place = next(
        place
        for place, found in enumerate(seen.happenings)
        if found.arrow is not None and "Advertise" in found.what and len(found.changes) > 2 and found.begun > 3
    )
    found = seen.happenings[place]
    assert found.arrow is not None
    opened.ask(f"diagram.look({found.begun - 0.02}, {found.begun + 0.02})")
    opened.click(opened.ask(f"diagram.where({place})"))
    assert opened.ask("diagram.view.event") == place
    told = opened.page.locator("#chosen").inner_text()
    for name, value in seen.arrows[found.arrow].fields:
        assert name in told
        assert value in told
    for change in found.changes:
        assert change.path in told
    assert f"event #{found.number}" in told
    opened.page.close()


def test_a_lost_message_can_be_clicked(browser: Browser, lossy: Path) -> None:
    opened, seen = Opened(browser, lossy / "trace.html"), draw(lossy)
    place = next(place for place, arrow in enumerate(seen.arrows) if arrow.fate == "dropped" and arrow.sent > 20)
    sent = seen.arrows[place].sent
    opened.ask(f"diagram.look({sent - 0.1}, {sent + 1.2})")
    opened.click(opened.ask(f"diagram.middle({place})"))
    assert "lost: dropped by a fault of the link" in opened.page.locator("#chosen").inner_text()
    opened.page.close()


def test_a_lost_message_ends_in_a_cross(browser: Browser, lossy: Path) -> None:
    opened, seen = Opened(browser, lossy / "trace.html"), draw(lossy)

    def is_red(x: float, y: float) -> bool:
        near = [opened.colour(x + step, y) for step in (-1, 0, 1)]
        return any(red - green > 60 and red - blue > 60 for red, green, blue in near)

    lost = [place for place, arrow in enumerate(seen.arrows) if arrow.fate == "dropped"][::5]
    crossed = 0
    for place in lost:
        opened.ask(f"diagram.look({seen.arrows[place].sent - 0.5}, {seen.arrows[place].sent + 2})")
        x, y = opened.ask(f"diagram.tip({place})")
        crossed += all(is_red(x + dx, y + dy) for dx in (-3, 3) for dy in (-3, 3))
    assert crossed > 0.7 * len(lost)  # a label may lie over some
    opened.page.close()


def test_the_highlighted_past_is_that_of_vector_clocks(browser: Browser, tmp_path: Path) -> None:
    sim = clocked(5, faulty(5))
    collector = Collector(sim)
    sim.run()
    seen = collector.finish(Caption("clocks", "violated"), [Mark("violated: something", 17)])
    file = tmp_path / "clocks.html"
    file.write_text(page(seen), "utf-8")
    opened = Opened(browser, file)
    told = {name: iter(every) for name, every in clocks(sim).items()}
    clock = {
        place: next(told[seen.nodes[found.node]])
        for place, found in enumerate(seen.happenings)
        if found.noticed and found.kind != "crash"
    }
    for place in sorted(clock)[::7]:
        marks = opened.ask(f"Array.from(diagram.related({place}))")
        assert {e for e in clock if marks[e] == 1} == {e for e in clock if before(clock[e], clock[place])}
        assert {e for e in clock if marks[e] == 2} == {e for e in clock if before(clock[place], clock[e])}
    assert "violated: something (after event 17)" in opened.page.locator("header").inner_text()
    assert opened.pixels(RED) > 100
    opened.page.close()


def test_the_keyboard_walks_along_nodes_and_causes(browser: Browser, lossy: Path) -> None:
    opened, seen = Opened(browser, lossy / "trace.html"), draw(lossy)
    place = next(
        place
        for place, found in enumerate(seen.happenings)
        if found.kind == "message" and found.before is not None and found.number > 300
    )
    found = seen.happenings[place]
    assert found.arrow is not None
    keys = opened.page.keyboard
    opened.ask(f"diagram.choose({place})")
    keys.press("ArrowLeft")
    assert opened.ask("diagram.view.event") == found.before
    keys.press("ArrowRight")
    assert opened.ask("diagram.view.event") == place
    keys.press("ArrowUp")
    assert opened.ask("diagram.view.event") == seen.arrows[found.arrow].cause
    keys.press("ArrowDown")
    effect = opened.ask("diagram.view.event")
    arrow = seen.happenings[effect].arrow
    assert arrow is not None
    assert seen.arrows[arrow].cause == seen.arrows[found.arrow].cause
    keys.press("Escape")
    assert opened.ask("diagram.view.event") == -1
    opened.page.close()


def test_wheel_drag_and_buttons_move_the_view(browser: Browser, lossy: Path) -> None:
    opened = Opened(browser, lossy / "trace.html")
    box = opened.page.locator("#picture").bounding_box()
    assert box is not None
    middle = (box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)

    def span() -> tuple[float, float]:
        opened.settle()
        since, until = opened.ask("[diagram.view.since, diagram.view.until]")
        return since, until

    whole = span()
    opened.page.mouse.move(*middle)
    opened.page.mouse.wheel(0, -600)
    near = span()
    assert near[1] - near[0] < (whole[1] - whole[0]) / 2
    opened.page.mouse.down()
    opened.page.mouse.move(middle[0] - 150, middle[1], steps=5)
    opened.page.mouse.up()
    moved = span()
    assert moved[0] > near[0]
    assert moved[1] - moved[0] == pytest.approx(near[1] - near[0])
    opened.page.locator("#zoom-in").click()
    assert span()[1] - span()[0] == pytest.approx((near[1] - near[0]) / 2)
    opened.page.locator("#fit").click()
    assert span() == pytest.approx(whole)
    assert opened.complaints == []
    opened.page.close()


def test_a_frame_of_a_hundred_thousand_events_has_no_more_than_can_be_seen(browser: Browser, tmp_path: Path) -> None:
    """Nothing is timed here: `make bench` has the milliseconds."""
    file = tmp_path / "large.html"
    file.write_text(page(large(100_000)), "utf-8")
    assert file.stat().st_size < 5_000_000
    opened = Opened(browser, file)
    assert opened.ask("diagram.level()") == "density"
    assert opened.pixels(RED) > 500
    moved = "diagram.move(30, 0)"
    drawn = {"whole": strokes(opened.page, moved)}
    opened.ask("diagram.look(400, 410)")
    assert opened.ask("diagram.level()") == "arrows"
    drawn["near"] = strokes(opened.page, moved)
    opened.ask("diagram.choose(50000), diagram.look(0, 1000)")
    drawn["chosen"] = strokes(opened.page, moved)
    assert min(drawn.values()) > 100 and max(drawn.values()) < 20_000, drawn
    assert opened.complaints == []
    opened.page.close()
