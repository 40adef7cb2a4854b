"""Blocks of frequencies: exact sensitivities, and which blocks there are to choose from."""

from __future__ import annotations

import numpy as np
import pytest
import shapely

import spatialdp as sdp
from spatialdp.privacy.neighbours import Neighbours
from spatialdp.transforms.frequency_blocks import block_norms, default_blocks, make_block, sensitivity_of, step_width
from spatialdp.transforms.integer_waves import whole_waves
from spatialdp.transforms.spectral import Basis
from tests.helpers.waves import measured_waves, orthonormal, sizes_of, whole_spectrum

BASES = list(Basis)
DOMAIN = sdp.Domain((0, 0, 1, 1))
ADD, REPLACE = Neighbours.ADD_REMOVE, Neighbours.REPLACE
BLOCKS = [(1, 1), (4, 4), (8, 8), (16, 16), (32, 32), (64, 64), (3, 20), (64, 1), ("hyperbolic", 3)]
BLOCKS += [("hyperbolic", 6), ("hyperbolic", 9), "marginals"]


def unit_norms(basis, shape, blocks):
    """Largest L1 and squared L2 norms of the transforms of all unit vectors, block by block."""
    nx, ny = shape
    masks = []
    for block in blocks:
        mask = np.zeros(sizes_of(basis, shape)[::-1])
        made = make_block(block, sizes_of(basis, shape))
        mask[: made.y[-1], : made.x[-1]] = made.mask
        masks.append(mask.ravel())
    largest = np.zeros((2, len(blocks)))
    for start in range(0, nx * ny, 512):
        cells = np.arange(start, min(start + 512, nx * ny))
        rows, columns = np.divmod(cells, nx)
        x, y = (measured_waves(basis, size).T for size in shape)
        moved = np.abs(y[rows][:, :, None] * x[columns][:, None, :]).reshape(cells.size, -1)
        found = np.array([(moved @ np.array(masks).T).max(axis=0), (moved**2 @ np.array(masks).T).max(axis=0)])
        largest = np.maximum(largest, found)
    return largest.T


@pytest.mark.parametrize("basis", BASES)
@pytest.mark.parametrize("shape", [(64, 64), (17, 5), (1, 9), (6, 10)])
def test_sensitivity_is_that_of_the_worst_cell(basis, shape):
    sizes, grid = sizes_of(basis, shape), DOMAIN.grid(shape)
    width, blocks = step_width(basis, shape), BLOCKS if shape == (64, 64) else default_blocks(sizes)
    for block, (l1, l2_squared) in zip(blocks, unit_norms(basis, shape, blocks), strict=True):
        found = block_norms(basis, grid, make_block(block, sizes))
        assert (found[0] * width, found[1] * width**2) == pytest.approx((l1, l2_squared), rel=1e-9)


def images(basis, grid):
    """(cells of the region, y, x): coefficients of a record in each cell, through the code that runs."""
    found = []
    for row, column in zip(*np.nonzero(grid.mask), strict=True):
        counts = np.zeros(grid.mask.shape, dtype=np.int64)
        counts[row, column] = 1
        found.append(whole_spectrum(counts, basis).whole().exact())
    return np.array(found)


HALF = shapely.Polygon([(0.2, 0.1), (0.9, 0.3), (0.3, 0.8)])


@pytest.mark.parametrize("region", [None, HALF], ids=["whole", "region"])
@pytest.mark.parametrize("shape", [(7, 6), (1, 9), (2, 2), (16, 5)])
@pytest.mark.parametrize("basis", BASES)
def test_declared_is_the_largest_image_of_a_record_exactly(basis, shape, region):
    """In whole numbers, for every cell of the region: reached, and never exceeded."""
    grid = sdp.Domain((0, 0, 1, 1), region=region).grid(shape)
    sizes = sizes_of(basis, shape)
    found = images(basis, grid)
    for block in (*default_blocks(sizes), "marginals"):
        made = make_block(block, sizes)
        mask = np.zeros(sizes[::-1], dtype=bool)
        mask[: made.y[-1], : made.x[-1]] = made.mask
        moved = np.abs(found[:, mask])
        declared = sensitivity_of(basis, grid, made, ADD)
        assert (declared.l1, declared.l2_squared) == (moved.sum(axis=1).max(), (moved**2).sum(axis=1).max())


@pytest.mark.parametrize("region", [None, HALF], ids=["whole", "region"])
@pytest.mark.parametrize("basis", [Basis.DCT, Basis.DFT])
@pytest.mark.parametrize("shape", [(257, 100), (64, 300)])
def test_norms_of_large_grids_are_exact_in_every_cell(basis, shape, region):
    """All cells in whole numbers, where the package looks for the largest in doubles first."""
    grid = sdp.Domain((0, 0, 1, 1), region=region).grid(shape)
    for block in ((1, 1), (3, 8), shape, ("hyperbolic", 4), "marginals"):
        made = make_block(block, shape)
        for power, found in zip((1, 2), block_norms(basis, grid, made), strict=True):
            x, y = (
                np.add.reduceat(np.abs(integer_waves(basis, size, edges[-1])) ** power, edges[:-1], axis=0)
                for size, edges in zip(shape, (made.x, made.y), strict=True)
            )
            assert found == y.T.dot(made.table.T.astype(object)).dot(x)[grid.mask].max()


def integer_waves(basis, size, count):
    return whole_waves(basis, size, slice(count)).astype(np.int64).astype(object)


def test_table_of_exact_sensitivities():
    grid, width = DOMAIN.grid((64, 64)), step_width(Basis.DCT, (64, 64))
    found = [block_norms(Basis.DCT, grid, make_block((k, k), (64, 64)))[0] * width for k in (4, 8, 16, 32)]
    assert np.allclose(found, [0.43, 1.84, 7.35, 25.7], atol=0.03)


def test_noise_comes_before_rounding():
    """Rounded first, coefficients on a coarse lattice would move by more than they are declared to."""
    rng, width = np.random.default_rng(4), 0.5
    grid, block = DOMAIN.grid((8, 8)), make_block((8, 8), (8, 8))
    exact = block_norms(Basis.DCT, grid, block)[0] * step_width(Basis.DCT, (8, 8)) / width
    worst = 0
    for _ in range(300):
        counts = rng.integers(0, 9, size=(8, 8))
        more = counts.copy()
        more.flat[rng.integers(64)] += 1
        a, b = (np.rint(orthonormal(data.astype(float), Basis.DCT) / width) for data in (counts, more))
        worst = max(worst, np.abs(a - b).sum())
    assert exact < worst <= exact + 64


def test_default_candidates_depend_on_the_shape_alone_and_hold_every_size():
    blocks = default_blocks((64, 64))
    assert (64, 64) in blocks
    assert (1, 1) in blocks
    assert {("hyperbolic", k) for k in range(1, 12)} <= set(blocks)
    assert default_blocks((1, 1)) == ((1, 1),)
    assert all(kx <= 5 and ky <= 100 for kx, ky in default_blocks((5, 100)) if kx != "hyperbolic")
