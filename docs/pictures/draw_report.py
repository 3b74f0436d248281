"""Draws docs/pictures/report.png: the page of the shipped planning scenario in Chromium, in the middle of the run."""

from __future__ import annotations

import shutil
from pathlib import Path
from tempfile import TemporaryDirectory

from playwright.sync_api import sync_playwright

from runtime.api import run_scenario


def main() -> None:
    with TemporaryDirectory() as temporary, sync_playwright() as playwright:
        folder = Path(temporary) / "planning"
        run_scenario("planning", out=folder)
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        opened = browser.new_page(viewport={"width": 1440, "height": 1180})
        opened.goto((folder / "report.html").as_uri())
        opened.evaluate("report.ready")
        opened.evaluate("report.setTime(13.5); report.choose('store-b8')")
        opened.wait_for_timeout(300)
        opened.screenshot(path=str(Path(__file__).with_name("report.png")))


if __name__ == "__main__":
    main()
