from itertools import pairwise

import geopandas
import numpy as np
import pytest
import shapely
from hypothesis import given, settings
from hypothesis import strategies as st

import spatialdp as sdp
from spatialdp.space.lattice import LATTICE
from spatialdp.space.zones import location
from spatialdp.space.zones.location import OutlineLocator
from tests.helpers.zones import squares, tiling
from tests.reference.zones import leaf_of, rings_on_lattice


def lattice_places(zones, generator, count=60):
    """Squares anywhere, and squares within three squares of an edge or a corner."""
    corners = shapely.get_coordinates(zones.outlines)
    begin = generator.integers(0, len(corners) - 1, count)
    share = generator.uniform(size=(count, 1)) * generator.integers(0, 2, (count, 1))
    near = np.floor(corners[begin] + share * (corners[begin + 1] - corners[begin]))
    near += generator.integers(-3, 4, near.shape)
    places = np.concatenate([near, generator.integers(0, LATTICE, (count, 2))])
    return np.clip(places, 0, LATTICE - 1).astype(np.int32).T


def expected(zones, columns, rows):
    first = np.argsort(zones._places)
    rings = [rings_on_lattice(zones.geometry[leaf], zones.domain) for leaf in first]
    found = [leaf_of(rings, int(column), int(row)) for column, row in zip(columns, rows, strict=True)]
    return np.append(first, zones.n_leaves)[found]


@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 2**32 - 1))
def test_squares_are_where_a_crossing_test_in_whole_numbers_says(seed):
    generator = np.random.default_rng(seed)
    zones = sdp.Zones(tiling(seed), ["state", "county"])
    columns, rows = lattice_places(zones, generator)
    assert np.array_equal(zones.locator.leaves(columns, rows), expected(zones, columns, rows))


@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 2**32 - 1))
def test_a_square_is_in_just_one_of_zones_that_share_their_edges(seed):
    """But for squares whose centre lies exactly on an edge, which the first of both zones gets."""
    zones = sdp.Zones(tiling(seed, 3), ["state", "county"])
    columns, rows = lattice_places(zones, np.random.default_rng(seed))
    inside = shapely.intersects_xy(
        shapely.union_all(zones.geometry).buffer(-1e-6), columns / LATTICE * 3, rows / LATTICE * 3
    )
    assert (zones.locator.leaves(columns, rows)[inside] < zones.n_leaves).all()
    hits = [
        OutlineLocator(zones.outlines[[leaf]], np.zeros(1, int)).leaves(columns, rows) == 0
        for leaf in range(zones.n_leaves)
    ]
    rings = [rings_on_lattice(area, zones.domain) for area in zones.geometry]
    for square in np.flatnonzero(np.sum(hits, axis=0) > 1):
        assert on_edges(rings, int(columns[square]), int(rows[square])) > 1


def on_edges(areas, column, row):
    x, y = 2 * column + 1, 2 * row + 1
    return sum(
        any(
            (y1 > y) != (y2 > y) and (x2 - x1) * (y - y1) == (x - x1) * (y2 - y1)
            for ring in rings
            for (x1, y1), (x2, y2) in pairwise(ring)
        )
        for rings in areas
    )


def test_exactly_on_a_slanted_edge_the_first_zone_of_the_frame_wins():
    low, high = shapely.Polygon([(0, 0), (1, 0), (1, 1)]), shapely.Polygon([(0, 0), (1, 1), (0, 1)])
    diagonal = np.arange(0, LATTICE, LATTICE // 64, dtype=np.int32)
    for areas, winner in (([low, high], "a"), ([high, low], "a")):
        frame = geopandas.GeoDataFrame({"zone": ["a", "b"]}, geometry=areas)
        zones = sdp.Zones(frame, ["zone"])
        assert set(zones.codes[zones.leaf_nodes][zones.locator.leaves(diagonal, diagonal)]) == {winner}
    frame = geopandas.GeoDataFrame({"zone": ["b", "a"]}, geometry=[low, high])  # codes do not decide, rows do
    zones = sdp.Zones(frame, ["zone"])
    assert set(zones.codes[zones.leaf_nodes][zones.locator.leaves(diagonal, diagonal)]) == {"b"}


def test_permuting_the_frame_changes_nothing_where_zones_do_not_overlap():
    frame = tiling(7)
    zones, other = (sdp.Zones(each, ["state", "county"]) for each in (frame, frame.sample(frac=1, random_state=1)))
    columns, rows = np.random.default_rng(1).integers(0, LATTICE, (2, 5000)).astype(np.int32)
    assert np.array_equal(zones.locator.leaves(columns, rows), other.locator.leaves(columns, rows))
    assert zones.digest == other.digest
    assert zones.codes.tolist() == other.codes.tolist()


def test_holes_enclaves_and_parts():
    ring = shapely.Polygon(shapely.box(0, 0, 4, 4).exterior, [shapely.box(1, 1, 2, 2).exterior])
    pair = shapely.MultiPolygon([shapely.box(5, 0, 6, 1), shapely.box(7, 0, 8, 1)])
    frame = geopandas.GeoDataFrame(
        {"zone": ["ring", "enclave", "pair"]}, geometry=[ring, shapely.box(1, 1, 1.5, 2), pair]
    )
    zones = sdp.Zones(frame, ["zone"])
    x, y = np.array([0.5, 1.25, 1.75, 5.5, 6.5, 7.5]), np.array([0.5, 1.5, 1.5, 0.5, 0.5, 0.5])
    columns, rows = (
        axis.positions(values).astype(np.int32) for axis, values in zip(zones.domain.axes, (x, y), strict=True)
    )
    names = np.append(zones.codes[zones.leaf_nodes], "nowhere")
    assert names[zones.locator.leaves(columns, rows)].tolist() == [
        "ring",
        "enclave",
        "nowhere",
        "pair",
        "nowhere",
        "pair",
    ]


def test_asking_again_changes_nothing():
    zones = sdp.Zones(tiling(11), ["state", "county"])
    columns, rows = np.random.default_rng(1).integers(0, LATTICE, (2, 3000)).astype(np.int32)
    first = zones.locator.leaves(columns[:1000], rows[:1000])
    every = zones.locator.leaves(columns, rows)
    assert np.array_equal(every[:1000], first)
    assert np.array_equal(every, expected(zones, columns, rows))


def test_places_outside_the_domain_are_nowhere():
    zones = sdp.Zones(squares("a"), ["zone"])
    assert zones.locator.leaves(np.array([-1, 5], np.int32), np.array([-1, 5], np.int32)).tolist() == [1, 0]
    assert zones.locator.leaves(np.empty(0, np.int32), np.empty(0, np.int32)).size == 0


@pytest.mark.parametrize("pairs", [1, 7, 2**20])
def test_the_number_of_tests_at_a_time_changes_nothing(monkeypatch, pairs):
    zones = sdp.Zones(tiling(3), ["state", "county"])
    columns, rows = lattice_places(zones, np.random.default_rng(5))
    want = zones.locator.leaves(columns, rows)
    monkeypatch.setattr(location, "_PAIRS", pairs)
    again = sdp.Zones(tiling(3), ["state", "county"])
    assert np.array_equal(again.locator.leaves(columns, rows), want)
