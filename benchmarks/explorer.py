"""How large is the explorer's page, and how fast is it? Size, time to write, to open and to answer in Chromium."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

import spatialdp as sdp
from benchmarks import browser
from benchmarks.measure import Result, seconds
from spatialdp.evaluation.traffic import traffic_grid

# Answers 200 different boxes, one after the other; returns the time within which 19 of 20 are answered.
_ASK = """
const [left, bottom, right, top] = arguments[0];
const times = [];
for (let i = 1; i <= 200; i++) {
  const [u, v] = [(i * 0.7549) % 0.5, (i * 0.5698) % 0.5];
  const box = [left + u * (right - left), bottom + v * (top - bottom)];
  box.push(box[0] + (0.1 + u) * (right - left), box[1] + (0.1 + v) * (top - bottom));
  const start = performance.now();
  explorer.ask(box);
  times.push(performance.now() - start);
}
return times.sort((a, b) => a - b)[190]
"""
_PAINTED = "return performance.getEntriesByName('painted')[0].startTime / 1000"


def explorer_pages() -> Iterator[Result]:
    """Measure pages of the traffic grid, by two mechanisms, and of trees with many leaves."""
    grid = traffic_grid()
    points = np.random.default_rng(1).normal((-95, 38), (12, 5), (80_000, 2))
    plain = sdp.Domain(grid.domain.bounds, crs=grid.domain.crs)
    cases: list[tuple[str, Any, sdp.Domain, float]] = [
        ("64,909 cells", sdp.Flat(shape=grid.shape, law="laplace"), grid.domain, 3.0),
        ("64,909 cells, tailored", sdp.Tailored(shape=grid.shape), grid.domain, 3.0),
        ("a million quadtree leaves", sdp.Quadtree(10), plain, 15.0),
        ("a million quadtree leaves, raw", sdp.Quadtree(10, consistent=False), plain, 15.0),
        ("262,144 kd-tree leaves", sdp.KdTree(9), plain, 15.0),
    ]
    reason = browser.missing()
    if reason:
        print(f"skipped  the explorer in a browser: {reason}", flush=True)
    with tempfile.TemporaryDirectory() as folder:
        for name, mechanism, domain, megabytes in cases:
            path = Path(folder) / f"{name}.html"
            release = mechanism.release(points, domain, epsilon=1)
            writing = seconds(lambda: release.explore(path, overwrite=True), repeat=2)  # noqa: B023 - called at once
            yield Result(f"page of {name}, size", path.stat().st_size / 1e6, megabytes, False, "MB")
            yield Result(f"page of {name}, time to write", writing, 10, False, "s")
            if not reason:
                yield from _in_browser(name, path, domain)


def _in_browser(name: str, path: Path, domain: sdp.Domain) -> Iterator[Result]:
    with browser.chromium() as driver:
        browser.open_page(driver, path)
        target = 2 if "64,909" in name else 5
        yield Result(f"page of {name}, painted after", driver.execute_script(_PAINTED), target, False, "s")
        answering = driver.execute_script(_ASK, domain.bounds)
        yield Result(f"page of {name}, 19 of 20 boxes answered within", answering, 50, False, "ms")


BENCHMARKS = (explorer_pages,)
