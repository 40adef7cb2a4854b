"""Counts of cells: every record of the domain in exactly one."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from shapely import box

from spatialdp import Domain, Person, Points
from spatialdp.records.counting import cell_numbers, count_cells, count_records, lattice_cell_numbers, occupied_cells
from spatialdp.records.points import snap
from spatialdp.space.fine_grid import FineGrid
from spatialdp.space.lattice import LATTICE
from tests.helpers.domains import domains, domains_and_points, shapes
from tests.helpers.points import counts


def cell_by_hand(value: float, low: float, high: float, count: int) -> int:
    """The definition, in Python's own integers."""
    line = min(int((value - low) / (high - low) * LATTICE), LATTICE - 1)
    return max(i for i in range(count) if i * LATTICE // count <= line)


@given(domains_and_points(), shapes)
def test_every_point_in_the_domain_is_in_exactly_one_cell(case, shape):
    domain, (x, y) = case
    counts = count_cells(Points([[x, y]]), domain.grid(shape))
    xmin, ymin, xmax, ymax = domain.bounds
    assert counts.sum() == 1
    assert counts[cell_by_hand(y, ymin, ymax, shape[1]), cell_by_hand(x, xmin, xmax, shape[0])] == 1


@given(domains(), shapes)
def test_corners_belong_to_the_corner_cells(domain, shape):
    xmin, ymin, xmax, ymax = domain.bounds
    grid = domain.grid(shape)
    for x, column in ((xmin, 0), (xmax, -1)):
        for y, row in ((ymin, 0), (ymax, -1)):
            assert count_cells(Points([[x, y]]), grid)[row, column] == 1


@pytest.mark.parametrize("value", [-0.0, 0.0, 5e-324, -5e-324, 2.2e-308])
def test_signed_zeros_and_subnormals_are_numbers_like_any_other(value):
    grid = Domain((-1, -1, 1, 1)).grid((2, 2))
    counts = count_cells(Points([[value, value]]), grid)
    assert counts[1, 1] == 1  # snapping is monotone: what rounds to the middle line is above it
    assert count_cells(Points([[value, value]]), Domain((0, 0, 1, 1)).grid((4, 4))).sum() == (value >= 0)


@given(domains(), shapes, st.data())
def test_what_is_outside_counts_nowhere(domain, shape, data):
    xmin, ymin, xmax, ymax = domain.bounds
    inside = (xmin + xmax) / 2, (ymin + ymax) / 2
    outside_x = [math.nan, math.inf, -math.inf, math.nextafter(xmin, -math.inf), math.nextafter(xmax, math.inf), 1e308]
    outside_y = [math.nan, math.inf, -math.inf, math.nextafter(ymin, -math.inf), math.nextafter(ymax, math.inf), -1e308]
    points = [(data.draw(st.sampled_from(outside_x)), inside[1]), (inside[0], data.draw(st.sampled_from(outside_y)))]
    assert count_cells(Points(points), domain.grid(shape)).sum() == 0


@given(st.integers(1, 1000), st.data())
def test_a_record_on_an_edge_belongs_to_the_cell_above(count, data):
    edge = data.draw(st.integers(0, count - 1))
    counts = count_cells(Points([[edge, 0]]), Domain((0, 0, count, 1)).grid((count, 1)))
    assert counts[0, edge] == 1


def test_counting_agrees_with_numpy_over_many_blocks():
    rng = np.random.default_rng(1)
    xy = rng.uniform(-0.5, 4.5, size=(600_000, 2))
    expected, _, _ = np.histogram2d(xy[:, 1], xy[:, 0], bins=4, range=[[0, 4], [0, 4]])
    assert np.array_equal(counts(xy), expected)


@pytest.mark.parametrize("region", [None, box(0.2, 0.1, 0.9, 0.7)])
def test_counts_of_very_many_cells_are_those_of_few_cells_divided(region):
    xy, domain = np.random.default_rng(3).normal(0.5, 0.2, (5000, 2)), Domain((0, 0, 1, 1), region=region)
    fine, coarse = (count_cells(Points(xy), domain.grid((side, side))) for side in (1000, 10))
    inside = domain.grid((1000, 1000)).mask.reshape(10, 100, 10, 100).all(axis=(1, 3))
    assert np.array_equal(fine.reshape(10, 100, 10, 100).sum(axis=(1, 3))[inside], coarse[inside])
    assert not fine[~domain.grid((1000, 1000)).mask].any()


def adversarial(axis, rng, count):
    """Coordinates at and around the edges of cells and of lattice squares, and some that are no places."""
    lines = np.concatenate(
        [rng.integers(0, LATTICE + 1, 4000), np.arange(0, count, max(1, count // 4000)) * LATTICE // count]
    )
    near = axis.low + lines * axis.spacing
    steps = [near]
    for _ in range(2):
        steps += [np.nextafter(steps[-1], np.inf), np.nextafter(steps[0], -np.inf)]
    odd = np.array([np.nan, np.inf, -np.inf, 1e308, -1e308, 5e-324, -0.0, axis.low, axis.high])
    return rng.permutation(np.concatenate([*steps, odd]))


@pytest.mark.parametrize(
    "bounds", [(0, 0, 1, 1), (-180, -90, 180, 90), (0.1, -7e5, 0.3, 9.1e6), (-1e-9, 1e15, 1e-9, 2e15)]
)
@pytest.mark.parametrize("shape", [(1, 1), (3, 7), (1000, 1024), (2**23 - 1, 3), (2**23, 2), (5, 2**24 + 1)], ids=str)
def test_cells_are_those_of_the_lattice_in_whole_numbers(bounds, shape):
    """Counting computes cells in doubles, or in integers where doubles would not be exact."""
    domain, rng = Domain(bounds), np.random.default_rng(shape[0])
    x, y = (adversarial(axis, rng, count) for axis, count in zip(domain.axes, shape, strict=True))
    size = min(x.size, y.size)
    x, y = x[:size], y[:size]
    grid = domain.grid(shape)
    (cells,) = cell_numbers([(x, y)], grid)
    (expected,) = lattice_cell_numbers([snap(x, y, domain)], grid)
    assert np.array_equal(cells[cells < shape[0] * shape[1]], expected)


@pytest.mark.parametrize("shape", [(1, 1), (300, 200), (2200, 2000)], ids=str)
def test_blocks_of_any_size_are_counted_together(shape):
    """Numbers of cells wait for others, unless there are more than fit, or very many cells."""
    rng, n_cells = np.random.default_rng(5), shape[0] * shape[1]
    blocks = [rng.integers(0, n_cells + 1, size) for size in (0, 1, 70_000, 3, 70_000, 5_000, 300_000, 120_000, 0)]

    class Cells:
        def _cells(self, grid):
            buffer = np.empty(300_000, dtype=np.int64)
            for block in blocks:
                buffer[: block.size] = block
                yield buffer[: block.size]
                buffer[:] = -1  # as a source may overwrite a block

    counts = count_records(Cells(), Domain((0, 0, 1, 1)).grid(shape))
    assert np.array_equal(counts.ravel(), np.bincount(np.concatenate(blocks), minlength=n_cells + 1)[:-1])


@given(domains_and_points(), shapes)
def test_occupied_cells_are_the_cells_with_records(case, shape):
    domain, (x, y) = case
    points = Points([[x, y]] * 3)
    dense = count_cells(points, domain.grid(shape)).ravel()
    occupied, held = occupied_cells(points, FineGrid(domain, shape))
    assert occupied.tolist() == np.flatnonzero(dense).tolist()
    assert held.tolist() == dense[dense > 0].tolist()


@pytest.mark.parametrize("bound", [Person(records=2), Person(cells=2), Person(shares=True)], ids=lambda b: b.bound)
@pytest.mark.parametrize("region", [None, box(0, 0, 0.6, 1)], ids=["whole", "region"])
def test_occupied_cells_of_persons_are_those_of_the_plain_grid(bound, region):
    random, domain = np.random.default_rng(4), Domain((0, 0, 1, 1), region=region)
    owners = np.array([f"p{number}" for number in random.integers(0, 40, 500)], dtype=object)
    owners[::9] = None
    points = Points(random.uniform(-0.1, 1.1, (500, 2)), person=owners)
    dense = count_cells(points, domain.grid((9, 7)), bound).ravel()
    occupied, held = occupied_cells(points, FineGrid(domain, (9, 7)), bound)
    assert occupied.tolist() == np.flatnonzero(dense).tolist()
    assert held.tolist() == dense[dense > 0].tolist()


def test_what_is_kept_of_a_person_among_very_many_cells_does_not_depend_on_the_others():
    random, grid = np.random.default_rng(6), FineGrid(Domain((0, 0, 1, 1)), (2**30, 2**30))
    own = random.random((9, 2))
    alone = occupied_cells(Points(own, person=["ann"] * 9), grid, Person(cells=3))[0]
    for others in (5, 300):
        records = np.concatenate([own, random.random((others, 2))])
        names = ["ann"] * 9 + [f"p{number % 50}" for number in range(others)]
        occupied, _ = occupied_cells(Points(records, person=names), grid, Person(cells=3))
        assert np.isin(alone, occupied).all()
        assert np.isin(grid.of_squares(*grid.domain.boxes(np.hstack([own, own]))[:, :2].T), occupied).sum() == 3


def test_no_records_occupy_no_cells():
    grid = FineGrid(Domain((0, 0, 1, 1)), (2**30, 2**30))
    for points, bound in ((Points([]), None), (Points([], [], person=[]), Person(cells=3))):
        occupied, held = occupied_cells(points, grid, bound)
        assert occupied.size == held.size == 0
