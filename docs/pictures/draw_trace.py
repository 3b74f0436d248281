"""Draws docs/pictures/trace.png: the page of a faulty run in Chromium, with one event chosen."""

from __future__ import annotations

import shutil
from pathlib import Path
from tempfile import TemporaryDirectory

from playwright.sync_api import sync_playwright

from runtime.run import simulate
from runtime.rundir import save
from runtime.scenario import load
from runtime.spacetime.page import page
from runtime.spacetime.rerun import draw

FAULTS = (
    'faults=[{kind="drop", probability=0.1}, {kind="reorder", probability=0.05}, '
    '{kind="duplicate", probability=0.05}, {kind="crash", nodes=["b3"], at=53.0, recover_after=15}]'
)


def main() -> None:
    with TemporaryDirectory() as temporary, sync_playwright() as playwright:
        folder = Path(temporary) / "faulty"
        folder.mkdir()
        save(simulate(load("coverage", ["links=reliable", FAULTS]), trace=True), folder)
        (folder / "trace.html").write_text(page(draw(folder)), "utf-8")
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        opened = browser.new_page(viewport={"width": 1440, "height": 860})
        opened.goto((folder / "trace.html").as_uri())
        opened.evaluate("diagram.ready")
        opened.evaluate("diagram.choose(diagram.run.byNumber(460)); diagram.look(49, 76)")
        opened.wait_for_timeout(300)
        opened.screenshot(path=str(Path(__file__).with_name("trace.png")))


if __name__ == "__main__":
    main()
