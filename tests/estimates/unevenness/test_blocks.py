"""Pairs of neighbouring blocks have the right sums, and the noise of their own differences."""

from __future__ import annotations

import numpy as np
import pytest

from spatialdp.estimates.unevenness.blocks import CellCounts, neighbours, strip

VALUES = np.arange(48.0).reshape(6, 8)


def area(boxes):
    return 3.0 * np.prod(boxes[:, 2:] - boxes[:, :2], axis=1)


def counts_of(mask=None):
    return CellCounts(VALUES, np.ones(VALUES.shape, dtype=bool) if mask is None else mask, area)


@pytest.mark.parametrize("axis", [0, 1])
def test_pairs_of_cells_are_all_neighbours_along_an_axis(axis):
    (pairs,) = neighbours(counts_of(), [(1, 1, axis)]).values()
    assert pairs.difference.tolist() == (-np.diff(VALUES, axis=1 - axis)).ravel().tolist()
    assert pairs.total.sum() == 2 * VALUES.sum() - np.take(VALUES, [0, -1], axis=1 - axis).sum()
    assert (pairs.difference_variance, pairs.total_variance) == (6, 6)


def test_strips_run_along_the_edges():
    assert (strip(4, 0), strip(4, 1), strip(4, 0, width=2)) == ((1, 4, 0), (4, 1, 1), (2, 4, 0))
    (pairs,) = neighbours(counts_of(), [strip(6, 0)]).values()
    assert pairs.difference.tolist() == (-np.diff(VALUES.sum(axis=0))).tolist()
    assert pairs.total_variance == 3 * 12


def test_only_whole_blocks_in_the_region_are_compared():
    mask = np.ones(VALUES.shape, dtype=bool)
    mask[:, 4] = False
    found = neighbours(counts_of(mask), [(2, 2, 0), (8, 6, 0)])
    assert list(found) == [(2, 2, 0)]  # two blocks of 8 x 6 cells are not side by side
    assert found[2, 2, 0].difference.size == 3  # columns 0 to 3, in three rows of blocks
