"""A field as an estimate: answers of cells, intervals of the tree behind it, groups of cells."""

from __future__ import annotations

import numpy as np
import pytest
import shapely

import spatialdp as sdp
from tests.estimates.fields.test_coarse import LAKE, estimate_of


@pytest.mark.parametrize("region", [None, LAKE], ids=["whole", "region"])
def test_moments_of_cells_are_those_of_their_boxes(region):
    estimate = estimate_of((40, 28), region, epsilon=0.3)
    for found, each in zip(estimate.cell_moments(), estimate.moments(estimate.finest.leaf_boxes()), strict=True):
        np.testing.assert_allclose(found, each, rtol=1e-6, atol=1e-12)


@pytest.mark.parametrize("region", [None, LAKE], ids=["whole", "region"])
def test_cells_of_a_group_have_the_same_interval(region):
    estimate = estimate_of((40, 28), region, epsilon=0.3)
    some, group = estimate.cell_groups()
    boxes = estimate.finest.leaf_boxes()
    answers = estimate.basis.answer(boxes)
    assert np.array_equal(group[some], np.arange(some.size))
    assert answers[some][group] == pytest.approx(answers, rel=1e-4, abs=1e-6)
    for each in estimate.moments(boxes):
        np.testing.assert_allclose(each[some][group], each, rtol=1e-4, atol=1e-9)
    assert some.size < group.size / 2


def test_leaves_have_the_sums_of_their_cells():
    estimate = estimate_of((40, 28), epsilon=0.3)
    assert estimate.leaf_values() == pytest.approx(estimate.answer(estimate.leaf_boxes()), abs=1e-6)
    assert estimate.leaf_values().sum() == pytest.approx(estimate.values.sum())


def test_cells_outside_the_region_are_empty():
    domain = sdp.Domain((0, 0, 1, 1), region=shapely.box(0, 0, 0.4, 1))
    estimate = sdp.Adaptive((20, 10)).release([], domain, epsilon=0.1, noise=sdp.SeededNoise(1)).estimate
    assert np.all(estimate.values[~estimate.grid.mask] == 0)
    assert estimate.leaf_of_cell.max() == estimate.n_cells


def test_pixels_of_a_raster_have_the_intervals_of_their_boxes():
    from spatialdp.outputs.files.exports import pixel_bands

    domain = sdp.Domain((0, 0, 1, 1), region=LAKE)
    release = sdp.Adaptive((20, 14)).release([[0.4, 0.5]] * 300, domain, epsilon=1, noise=sdp.SeededNoise(1))
    grid, bands = pixel_bands(release)
    boxes = np.array(
        [
            (grid.x_edges[c], grid.y_edges[r], grid.x_edges[c + 1], grid.y_edges[r + 1])
            for r, c in np.argwhere(grid.mask)
        ]
    )
    low, high = release.interval(boxes).T
    assert bands["estimate"][grid.mask] == pytest.approx(release.answer(boxes), abs=1e-9)
    assert bands["lower"][grid.mask] == pytest.approx(low, abs=1e-3)
    assert bands["upper"][grid.mask] == pytest.approx(high, abs=1e-2)
