"""Cells on the border of a region: boxes and polygons get their share of the cell's area in the region."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import shapely
from hypothesis import given
from hypothesis import strategies as st

import spatialdp as sdp
from spatialdp.estimates.grid_noise import IndependentNoise
from spatialdp.estimates.histogram import Histogram
from spatialdp.space.domain import RASTER_SIDE, Domain
from spatialdp.space.lattice import LATTICE
from spatialdp.space.regions.borders import Border, RegionArea

BOUNDS = (0.0, 0.0, 8.0, 4.0)
LAKE = shapely.Polygon(
    [(0.7, 0.4), (7.6, 0.2), (6.9, 3.7), (3.1, 3.9), (0.3, 2.2)], [[(3.2, 1.2), (4.7, 1.4), (4.1, 2.6)]]
)
PIXEL = LATTICE // RASTER_SIDE


def domain(region_cells="touching"):
    return Domain(BOUNDS, region=LAKE, region_cells=region_cells)


def histogram(shape=(8, 4), region_cells="touching"):
    grid = domain(region_cells).grid(shape)
    values = np.where(grid.mask, np.random.default_rng(0).integers(1, 100, grid.mask.shape), 0)
    return Histogram(grid, values, IndependentNoise(grid, 2.0, 3.0, 1.0))


def pixel_boxes(count, seed=1):
    """Lattice boxes along the raster's lines."""
    ends = np.sort(np.random.default_rng(seed).integers(0, RASTER_SIDE + 1, (count, 2, 2)), axis=2)
    return ends.transpose(0, 2, 1).reshape(count, 4) * PIXEL


def shares_by_counting(grid, box):
    """Share of each cell's raster cells in the region that lie in a box, all along the raster's lines, (ny, nx)."""
    raster, (nx, ny) = RegionArea.of(grid.domain).raster.mask, grid.shape
    inside = np.zeros_like(raster)
    west, south, east, north = box // PIXEL
    inside[south:north, west:east] = True
    per_cell = lambda pixels: pixels.reshape(ny, RASTER_SIDE // ny, nx, RASTER_SIDE // nx).sum(axis=(1, 3))  # noqa: E731
    return np.where(grid.mask, per_cell(inside & raster) / np.maximum(per_cell(raster), 1), 0.0)


@pytest.mark.parametrize("region_cells", ["touching", "centres"])
def test_answers_and_noise_are_those_of_counted_raster_cells(region_cells):
    estimate, boxes = histogram(region_cells=region_cells), pixel_boxes(60)
    shares = np.array([shares_by_counting(estimate.grid, box) for box in boxes])
    assert estimate.answer(boxes) == pytest.approx((shares * estimate.values).sum(axis=(1, 2)), abs=1e-6)
    variance, kurtosis = estimate.moments(boxes)
    assert variance == pytest.approx(2.0 * (shares**2).sum(axis=(1, 2)), abs=1e-7)
    assert kurtosis * variance**2 == pytest.approx(3.0 * 2.0**2 * (shares**4).sum(axis=(1, 2)), abs=1e-6)


def test_cuts_are_the_border_cells_that_a_box_covers_in_part():
    border, boxes = histogram((16, 8)).border, pixel_boxes(40, seed=2)
    ends = border.cell_boxes(border.cells)
    for box in boxes:
        cuts = border._cuts(box[None])
        low, high = np.maximum(ends[:, :2], box[:2]), np.minimum(ends[:, 2:], box[2:])
        met = (low < high).all(axis=1)
        whole = (low == ends[:, :2]).all(axis=1) & (high == ends[:, 2:]).all(axis=1)
        assert sorted(cuts.cell) == border.cells[met & ~whole].tolist()


@given(st.lists(st.integers(1, LATTICE - 1), min_size=1, max_size=3, unique=True), st.booleans())
def test_answers_of_parts_add_up_to_the_total(lines, upright):
    edges = [0, *sorted(lines), LATTICE]
    boxes = np.array([(a, 0, b, LATTICE) if upright else (0, a, LATTICE, b) for a, b in itertools.pairwise(edges)])
    estimate = histogram()
    assert estimate.answer(boxes).sum() == pytest.approx(estimate.total)


def test_polygons_are_answered_as_boxes_are():
    estimate, lattice_boxes = histogram((16, 8)), pixel_boxes(50, seed=3)
    x, y = estimate.grid.domain.axes
    corners = np.stack([axis.coordinates(lattice_boxes[:, i]) for i, axis in enumerate((x, y, x, y))])
    polygons = shapely.box(*corners)
    assert estimate.answer_polygons(polygons) == pytest.approx(estimate.answer(lattice_boxes), abs=1e-4)
    for ours, theirs in zip(estimate.polygon_moments(polygons), estimate.moments(lattice_boxes), strict=True):
        assert ours == pytest.approx(theirs, abs=1e-5)


def test_a_box_around_the_region_is_the_total_and_one_beside_it_is_empty():
    estimate = histogram((4, 2))
    west, south, east, north = LAKE.bounds
    around = estimate.grid.domain.boxes([(west - 0.01, south - 0.01, east + 0.02, north + 0.02)])
    whole = estimate.grid.domain.boxes([BOUNDS])
    assert estimate.answer(around) == pytest.approx(estimate.answer(whole))
    assert estimate.moments(around)[0] == pytest.approx(estimate.moments(whole)[0])
    beside = estimate.grid.domain.boxes([(0.0, 0.0, 0.25, 4.0), (7.8, 0, 8, 4)])
    assert (estimate.answer(beside) == 0).all()
    assert (estimate.moments(beside)[0] == 0).all()


@pytest.mark.parametrize(
    "mechanism", [sdp.Wavelet((16, 8)), sdp.Hierarchy((16, 8)), sdp.Quadtree(3), sdp.KdTree(4)], ids=repr
)
def test_mechanisms_answer_evenly_filled_regions_well(mechanism):
    """Records that fill the region evenly: shares of the area in the region are nearly true, plain shares are not."""
    points = np.random.default_rng(4).uniform(BOUNDS[:2], BOUNDS[2:], (400_000, 2))
    points = points[shapely.contains_xy(LAKE, *points.T)]
    release = mechanism.release(sdp.Points(points), domain=domain(), epsilon=1000, noise=sdp.SeededNoise(1))
    corners = np.sort(np.random.default_rng(5).uniform(BOUNDS[:2], BOUNDS[2:], (200, 2, 2)), axis=1).reshape(200, 4)
    truth = [np.count_nonzero(((points >= box[:2]) & (points < box[2:])).all(axis=1)) for box in corners]
    errors = release.answer(corners) - truth
    assert np.sqrt(np.mean(errors**2)) < 0.004 * len(points)
    assert np.abs(release.answer_polygons(shapely.box(*corners.T)) - release.answer(corners)).max() < 1e-3 * len(points)


def test_strategies_that_are_fitted_to_boxes_keep_plain_shares():
    """The one box of the workload has little noise; cells have a thousand times as much."""
    box = (0.5, 0.5, 6.3, 3.3)
    release = sdp.Tailored((16, 8), workload=[box]).release([], domain(), epsilon=1, noise=sdp.SeededNoise(1))
    assert release.estimate.border is None
    assert np.sqrt(release.estimate.moments(domain().boxes([box]))[0][0]) < 10


def test_there_is_no_border_without_a_region_or_on_fine_grids():
    assert Border.of(Domain(BOUNDS).grid((8, 4))) is None
    assert Border.of(domain().grid((RASTER_SIDE, RASTER_SIDE))) is None
    assert Border.of(Domain(BOUNDS, region=shapely.box(*BOUNDS)).grid((8, 4))) is None
    assert RegionArea.of(Domain(BOUNDS)) is None


def test_sampled_points_and_answers_agree():
    release = sdp.Flat((4, 2)).release(
        sdp.Points(np.full((50_000, 2), 0.9)), domain=domain(), epsilon=10, noise=sdp.SeededNoise(1)
    )
    box, points = (0.0, 0.0, 1.0, 2.0), release.sample(20_000, noise=sdp.SeededNoise(2))
    share = np.mean(((points >= box[:2]) & (points < box[2:])).all(axis=1))
    positive = np.maximum(release.estimate.values, 0.0)
    expected = Histogram(release.estimate.grid, positive, release.estimate.noise).answer(domain().boxes([box]))
    assert share == pytest.approx(float(expected[0] / positive.sum()), abs=0.02)


def test_cuts_are_listed_once_whatever_is_listed_together(monkeypatch):
    border, boxes = Border.of(domain().grid((8, 4))), pixel_boxes(40)
    ((_, together),) = border.listed(boxes)
    assert len(set(zip(together.box.tolist(), together.cell.tolist(), strict=True))) == together.box.size
    monkeypatch.setattr("spatialdp.space.regions.borders._CHUNK", 7)
    apart = [(part.start + cuts.box, cuts.cell, cuts.covered) for part, cuts in border.listed(boxes)]
    box, cell, covered = (np.concatenate(each) for each in zip(*apart, strict=True))
    order, same = np.lexsort((cell, box)), np.lexsort((together.cell, together.box))
    np.testing.assert_array_equal(box[order], together.box[same])
    np.testing.assert_array_equal(cell[order], together.cell[same])
    np.testing.assert_array_equal(covered[order], together.covered[same])
