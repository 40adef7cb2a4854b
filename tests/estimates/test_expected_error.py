"""Errors to expect: root-mean-squares of the noise, over boxes that are spread over the domain."""

from __future__ import annotations

import numpy as np
import pytest

from spatialdp.estimates.expected_error import expected_error, sized_boxes, some_leaves
from spatialdp.estimates.grid_noise import IndependentNoise
from spatialdp.estimates.histogram import Histogram
from spatialdp.space.domain import Domain
from spatialdp.space.lattice import LATTICE

DOMAIN = Domain((-10, 40, 10, 50))


def flat(shape, variance=3.0):
    grid = DOMAIN.grid(shape)
    return Histogram(grid, np.zeros(shape[::-1]), IndependentNoise(grid, variance, 0.0, 1.0))


def test_the_error_is_the_root_of_the_mean_variance():
    estimate = flat((4, 4))
    boxes = DOMAIN.boxes([(-10, 40, -5, 50), (-10, 40, 10, 50), (-10, 40, -10, 40)])  # of 4, 16 and no cells
    assert expected_error(estimate, boxes) == pytest.approx(np.sqrt(3.0 * (4 + 16 + 0) / 3))


@pytest.mark.parametrize("share", [0.001, 0.25, 1.0])
def test_sized_boxes_have_the_share_and_the_proportions_of_the_domain_and_lie_in_it(share):
    boxes = sized_boxes(DOMAIN, share)
    assert boxes.min() >= 0
    assert boxes.max() <= LATTICE
    width, height = (boxes[:, 2:] - boxes[:, :2]).T / LATTICE
    np.testing.assert_allclose(width, np.sqrt(share), rtol=1e-6)
    np.testing.assert_allclose(height, np.sqrt(share), rtol=1e-6)


def test_sized_boxes_are_spread_over_the_domain():
    centres = (boxes := sized_boxes(DOMAIN, 0.01))[:, :2] + (boxes[:, 2:] - boxes[:, :2]) // 2
    held, _, _ = np.histogram2d(*centres.T, bins=4, range=[(0, LATTICE)] * 2)
    assert held.min() > 0.5 * held.mean()


@pytest.mark.parametrize("shape", [(1, 1), (20, 20), (400, 1)])
def test_all_leaves_are_taken_while_there_are_few(shape):
    estimate = flat(shape)
    assert np.array_equal(some_leaves(estimate), estimate.leaf_boxes())


def test_some_of_many_leaves_are_spread_over_the_domain():
    estimate = flat((50, 40))
    boxes = some_leaves(estimate)
    assert len(boxes) == 400
    assert {tuple(box) for box in boxes.tolist()} <= {tuple(box) for box in estimate.leaf_boxes().tolist()}
    held, _ = np.histogram(boxes[:, 1], bins=8, range=(0, LATTICE))
    assert held.min() > 0.7 * held.mean()
