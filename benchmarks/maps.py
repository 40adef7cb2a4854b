"""How long does a map of a million cells take? At most three times as long as a plain picture of the same size."""

from __future__ import annotations

import io
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np

import spatialdp as sdp
from benchmarks.measure import Result, seconds
from spatialdp.evaluation.traffic import traffic_grid
from spatialdp.outputs.maps.save import save_figure


def static_maps() -> Iterator[Result]:
    """Time maps from the release to the picture on disk."""
    mpl.use("Agg")
    points = np.random.default_rng(1).normal(0.5, 0.15, (80_000, 2))
    square = sdp.Domain((0, 0, 1, 1), crs="EPSG:4326")
    side = (1024, 1024)
    cells = sdp.Flat(side).release(points, square, epsilon=1).estimate.values
    plain = seconds(lambda: _plain(cells), repeat=3)
    for name, mechanism in (("flat", sdp.Flat(side)), ("tailored", sdp.Tailored(side)), ("quadtree", sdp.Quadtree(10))):
        release = mechanism.release(points, square, epsilon=1)
        drawing = seconds(lambda: _map(release), repeat=3)  # noqa: B023 - called at once
        yield Result(f"map of 1024 x 1024 cells, {name}, over a plain imshow", drawing / plain, 3, False, "times")
        uncertainty = seconds(lambda: _map(release, view="uncertainty"), repeat=2)  # noqa: B023 - called at once
        yield Result(f"uncertainty of 1024 x 1024 cells, {name}", uncertainty, 5, False, "s")
    grid = traffic_grid()
    others: tuple[tuple[str, Any, sdp.Domain], ...] = (
        ("64,909 cells", sdp.Flat(grid.shape), grid.domain),
        ("262,144 kd-tree leaves", sdp.KdTree(9), square),
    )
    for name, other, domain in others:
        release = other.release(points, domain, epsilon=1)
        yield Result(f"map of {name}", seconds(lambda: _map(release, log=True), repeat=2), 5, False, "s")  # noqa: B023 - called at once


def _plain(values: Any) -> None:
    figure = plt.figure(figsize=(8.0, 7.4))
    figure.add_subplot().imshow(values)
    figure.savefig(io.BytesIO(), format="png", dpi=100)
    plt.close(figure)


def _map(release: sdp.Release, **options: Any) -> None:
    figure: Any = release.plot(**options).figure
    with tempfile.TemporaryDirectory() as folder:
        save_figure(figure, Path(folder) / "map.png")
    plt.close(figure)


BENCHMARKS = (static_maps,)
