"""Pairs of neighbouring blocks have the right sums, and the noise of their own differences."""

from __future__ import annotations

import numpy as np
import pytest

import spatialdp as sdp
from spatialdp.estimates.unevenness import blocks
from spatialdp.estimates.unevenness.blocks import CellCounts, neighbours, some_places, strip

UNIT = sdp.Domain((0, 0, 1, 1))

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


def test_places_have_all_remainders_equally_often():
    rows, columns = some_places(np.ones((127, 128), dtype=bool))
    assert np.bincount(rows % 8).tolist() == np.bincount(columns % 8).tolist() == [8] * 8
    assert np.unique(rows % 8 * 8 + columns % 8).size == 64


@pytest.mark.parametrize("shape", [(1, 1), (3, 2), (1, 500), (200, 75)])
def test_places_are_allowed_ones(shape):
    allowed = np.random.default_rng(1).random(shape) < 0.5
    allowed[0, 0] = True
    rows, columns = some_places(allowed)
    assert rows.size
    assert allowed[rows, columns].all()
    alone = np.zeros(shape, dtype=bool)
    alone[-1, -1] = True
    assert alone[some_places(alone)].all()
    assert some_places(np.zeros(shape, dtype=bool))[0].size == 0


@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("mechanism", [sdp.Wavelet((64, 64)), sdp.Quadtree(6)], ids=["wavelet", "quadtree"])
def test_noise_of_neighbours_is_that_of_all_of_them(mechanism, axis, monkeypatch):
    """Cells with the same parent differ by more noise, so a choice of places that prefers them would be wrong."""
    estimate = mechanism.prepare(UNIT, epsilon=1).release([], noise=sdp.SeededNoise(1)).estimate
    grid = UNIT.grid((64, 64))
    counts = CellCounts(
        np.zeros((64, 64)), np.ones((64, 64), dtype=bool), lambda b: estimate.moments(grid.lattice_boxes(b))[0]
    )
    siblings = np.s_[:, ::2] if axis == 0 else np.s_[::2]

    def only_siblings(allowed):
        some = np.zeros_like(allowed)
        some[siblings] = allowed[siblings]
        return np.nonzero(some)

    found = []
    for choice in (some_places, np.nonzero, only_siblings):
        monkeypatch.setattr(blocks, "some_places", choice)
        (pairs,) = neighbours(counts, [(1, 1, axis)]).values()
        found.append((pairs.difference_variance, pairs.total_variance))
    assert found[0] == pytest.approx(found[1], rel=0.02)
    assert found[2][0] > 1.05 * found[1][0]
