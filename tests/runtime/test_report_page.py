"""The report of a run in a real browser: it opens offline, and slider, clicks and keys show what happened."""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page

from tests.runtime.browser import IN_CHROMIUM, strokes
from tests.runtime.command import EXAMPLES, brokerlab, scenario
from tests.runtime.reported import Shown, kept

pytestmark = IN_CHROMIUM

NASTY = ["</script><script>hurt()</script>", "<img src=x onerror=hurt()>", "\"'&{{7*7}}", "ß 😀\u202eabc"]
SPEAKS = """\
from runtime.agent import Protocol, on
from runtime.message import message


@message(tag="<i>Word</i></script>")
class Word:
    text: str


class Speaks(Protocol):
    def started(self, node):
        node.log("said", words="</script><script>hurt()</script>")
        for peer in node.neighbours:
            node.send(peer, Word(node.id))

    @on(Word)
    def heard(self, node, sender, word):
        pass

    def result(self):
        return {"<u>": "<script>hurt()</script>"}

    @staticmethod
    def report(world, report):
        for name in world.network.brokers:
            report.hold(0.0, name, ["<b>item</b>"])
            report.text(0.0, name, "<script>hurt()</script>")
        report.moment(0.5, "<script>hurt()</script>")
        report.curve("<script>hurt()</script>", {"<b>": [(0.0, 1.0)]}, unit="<b>")
        report.svg("drawn", "<svg xmlns='http://www.w3.org/2000/svg'><script>parent.hurt()</script></svg>")
"""


class Opened:
    """A page with everything that the browser says about it."""

    def __init__(self, browser: Browser, folder: Path, scheme: Any = "light") -> None:
        self.complaints: list[str] = []
        self.requests: list[str] = []
        self.file = folder / "report.html"
        context = browser.new_context(viewport={"width": 1400, "height": 850}, color_scheme=scheme)
        context.grant_permissions(["clipboard-read", "clipboard-write"])
        self.page: Page = context.new_page()
        self.page.on("console", lambda said: self.complaints.append(said.text))
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.on("request", lambda request: self.requests.append(request.url))
        self.page.goto(self.file.as_uri())
        self.ask("report.ready")
        self.settle()

    @property
    def data(self) -> Shown:
        return kept(self.file)

    def ask(self, question: str) -> Any:
        return self.page.evaluate(question)

    def settle(self) -> None:
        self.ask("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")

    def until(self, question: str) -> None:
        """Wait for this; the page itself forbids what Playwright's own waiting does."""
        asked = f"const look = () => ({question}) ? done() : requestAnimationFrame(look); look();"
        self.ask(f"new Promise((done) => {{ {asked} }})")

    def text(self, place: str) -> str:
        return self.page.locator(place).inner_text()

    def click(self, name: str) -> None:
        box = self.page.locator("#map").bounding_box()
        x, y = self.ask(f"report.where({name!r})")
        assert box is not None
        self.page.mouse.click(box["x"] + x, box["y"] + y)
        self.settle()

    def colour(self, name: str) -> list[int]:
        """In the middle of a node."""
        self.settle()
        return list(self.ask(f"""() => {{
          const [x, y] = report.where({name!r}), scale = devicePixelRatio;
          return Array.from(document.getElementById("map").getContext("2d").getImageData(x * scale - 3, y * scale, 1, 1).data.slice(0, 3));
        }}"""))  # fmt: skip  # noqa: E501

    def close(self) -> None:
        own = [said for said in self.complaints if "getImageData" not in said]  # that was this test
        assert own == []
        self.page.context.close()


@pytest.fixture(scope="module")
def stores(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("runs") / "holistic"
    assert brokerlab("run", "holistic", "--out", folder).exit_code == 0
    return folder


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_it_opens_alone_in_the_readers_colours(browser: Browser, stores: Path, scheme: str) -> None:
    opened = Opened(browser, stores, scheme)
    assert opened.requests == [opened.file.as_uri()]
    for words in ("holistic", "valid", "seed 7", "3 nodes", "45 messages", "brokerlab run holistic --seed 7"):
        assert words in opened.text("header")
    paper = opened.ask("getComputedStyle(document.body).backgroundColor")
    assert paper == ("rgb(255, 255, 255)" if scheme == "light" else "rgb(20, 24, 29)")
    assert opened.page.locator(".curve svg path.line").count() >= 3
    opened.close()


def test_the_slider_shows_what_each_node_holds(browser: Browser, stores: Path) -> None:
    opened = Opened(browser, stores)
    end = opened.data.data["end"]
    slider = opened.page.locator("#slider")
    seen = set()
    for part in (0.0, 0.3, 0.5, 1.0):
        slider.fill(str(1000 * part))
        opened.settle()
        time = opened.ask("report.now")
        assert time == pytest.approx(part * end)
        for name, held in opened.data.held(time).items():
            assert opened.ask(f"report.held({name!r})") == held
            seen.add((name, tuple(held)))
        counts = dict(zip(("a", "b"), opened.page.locator("#items button b").all_inner_texts(), strict=True))
        everything = [item for held in opened.data.held(time).values() for item in held]
        assert counts == {item: str(everything.count(item)) for item in "ab"}
    assert len(seen) == 6
    first, last = (opened.data.line("traffic", "overall network traffic")[place][1] for place in (0, -1))
    assert opened.text("#curve-0 .keys b") == f"{last:g}"
    slider.fill("0")
    assert opened.text("#curve-0 .keys b") == f"{first:g}"
    opened.close()


def test_colours_on_the_map_follow_the_slider(browser: Browser, stores: Path) -> None:
    opened = Opened(browser, stores)
    colours = {}
    for time in (0.0, opened.ask("report.run.end")):
        opened.ask(f"report.setTime({time})")
        for name, (item,) in opened.data.held(time).items():
            colours.setdefault(item, set()).add(tuple(opened.colour(name)))
    assert all(len(every) == 1 for every in colours.values())
    assert colours["a"] != colours["b"]
    opened.close()


def test_a_click_on_a_node_shows_its_log(browser: Browser, stores: Path) -> None:
    opened = Opened(browser, stores)
    everything = opened.page.locator("#rows li").count()
    opened.click("n1")
    assert opened.text("#about h3") == "n1"
    assert opened.text("#log-title") == "Log of n1"
    log = {kind["event"]: kind for kind in opened.data.data["log"]}
    mine = sum(kind["n"].count(0) for kind in log.values())
    assert opened.page.locator("#rows li").count() == mine < everything
    opened.ask("report.setTime(6.0)")
    early = sum(t <= 6.0 and n == 0 for kind in log.values() for t, n in zip(kind["t"], kind["n"], strict=True))
    assert opened.page.locator("#rows li").count() == early < mine
    opened.ask("report.setTime(report.run.end)")
    opened.page.locator("#log-filter").fill("ITEMS_OUT A")
    assert [row.split()[1:3] for row in opened.page.locator("#rows li").all_inner_texts()] == [["replacement", "epoch"]]
    opened.page.locator("#log-filter").fill("")
    opened.page.locator("#log-kind").select_option(label="fetch (3)")
    assert opened.page.locator("#rows li").count() == 1
    opened.page.keyboard.press("Escape")
    opened.page.locator("#nobody").click()
    assert opened.page.locator("#rows li").count() == 3
    opened.page.locator("#find").fill("n3")
    opened.page.locator("#find").press("Enter")
    assert opened.text("#about h3") == "n3"
    opened.close()


def test_it_plays_and_pauses(browser: Browser, stores: Path) -> None:
    opened = Opened(browser, stores)
    play = opened.page.locator("#play")
    opened.page.locator("#speed").select_option("5")
    play.click()
    opened.until("report.now > 1")
    assert play.inner_text() == "pause" and play.get_attribute("aria-pressed") == "true"
    play.click()
    stopped = opened.ask("report.now")
    opened.settle()
    assert opened.ask("report.now") == stopped < opened.ask("report.run.end")
    opened.page.locator("h1").click()
    opened.page.keyboard.press(" ")
    opened.until("report.now === report.run.end && !report.playing")
    assert play.inner_text() == "play"
    opened.close()


def test_keys_step_from_event_to_event(browser: Browser, stores: Path) -> None:
    opened = Opened(browser, stores)
    times = sorted({t for kind in opened.data.data["log"] for t in kind["t"]} | {0.0, opened.data.data["end"]})
    keys = opened.page.keyboard
    opened.page.locator("#slider").focus()
    keys.press("Home")
    for time in times[1:4]:
        keys.press("ArrowRight")
        assert opened.ask("report.now") == time
    keys.press("ArrowLeft")
    assert opened.ask("report.now") == times[2]
    keys.press("Shift+ArrowRight")
    assert opened.ask("report.now") == pytest.approx(times[2] + times[-1] / 100)
    keys.press("End")
    assert opened.ask("report.now") == times[-1]
    opened.page.locator("#back").click()
    assert opened.ask("report.now") == times[-2]
    opened.page.locator("#moments button").first.click()
    assert opened.ask("report.now") == opened.data.data["moments"][0][0]
    box = opened.page.locator("#curve-0 svg").bounding_box()
    assert box is not None
    opened.page.mouse.click(box["x"] + box["width"] / 2, box["y"] + 60)
    assert 0.4 * times[-1] < opened.ask("report.now") < 0.65 * times[-1]
    opened.close()


def test_the_command_is_copied(browser: Browser, stores: Path) -> None:
    opened = Opened(browser, stores)
    opened.page.locator("#copy").click()
    opened.until('document.getElementById("copy").textContent === "copied"')
    assert opened.ask("navigator.clipboard.readText()") == "brokerlab run holistic --seed 7"
    opened.close()


def test_who_moves_is_seen_beside_its_broker(browser: Browser, tmp_path: Path) -> None:
    brokerlab("run", "relocation", "--out", tmp_path)
    opened = Opened(browser, tmp_path)

    def nearest() -> str:
        opened.settle()
        return str(opened.ask("""() => {
          const [x, y] = report.where("P");
          const far = (name) => { const [a, b] = report.where(name); return Math.hypot(a - x, b - y); };
          return report.run.nodes.filter((name) => name.startsWith("B")).sort((a, b) => far(a) - far(b))[0];
        }"""))  # fmt: skip

    assert nearest() == "B6"
    opened.ask("report.setTime(1)")
    assert nearest() == "B1"
    opened.close()


def test_names_cannot_hurt(browser: Browser, tmp_path: Path) -> None:
    path = scenario(tmp_path, "speaks.py:Speaks", SPEAKS)
    text = path.read_text().partition("[network]")[0]
    rows = json.dumps([list(pair) for pair in pairwise(NASTY)], ensure_ascii=False)
    path.write_text(f"{text}[network]\nedges = {rows}\n", "utf-8")
    done = brokerlab("run", path, "--out", tmp_path / "run")
    assert done.exit_code == 0, done.output
    opened = Opened(browser, tmp_path / "run")
    assert opened.ask("typeof hurt") == "undefined"
    assert opened.ask("report.run.nodes.length") == 4
    for name in NASTY:
        opened.page.locator("#find").fill(name)
        opened.page.locator("#find").press("Enter")
        assert opened.page.locator("#about h3").text_content() == name
        assert "<script>hurt()</script>" in opened.text("#about pre")
        assert "words </script>" in opened.text("#rows")
    assert opened.page.locator("table script, main script, #panels script, img[onerror]").count() == 0
    assert "<i>Word</i></script>" in opened.text("#cards")
    assert opened.ask("typeof hurt") == "undefined"
    opened.close()


def test_a_violated_run_says_what_is_wrong(browser: Browser, tmp_path: Path) -> None:
    flood = EXAMPLES / "my_flood.toml"
    brokerlab("run", flood, "--seed", 3, "--set", 'faults=[{kind="drop", probability=0.3}]', "--out", tmp_path)
    opened = Opened(browser, tmp_path)
    assert "violated" in opened.text("h1")
    assert "counts-the-fewest-hops: " in opened.text("#violations")
    assert "violated counts-the-fewest-hops" in " ".join(opened.text("#properties").split())
    opened.close()


def test_a_run_in_which_nothing_happens_opens(browser: Browser, tmp_path: Path) -> None:
    code = "from runtime.agent import Protocol\nclass Quiet(Protocol):\n    pass\n"
    brokerlab("run", scenario(tmp_path, "quiet.py:Quiet", code), "--out", tmp_path / "run")
    opened = Opened(browser, tmp_path / "run")
    assert opened.text("#rows") == "nothing was logged"
    for key in ("ArrowRight", "ArrowLeft", "Home", "End"):
        opened.page.keyboard.press(key)
        assert opened.ask("report.now") == 0
    opened.click("n2")
    assert opened.text("#about h3") == "n2"
    opened.close()


def test_a_network_that_is_too_large_leaves_log_and_curves(
    browser: Browser, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("runtime.report.data.DRAWN", 2)
    brokerlab("run", "holistic", "--out", tmp_path)
    opened = Opened(browser, tmp_path)
    opened.page.keyboard.press("ArrowLeft")
    assert "n3" in opened.text("#rows")
    assert opened.page.locator(".curve svg path.line").count() >= 3
    opened.close()


LARGE = [
    'network={kind="random-graph", nodes=3000, degree=3.0, delay="uniform(0.5, 1.5)"}',
    'storage={random_stores={count=10, topics=["a"]}}',
]


def test_a_frame_of_thousands_of_nodes_draws_each_a_few_times(browser: Browser, tmp_path: Path) -> None:
    """Nothing is timed here: `make bench` has the milliseconds."""
    brokerlab("run", "coverage", *(word for change in LARGE for word in ("--set", change)), "--out", tmp_path)
    assert (tmp_path / "report.html").stat().st_size < 1_000_000
    opened = Opened(browser, tmp_path)
    drawn = strokes(opened.page, "report.setTime(report.run.end / 3)")
    assert 3_000 < drawn < 60_000, drawn
    opened.close()
