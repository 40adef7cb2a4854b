"""Levels of trees: their counts, their fit whichever way it is computed, and what has to be measured."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
import shapely

from spatialdp.privacy.noise.laws import Law, NoiseLaw
from spatialdp.space.boxes.quadtree import quadtree
from spatialdp.space.domain import Domain
from spatialdp.structures.tree_levels import BlockLevels, QuadtreeLevels, fitted
from spatialdp.trees.least_squares import two_pass
from spatialdp.trees.shape import sums
from tests.helpers.trees import complete_tree

WHOLE = Domain((0, 0, 1, 1))
REGION = Domain((0, 0, 1, 1), region=shapely.Polygon([(0, 0), (1, 0), (1, 0.6), (0.3, 1), (0, 0.5)]))
STRUCTURES = {
    "quadtree": QuadtreeLevels(WHOLE.grid((8, 8))),
    "quadtree in a region": QuadtreeLevels(REGION.grid((8, 8))),
    "blocks": BlockLevels(WHOLE.grid((11, 7)), (12, 4, 1)),
    "blocks in a region": BlockLevels(REGION.grid((11, 7)), (12, 4, 1)),
    "cells alone": BlockLevels(WHOLE.grid((1, 1)), (1,)),
}
every_structure = pytest.mark.parametrize("name", STRUCTURES)


@every_structure
def test_every_node_counts_the_cells_in_its_box(name):
    structure = STRUCTURES[name]
    grid, tree = structure.grid, structure.tree
    counts = np.random.default_rng(1).integers(0, 99, grid.shape[::-1]) * grid.mask
    parts = list(structure.measure(counts))
    assert len(parts) == len(structure.groups) == len(set(structure.groups)) == tree.height + 1
    columns, rows = (
        np.searchsorted(lines, tree.boxes[:, [i, i + 2]]) for i, lines in ((0, grid.x_lines), (1, grid.y_lines))
    )
    expected = [counts[y0:y1, x0:x1].sum() for (x0, x1), (y0, y1) in zip(columns, rows, strict=True)]
    assert np.concatenate(parts).tolist() == expected


@every_structure
def test_only_the_leaves_have_to_be_measured(name):
    structure = STRUCTURES[name]
    needed = [structure.needs(group) for group in range(len(structure.groups))]
    assert needed == [False] * structure.tree.height + [True]


@pytest.mark.parametrize("tree", [quadtree(3), complete_tree(3, 2), quadtree(2, mask=np.eye(4) > 0), quadtree(0)])
def test_both_ways_of_fitting_agree(tree):
    """Three passes for complete trees, two for others: the caller cannot tell."""
    rng = np.random.default_rng(2)
    values, variances = rng.normal(0, 9, tree.n_nodes), rng.uniform(1, 5, tree.height + 1)
    expected = two_pass(tree, values, variances).estimates
    np.testing.assert_allclose(fitted(tree, values, variances), expected, atol=1e-9)
    np.testing.assert_allclose(fitted(tree, values, variances[tree.depth]), expected, atol=1e-9)


def test_unmeasured_levels_and_exact_ones_are_fitted_too():
    tree, rng = quadtree(2), np.random.default_rng(3)
    values = rng.normal(0, 9, tree.n_nodes)
    for variances in (np.array([np.inf, 2.0, 3.0]), np.array([0.0, 2.0, 3.0])):
        np.testing.assert_allclose(
            fitted(tree, values, variances), two_pass(tree, values, variances).estimates, atol=1e-9
        )


def test_estimates_are_fitted_only_if_asked_for():
    laws = [NoiseLaw(Law.DISCRETE_LAPLACE, Fraction(2))] * 4
    grid = WHOLE.grid((8, 8))
    rng = np.random.default_rng(4)
    parts = [rng.normal(0, 9, 4**depth) for depth in range(4)]
    raw, consistent = (QuadtreeLevels(grid, consistent=flag) for flag in (False, True))
    assert np.array_equal(raw.fit(parts, laws), np.concatenate(parts))
    values = consistent.fit(parts, laws)
    assert values[0] == pytest.approx(values[1:5].sum())
    assert (raw.blank(laws).step, consistent.blank(laws).step) == (1.0, 1.0)


@pytest.mark.parametrize("ratio", [1, 1e3, 1e7, 1e12, 1e21, 1e80])
@pytest.mark.parametrize("nearest", [0, 2])
def test_counts_that_agree_are_kept_however_unlike_the_levels(ratio, nearest):
    """Variances of a very large ε differ by many powers of ten: at ε = 290, three passes lost the leaves."""
    tree = quadtree(2)
    counts = sums(tree, np.random.default_rng(1).integers(0, 50, tree.n_leaves).astype(float))
    variances = np.full(3, 1e-20 * ratio)
    variances[nearest] = 1e-20
    assert fitted(tree, counts, variances) == pytest.approx(counts, abs=1e-6)
