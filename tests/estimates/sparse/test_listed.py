"""Lists of cells answer as a plain grid that is 0 wherever nothing is listed, and know their noise."""

from __future__ import annotations

import numpy as np
import pytest
import shapely

import spatialdp as sdp
from spatialdp.errors import ReleaseError
from spatialdp.estimates.grid_noise import IndependentNoise
from spatialdp.estimates.histogram import Histogram
from spatialdp.estimates.sparse.listed import ListedCells
from spatialdp.space.fine_grid import FineGrid
from spatialdp.space.lattice import LATTICE

DOMAIN = sdp.Domain((0, 0, 8, 6))
SHAPE = (8, 6)
PLACES = np.array([[1, 0], [2, 0], [7, 2], [3, 5], [4, 5]])
VALUES = np.array([60.0, -3.0, 91.0, 55.0, 2.0])
LISTED = ListedCells(FineGrid(DOMAIN, SHAPE), *PLACES.T, VALUES, 50.0, 0.7, 32.0, 3.03, 1.0)


def dense(values=VALUES):
    cells = np.zeros(SHAPE[::-1])
    cells[PLACES[:, 1], PLACES[:, 0]] = values
    grid = DOMAIN.grid(SHAPE)
    return Histogram(grid, cells, IndependentNoise(grid, 32.0, 3.03, 1.0))


def boxes(count=300):
    random = np.random.default_rng(1)
    some = np.sort(random.integers(0, LATTICE + 1, (count, 2, 2)), axis=1).reshape(-1, 4)
    return np.concatenate([some, DOMAIN.boxes([(0, 0, 8, 6), (1, 0, 2, 1), (1, 1, 1, 4), (0, 0, 3, 5)])])


def shares():
    """The covered share of each listed cell in each box."""
    asked, cells = boxes()[:, None, :], LISTED.leaf_boxes()[None]
    sides = np.minimum(asked[..., 2:], cells[..., 2:]) - np.maximum(asked[..., :2], cells[..., :2])
    return (np.maximum(sides, 0) / (cells[..., 2:] - cells[..., :2])).prod(axis=2)


def test_answers_are_those_of_a_grid_that_is_empty_elsewhere():
    assert LISTED.answer(boxes()) == pytest.approx(dense().answer(boxes()), abs=1e-9)
    assert LISTED.total == VALUES.sum() == LISTED.answer(boxes()[300:301])[0]
    assert LISTED.uniformity(boxes()) == pytest.approx(dense().uniformity(boxes()), abs=1e-6)


def test_noise_is_that_of_the_covered_shares():
    variance, kurtosis = LISTED.moments(boxes())
    second, fourth = ((shares() ** power).sum(axis=1) for power in (2, 4))
    assert variance == pytest.approx(32 * second)
    with np.errstate(invalid="ignore"):
        assert kurtosis == pytest.approx(np.where(second > 0, 3.03 * fourth / second**2, 0), abs=1e-9)


def test_allowance_is_for_records_that_lie_in_one_place_of_a_cut_cell():
    squares = np.maximum(VALUES, 0) ** 2 + 32
    assert LISTED.allowance(boxes()).variance == pytest.approx((shares() * (1 - shares())) @ squares, abs=1e-6)
    assert not LISTED.leaf_allowance().variance.any()


def test_boxes_that_cut_no_listed_cell_have_noise_in_steps():
    cut = ((shares() > 0) & (shares() < 1)).any(axis=1)
    assert np.array_equal(LISTED.in_steps(boxes()), ~cut)
    assert 0 < cut.sum() < cut.size


def test_polygons_that_are_boxes_are_answered_as_these():
    lines = boxes()[:300]
    corners = np.stack([axis.coordinates(lines[:, i]) for i, axis in enumerate(DOMAIN.axes * 2)])
    polygons = shapely.box(*corners)
    assert LISTED.answer_polygons(polygons) == pytest.approx(LISTED.answer(lines), rel=1e-5, abs=1e-4)
    for mine, theirs in zip(LISTED.polygon_moments(polygons), LISTED.moments(lines), strict=True):
        assert mine == pytest.approx(theirs, rel=1e-4, abs=1e-4)
    allowances = [LISTED.polygon_allowance(polygons).variance, LISTED.allowance(lines).variance]
    assert allowances[0] == pytest.approx(allowances[1], rel=1e-3, abs=1e-2)
    assert np.array_equal(LISTED.polygons_in_steps(polygons), LISTED.in_steps(lines))


def test_triangle_takes_its_shares_of_listed_cells():
    half = shapely.Polygon([(1, 0), (2, 0), (1, 1)])
    assert LISTED.answer_polygons(np.array([half])) == pytest.approx([30], rel=1e-5)


def test_leaves_are_the_listed_cells():
    assert LISTED.n_cells == 5
    assert LISTED.answer(LISTED.leaf_boxes()) == pytest.approx(VALUES)
    assert np.array_equal(LISTED.leaf_boxes(np.array([0, 4])), LISTED.leaf_boxes()[[0, 4]])
    assert LISTED.leaf_moments()[0].tolist() == [32.0] * 5
    assert LISTED.leaf_values().tolist() == VALUES.tolist()
    assert LISTED.unbiased is LISTED.finest is LISTED


def test_adjusted_lists_are_biased():
    assert LISTED.non_negative().values.min() == 0
    assert LISTED.non_negative().biased
    assert LISTED.rounded().biased


def test_empty_list_answers_zero():
    nothing = np.empty(0, dtype=int)
    empty = ListedCells(FineGrid(DOMAIN, (2**30, 2**30)), nothing, nothing, np.empty(0), 83.0, 1e-9, 32.0, 3.0, 1.0)
    assert not empty.answer(boxes()).any()
    assert not empty.moments(boxes())[0].any()
    assert empty.answer_polygons(np.array([shapely.box(0, 0, 3, 3)])).tolist() == [0]
    assert empty.total == 0


def test_words_say_what_is_missing():
    words = LISTED.in_words("persons")
    assert "48 cells (of a grid of 8 × 6)" in words
    assert "at least 50 persons" in words
    assert "0.7 empty cells" in words


def test_intervals_cover_the_records_in_listed_cells():
    domain, random = sdp.Domain((0, 0, 1, 1)), np.random.default_rng(5)
    places = random.random((30, 2))
    records = np.repeat(places, random.integers(100, 500, 30), axis=0)
    prepared = sdp.Sparse((2**30, 2**30)).prepare(domain, epsilon=1)
    asked = np.sort(random.random((40, 2, 2)), axis=1).reshape(-1, 4)
    x, y = records.T
    truth = [np.sum((x >= x0) & (x < x1) & (y >= y0) & (y < y1)) for x0, y0, x1, y1 in asked]
    covered = []
    for seed in range(40):
        low, high = prepared.release(records, noise=sdp.SeededNoise(seed)).interval(asked).T
        covered.append(np.mean((low <= truth) & (truth <= high)))
    assert np.mean(covered) >= 0.94


def test_version_of_the_slides_has_no_intervals():
    release = sdp.Sparse((8, 8), remeasure=0).release([[0.5, 0.5]] * 99, sdp.Domain((0, 0, 1, 1)), epsilon=1)
    assert release.estimate.biased
    with pytest.raises(ReleaseError, match="listed by its own noise"):
        release.interval((0, 0, 1, 1))
