"""How fast does a large release answer polygons? Against intersecting polygons and cells one by one."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt
import shapely

import spatialdp as sdp
from benchmarks.measure import Result, seconds

COUNTIES = 3000
SIDE = 1000
SUBSET = 30


def polygons() -> Iterator[Result]:
    """Time 3,000 county-like polygons on a million cells, against intersecting each polygon with single cells.

    The other method finds the cells near a polygon with shapely's tree; building the tree is not counted. It is timed
    on a hundredth of the polygons, and its time is multiplied by a hundred.
    """
    release = sdp.Flat((SIDE, SIDE)).release(np.empty((0, 2)), sdp.Domain((0, 0, 60, 25)), epsilon=1)
    counties = _counties()
    cells = release.to_geodataframe()
    geometries, estimates = cells.geometry.to_numpy(), cells["estimate"].to_numpy()
    tree = shapely.STRtree(geometries)
    subset = counties[:: COUNTIES // SUBSET]
    start = time.perf_counter()
    theirs = [_one_by_one(county, tree, geometries, estimates) for county in subset]
    expected = (time.perf_counter() - start) * counties.size / subset.size
    ours = seconds(lambda: release.answer_polygons(counties), 3)
    assert np.allclose(release.answer_polygons(subset), theirs, atol=1e-3)
    what = "3,000 counties on a million cells, speed over cell by cell"
    yield Result(f"{what}: answers in {ours:.2g} s", expected / ours, 20)
    with_intervals = seconds(lambda: release.interval_polygons(counties), 3)
    yield Result(f"{what}: with intervals in {with_intervals:.2g} s", expected / with_intervals, 20)


def _one_by_one(
    county: shapely.Polygon,
    tree: shapely.STRtree,
    geometries: npt.NDArray[Any],
    estimates: npt.NDArray[Any],
) -> float:
    total = 0.0
    for cell in tree.query(county):
        total += estimates[cell] * county.intersection(geometries[cell]).area / geometries[cell].area
    return float(total)


def _counties() -> npt.NDArray[Any]:
    """Return Voronoi cells of random points, with about 150 vertices along ragged edges."""
    rng = np.random.default_rng(1)
    seeds = shapely.multipoints(rng.uniform((0, 0), (60, 25), (COUNTIES, 2)))
    smooth = shapely.get_parts(shapely.voronoi_polygons(seeds, extend_to=shapely.box(0, 0, 60, 25)))
    dense = shapely.segmentize(shapely.intersection(smooth, shapely.box(-1, -1, 61, 26)), 0.02)

    def ragged(xy: npt.NDArray[Any]) -> npt.NDArray[Any]:
        # A smooth shift of the whole plane keeps polygons valid and neighbours adjacent.
        x, y = xy.T
        return np.stack([x + 0.004 * np.sin(40 * y), y + 0.004 * np.sin(40 * x)], axis=1)

    return np.asarray(shapely.transform(dense, ragged))


BENCHMARKS = (polygons,)
