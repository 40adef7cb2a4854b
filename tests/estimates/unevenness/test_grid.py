"""What released cells say about the spread within them: known fields give known numbers."""

from __future__ import annotations

import numpy as np
import pytest
import shapely

import spatialdp as sdp
from spatialdp.estimates.unevenness.blocks import CellCounts
from spatialdp.estimates.unevenness.grid import GridUnevenness
from spatialdp.space.coverage import coverages, prefix_sums
from spatialdp.space.polygons import read_polygons, scan

UNIT = sdp.Domain((0, 0, 1, 1))
RNG = np.random.default_rng(11)


def unevenness(values, variance=0.0, mask=None):
    area = lambda blocks: variance * np.prod(blocks[:, 2:] - blocks[:, :2], axis=1)  # noqa: E731
    mask = np.ones(values.shape, dtype=bool) if mask is None else mask
    return GridUnevenness.of(CellCounts(values.astype(float), mask, area))


def noisy(values, epsilon):
    scale = 1 / epsilon
    return values + RNG.laplace(scale=scale, size=values.shape), 2 * scale**2


@pytest.mark.parametrize("epsilon", [1, 10])
def test_even_records_are_found_to_be_even(epsilon):
    assert unevenness(*noisy(RNG.poisson(10, (64, 64)), epsilon)).within < 0.03


def test_a_chessboard_is_as_uneven_as_can_be():
    board = 50 * (np.indices((64, 64)).sum(axis=0) % 2)
    assert unevenness(board).within > 0.99


def test_empty_data_stay_within_bounds():
    found = unevenness(*noisy(np.zeros((32, 32)), 0.1))
    assert 1e-4 <= found.within <= 1
    assert np.isfinite(found.squares).all()


def test_growth_follows_how_far_neighbours_go_together():
    columns = np.repeat(RNG.gamma(1.0, 1000, 64)[None, :], 64, axis=0)
    growth, across = unevenness(columns).growth
    assert growth == pytest.approx(2.0 ** np.arange(growth.size), rel=0.02)
    independent = unevenness(RNG.poisson(RNG.gamma(1.0, 50, (128, 128)))).growth[0]
    assert independent[4] < 1.5
    assert across[-1] >= 1


@pytest.mark.parametrize("shape", [(64, 64), (37, 50), (150, 2), (1, 40), (3, 3), (1, 1)])
def test_boxes_agree_with_brute_force_and_whole_cells_have_no_allowance(shape):
    nx, ny = shape
    values = RNG.poisson(20, (ny, nx))
    found, grid = unevenness(values, 2.0), UNIT.grid(shape)
    corners = np.sort(RNG.random((40, 2, 2)), axis=1).reshape(-1, 4)
    x, y = coverages(grid, UNIT.boxes(corners))
    cover = [
        np.stack([np.clip(np.minimum(hi, i + 1) - np.maximum(lo, i), 0, 1) for i in range(n)], axis=1)
        for lo, hi, n in ((x.start, x.stop, nx), (y.start, y.stop, ny))
    ]
    squares, firsts = (np.diff(np.diff(sums, axis=0), axis=1) for sums in (found.squares, found.firsts))
    cx, cy = cover[0][:, None, :], cover[1][:, :, None]
    expected_x = (squares * (cx - cx**2) * cy).sum(axis=(1, 2))
    expected_y = (squares * cx**2 * (cy - cy**2)).sum(axis=(1, 2))
    few = (firsts * (cx * cy - (cx * cy) ** 2)).sum(axis=(1, 2))
    plain = GridUnevenness(found.within, (np.ones(1), np.ones(1)), found.squares, found.firsts)
    area = (x.stop - x.start) * (y.stop - y.start)
    small = np.maximum(1 / (2 * area) - 1, 0)
    expected = found.within * (expected_x + expected_y) * (1 + found.within * small) + few * (1 + small)
    assert plain.boxes(x, y) == pytest.approx(expected, rel=1e-7, abs=1e-7)
    whole = np.array([[0, 0, nx, ny], [0, 0, 1, 1]])
    assert found.boxes(*coverages(grid, grid.lattice_boxes(whole))).tolist() == [0, 0]


def test_polygons_that_are_boxes_have_the_same_sums():
    values = RNG.poisson(20, (32, 32))
    found, grid = unevenness(values, 2.0), UNIT.grid((32, 32))
    plain = GridUnevenness(found.within, (np.ones(1), np.ones(1)), found.squares, found.firsts)
    corners = np.sort(RNG.random((20, 2, 2)), axis=1).reshape(-1, 4)
    boxes = plain.boxes(*coverages(grid, UNIT.boxes(corners)))
    ((_, runs),) = scan(read_polygons(shapely.box(*corners.T), UNIT), grid)
    assert plain.polygons(runs) == pytest.approx(boxes, rel=1e-4, abs=1e-4)


def test_cells_outside_the_region_have_no_part():
    mask = np.hypot(*(np.indices((48, 48)) - 24)) < 20
    values = np.where(mask, RNG.poisson(30, mask.shape), 0)
    found = unevenness(values, 1.0, mask)
    squares = np.diff(np.diff(found.squares, axis=0), axis=1)
    assert np.abs(squares[~mask]).max() < 1e-3
    assert found.within < 0.05  # the cliff at the region's edge is not unevenness


@pytest.mark.parametrize("epsilon", [0.01, 0.001])
def test_noise_is_not_taken_for_records(epsilon):
    values, variance = noisy(RNG.poisson(RNG.gamma(0.5, 6, (128, 128))), epsilon)
    found, grid = unevenness(values, variance), UNIT.grid((128, 128))
    corners = np.sort(RNG.random((200, 2, 2)), axis=1).reshape(-1, 4)
    x, y = coverages(grid, UNIT.boxes(corners))
    noise = variance * (x.stop - x.start) * (y.stop - y.start)
    assert np.median(found.boxes(x, y) / noise) < 0.05


def test_without_noise_a_cut_cell_has_an_allowance():
    values = RNG.poisson(20, (16, 16))
    found, grid = unevenness(values), UNIT.grid((16, 16))
    box = coverages(grid, UNIT.boxes([(0.01, 0.01, 0.5, 0.7)]))
    assert found.boxes(*box)[0] > 0
    assert prefix_sums(values)[-1, -1] == values.sum()
