"""Products of two transforms: coefficients, the way back, and the largest column in a region."""

from __future__ import annotations

from fractions import Fraction
from itertools import product

import numpy as np
import pytest
import shapely

from spatialdp.privacy.neighbours import Neighbours
from spatialdp.privacy.noise.laws import Law, NoiseLaw
from spatialdp.space.domain import Domain
from spatialdp.structures.axis_pairs import AxisPairs, forward, inverse
from spatialdp.transforms.axis import IdentityAxis
from spatialdp.transforms.haar import HaarAxis
from spatialdp.transforms.matrices import DenseAxis

X, Y = HaarAxis(5), DenseAxis(np.vstack([np.eye(4, dtype=int), [1, 0, 3, 7]]))
WHOLE = Domain((0, 0, 5, 4)).grid((5, 4))
COUNTS = np.random.default_rng(2).integers(0, 99, (4, 5))


def test_coefficients_are_the_products_of_the_two_matrices():
    x, y = (axis.forward(np.eye(axis.size, dtype=np.int64)).T for axis in (X, Y))
    assert np.array_equal(forward(COUNTS, (X, Y)), y @ COUNTS @ x.T)
    np.testing.assert_allclose(inverse(forward(COUNTS, (X, Y)).astype(float), (X, Y)), COUNTS, atol=1e-9)


def test_groups_are_pairs_and_hold_every_coefficient_once():
    structure = AxisPairs(WHOLE, X, Y)
    parts = list(structure.measure(COUNTS))
    assert len(parts) == len(structure.groups) == X.n_groups * Y.n_groups
    table = forward(COUNTS, (X, Y))
    assert sum(part.size for part in parts) == table.size
    assert sorted(np.concatenate([part.ravel() for part in parts])) == sorted(table.ravel())
    laws = [NoiseLaw(Law.GAUSSIAN, Fraction(1))] * len(parts)
    np.testing.assert_allclose(structure.fit([part.astype(float) for part in parts], laws), COUNTS, atol=1e-9)


@pytest.mark.parametrize("region", [None, shapely.box(0, 0, 5, 3), shapely.box(0, 0, 2, 2)])
def test_sensitivity_is_the_largest_column_within_the_region(region):
    """The heaviest row of cells, of weight 8, is outside two of the regions, and so does not matter there."""
    rule = "touching" if region is None else "centres"
    grid = Domain((0, 0, 5, 4), region=region, region_cells=rule).grid((5, 4))
    structure = AxisPairs(grid, X, Y)
    cells = [cell for cell in product(range(4), range(5)) if grid.mask[cell]]
    units = np.zeros((len(cells), 4, 5), dtype=np.int64)
    for unit, cell in zip(units, cells, strict=True):
        unit[cell] = 1
    for group, images in enumerate(zip(*(structure.measure(unit) for unit in units), strict=True)):
        found = structure.sensitivity(group, Neighbours.ADD_REMOVE)
        assert found.l1 == max(np.abs(image).sum() for image in images)
        assert found.l2_squared == max((image**2).sum() for image in images)


def test_mean_squares_are_products_of_those_of_the_axes():
    structure = AxisPairs(WHOLE, X, IdentityAxis(4))
    expected = np.outer(X.mean_squares(), IdentityAxis(4).mean_squares()).ravel()
    np.testing.assert_allclose(structure.mean_squares(), expected)
