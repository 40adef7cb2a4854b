"""Domain, lattice, grids and regions."""

from __future__ import annotations

import math

import geopandas
import numpy as np
import pytest
import shapely
from hypothesis import given
from hypothesis import strategies as st

from spatialdp import Domain, Points
from spatialdp.errors import CRSMismatchError, DomainError, ParameterError
from spatialdp.records.counting import count_cells
from spatialdp.space.lattice import LATTICE, cells_of

finite = st.floats(-1e6, 1e6, allow_subnormal=True)
sides = st.floats(1e-3, 1e6)
shapes = st.tuples(st.integers(1, 40), st.integers(1, 40))


@st.composite
def domains(draw):
    """Boxes in both hemispheres, large and small."""
    x, y, width, height = draw(finite), draw(finite), draw(sides), draw(sides)
    return Domain((x, y, x + width, y + height))


@st.composite
def domains_and_points(draw):
    """A domain and a point in it, often on an edge or corner."""
    domain = draw(domains())
    xmin, ymin, xmax, ymax = domain.bounds
    share = st.one_of(st.sampled_from([0.0, 1.0, 0.5]), st.floats(0, 1, allow_subnormal=True))
    x = min(xmax, xmin + draw(share) * (xmax - xmin))
    y = min(ymax, ymin + draw(share) * (ymax - ymin))
    return domain, (x, y)


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


@given(finite, finite, st.floats(1, 1e6), st.floats(1, 1e6), shapes)
def test_cell_edges_snap_to_themselves(x, y, width, height, shape):
    # Wherever doubles are finer than the lattice, as they are for any sensible domain.
    domain = Domain((x, y, x + width, y + height))
    grid = domain.grid(shape)
    for axis, edges, lines in zip(domain.axes, (grid.x_edges, grid.y_edges), (grid.x_lines, grid.y_lines), strict=True):
        assert np.array_equal(axis.positions(edges), lines)
        assert (edges[0], edges[-1]) == (axis.low, axis.high)


@given(finite, st.floats(1, 1e6), st.lists(st.integers(0, LATTICE), min_size=1, max_size=20))
def test_lattice_lines_snap_to_themselves(low, width, lines):
    axis = Domain((low, 0, low + width, 1)).axes[0]
    assert axis.positions(axis.coordinates(np.array(lines))).tolist() == lines


@given(st.integers(1, 1000), st.data())
def test_a_record_on_an_edge_belongs_to_the_cell_above(count, data):
    edge = data.draw(st.integers(0, count - 1))
    counts = count_cells(Points([[edge, 0]]), Domain((0, 0, count, 1)).grid((count, 1)))
    assert counts[0, edge] == 1


@given(shapes)
def test_cells_partition_the_lattice(shape):
    grid = Domain((0, 0, 1, 1)).grid(shape)
    for lines, count in zip((grid.x_lines, grid.y_lines), shape, strict=True):
        assert lines[0] == 0
        assert lines[-1] == LATTICE
        assert (np.diff(lines) > 0).all()
        assert np.array_equal(cells_of(lines[:-1], count), np.arange(count))
        assert np.array_equal(cells_of(lines[1:] - 1, count), np.arange(count))


@given(domains(), st.lists(st.floats(0, 1), min_size=2, max_size=20))
def test_snapping_is_monotone(domain, shares):
    x = domain.axes[0]
    values = np.sort(np.minimum(x.low + np.array(shares) * (x.high - x.low), x.high))
    assert (np.diff(x.positions(values)) >= 0).all()


@pytest.mark.parametrize(
    "bounds",
    [
        (0, 0, 0, 1),
        (1, 0, 0, 1),
        (170, -10, -170, 10),
        (0, 0, math.nan, 1),
        (0, 0, math.inf, 1),
        (-1e308, 0, 1e308, 1),
        (0, 0, 1e-300, 1),
        (0, 0, 1),
        (0, 0, 10**400, 1),
        "abcd",
        "0123",
        None,
    ],
)
def test_bounds_that_are_no_rectangle_are_refused(bounds):
    with pytest.raises(DomainError, match="bounds"):
        Domain(bounds)


def test_antimeridian_error_says_what_to_do():
    with pytest.raises(DomainError, match="antimeridian"):
        Domain((170, -10, -170, 10))


@pytest.mark.parametrize("shape", [(0, 1), (1, -1), (1.5, 2), (True, 2), (2**15, 2**15), "ab", (1, 2, 3)])
def test_shapes_that_make_no_grid_are_refused(shape):
    with pytest.raises(ParameterError, match="shape"):
        Domain((0, 0, 1, 1)).grid(shape)


def test_grid_by_cell_size():
    domain = Domain((0, 0, 20, 10))
    assert domain.grid(cell_size=0.1).shape == (200, 100)
    assert domain.grid(cell_size=(4, 5)).shape == (5, 2)
    with pytest.raises(DomainError, match="fitted"):
        domain.grid(cell_size=3)
    assert domain.fitted(3.0).bounds == (0, 0, 21, 9)
    assert domain.fitted(3.0).grid(cell_size=3.0).shape == (7, 3)
    with pytest.raises(DomainError, match="not both"):
        domain.grid((2, 2), cell_size=1)
    with pytest.raises(DomainError, match="either"):
        domain.grid()
    for bad in (0, -1, math.nan, math.inf):
        with pytest.raises(ParameterError, match="positive"):
            domain.grid(cell_size=bad)
    with pytest.raises(DomainError, match="too large"):
        domain.fitted(100.0)


class TestRegion:
    triangle = shapely.Polygon([(0, 0), (4, 0), (0, 4)])

    def test_cells_belong_by_their_centres(self):
        grid = Domain((0, 0, 4, 4), region=self.triangle).grid((4, 4))
        expected = [[shapely.contains_xy(self.triangle, x + 0.5, y + 0.5) for x in range(4)] for y in range(4)]
        assert np.array_equal(grid.mask, expected)
        assert grid.n_cells == np.sum(expected) == 6

    def test_records_in_cells_outside_count_nowhere(self):
        grid = Domain((0, 0, 4, 4), region=self.triangle).grid((4, 4))
        counts = count_cells(Points([[0.5, 0.5], [3.5, 3.5], [3.4, 0.2]]), grid)
        assert counts.sum() == 1
        assert not counts[~grid.mask].any()

    def test_geodataframes_are_merged_and_their_crs_checked(self):
        halves = geopandas.GeoDataFrame(geometry=[shapely.box(0, 0, 1, 2), shapely.box(1, 0, 2, 2)], crs="EPSG:4326")
        domain = Domain.around(halves, crs="EPSG:4326")
        assert domain.bounds == (0, 0, 2, 2)
        assert Domain.around(halves) == domain
        with pytest.raises(DomainError, match="set_geometry"):
            Domain.around(geopandas.GeoDataFrame({"a": [1]}))
        assert Domain((0, 0, 2, 2), "EPSG:4326", halves.geometry).grid((2, 2)).n_cells == 4
        with pytest.raises(CRSMismatchError, match="to_crs"):
            Domain((0, 0, 2, 2), "EPSG:3857", halves)
        with pytest.raises(CRSMismatchError, match="has none"):
            Domain((0, 0, 2, 2), region=halves)

    def test_regions_that_are_no_area_are_refused(self):
        for bad in (shapely.Point(1, 1), shapely.Polygon(), "box", 3):
            with pytest.raises(DomainError, match="region"):
                Domain((0, 0, 4, 4), region=bad)
        bow_tie = shapely.Polygon([(0, 0), (1, 1), (1, 0), (0, 1)])
        with pytest.raises(DomainError, match="make_valid"):
            Domain((0, 0, 4, 4), region=bow_tie)
        with pytest.raises(DomainError, match="outside the bounds"):
            Domain((10, 10, 14, 14), region=self.triangle)


def test_crs_is_canonical_and_unknown_ones_are_refused():
    assert Domain((0, 0, 1, 1), crs=4326).crs == "EPSG:4326"
    assert Domain((0, 0, 1, 1), crs="epsg:4326") == Domain((0, 0, 1, 1), crs="EPSG:4326")
    with pytest.raises(DomainError, match="EPSG:4326"):
        Domain((0, 0, 1, 1), crs="no such thing")


@pytest.mark.parametrize(
    "bad", [(0, 0, 1), [(0, 0, 1)], (1, 0, 0, 1), (0, math.nan, 1, 1), np.zeros((2, 2, 4)), shapely.box(0, 0, 1, 1)]
)
def test_boxes_that_are_no_boxes_are_refused(bad):
    with pytest.raises(ParameterError, match="box"):
        Domain((0, 0, 1, 1)).boxes(bad)
