"""Points: what is accepted, what is refused, and that nothing shows."""

from __future__ import annotations

import geopandas
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
import shapely

import spatialdp as sdp
from spatialdp.errors import CRSMismatchError, PointsError
from spatialdp.records import points as points_module
from spatialdp.records.counting import FINE_SIDE, count_cells
from spatialdp.records.persons.identifiers import persons_of
from spatialdp.records.points import LatticePoints, as_points, lattice_points, snap, snap_with_persons
from spatialdp.space.lattice import LATTICE
from tests.helpers.points import DOMAIN, GRID, XY, counts
from tests.reference import persons as reference


@pytest.mark.parametrize(
    "points",
    [
        XY,
        XY.tolist(),
        XY.astype(np.float32),
        np.asfortranarray(XY),
        pd.DataFrame(XY, columns=["lon", "lat"]),
        sdp.Points(XY[:, 0], XY[:, 1]),
        sdp.Points(XY[:, 0].tolist(), pd.Series(XY[:, 1])),
        sdp.Points(XY, crs="EPSG:4326"),
        geopandas.GeoDataFrame(geometry=geopandas.points_from_xy(*XY.T), crs="EPSG:4326"),
        geopandas.GeoSeries(geopandas.points_from_xy(*XY.T), crs="EPSG:4326"),
    ],
    ids=lambda points: type(points).__name__,
)
def test_all_forms_count_the_same(points):
    expected = np.zeros((4, 4), dtype=int)
    expected[0, 0], expected[0, 1], expected[3, 3] = 1, 2, 1
    assert np.array_equal(counts(points), expected)


def test_no_records_at_all():
    for empty in ([], np.empty((0, 2)), sdp.Points([], []), geopandas.GeoSeries([], crs="EPSG:4326")):
        assert counts(empty).sum() == 0


def test_two_arrays_must_match_and_geometries_bring_their_own():
    with pytest.raises(PointsError, match="different lengths"):
        sdp.Points([1.0, 2.0], [1.0])
    with pytest.raises(PointsError, match="one-dimensional"):
        sdp.Points(XY, XY)
    with pytest.raises(PointsError, match="brings its own"):
        sdp.Points(geopandas.GeoSeries([shapely.Point(1, 1)]), crs="EPSG:4326")


def test_crs_must_be_the_domains():
    there = geopandas.GeoSeries([shapely.Point(1, 1)], crs="EPSG:3857")
    with pytest.raises(CRSMismatchError, match=r"EPSG:4326.*EPSG:3857.*to_crs"):
        counts(there)
    for without in (geopandas.GeoSeries([shapely.Point(1, 1)]), sdp.Points(geopandas.GeoSeries([shapely.Point(1, 1)]))):
        with pytest.raises(CRSMismatchError, match="set_crs"):
            counts(without)
    with pytest.raises(CRSMismatchError, match="Domain\\(bounds, crs"):
        as_points(there, sdp.Domain((0, 0, 4, 4)))
    with pytest.raises(CRSMismatchError):
        counts(sdp.Points(XY, crs="EPSG:3857"))
    # Axis order is not a different place: geographic coordinates are x = longitude everywhere here.
    assert counts(sdp.Points(XY, crs="OGC:CRS84")).sum() == 4


def test_points_show_nothing():
    few, many = sdp.Points(XY), sdp.Points(np.tile(XY, (100, 1)))
    assert repr(few) == repr(many) == str(many) == "Points(<private>)"
    for attempt in (len, iter, list):
        with pytest.raises(TypeError):
            attempt(many)
    assert not hasattr(many, "__dict__")


@pytest.mark.filterwarnings("error")
def test_odd_values_raise_no_warning():
    odd = [[np.nan, 1], [np.inf, 1], [-np.inf, 1], [1e308, 1], [-1e308, -1e308], [1, np.nan]]
    assert counts(odd).sum() == 0


def test_frames_named_like_the_other_axis_are_refused():
    frame = pd.DataFrame({"lat": [0.5], "lon": [0.5]})
    for swapped in (lambda: sdp.Points(frame), lambda: sdp.Points(frame["lat"], frame["lon"])):
        with pytest.raises(PointsError, match="named like the other axis"):
            swapped()
    assert sdp.Points(frame[["lon", "lat"]]) is not None
    assert sdp.Points(frame["lon"], frame["lat"]) is not None
    assert sdp.Points(frame.to_numpy()) is not None


# --- persons ---------------------------------------------------------------------------------------

WHO = ["ann", "bob", "bob", None]
BOUNDS = [sdp.Person(records=1), sdp.Person(cells=2), sdp.Person(shares=True)]
LARGER = [sdp.Person(records=40), sdp.Person(cells=9), sdp.Person(shares=True)]
FRAME = pd.DataFrame({"lon": XY[:, 0], "who": WHO, "lat": XY[:, 1]})
WITH_LINE = [*geopandas.points_from_xy(*XY.T), None, shapely.LineString([(0, 0), (1, 1)]), shapely.Point()]
PLACES = geopandas.GeoDataFrame({"who": [*WHO, "ann", "ann", "ann"]}, geometry=WITH_LINE, crs="EPSG:4326")
GEO_TABLE = pa.table(PLACES.to_arrow())


def lattice(points, domain, persons):
    """The same points as `read_points` makes them, in two parts."""
    halves = (slice(3), slice(3, None))
    parts = [snap_with_persons(*points[half].T, persons_of(persons[half]), domain) for half in halves]
    return LatticePoints([(columns, rows) for columns, rows, _ in parts], domain, [part[2] for part in parts])


@pytest.mark.parametrize(
    "points",
    [
        sdp.Points(XY, person=WHO),
        sdp.Points(XY[:, 0], XY[:, 1], person=pd.Series(WHO)),
        sdp.Points(FRAME[["lon", "lat"]], person=FRAME["who"]),
        sdp.Points(FRAME, person="who"),
        sdp.Points(pa.table(FRAME), person="who"),
        sdp.Points(pa.table(FRAME).to_reader(), person="who"),
        sdp.Points(PLACES, person="who"),
        sdp.Points(PLACES.geometry, person=PLACES["who"]),
        sdp.Points(GEO_TABLE, person="who"),
        lattice(XY, DOMAIN, WHO),
    ],
    ids=lambda points: f"{type(points).__name__}",
)
def test_all_forms_have_the_same_persons(points):
    expected = np.zeros((4, 4), dtype=int)
    expected[0, 0], expected[0, 1] = 1, 1
    for bound in BOUNDS:
        assert np.array_equal(count_cells(as_points(points, DOMAIN, bound), GRID, bound), expected * bound.steps)
    assert "person=<private>" in repr(points)


def test_points_show_of_persons_only_that_there_are_some():
    few, many = sdp.Points(XY, person=WHO), sdp.Points(np.tile(XY, (9, 1)), person=list(range(36)))
    assert repr(few) == repr(many) == "Points(<private>, person=<private>)"
    assert repr(sdp.Points(XY, person=WHO, crs="EPSG:4326")) == "Points(<private>, crs='EPSG:4326', person=<private>)"


@pytest.mark.parametrize("persons", [["ann"], ["ann"] * 5, []])
def test_each_record_needs_a_person_and_complaints_have_no_numbers(persons):
    for make in (lambda: sdp.Points(XY, person=persons), lambda: sdp.Points(*XY.T, person=np.array(persons, "U"))):
        with pytest.raises(PointsError, match="the points and their persons have different lengths") as caught:
            make()
        assert not any(character.isdigit() for character in str(caught.value))
        assert caught.value.__context__ is None


def test_a_bound_and_persons_need_each_other():
    with pytest.raises(PointsError, match=r"do not say who they are about; name their persons: Points\(x, y, person="):
        as_points(XY, DOMAIN, sdp.Person(cells=1))
    with pytest.raises(PointsError, match=r"not bounded; give a bound, such as person=Person\(cells=20\)"):
        as_points(sdp.Points(XY, person=WHO), DOMAIN)
    with pytest.raises(PointsError, match="do not say who they are about"):
        count_cells(sdp.Points(XY), GRID, sdp.Person(cells=1))
    with pytest.raises(PointsError, match="do not say who they are about"):
        count_cells(LatticePoints([snap(*XY.T, DOMAIN)], DOMAIN), GRID, sdp.Person(cells=1))


def test_a_name_of_a_column_needs_columns():
    for make in (lambda: sdp.Points(XY, person="who"), lambda: sdp.Points(FRAME["lon"], FRAME["lat"], person="who")):
        with pytest.raises(PointsError, match="no column 'who'; give person as an array"):
            make()


@pytest.fixture(scope="module")
def crowd():
    """Many records of few persons in a region and around it, some without a person."""
    rng = np.random.default_rng(5)
    xy = rng.uniform(-0.3, 4.3, (3000, 2))
    who = rng.choice(np.array(["ann", "bob", "5", None], dtype=object), 3000)
    triangle = shapely.Polygon([(0.5, 0.5), (3.9, 0.2), (2.0, 3.7)])
    return xy, who, sdp.Domain((0, 0, 4, 4), region=triangle)


@pytest.mark.parametrize("bound", LARGER, ids=repr)
def test_records_outside_the_region_are_left_out_before_persons_are_bounded(crowd, bound, monkeypatch):
    monkeypatch.setattr(points_module, "_BLOCK", 700)
    xy, who, domain = crowd
    grid = domain.grid((13, 11))
    cells = np.concatenate([part.copy() for part in sdp.Points(xy)._cells(grid)])
    inside = np.append(grid.mask.ravel(), False)[cells]
    expected = reference.counts(who.tolist(), np.where(inside, cells, 143).tolist(), 143, bound)
    for points in (sdp.Points(xy, person=who), lattice(xy, domain, who)):
        assert count_cells(points, grid, bound).ravel().tolist() == expected


@pytest.mark.parametrize("bound", [None, *LARGER], ids=repr)
@pytest.mark.parametrize("in_region", [True, False])
def test_fine_cells_are_the_records_at_the_lower_corners_of_a_fine_grid(crowd, bound, in_region):
    """Records and their persons are those of `lattice_points`, which goes by the same raster of the region."""
    xy, who, domain = crowd
    xy, who, domain = np.tile(xy[:600], (2, 1)), np.tile(who[:600], 2), domain if in_region else DOMAIN
    here = [np.concatenate(lattice_points(sdp.Points(place[None]), domain)) // (LATTICE // FINE_SIDE) for place in xy]
    cells = [int(place[1]) * FINE_SIDE + int(place[0]) if place.size else -1 for place in here]
    everyone = ["all" if bound is None else person for person in who]
    expected = {}
    for (_, cell), n in reference.kept(everyone, cells, FINE_SIDE**2, bound or sdp.Person(records=10**6)).items():
        expected[cell] = expected.get(cell, 0) + n
    for points in (sdp.Points(xy, person=who), lattice(xy, domain, who)):
        columns, rows, weights = points._fine_cells(domain, bound)
        assert columns.dtype == rows.dtype == np.int32
        assert not np.any(np.stack([columns, rows]) % (LATTICE // FINE_SIDE))
        numbers = rows.astype(np.int64) * FINE_SIDE**2 // LATTICE + columns // (LATTICE // FINE_SIDE)
        assert np.all(np.diff(numbers) > 0)
        assert dict(zip(numbers.tolist(), weights.tolist(), strict=True)) == expected
