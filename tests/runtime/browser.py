"""Chromium, for the tests of pages."""

from __future__ import annotations

import os
import shutil

import pytest

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome", "chrome"))), None)
FLAGS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
EXPECTED = "CI" in os.environ
"""Where nobody reads what was skipped, a missing browser is a failure."""

IN_CHROMIUM = [
    pytest.mark.skipif(
        CHROMIUM is None and not EXPECTED, reason="no Chromium on the PATH: install chromium or google-chrome"
    ),
    pytest.mark.xdist_group("browser"),
]
