"""Estimates on a grid: answers, bounds and cells by their definitions."""

from __future__ import annotations

import numpy as np
import pytest
import shapely

from spatialdp.estimates.grid_noise import IndependentNoise
from spatialdp.estimates.histogram import Histogram
from spatialdp.estimates.unevenness.grid import GridUnevenness
from spatialdp.space.domain import Domain
from spatialdp.space.polygons import read_polygons
from spatialdp.trees.adjust import NonNegative
from tests.helpers.boxes import coverage_in_region, every_cell

SHAPE = (6, 5)
DOMAINS = {
    "whole": Domain((0, 0, 1, 1)),
    "region": Domain((0, 0, 1, 1), region=shapely.Polygon([(0, 0), (0.8, 0), (0.8, 0.5), (0.3, 0.7), (0, 0.4)])),
}
RNG = np.random.default_rng(9)
VALUES = RNG.normal(3, 5, SHAPE[::-1])
BOXES = np.sort(RNG.random((40, 2, 2)), axis=1).reshape(-1, 4)
both_domains = pytest.mark.parametrize("name", DOMAINS)


def histogram(name, values=VALUES):
    grid = DOMAINS[name].grid(SHAPE)
    return Histogram(grid, np.where(grid.mask, values, 0.0), IndependentNoise(grid, 2.0, 3.0, 1.0))


def cell_shares(grid):
    """(boxes, rows, columns): covered share of each cell's area in the region, and 0 for cells outside it."""
    shares = np.zeros((len(BOXES), grid.mask.size))
    inside = grid.mask.ravel()
    shares[:, inside] = coverage_in_region(every_cell(grid)[inside], grid.domain.boxes(BOXES), grid.domain)
    return shares.reshape(-1, *grid.mask.shape)


@both_domains
def test_answers_are_sums_over_covered_shares(name):
    estimate = histogram(name)
    expected = np.einsum("mij,ij->m", cell_shares(estimate.grid), estimate.values)
    np.testing.assert_allclose(estimate.answer(DOMAINS[name].boxes(BOXES)), expected, atol=1e-6)
    polygons = read_polygons(list(shapely.box(*BOXES.T)), DOMAINS[name])
    np.testing.assert_allclose(estimate.answer_polygons(polygons), expected, atol=1e-5)
    assert estimate.total == pytest.approx(estimate.values.sum())


@both_domains
def test_moments_are_sums_over_powers_of_shares(name):
    estimate = histogram(name)
    shares = cell_shares(estimate.grid) * estimate.grid.mask
    squares, fourths = ((shares**power).sum(axis=(1, 2)) for power in (2, 4))
    variance, kurtosis = estimate.moments(DOMAINS[name].boxes(BOXES))
    np.testing.assert_allclose(variance, 2 * squares, atol=1e-6)
    held = squares > 1e-4
    np.testing.assert_allclose(kurtosis[held], 3 * fourths[held] / squares[held] ** 2, rtol=1e-3)
    assert not kurtosis[squares == 0].any()


@both_domains
def test_uneven_spread_is_bounded_by_the_cut_cells(name):
    estimate = histogram(name)
    shares = cell_shares(estimate.grid)
    worst = np.where((shares > 1e-9) & (shares < 1 - 1e-9), np.maximum(shares, 1 - shares), 0.0)
    expected = np.einsum("mij,ij->m", worst, np.maximum(estimate.values, 0.0))
    np.testing.assert_allclose(estimate.uniformity(DOMAINS[name].boxes(BOXES)), expected, atol=1e-6)


@both_domains
def test_leaves_are_the_regions_cells_row_by_row(name):
    estimate = histogram(name)
    boxes = estimate.leaf_boxes()
    assert len(boxes) == estimate.n_cells == estimate.grid.mask.sum()
    np.testing.assert_allclose(estimate.answer(boxes), estimate.leaf_values(), atol=1e-9)
    assert np.array_equal(estimate.leaf_values(), estimate.values[estimate.grid.mask])
    assert np.array_equal(estimate.leaf_boxes(np.array([2, 0])), boxes[[2, 0]])


def test_values_are_copied_and_cannot_be_written():
    values = VALUES.copy()
    estimate = histogram("whole", values)
    values[0, 0] = 1e9
    assert estimate.values[0, 0] == VALUES[0, 0]
    with pytest.raises(ValueError, match="read-only"):
        estimate.values[0, 0] = 0


def test_adjusted_values_are_the_closest_allowed_ones_and_marked():
    estimate = histogram("whole")
    above, whole = estimate.non_negative(NonNegative.FAMILIES), estimate.rounded()
    assert np.array_equal(above.values, np.where(VALUES > 0, VALUES, 0))
    assert np.abs(whole.values - VALUES).max() <= 0.5
    assert np.array_equal(whole.values % 1, 0 * VALUES)
    assert (estimate.biased, above.biased, whole.biased) == (False, True, True)


@both_domains
def test_boxes_of_whole_cells_have_no_allowance_and_ask_for_none(name, monkeypatch):
    estimate = histogram(name)
    whole = estimate.leaf_boxes()
    cut = whole + np.array([1, 0, 0, 0])
    learnt = estimate.allowance(np.concatenate([whole, cut]))
    assert not learnt.variance[: len(whole)].any()
    assert learnt.variance[len(whole) :].any()
    monkeypatch.setattr(GridUnevenness, "of", None)
    assert not histogram(name).allowance(whole).variance.any()
    with pytest.raises(TypeError):
        histogram(name).allowance(cut)
