"""Cells and boxes on axes: in their place, in their colour."""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
import pytest
import shapely
from matplotlib.colors import Normalize, to_rgba

import spatialdp as sdp
from spatialdp.outputs.maps.colours import OUTSIDE
from spatialdp.outputs.maps.drawing import draw_boxes, draw_cells
from spatialdp.space.lattice import LATTICE

DOMAIN = sdp.Domain((10, 20, 14, 22))


def test_boxes_are_drawn_where_they_lie():
    half = LATTICE // 2
    boxes = np.array([(0, 0, half, LATTICE), (half, half, LATTICE, LATTICE)], dtype=float)
    ax = plt.figure().add_subplot()
    patches = draw_boxes(ax, DOMAIN, boxes, np.array([0.0, 1.0]), norm=Normalize(0, 1), lines=True)
    extents = [path.get_extents().extents for path in patches.get_paths()]
    assert np.array(extents) == pytest.approx(np.array([(10, 20, 12, 22), (12, 21, 14, 22)]))
    ax.figure.canvas.draw()
    low, high = patches.get_facecolors()
    assert tuple(low) != tuple(high)
    assert (ax.get_xlim(), ax.get_ylim()) == ((10, 14), (20, 22))


def test_cells_outside_the_region_are_left_to_the_background():
    domain = sdp.Domain((0, 0, 4, 2), region=shapely.box(0, 0, 2, 2))
    grid = domain.grid((4, 2))
    ax = plt.figure().add_subplot()
    image = draw_cells(ax, grid, np.arange(8.0).reshape(2, 4), norm=Normalize(0, 8))
    assert np.array_equal(image.get_array().mask, ~grid.mask)
    assert ax.get_facecolor() == to_rgba(OUTSIDE)
    assert list(image.get_extent()) == [0, 4, 0, 2]


@pytest.mark.parametrize(("crs", "stretch"), [(None, 1), ("EPSG:3857", 1), ("EPSG:4326", 2)])
def test_degrees_of_longitude_are_shorter_in_the_north(crs, stretch):
    unit = 1000 if crs == "EPSG:3857" else 1  # metres
    domain = sdp.Domain((0, 59 * unit, 2 * unit, 61 * unit), crs=crs)  # at 60 degrees a half as long
    ax = plt.figure().add_subplot()
    draw_cells(ax, domain.grid((2, 2)), np.zeros((2, 2)))
    assert ax.get_aspect() == pytest.approx(stretch, rel=1e-6)
