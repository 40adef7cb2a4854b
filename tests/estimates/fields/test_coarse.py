"""Fields on coarser cells: counts are joined without loss, and shared out again."""

from __future__ import annotations

import numpy as np
import pytest
import shapely

import spatialdp as sdp
from spatialdp.estimates.fields import coarse
from spatialdp.estimates.fields.coarse import coarse_counts, coarse_lines, refined
from spatialdp.estimates.fields.halvings import halved
from spatialdp.space.boxes.subdivision import Subdivision
from spatialdp.trees.least_squares import two_pass

LAKE = shapely.Point(0.4, 0.5).buffer(0.35)


def estimate_of(shape, region=None, epsilon=3, seed=2):
    rng = np.random.default_rng(seed)
    xy = np.clip(np.concatenate([rng.normal((0.3, 0.6), 0.05, (9000, 2)), rng.random((2000, 2))]), 0, 1)
    domain = sdp.Domain((0, 0, 1, 1), region=region)
    return sdp.Adaptive(shape).release(xy, domain, epsilon=epsilon, noise=sdp.SeededNoise(seed)).estimate


def lines_of(shape, longest):
    """Lines between cells of at most so many columns and rows."""
    return tuple(
        next(lines for times in range(20) if np.diff(lines := halved(length, times)).max() <= longest)
        for length in shape
    )


@pytest.mark.parametrize("region", [None, LAKE], ids=["whole", "region"])
@pytest.mark.parametrize(("shape", "longest"), [((64, 64), 4), ((50, 37), 3), ((128, 20), 8), ((33, 33), 33)])
def test_joined_counts_have_the_same_least_squares_fit(shape, longest, region):
    """All that was measured in a coarse cell is in its one count: fits of large nodes do not change."""
    estimate, lines = estimate_of(shape, region), lines_of(shape, longest)
    counts = coarse_counts(estimate._nodes, Subdivision(estimate.grid), lines)
    fine = two_pass(estimate.basis.tree, estimate._nodes.measured, estimate._nodes.variances)
    joined = two_pass(counts.tree, counts.measured, counts.variances)
    assert joined.estimates[0] == pytest.approx(fine.estimates[0], rel=1e-9)
    assert joined.up_variance[0] == pytest.approx(fine.up_variance[0], rel=1e-9)
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
    assert fine.values.shape == (96, 96)  # before the limits change
    monkeypatch.setattr(coarse, "MOST_CELLS", 2**11)
    monkeypatch.setattr(coarse, "FEWER_CELLS", 2**12)
    other = estimate_of((96, 96))
    boxes = other.grid.lattice_boxes(np.array([[0, 0, 96, 96], [10, 20, 60, 80], [24, 50, 32, 60]]))
    assert other.answer(boxes) == pytest.approx(fine.answer(boxes), rel=0.05)
    assert not np.array_equal(other.values, fine.values)


@pytest.mark.parametrize("shape", [(51, 22), (60, 60), (62, 62), (70, 50), (52, 52), (96, 40), (100, 100), (33, 129)])
def test_coarse_cells_cut_no_blocks(shape, monkeypatch):
    """Nothing that was measured is dropped: a leaf of several coarse cells is one leaf of the tree."""
    monkeypatch.setattr(coarse, "MOST_CELLS", 2**9)
    monkeypatch.setattr(coarse, "FEWER_CELLS", 2**10)
    estimate = estimate_of(shape, epsilon=30)
    x, y = lines = coarse_lines(shape)
    assert (x.size - 1) * (y.size - 1) <= 2**10
    counts = coarse_counts(estimate._nodes, Subdivision(estimate.grid), lines)
    leaves, blocks = estimate._leaves, counts.raster.blocks
    of_leaves = np.zeros((shape[1] + 1, shape[0] + 1))
    of_leaves[1:, 1:] = leaves.at_cells(1 / leaves.areas).cumsum(axis=0).cumsum(axis=1)
    west, south, east, north = x[blocks[:, 0]], y[blocks[:, 1]], x[blocks[:, 2]], y[blocks[:, 3]]
    within = of_leaves[north, east] - of_leaves[south, east] - of_leaves[north, west] + of_leaves[south, west]
    large = (blocks[:, 2:] - blocks[:, :2]).prod(axis=1) > 1
    assert np.all(within[large] < 1.01)
    assert (~large).sum() > 100  # many leaves are coarse cells


@pytest.mark.parametrize(
    ("shape", "columns", "rows"),
    [((514, 221), 514, 221), ((1024, 1024), 512, 512), ((4096, 4096), 512, 512), ((1000, 1000), 512, 512)],
)
def test_large_grids_are_solved_on_a_quarter_of_a_million_cells(shape, columns, rows):
    assert [each.size - 1 for each in coarse_lines(shape)] == [columns, rows]
