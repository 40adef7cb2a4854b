"""Blocks of cells that are halved: parts cover the region's cells once, down to single cells."""

from __future__ import annotations

import numpy as np
import pytest
import shapely
from hypothesis import given
from hypothesis import strategies as st

from spatialdp.space.boxes.subdivision import Subdivision, block_sums, summed_areas
from spatialdp.space.domain import Domain

PUDDLES = shapely.MultiPolygon([shapely.Point(0.3, 0.3).buffer(0.2), shapely.box(0.9, 0.9, 1, 1)])


def painted(parts, shape):
    cover = np.zeros(shape[::-1], dtype=int)
    for x0, y0, x1, y1 in parts:
        cover[y0:y1, x0:x1] += 1
    return cover


@given(st.integers(1, 40), st.integers(1, 40), st.integers(0, 12), st.booleans())
def test_parts_cover_every_cell_of_the_region_once(nx, ny, times, region):
    grid = Domain((0, 0, 1, 1), region=PUDDLES if region else None).grid((nx, ny))
    division = Subdivision(grid)
    parts, owner = division.halve(division.whole, np.array([times]))
    cover = painted(parts, (nx, ny))
    assert np.all(cover[grid.mask] == 1)
    assert cover.max() == 1
    assert np.all(division.cells(parts) > 0)
    assert division.cells(parts).sum() == grid.n_cells
    assert np.all(owner == 0)
    assert len(parts) <= 2**times


@pytest.mark.parametrize("region", [None, PUDDLES])
@pytest.mark.parametrize("shape", [(8, 8), (7, 13), (1, 9), (1, 1)])
def test_enough_halvings_leave_single_cells(shape, region):
    grid = Domain((0, 0, 1, 1), region=region).grid(shape)
    division = Subdivision(grid)
    parts, _ = division.halve(division.whole, division.halvings(division.whole))
    assert len(parts) == grid.n_cells
    assert np.all(parts[:, 2:] - parts[:, :2] == 1)


def test_halving_in_a_region_always_divides_its_cells():
    """A block whose cells all lie in one half shrinks first; otherwise the same cells would be counted again."""
    grid = Domain((0, 0, 1, 1), region=shapely.box(0, 0, 0.24, 0.24)).grid((64, 64))
    division = Subdivision(grid)
    parts, _ = division.halve(division.whole, np.array([1]))
    assert len(parts) == 2
    assert division.cells(parts).tolist() == [grid.n_cells // 2] * 2


def test_blocks_are_halved_across_their_longer_side_rows_first():
    division = Subdivision(Domain((0, 0, 1, 1)).grid((8, 8)))
    blocks = np.array([[0, 0, 8, 8], [0, 0, 8, 4], [0, 0, 4, 8]])
    parts, owner = division.halve(blocks, np.ones(3, dtype=int))
    assert parts.tolist() == [[0, 0, 8, 4], [0, 4, 8, 8], [0, 0, 4, 4], [4, 0, 8, 4], [0, 0, 4, 4], [0, 4, 4, 8]]
    assert owner.tolist() == [0, 0, 1, 1, 2, 2]


def test_several_blocks_are_halved_as_often_as_each_wants():
    division = Subdivision(Domain((0, 0, 1, 1)).grid((8, 8)))
    blocks = np.array([[0, 0, 4, 4], [4, 0, 8, 4], [4, 4, 5, 5]])
    parts, owner = division.halve(blocks, np.array([0, 3, 9]))
    assert np.bincount(owner).tolist() == [1, 8, 1]
    assert parts[0].tolist() == blocks[0].tolist()


def test_block_sums_are_sums_over_cells():
    rng = np.random.default_rng(1)
    values = rng.integers(0, 9, (5, 7))
    blocks = np.array([[0, 0, 7, 5], [2, 1, 6, 4], [3, 3, 3, 5]])
    expected = [values[y0:y1, x0:x1].sum() for x0, y0, x1, y1 in blocks]
    assert block_sums(summed_areas(values), blocks).tolist() == expected


@pytest.mark.parametrize("shape", [(3, 600), (600, 3), (1, 1)])
def test_summed_areas_are_running_sums_along_both_axes(shape):
    values = np.random.default_rng(2).integers(0, 9, shape)
    sums = summed_areas(values)
    assert np.array_equal(sums[1:, 1:], values.cumsum(axis=0).cumsum(axis=1))
    assert not sums[0].any()
    assert not sums[:, 0].any()
