"""Chromium, for the tests of pages, and what a frame of a page costs."""

from __future__ import annotations

import shutil
from statistics import median
from typing import cast

import pytest
from playwright.sync_api import Page

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
IN_CHROMIUM = pytest.mark.xdist_group("browser")


def strokes(page: Page, change: str) -> int:
    """How often the canvas is called to draw the frames after a change: what a frame costs on any machine."""
    return cast(int, page.evaluate(f"() => ({STROKES})(() => {{ {change} }})"))


def frame_ms(page: Page, change: str) -> float:
    """From a change to the next frame, the median of forty; the change may depend on `turn`."""
    return median(page.evaluate(f"() => ({TIMES})(turn => {{ {change} }})"))


STROKES = """async change => {
  const pens = CanvasRenderingContext2D.prototype, own = {}, frame = () => new Promise(requestAnimationFrame);
  let count = 0;
  for (const [name, property] of Object.entries(Object.getOwnPropertyDescriptors(pens)))
    if (typeof property.value === "function") {
      own[name] = property.value;
      pens[name] = function (...words) { count++; return own[name].apply(this, words); };
    }
  await frame();
  count = 0;
  change();
  await frame();
  await frame();
  Object.assign(pens, own);
  return count;
}"""

TIMES = """async change => {
  const frame = () => new Promise(requestAnimationFrame), times = [];
  await frame();
  for (let turn = 0; turn < 40; turn++) {
    const began = performance.now();
    change(turn);
    await frame();
    times.push(performance.now() - began);
  }
  return times;
}"""
