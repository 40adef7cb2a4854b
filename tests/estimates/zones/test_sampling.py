"""Synthetic points of zones: the right zones, even within a zone, and never on the wrong side of a border."""

from __future__ import annotations

import geopandas
import numpy as np
import pytest
import shapely

import spatialdp as sdp
from spatialdp.errors import ReleaseError
from spatialdp.estimates.zones.sampling import sample_zones
from spatialdp.records.points import lattice_points
from tests.helpers.zone_releases import zones_of

RING = shapely.Polygon(shapely.box(0, 0, 9, 9).exterior, [shapely.box(3, 3, 6, 6).exterior])
SHAPES = {
    "ring": RING,
    "enclave": shapely.box(3, 3, 6, 6),
    "diagonal": shapely.Polygon([(9, 0), (20, 11), (20, 11.01), (9, 0.01)]),
    "islands": shapely.MultiPolygon([shapely.box(30, 0, 30.2, 0.2), shapely.box(39, 9, 39.1, 9.2)]),
    "triangle": shapely.Polygon([(0, 10), (9, 10), (0, 19)]),
}


def release_of(counts, epsilon=1000):
    frame = geopandas.GeoDataFrame({"zone": list(SHAPES)}, geometry=list(SHAPES.values()))
    zones = sdp.Zones(frame, levels=["zone"])
    codes = [code for code, count in counts.items() for _ in range(count)]
    return sdp.ZoneTree().release(sdp.Codes(codes), zones, epsilon=epsilon, noise=sdp.SeededNoise(1))


def located(release, points):
    columns, rows = lattice_points(sdp.Points(*points.T), release.domain)
    return release.zones.locator.leaves(columns.astype(np.int32), rows.astype(np.int32))


@pytest.mark.parametrize("name", SHAPES)
def test_locating_a_point_gives_its_zone_again(name):
    release = release_of({name: 500})
    leaves, points = sample_zones(release.estimate, None, sdp.SeededNoise(2))
    assert np.array_equal(located(release, points), leaves)
    frame = release.sample(as_geodataframe=True, noise=sdp.SeededNoise(2))
    assert abs(len(frame) - 500) < 3
    assert set(frame["zone"]) == {name}
    assert frame.attrs["privacy"]["epsilon"] == 1000.0


def test_one_point_is_drawn_however_thin_its_zone():
    release = release_of({"diagonal": 5})
    assert all(release.sample(1).shape == (1, 2) for _ in range(5))


@pytest.mark.statistical
def test_zones_are_drawn_by_their_estimates():
    release = release_of({"ring": 600, "enclave": 300, "triangle": 100})
    frame = release.sample(20_000, as_geodataframe=True, noise=sdp.SeededNoise(3))
    shares = frame["zone"].value_counts(normalize=True)
    assert [shares["ring"], shares["enclave"], shares["triangle"]] == pytest.approx([0.6, 0.3, 0.1], abs=0.02)


@pytest.mark.statistical
@pytest.mark.parametrize(
    ("name", "part", "share"), [("ring", shapely.box(0, 0, 9, 3), 27 / 72), ("islands", None, 2 / 3)]
)
def test_points_are_even_within_a_zone(name, part, share):
    release = release_of({name: 1000})
    points = shapely.points(release.sample(20_000, noise=sdp.SeededNoise(4)))
    inside = shapely.contains(SHAPES[name].geoms[0] if part is None else part, points).mean()
    assert abs(inside - share) < 0.02  # five standard deviations, and a fifth of what a wrong weight would do


def test_a_zone_thinner_than_a_lattice_square_gets_a_point_within_its_polygon():
    thin = 1e-8
    boxes = [shapely.box(0, 0, 500, 10), shapely.box(500, 0, 500 + thin, 10), shapely.box(500 + thin, 0, 1000, 10)]
    zones = sdp.Zones(geopandas.GeoDataFrame({"zone": ["a", "b", "c"]}, geometry=boxes), levels=["zone"])
    release = sdp.ZoneTree().release(sdp.Codes(["b"] * 9), zones, epsilon=1000)
    points = release.sample(4)
    assert points[:, 0] == pytest.approx(np.full(4, 500), abs=1e-5)


def test_codes_without_polygons_have_no_points():
    zones = zones_of(geometry=False)
    release = sdp.ZoneTree().release(sdp.Codes(["A1a"]), zones, epsilon=1)
    with pytest.raises(ReleaseError, match="no place"):
        release.sample(3)


def test_nothing_is_drawn_from_nothing():
    assert release_of({}).sample(0).shape == (0, 2)
