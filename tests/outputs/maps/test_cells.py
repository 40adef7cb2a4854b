"""The cells that a map shows, and those that are marked as noise."""

from __future__ import annotations

import numpy as np
import pytest

import spatialdp as sdp
from spatialdp.outputs.maps.cells import map_cells
from tests.helpers.pictures import marks_of
from tests.helpers.releases import REGION as PENTAGON
from tests.helpers.releases import release_of


@pytest.mark.parametrize("name", ["flat", "tailored", "kd", "quadtree, pruned", "quadtree, raw", "hierarchy"])
def test_marked_cells_are_those_whose_interval_reaches_zero(name):
    release = release_of(name, PENTAGON)
    cells = map_cells(release.estimate)
    x, y, x1, y1 = (axis.coordinates(cells.boxes[:, i]) for i, axis in enumerate(release.domain.axes * 2))
    intervals = release.interval(np.stack([x, y, x1, y1], axis=1))
    reaches_zero = intervals[:, 0] < 0
    assert 0 < reaches_zero.sum() < reaches_zero.size
    assert np.array_equal(cells.within_noise, reaches_zero)
    (marks,) = marks_of(release.plot())
    rows, columns = marks.marked.shape
    centre = np.array([(x + x1) / 2 / 8 * columns, (y + y1) / 2 / 6 * rows]).astype(int)
    large = (x1 - x > 0.02) & (y1 - y > 0.02)  # at least a few pixels
    assert np.array_equal(marks.marked[centre[1], centre[0]][large], reaches_zero[large])


@pytest.mark.statistical
def test_one_empty_cell_in_forty_is_not_marked():
    release = sdp.Flat((200, 200)).release([], sdp.Domain((0, 0, 1, 1)), epsilon=0.1, noise=sdp.SeededNoise(2))
    unmarked = 1 - map_cells(release.estimate).within_noise.mean()
    assert 0.02 < unmarked < 0.03  # the standard error is 0.0008


@pytest.mark.parametrize("name", ["quadtree", "quadtree, pruned", "hierarchy"])
def test_trees_on_a_grid_are_drawn_as_an_image_of_its_cells(name):
    release = release_of(name)
    (image,) = release.plot().get_images()
    nx, ny = map_cells(release.estimate).shape
    assert image.get_array().shape == (ny, nx)
    cells = map_cells(release.estimate)
    place = (cells.boxes[0, :2] / 2**30 * (nx, ny)).round().astype(int)
    assert image.get_array()[place[1], place[0]] == cells.values[0]
