"""How fast are noise, counting, answering and importing? Against OpenDP and NumPy."""

from __future__ import annotations

import subprocess
import sys
import tracemalloc
from collections.abc import Iterator
from fractions import Fraction

import numpy as np

import spatialdp as sdp
from benchmarks.measure import Result, seconds
from spatialdp.evaluation import traffic
from spatialdp.records.counting import count_cells

DRAWS = 1_000_000
RECORDS = 20_000_000


def noise() -> Iterator[Result]:
    """Time exact discrete Laplace noise against OpenDP's (exact) and NumPy's (inexact and continuous)."""
    import opendp.prelude as dp

    dp.enable_features("contrib")
    generator, source = np.random.default_rng(1), sdp.SystemNoise()
    few = DRAWS // 20
    for scale in (1, 100):
        space = dp.vector_domain(dp.atom_domain(T="i64")), dp.l1_distance(T="i64")
        opendp = dp.m.make_laplace(*space, scale=float(scale))
        theirs = seconds(lambda: opendp([0] * few), 2) * (DRAWS / few)  # noqa: B023 - called at once
        plain = seconds(lambda: generator.laplace(0, scale, DRAWS))  # noqa: B023 - called at once
        ours = seconds(lambda: source.laplace(Fraction(scale), DRAWS))  # noqa: B023 - called at once
        yield Result(f"exact Laplace of scale {scale}, speed over OpenDP's", theirs / ours, 150)
        yield Result(f"exact Laplace of scale {scale}, speed over numpy's inexact one", plain / ours, 0.4)


def counting() -> Iterator[Result]:
    """Time and memory of counting 20 million points in 256 × 256 cells."""
    xy = np.random.default_rng(1).random((RECORDS, 2))
    grid = sdp.Domain((0, 0, 1, 1)).grid((256, 256))
    theirs = seconds(lambda: np.histogram2d(xy[:, 0], xy[:, 1], 256, [[0, 1], [0, 1]]), 1)
    ours = seconds(lambda: count_cells(sdp.Points(xy), grid), 3)
    yield Result("counting 20 million points, speed over numpy.histogram2d", theirs / ours, 15)
    yield Result("counting 20 million points, memory beyond the input", _counting_memory(), 200, False, "MB")


def _counting_memory() -> float:
    """Return the peak of the memory that counting allocates, in megabytes."""
    xy = np.random.default_rng(1).random((RECORDS, 2))
    tracemalloc.start()
    count_cells(sdp.Points(xy), sdp.Domain((0, 0, 1, 1)).grid((256, 256)))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return peak / 1e6


def answering() -> Iterator[Result]:
    """Time 100,000 boxes on a release of 64,909 cells in a region, whose border cuts cells."""
    grid, points = traffic.traffic_grid(), sdp.datasets.us_highway_junctions()
    release = sdp.Flat(grid.shape).release(points, grid.domain, epsilon=1)
    generator = np.random.default_rng(1)
    xmin, ymin, xmax, ymax = grid.domain.bounds
    corners = generator.uniform((xmin, ymin), (xmax, ymax), size=(100_000, 2, 2))
    boxes = np.sort(corners, axis=1).reshape(-1, 4)
    xy = generator.random((100_000, 2))
    yardstick = 10 * seconds(lambda: np.histogram2d(xy[:, 0], xy[:, 1], 256, [[0, 1], [0, 1]]))
    yield Result(
        "100,000 boxes on 64,909 cells, time over ten histogram2d calls on 100,000 points",
        seconds(lambda: release.answer(boxes)) / yardstick,
        1,
        at_least=False,
    )
    yield Result(
        "100,000 boxes on 64,909 cells with intervals, time over ten histogram2d calls on 100,000 points",
        seconds(lambda: release.interval(boxes)) / yardstick,
        8,
        at_least=False,
    )


def importing() -> Iterator[Result]:
    """Time `import spatialdp` against `import numpy`, each in new interpreters."""
    clock = "import time; start = time.perf_counter(); import {}; print(time.perf_counter() - start)"
    ours, theirs = (min(float(_python(clock.format(name))) for _ in range(7)) for name in ("spatialdp", "numpy"))
    yield Result("import spatialdp, time over import numpy", ours / theirs, 2, at_least=False)


def _python(code: str) -> str:
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout


BENCHMARKS = (noise, counting, answering, importing)
