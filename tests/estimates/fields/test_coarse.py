"""Fields on coarser cells: counts are joined without loss, and shared out again."""

from __future__ import annotations

import numpy as np
import pytest
import shapely

import spatialdp as sdp
from spatialdp.estimates.fields import field as field_module
from spatialdp.estimates.fields.coarse import coarse_counts, coarse_lines, refined
from spatialdp.trees.least_squares import two_pass
from spatialdp.trees.subdivision import Subdivision

LAKE = shapely.Point(0.4, 0.5).buffer(0.35)


def estimate_of(shape, region=None, epsilon=3, seed=2):
    rng = np.random.default_rng(seed)
    xy = np.clip(np.concatenate([rng.normal((0.3, 0.6), 0.05, (9000, 2)), rng.random((2000, 2))]), 0, 1)
    domain = sdp.Domain((0, 0, 1, 1), region=region)
    return sdp.Adaptive(shape).release(xy, domain, epsilon=epsilon, noise=sdp.SeededNoise(seed)).estimate


def lines_of(shape, longest):
    return coarse_lines(shape[0], longest), coarse_lines(shape[1], longest)


@pytest.mark.parametrize("region", [None, LAKE], ids=["whole", "region"])
@pytest.mark.parametrize(("shape", "longest"), [((64, 64), 4), ((50, 37), 3), ((128, 20), 8), ((33, 33), 33)])
def test_joined_counts_have_the_same_least_squares_fit(shape, longest, region):
    """All that was measured in a coarse cell is in its one count: fits of large nodes do not change."""
    estimate, lines = estimate_of(shape, region), lines_of(shape, longest)
    counts = coarse_counts(estimate._nodes, Subdivision(estimate.grid), lines)
    fine = two_pass(estimate.basis.tree, estimate._nodes.measured, estimate._nodes.variances)
    coarse = two_pass(counts.tree, counts.measured, counts.variances)
    assert coarse.estimates[0] == pytest.approx(fine.estimates[0], rel=1e-9)
    assert coarse.up_variance[0] == pytest.approx(fine.up_variance[0], rel=1e-9)
    assert counts.raster.areas.sum() == estimate.grid.n_cells
    assert counts.tree.n_leaves <= counts.raster.inside.sum()


def test_cells_that_are_not_joined_are_left_as_they_are():
    estimate = estimate_of((40, 24))
    counts = coarse_counts(estimate._nodes, Subdivision(estimate.grid), lines_of((40, 24), 1))
    assert counts.tree is estimate.basis.tree
    assert np.array_equal(counts.raster.sizes, np.ones((24, 40)))


@pytest.mark.parametrize("region", [None, LAKE], ids=["whole", "region"])
def test_shared_out_counts_add_up_to_those_of_coarse_cells(region):
    estimate, lines = estimate_of((50, 37), region), lines_of((50, 37), 4)
    counts = coarse_counts(estimate._nodes, Subdivision(estimate.grid), lines)
    field = np.random.default_rng(1).normal(10, 3, counts.raster.sizes.shape) * (counts.raster.sizes > 0)
    cells = refined(field, estimate._nodes, Subdivision(estimate.grid), lines)
    x, y = lines
    assert np.add.reduceat(np.add.reduceat(cells, y[:-1], axis=0), x[:-1], axis=1) == pytest.approx(field)
    assert np.all(cells[~estimate.grid.mask] == 0)


def test_a_coarse_field_answers_much_as_a_fine_one(monkeypatch):
    fine = estimate_of((96, 96))
    assert fine.values.shape == (96, 96)  # before the limit changes
    monkeypatch.setattr(field_module, "LONGEST_SIDE", 48)
    coarse = estimate_of((96, 96))
    boxes = coarse.grid.lattice_boxes(np.array([[0, 0, 96, 96], [10, 20, 60, 80], [24, 50, 32, 60]]))
    assert coarse.answer(boxes) == pytest.approx(fine.answer(boxes), rel=0.05)
    assert not np.array_equal(coarse.values, fine.values)


def test_lines_are_those_at_which_blocks_are_halved():
    assert coarse_lines(10, 3).tolist() == [0, 2, 5, 7, 10]
    assert coarse_lines(7, 1).tolist() == list(range(8))
    assert coarse_lines(5, 5).tolist() == [0, 5]
