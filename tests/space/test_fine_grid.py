"""Fine grids agree with plain grids where both exist, and count as many cells as there are where only they do."""

from __future__ import annotations

import numpy as np
import pytest
import shapely

import spatialdp as sdp
from spatialdp.errors import DomainError, ParameterError
from spatialdp.space.coverage import coverages, fine_coverages
from spatialdp.space.fine_grid import FineGrid
from spatialdp.space.lattice import LATTICE

DOMAIN = sdp.Domain((-3.7, 10, 8.1, 12.3))
TRIANGLE = shapely.Polygon([(-3.7, 10), (8.1, 10), (0, 12)])
SHAPES = [(1, 1), (8, 8), (5, 13), (37, 29), (1000, 3)]
FINE = [(5, 2**21), (3000, 2000), (1024, 8192), (2**21, 3)]


@pytest.mark.parametrize("shape", SHAPES)
def test_cells_are_those_of_the_plain_grid(shape):
    fine, plain = FineGrid(DOMAIN, shape), DOMAIN.grid(shape)
    numbers = np.arange(fine.n_numbers)
    columns, rows = fine.columns_and_rows(numbers)
    assert np.array_equal(fine.numbers(columns, rows), numbers)
    blocks = np.stack([columns, rows, columns + 1, rows + 1], axis=1)
    assert np.array_equal(fine.lattice_boxes(columns, rows), plain.lattice_boxes(blocks))
    edges = np.stack([plain.x_edges[columns], plain.y_edges[rows], plain.x_edges[columns + 1], plain.y_edges[rows + 1]])
    assert np.array_equal(fine.boxes(columns, rows), edges.T)
    assert fine.n_cells == plain.n_cells


@pytest.mark.parametrize("shape", [*SHAPES, (2**30, 2**30), (7, 2**30)])
def test_squares_lie_in_the_cell_around_them(shape):
    grid, random = FineGrid(DOMAIN, shape), np.random.default_rng(1)
    squares = np.concatenate([random.integers(0, LATTICE, (1000, 2)), [[0, 0], [LATTICE - 1] * 2]]).astype(np.int32)
    boxes = grid.lattice_boxes(*grid.columns_and_rows(grid.of_squares(*squares.T)))
    assert np.all((boxes[:, :2] <= squares) & (squares < boxes[:, 2:]))


@pytest.mark.parametrize("shape", SHAPES)
def test_coverages_are_those_of_the_plain_grid(shape):
    random = np.random.default_rng(2)
    boxes = np.sort(random.integers(0, LATTICE + 1, (200, 2, 2)), axis=1).reshape(-1, 4)
    boxes[0] = (0, 0, LATTICE, LATTICE)
    for mine, theirs in zip(
        fine_coverages(FineGrid(DOMAIN, shape), boxes), coverages(DOMAIN.grid(shape), boxes), strict=True
    ):
        assert np.array_equal(mine.knots, theirs.knots)
        assert np.array_equal(mine.parts, theirs.parts)


@pytest.mark.parametrize("rule", ["touching", "centres"])
@pytest.mark.parametrize("shape", SHAPES)
def test_region_of_few_cells_is_that_of_the_plain_grid(shape, rule):
    domain = sdp.Domain(DOMAIN.bounds, region=TRIANGLE, region_cells=rule)
    fine = FineGrid(domain, shape)
    mask = domain.grid(shape).mask
    assert np.array_equal(fine.inside(np.arange(fine.n_numbers)), mask.ravel())
    assert fine.n_cells == mask.sum()


@pytest.mark.parametrize("rule", ["touching", "centres"])
@pytest.mark.parametrize("shape", FINE)
def test_region_of_many_cells_is_the_raster(shape, rule):
    domain = sdp.Domain(DOMAIN.bounds, region=TRIANGLE, region_cells=rule)
    grid, raster = FineGrid(domain, shape), domain.region_raster
    assert grid.inside(np.arange(grid.n_numbers)).sum() == grid.n_cells
    random = np.random.default_rng(3)
    numbers = random.integers(0, grid.n_numbers, 300)
    for number, box in zip(numbers, grid.lattice_boxes(*grid.columns_and_rows(numbers)), strict=True):
        if rule == "centres":
            column, row = (box[:2] + box[2:]) // 2 >> 20
            expected = raster[row, column]
        else:
            low, high = box[:2] >> 20, (box[2:] - 1 >> 20) + 1
            expected = raster[low[1] : high[1], low[0] : high[0]].any()
        assert grid.inside(np.array([number]))[0] == expected


def test_no_place_of_the_region_is_dropped_by_touching():
    domain = sdp.Domain(DOMAIN.bounds, region=TRIANGLE)
    random = np.random.default_rng(4)
    x, y = random.uniform(*np.reshape(DOMAIN.bounds, (2, 2)), (5000, 2)).T
    within = shapely.contains_xy(TRIANGLE, x, y)
    squares = [axis.positions(values[within]) for axis, values in zip(domain.axes, (x, y), strict=True)]
    for shape in [(2**30, 2**30), (2**21, 5)]:
        grid = FineGrid(domain, shape)
        assert grid.inside(grid.of_squares(*squares)).all()


def test_size_of_cells_gives_the_shape():
    assert FineGrid.of(sdp.Domain((0, 0, 1, 1)), cell_size=2.0**-30).shape == (2**30, 2**30)
    assert FineGrid.of(sdp.Domain((0, 0, 1, 1)), (4, 2**30)).n_cells == 2**32
    with pytest.raises(DomainError, match="does not divide"):
        FineGrid.of(sdp.Domain((0, 0, 1, 1)), cell_size=0.3)
    with pytest.raises(ParameterError, match="1073741824"):
        FineGrid.of(sdp.Domain((0, 0, 1, 1)), (2**31, 1))


@pytest.mark.parametrize("rule", ["touching", "centres"])
@pytest.mark.parametrize("shape", [(24, 20), (6 * 2**20, 4 * 2**20)], ids=str)
def test_cells_in_blocks_belong_to_the_region_if_their_block_does(shape, rule):
    domain = sdp.Domain(DOMAIN.bounds, region=TRIANGLE, region_cells=rule)
    grid, mask = FineGrid(domain, shape, (6, 4)), domain.grid((6, 4)).mask
    ratios = shape[0] // 6, shape[1] // 4
    assert grid.n_cells == mask.sum() * ratios[0] * ratios[1]
    assert grid.plain is None
    random = np.random.default_rng(7)
    columns, rows = (random.integers(0, count, 500) for count in shape)
    assert grid.blocks_of(columns, rows)[0].tolist() == (columns // ratios[0]).tolist()
    assert np.array_equal(grid.inside(grid.numbers(columns, rows)), mask[rows // ratios[1], columns // ratios[0]])
    assert FineGrid(DOMAIN, shape, (6, 4)).n_cells == shape[0] * shape[1]
