"""Covered shares of cells: three stretches of a box against the definition, cell by cell."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from spatialdp.space.coverage import Coverage, block_powers, coverages, prefix_sums, weighted_sums, whole_cells
from spatialdp.space.domain import Domain
from spatialdp.space.lattice import LATTICE, edge_lines

UNIT = Domain((0, 0, 1, 1))
seeds = st.integers(0, 2**32 - 1)


def shares_of(low, high, lines):
    """(boxes, cells): covered share of each cell."""
    overlap = np.minimum(high[:, None], lines[1:]) - np.maximum(low[:, None], lines[:-1])
    return np.clip(overlap, 0, None) / np.diff(lines)


def intervals(rng, count, lines):
    """Ends anywhere on the lattice, many of them on the cells' edges."""
    anywhere, edges = rng.integers(0, LATTICE + 1, (count, 2)), rng.choice(lines, (count, 2))
    ends = np.sort(np.where(rng.random((count, 2)) < 0.5, anywhere, edges), axis=1)
    return ends[:, 0], ends[:, 1]


def boxes_on(grid, rng, count):
    (xlo, xhi), (ylo, yhi) = (intervals(rng, count, lines) for lines in (grid.x_lines, grid.y_lines))
    return np.stack([xlo, ylo, xhi, yhi], axis=1)


@given(st.integers(1, 40), seeds)
def test_stretches_are_the_covered_shares(count, seed):
    lines = edge_lines(count)
    low, high = intervals(np.random.default_rng(seed), 20, lines)
    coverage = Coverage.of(low, high, lines)
    expected = shares_of(low, high, lines)
    for power in (1, 2, 4):
        # Prefix sums of unit vectors at the knots, weighted, are each cell's share.
        units = np.concatenate([np.zeros((1, count)), np.cumsum(np.eye(count), axis=0)])
        found = sum(w[:, None] * units[k] for k, w in zip(coverage.knots, coverage.weights(power), strict=True))
        np.testing.assert_allclose(found, expected**power, atol=1e-12)
    np.testing.assert_allclose(coverage.stop - coverage.start, expected.sum(axis=1), atol=1e-9)


@given(st.integers(1, 12), st.integers(1, 5), seeds)
def test_squares_are_those_of_blocks_of_cells(blocks, side, seed):
    lines = edge_lines(blocks * side)
    low, high = intervals(np.random.default_rng(seed), 20, lines)
    shares = shares_of(low, high, lines).reshape(20, blocks, side).mean(axis=2)
    np.testing.assert_allclose(Coverage.of(low, high, lines).squares(side), (shares**2).sum(axis=1), atol=1e-9)


@pytest.mark.parametrize("power", [1, 2, 4])
def test_block_powers_are_sums_over_unit_intervals(power):
    start, stop = np.sort(np.random.default_rng(1).uniform(0, 9, (2, 200)), axis=0)
    start[:10], stop[5:15] = np.floor(start[:10]), np.ceil(stop[5:15])
    covered = np.clip(np.minimum(stop[:, None], np.arange(10) + 1) - np.maximum(start[:, None], np.arange(10)), 0, 1)
    np.testing.assert_allclose(block_powers(start, stop, power), (covered**power).sum(axis=1), atol=1e-12)


@given(st.tuples(st.integers(1, 9), st.integers(1, 9)), seeds)
def test_weighted_sums_are_sums_over_all_cells(shape, seed):
    rng, grid = np.random.default_rng(seed), UNIT.grid(shape)
    values, boxes = rng.normal(size=shape[::-1]), boxes_on(grid, rng, 15)
    x, y = (shares_of(boxes[:, i], boxes[:, i + 2], lines) for i, lines in enumerate((grid.x_lines, grid.y_lines)))
    for power in (1, 2, 4):
        expected = np.einsum("ij,mi,mj->m", values, y**power, x**power)
        found = weighted_sums(prefix_sums(values), *coverages(grid, boxes), power)
        np.testing.assert_allclose(found, expected, atol=1e-10)


def test_block_powers_equal_the_definition():
    start, stop = np.sort(np.random.default_rng(4).random((2, 50)) * 20, axis=0)
    ends = np.arange(21)
    shares = np.clip(np.minimum(stop[:, None], ends[1:]) - np.maximum(start[:, None], ends[:-1]), 0, None)
    for power in (2, 4):
        assert block_powers(start, stop, power) == pytest.approx((shares**power).sum(axis=1))


@pytest.mark.parametrize("shape", [(1, 1), (9, 3), (3, 63), (7, 64), (200, 65), (1, 500), (0, 80)])
def test_prefix_sums_of_wide_and_of_narrow_grids_are_those_of_the_definition(shape):
    values = np.random.default_rng(2).normal(size=shape)
    sums = prefix_sums(values)
    assert sums.shape == (shape[0] + 1, shape[1] + 1)
    assert not sums[0].any()
    assert not sums[:, 0].any()
    expected = np.array(
        [[values[:row, :column].sum() for column in range(shape[1] + 1)] for row in range(shape[0] + 1)]
    )
    assert sums == pytest.approx(expected, abs=1e-9)
    assert np.array_equal(prefix_sums(values > 0)[-1, -1], (values > 0).sum())


@given(st.integers(1, 20), st.integers(1, 20), seeds)
def test_boxes_of_whole_cells_cut_none(nx, ny, seed):
    grid = UNIT.grid((nx, ny))
    boxes = boxes_on(grid, np.random.default_rng(seed), 30)
    x, y = (shares_of(boxes[:, i], boxes[:, i + 2], lines) for i, lines in ((0, grid.x_lines), (1, grid.y_lines)))
    cut = [((shares > 0) & (shares < 1)).any(axis=1) for shares in (x, y)]
    assert whole_cells(grid, boxes).tolist() == (~(cut[0] | cut[1])).tolist()
