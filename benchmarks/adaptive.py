"""How fast is an adaptive tree, and how much memory does it take? Against NumPy's histogram and summed areas.

Releases are timed with both readings: the unbiased one, and the field, which is computed when it is first asked for.
A measurement and its yardstick are timed in turn, so that other programs on the machine disturb both alike.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator

import numpy as np

import spatialdp as sdp
from benchmarks.measure import Result, in_turn
from spatialdp._support.arrays import Floats, Integers
from spatialdp.estimates.fields.field import Field

DOMAIN = sdp.Domain((0, 0, 1, 1))
MANY, FEW = 10_000_000, 200_000  # records: of towns, and on streets
FINE = 4096  # columns and rows of the finest grid


def towns(count: int = MANY) -> Floats:
    """Return records of 300 towns of very different sizes, and one in ten of them anywhere."""
    random = np.random.default_rng(1)
    centres, spreads = random.random((300, 2)), 0.004 * random.lognormal(0, 1, 300)
    chances = 1 / np.arange(1, 301)
    town = random.choice(300, count * 9 // 10, p=chances / chances.sum())
    near = centres[town] + spreads[town, None] * random.normal(size=(town.size, 2))
    return np.concatenate([near, random.random((count - town.size, 2))])


def streets(count: int = FEW) -> Floats:
    """Return records along 400 straight streets, most of them near the middle: almost all cells are empty."""
    random = np.random.default_rng(2)
    starts = np.clip(random.normal(0.5, 0.15, (400, 2)), 0, 1)
    angles, lengths = random.integers(0, 4, 400) * (np.pi / 4), random.exponential(0.1, 400)
    along = np.stack([np.cos(angles), np.sin(angles)], axis=1) * lengths[:, None]
    street = random.choice(400, count, p=lengths / lengths.sum())
    return np.clip(starts[street] + random.random((count, 1)) * along[street], 0, 1 - 1e-9)


def both_readings(xy: Floats, side: int) -> sdp.Release:
    """Release an adaptive tree at ε = 1, and compute its unbiased reading and its field."""
    release = sdp.Adaptive((side, side)).release(xy, DOMAIN, epsilon=1)
    assert isinstance(release.estimate, Field)
    assert release.estimate.values.shape == (side, side)
    return release


def adaptive_release() -> Iterator[Result]:
    """Time a release of 10 million records of towns on 1024 × 1024 cells against histogram2d."""
    xy = towns()
    theirs, ours = in_turn(
        lambda: np.histogram2d(xy[:, 0], xy[:, 1], 1024, [[0, 1], [0, 1]]), lambda: both_readings(xy, 1024)
    )
    yield Result(
        "adaptive tree of 1024 x 1024 cells from 10 million points, over histogram2d", ours / theirs, 1.5, False
    )


def adaptive_fine() -> Iterator[Result]:
    """Time releases on 4096 × 4096 cells against the summed areas of as many counts, and take their peak memory."""
    for name, points in (("towns", towns), ("streets", streets)):
        xy = points()
        counts = _counts(xy)
        theirs, ours = in_turn(lambda: _summed_areas(counts), lambda: both_readings(xy, FINE))  # noqa: B023 - run here
        what = f"adaptive tree of {FINE} x {FINE} cells, {name} of {len(xy):,} points"
        yield Result(f"{what}, time over summed areas", ours / theirs, 8, False)
        yield Result(f"{what}, peak memory", _peak_gigabytes(name), 1.5, False, "GB")


def _counts(xy: Floats) -> Integers:
    columns, rows = (np.clip((xy[:, axis] * FINE).astype(np.int64), 0, FINE - 1) for axis in (0, 1))
    return np.bincount(rows * FINE + columns, minlength=FINE**2).reshape(FINE, FINE)


def _summed_areas(counts: Integers) -> Integers:
    sums = np.zeros((FINE + 1, FINE + 1), dtype=np.int64)
    np.cumsum(counts, axis=0, out=sums[1:, 1:])
    np.cumsum(sums[1:, 1:], axis=1, out=sums[1:, 1:])
    return sums


def _peak_gigabytes(points: str) -> float:
    """Return the peak memory, in gigabytes, of a process that only releases an adaptive tree, points included."""
    code = f"""
from benchmarks import adaptive
from benchmarks.measure import peak_gigabytes
adaptive.both_readings(adaptive.{points}(), adaptive.FINE).answer((0.1, 0.2, 0.3, 0.4))
print(peak_gigabytes())
"""
    return float(subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout)


def adaptive_boxes() -> Iterator[Result]:
    """Time random boxes on about half a million leaves: answers against a quadtree, intervals against a kd-tree.

    A complete quadtree has a closed form for its intervals; those of other trees are found by walks, as here.
    """
    xy, boxes = towns(), np.sort(np.random.default_rng(3).random((100_000, 2, 2)), axis=1).reshape(-1, 4)
    release, quadtree = both_readings(xy, 1024), sdp.Quadtree(9).release(xy, DOMAIN, epsilon=1)
    leaves = f"{release.estimate.n_cells:,} leaves over {quadtree.estimate.n_cells:,}"
    theirs, ours = in_turn(lambda: quadtree.answer(boxes), lambda: release.answer(boxes))
    yield Result(f"100,000 boxes on an adaptive tree, time over a quadtree ({leaves})", ours / theirs, 3, False)
    kdtree, few = sdp.KdTree(9, data_levels=4).release(xy, DOMAIN, epsilon=1), boxes[:1000]
    theirs, ours = in_turn(lambda: kdtree.interval(few), lambda: release.interval(few), repeat=2)
    yield Result(f"1,000 intervals on an adaptive tree, time over a kd-tree ({leaves})", ours / theirs, 3, False)


BENCHMARKS = (adaptive_release, adaptive_fine, adaptive_boxes)
