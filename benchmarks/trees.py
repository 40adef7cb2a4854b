"""How fast are quadtrees, kd-trees, their fits and their answers? Against NumPy, SciPy and shapely."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from fractions import Fraction

import numpy as np

import spatialdp as sdp
from benchmarks.measure import Result, seconds
from spatialdp.space.boxes.quadtree import quadtree as complete_quadtree
from spatialdp.trees.least_squares import three_pass, two_pass

DOMAIN = sdp.Domain((0, 0, 1, 1))


def clustered(count: int) -> np.ndarray[tuple[int, ...], np.dtype[np.float64]]:
    """Return points: half of them in one cluster, half of them everywhere."""
    generator = np.random.default_rng(1)
    return np.concatenate([generator.normal(0.3, 0.05, (count // 2, 2)), generator.random((count - count // 2, 2))])


def quadtree() -> Iterator[Result]:
    """Time a quadtree of height 10 from 10 million points, against histogram2d with as many bins as leaves."""
    xy = clustered(10_000_000)
    theirs = seconds(lambda: np.histogram2d(xy[:, 0], xy[:, 1], 1024, [[0, 1], [0, 1]]), 1)
    ours = seconds(lambda: sdp.Quadtree(10).release(xy, DOMAIN, epsilon=1), 3)
    yield Result("quadtree of height 10 from 10 million points, time over histogram2d", ours / theirs, 0.25, False)
    yield Result("quadtree of height 12 from 10 million points, peak memory", _peak_gigabytes(), 4, False, "GB")


def _peak_gigabytes() -> float:
    """Return the peak memory, in gigabytes, of a process that only releases a quadtree, points included."""
    code = """
import numpy as np, spatialdp as sdp
from benchmarks.measure import peak_gigabytes
xy = np.random.default_rng(1).random((10_000_000, 2))
release = sdp.Quadtree(12).release(xy, sdp.Domain((0, 0, 1, 1)), epsilon=1)
release.answer((0.1, 0.2, 0.3, 0.4))
print(peak_gigabytes())
"""
    return float(subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout)


def consistency() -> Iterator[Result]:
    """Time the fit of a tree of height 10 against drawing its noise."""
    tree = complete_quadtree(10)
    sizes = np.diff(tree.offsets).tolist()
    source = sdp.SystemNoise()
    drawing = seconds(lambda: [source.laplace(Fraction(20 - d), size) for d, size in enumerate(sizes)])
    values, variances = np.random.default_rng(1).normal(size=tree.n_nodes), np.linspace(2, 1, 11)
    levels = [values[tree.level(depth)] for depth in range(11)]
    weights = (1 / variances).tolist()
    yield Result(
        "three passes at height 10, time over drawing the noise",
        seconds(lambda: three_pass(levels, weights, 4)) / drawing,
        2,
        at_least=False,
    )
    yield Result(
        "two passes at height 10, time over drawing the noise",
        seconds(lambda: two_pass(tree, values, variances)) / drawing,
        2,
        at_least=False,
    )


def kdtree() -> Iterator[Result]:
    """Time a kd-tree of height 8 from 2 million points, with private medians on every level, and 100,000 boxes."""
    from scipy.spatial import cKDTree

    xy = clustered(2_000_000)
    theirs = seconds(lambda: cKDTree(xy), 3)
    ours = seconds(lambda: sdp.KdTree(8).release(xy, DOMAIN, epsilon=1), 3)
    yield Result("kd-tree of height 8 from 2 million points, time over cKDTree", ours / theirs, 8, False)
    release = sdp.KdTree(8).release(xy, DOMAIN, epsilon=1)
    generator = np.random.default_rng(2)
    boxes = np.sort(generator.random((100_000, 2, 2)), axis=1).reshape(-1, 4)
    answering = seconds(lambda: release.answer(boxes), 1)
    yield Result("100,000 boxes on the kd-tree, speed over a shapely STRtree", _strtree(release, boxes) / answering, 20)


def _strtree(release: sdp.Release, boxes: np.ndarray[tuple[int, ...], np.dtype[np.float64]]) -> float:
    """Return the time of shapely's STRtree for all boxes, by areas of intersections, from the first hundred."""
    import shapely

    frame = release.to_geodataframe()
    cells, values = frame.geometry.to_numpy(), frame["estimate"].to_numpy()
    areas, index = shapely.area(cells), shapely.STRtree(cells)
    few_boxes = shapely.box(*boxes[:100].T)

    def answer() -> object:
        which, cell = index.query(few_boxes, predicate="intersects")
        shares = shapely.area(shapely.intersection(few_boxes[which], cells[cell])) / areas[cell]
        return np.bincount(which, shares * values[cell], minlength=len(few_boxes))

    return seconds(answer, 1) * (len(boxes) / len(few_boxes))


BENCHMARKS = (quadtree, consistency, kdtree)
