"""Exact answers over records agree with brute force."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import shapely
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

import spatialdp as sdp
from spatialdp.records.counting import count_cells
from spatialdp.records.points import as_points
from spatialdp.records.truth import Counter, count_polygons

DOMAIN = sdp.Domain((0, 0, 8, 8))
COORDINATES = st.one_of(st.integers(-1, 9).map(float), st.floats(-1, 9), st.sampled_from([np.nan, np.inf, -np.inf]))


def counted(xy, boxes, domain=DOMAIN):
    return Counter.of(sdp.Points(xy), domain).count(domain.boxes(boxes)).tolist()


@given(
    arrays(np.float64, st.tuples(st.integers(0, 40), st.just(2)), elements=COORDINATES),
    arrays(np.int64, (20, 2, 2), elements=st.integers(-1, 9)),
)
def test_counts_are_those_of_half_open_boxes(xy, corners):
    """On whole numbers the lattice is exact, so that plain comparisons are the truth; the far edge is inside."""
    boxes = np.sort(corners, axis=1).reshape(-1, 4).astype(np.float64)
    x, y = (np.where(column == 8, 7.9999, column) for column in xy.T)  # of the last cell
    inside = (x >= 0) & (x < 8) & (y >= 0) & (y < 8)
    held = [
        np.sum(inside & (x >= max(x0, 0)) & (x < min(x1, 8)) & (y >= max(y0, 0)) & (y < min(y1, 8)))
        for x0, y0, x1, y1 in boxes
    ]
    assert counted(xy, boxes) == held


@given(st.integers(0, 300), st.integers(0, 2**31))
def test_lattice_counts_agree_with_brute_force(n_records, seed):
    random = np.random.default_rng(seed)
    x, y = random.integers(0, 30, (2, n_records))
    boxes = np.sort(random.integers(0, 31, (50, 2, 2)), axis=1).reshape(-1, 4)
    held = [np.sum((x >= x0) & (x < x1) & (y >= y0) & (y < y1)) for x0, y0, x1, y1 in boxes]
    assert Counter(x, y).count(boxes).tolist() == held


def test_cells_agree_with_the_grid_and_region():
    region = shapely.Polygon([(0, 0), (8, 0), (0, 8)])
    domain = sdp.Domain((0, 0, 8, 8), region=region)
    xy = np.random.default_rng(1).uniform(-1, 9, (5000, 2))
    grid = domain.grid((1024, 1024))
    cells = sdp.workload.all_cells(domain, (1024, 1024)).boxes
    assert counted(xy, cells, domain) == count_cells(as_points(xy, domain), grid)[grid.mask].tolist()


def test_no_boxes_and_no_records():
    assert counted(np.empty((0, 2)), [(0, 0, 8, 8), (1, 1, 1, 1)]) == [0, 0]
    assert Counter(np.arange(3), np.arange(3)).count(np.empty((0, 4), dtype=np.int64)).size == 0


def test_polygons_that_tile_share_no_record_and_lose_none():
    """Records on the edges of the tiles too: a box's edge belongs to one of them."""
    random = np.random.default_rng(2)
    xy = np.vstack([random.uniform(0, 8, (500, 2)), random.integers(0, 9, (200, 2)), [[9, 9], [np.nan, 1]]])
    edges = [0, 2, 3, 8]
    tiles = np.array([shapely.box(a, c, b, d) for a, b in pairwise(edges) for c, d in pairwise(edges)])
    found = count_polygons(sdp.Points(xy), DOMAIN, tiles)
    assert found.sum() == 700
    assert found.tolist() == counted(xy, shapely.bounds(tiles))


def test_polygons_agree_with_brute_force():
    xy = np.random.default_rng(3).uniform(0, 8, (400, 2))
    shapes = np.array([shapely.Point(4, 4).buffer(2), shapely.Polygon([(0, 0), (8, 1), (3, 7)])])
    held = [shapely.contains_xy(shape, *xy.T).sum() for shape in shapes]
    assert count_polygons(sdp.Points(xy), DOMAIN, shapes).tolist() == held
