"""Boxes as pixels, and upper ends of colour scales."""

from __future__ import annotations

import numpy as np
import pytest

import spatialdp as sdp
from spatialdp.outputs.maps.values import PIXELS, box_raster, highest, on_grid, pixels
from spatialdp.space.lattice import LATTICE, edge_lines
from tests.helpers.releases import release_of


def test_boxes_are_painted_where_they_are():
    estimate = release_of("kd").estimate
    boxes = estimate.leaf_boxes()
    painted = box_raster(boxes, (160, 120))
    x, y = ((np.arange(count) + 0.5) / count * 2**30 for count in (160, 120))
    for number, (x0, y0, x1, y1) in enumerate(boxes):
        inside = ((y >= y0) & (y < y1))[:, None] & ((x >= x0) & (x < x1))
        assert np.array_equal(painted == number, inside)


def test_little_of_the_area_is_above_the_end_of_the_scale():
    rng = np.random.default_rng(1)
    values = rng.exponential(5, 5000)
    for areas in (np.ones(5000), rng.uniform(0.1, 9, 5000)):
        high = highest(values, areas)
        assert areas[values > high].sum() <= 0.005 * areas.sum() < areas[values >= high].sum()
    assert highest(values, np.ones(5000)) == pytest.approx(highest(values, np.r_[1 + 1e-9, np.ones(4999)]))


def test_scales_have_an_end_above_zero():
    assert highest(np.array([-3.0, 0.0]), np.ones(2)) == 1
    assert highest(np.array([1e-320, 1e-160]), np.ones(2)) == 1  # no counts; a scale that ends there would overflow
    assert highest(np.empty(0), np.empty(0)) == 1
    assert highest(np.array([2.0]), np.ones(1)) == 2


def test_edges_on_lines_and_off_them():
    x, y = edge_lines(7), edge_lines(3)
    boxes = np.array([(x[i], y[j], x[i + 2], y[j + 1]) for i in range(6) for j in range(3)])
    assert on_grid(boxes, (7, 3))
    assert not on_grid(boxes, (7, 2))
    boxes[4, 2] += 1
    assert not on_grid(boxes, (7, 3))
    assert on_grid(np.array([[0, 0, LATTICE, LATTICE]]), (1, 1))


@pytest.mark.parametrize("size", [(1, 1), (8, 6), (1, 300), (5000, 1)])
def test_pixels_are_square_and_the_longer_side_has_a_fixed_number(size):
    width, height = size
    nx, ny = pixels(sdp.Domain((0, 0, width, height)))
    assert max(nx, ny) == PIXELS
    assert min(nx, ny) == max(1, round(PIXELS * min(size) / max(size)))
