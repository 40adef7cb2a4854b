"""Lines of large cells: they cut no block, and each grid has some of the lines of the one before."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

import spatialdp as sdp
from spatialdp.estimates.fields.halvings import coarser_lines, halved, uncut_lines
from spatialdp.space.boxes.subdivision import Subdivision

SHAPES = [(8, 8), (7, 5), (12, 1), (1, 9), (33, 17), (37, 50), (20, 6), (16, 31), (1, 1), (2, 3)]


def all_blocks(shape):
    """Every block of a grid, from the whole grid to its cells."""
    division = Subdivision(sdp.Domain((0, 0, 1, 1)).grid(shape))
    found = [division.whole]
    while division.halvings(found[-1]).any():
        found.append(division.halve(found[-1], np.ones(len(found[-1]), dtype=int))[0])
    return np.unique(np.concatenate(found), axis=0)


def is_cut(block, x, y):
    """Whether a block is neither a union of cells between lines nor within one of them."""
    is_union = block[0] in x and block[2] in x and block[1] in y and block[3] in y
    column, row = np.searchsorted(x, block[0], "right"), np.searchsorted(y, block[1], "right")
    return not is_union and not (block[2] <= x[column] and block[3] <= y[row])


@pytest.mark.parametrize("shape", SHAPES)
def test_no_block_is_cut_by_lines_that_are_returned(shape):
    blocks = all_blocks(shape)
    for x, y in uncut_lines(shape):
        assert not any(is_cut(block, x, y) for block in blocks)


@pytest.mark.parametrize("shape", SHAPES)
def test_every_other_pair_of_halvings_cuts_a_block(shape):
    blocks, found = all_blocks(shape), {(x.size, y.size) for x, y in uncut_lines(shape)}
    times = [range(int(np.ceil(np.log2(length))) + 1) for length in shape]
    for x, y in ((halved(shape[0], i), halved(shape[1], j)) for i in times[0] for j in times[1]):
        assert ((x.size, y.size) in found) == (not any(is_cut(block, x, y) for block in blocks))


def test_lines_are_those_at_which_blocks_are_halved():
    assert halved(10, 2).tolist() == [0, 2, 5, 7, 10]
    assert halved(7, 3).tolist() == list(range(8))
    assert halved(5, 0).tolist() == [0, 5]


@pytest.mark.parametrize("shape", [*SHAPES, (256, 256), (700, 500), (1000, 10), (1, 3000), (257, 256)])
def test_each_grid_has_some_of_the_lines_of_the_one_before_down_to_one_cell(shape):
    grids = coarser_lines(np.ones(shape[0]), np.ones(shape[1]))
    assert shape == (1, 1) or [each.tolist() for each in grids[-1]] == [[0], [0]]
    for finer, coarser in pairwise([(np.arange(shape[0]), np.arange(shape[1])), *grids]):
        for some, all_lines in zip(coarser, finer, strict=True):
            assert np.isin(some, all_lines).all()
            assert np.diff(np.searchsorted(all_lines, some), append=all_lines.size).max() <= 4
        assert coarser[0].size * coarser[1].size < finer[0].size * finer[1].size


def test_lines_of_cells_that_are_joined_already_are_numbers_of_these_cells():
    widths = np.diff(halved(10, 2))
    grids = coarser_lines(widths.astype(float), np.diff(halved(7, 2)).astype(float))
    assert [(x.tolist(), y.tolist()) for x, y in grids] == [([0, 2], [0, 2]), ([0], [0])]
