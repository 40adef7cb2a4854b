"""Leaves painted on cells, and windows around cells."""

from __future__ import annotations

import numpy as np
import pytest

import spatialdp as sdp
from spatialdp.estimates.fields.raster import LeafRaster, Windows, filled, painted
from spatialdp.space.boxes.subdivision import Subdivision

BLOCKS = np.array([[0, 0, 2, 3], [2, 0, 5, 1], [2, 1, 5, 3]])


def raster(sizes=None):
    return LeafRaster(BLOCKS, np.ones((3, 5)) if sizes is None else sizes, np.ones(5), np.ones(3))


def test_each_cell_has_its_leaf():
    assert raster().leaf.tolist() == [[0, 0, 1, 1, 1], [0, 0, 2, 2, 2], [0, 0, 2, 2, 2]]
    assert raster().areas.tolist() == [6, 3, 6]
    width, height = raster().sides
    assert (width[0, 4], height[0, 4], width[2, 0], height[2, 0]) == (3, 1, 2, 3)


def test_cells_outside_the_region_are_in_no_leaf():
    sizes = np.ones((3, 5))
    sizes[0, 0] = 0
    found = raster(sizes)
    assert found.leaf[0, 0] == 3
    assert not found.inside[0, 0]
    assert found.areas[0] == 5
    assert found.at_cells(np.array([7.0, 8.0, 9.0]))[0, 0] == 0


def test_even_counts_come_back_as_sums_also_on_cells_of_different_sizes():
    found = raster(np.random.default_rng(1).uniform(0.5, 2, (3, 5)))
    counts = np.array([10.0, -3.0, 4.0])
    assert found.sums(found.even(counts)) == pytest.approx(counts)


def test_windows_are_centred_and_cut_off_at_the_edges():
    values = np.random.default_rng(2).random((6, 8))
    width, height = np.full((6, 8), 4), np.full((6, 8), 1)
    found = Windows(width, height).sums(values)
    assert found[3, 4] == pytest.approx(values[3, 2:7].sum())
    assert found[5, 0] == pytest.approx(values[5, 0:3].sum())
    assert Windows(np.ones((6, 8), dtype=int), height).sums(values) == pytest.approx(values)


def test_painted_blocks_leave_other_cells_without_a_number():
    """Also in long rows, which are added up one by one."""
    blocks = np.array([[2, 1, 700, 3], [0, 0, 2, 1], [700, 0, 702, 3]])
    expected = np.full((4, 705), 3)
    for number, (x0, y0, x1, y1) in enumerate(blocks):
        expected[y0:y1, x0:x1] = number
    assert np.array_equal(painted(blocks, (4, 705)), expected)
    assert np.array_equal(painted(blocks[:, [1, 0, 3, 2]], (705, 4)), expected.T)


def test_filled_cells_have_the_value_of_their_block():
    rng = np.random.default_rng(3)
    for shape in [(37, 50), (1, 9), (20, 1), (64, 64)]:
        leaves = blocks_of(shape, rng)
        values = rng.normal(size=len(leaves))
        number = painted(leaves, shape)
        expected = np.append(values, 0.0)[number]
        assert np.array_equal(filled(leaves, values, shape), expected)


def blocks_of(shape, rng):
    """Blocks of a grid that was halved here and there; some are left out."""
    division = Subdivision(sdp.Domain((0, 0, 1, 1)).grid(shape[::-1]))
    blocks = division.whole
    for _ in range(9):
        blocks, _ = division.halve(blocks, rng.integers(0, 2, len(blocks)))
    return blocks[rng.random(len(blocks)) < 0.8]
