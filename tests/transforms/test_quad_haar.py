"""The non-standard Haar wavelet: there and back, its weights in boxes, and how far a record moves it."""

from __future__ import annotations

import numpy as np
import pytest

from spatialdp.privacy.neighbours import Neighbours
from spatialdp.space.coverage import coverages
from spatialdp.space.domain import Domain
from spatialdp.space.lattice import LATTICE
from spatialdp.transforms.quad_haar import QuadHaar
from tests.helpers.boxes import coverage, every_cell
from tests.reference.dense_wavelets import quad_haar_weights


def test_short_axes_add_no_needless_scales():
    assert QuadHaar(256, 256).groups[:4] == ("total", "x 256", "y 256", "xy 256")
    assert len(QuadHaar(256, 256).groups) == 3 * 8 + 1
    assert len(QuadHaar(256, 1).groups) == 8 + 1
    assert len(QuadHaar(3, 16).groups) == 2 + 2 * 3 + 1


SHAPES = [(1, 1), (2, 2), (8, 8), (5, 3), (3, 16), (9, 1), (1, 6)]
every_shape = pytest.mark.parametrize("shape", SHAPES)


@every_shape
def test_counts_come_back_from_their_coefficients(shape):
    counts = np.random.default_rng(1).integers(0, 1000, shape[::-1])
    transform = QuadHaar(*shape)
    parts = transform.forward(counts)
    assert len(parts) == len(transform.groups)
    assert np.array_equal(transform.inverse([part.astype(float) for part in parts]), counts)


@every_shape
def test_the_adjoint_is_the_transposed_inverse(shape):
    """Of weights on a rectangle anywhere in the grid; coefficients that are left out have weight 0."""
    transform = QuadHaar(*shape)
    rng = np.random.default_rng(2)
    dense, group = quad_haar_weights(transform)
    for _ in range(10):
        row, column = rng.integers(shape[1]), rng.integers(shape[0])
        block = rng.random((rng.integers(1, shape[1] - row + 1), rng.integers(1, shape[0] - column + 1)))
        cells = np.zeros(shape[::-1])
        cells[row : row + block.shape[0], column : column + block.shape[1]] = block
        expected = dense @ cells.ravel()
        for number, part in enumerate(transform.adjoint(block, row, column)):
            for power in (1, 2, 4):
                assert (part**power).sum() == pytest.approx((expected[group == number] ** power).sum(), abs=1e-9)


@every_shape
def test_powers_are_those_of_the_weights_in_each_box(shape):
    transform = QuadHaar(*shape)
    dense, group = quad_haar_weights(transform)
    grid = Domain((0, 0, 1, 1)).grid(shape)
    boxes = np.sort(np.random.default_rng(3).integers(0, LATTICE + 1, (30, 2, 2)), axis=1).reshape(-1, 4)
    entering = coverage(every_cell(grid), boxes) @ dense.T
    for power, found in zip((2, 4), transform.powers(*coverages(grid, boxes)), strict=True):
        expected = [(entering[:, group == number] ** power).sum(axis=1) for number in range(len(transform.groups))]
        np.testing.assert_allclose(found, expected, atol=1e-9)


@every_shape
@pytest.mark.parametrize("relation", list(Neighbours))
def test_sensitivities_are_the_largest_changes_over_all_records(shape, relation):
    transform = QuadHaar(*shape)
    units = np.eye(shape[0] * shape[1], dtype=np.int64).reshape(-1, *shape[::-1])
    images = [np.array([part.ravel() for part in parts]) for parts in zip(*map(transform.forward, units), strict=True)]
    for group, image in enumerate(images):
        everyone = np.concatenate([image, 0 * image[:1]])  # the last one is outside
        moved = (
            image if relation is Neighbours.ADD_REMOVE else (everyone[:, None] - everyone).reshape(-1, image.shape[1])
        )
        declared = transform.sensitivity(group, relation)
        assert declared.l1 == np.abs(moved).sum(axis=1).max()
        assert declared.l2_squared == (moved**2).sum(axis=1).max()
