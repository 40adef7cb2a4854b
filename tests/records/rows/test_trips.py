"""Trips: what counts, what is kept of persons, what is refused, and that nothing is shown."""

from __future__ import annotations

import contextlib
import sqlite3

import geopandas
import numpy as np
import pandas as pd
import pytest
import shapely

import spatialdp as sdp
from spatialdp.errors import PointsError
from spatialdp.records.rows.trips import Trips, as_trips, occupied_pairs

GRID = sdp.Domain((0, 0, 1, 1)).grid((3, 1))
FRAME = sdp.Frame(GRID)
ZONES = sdp.Frame(sdp.Zones.from_codes(["a1", "a2", "b1"], None, {"code": 2}))
XY = np.array([[0.1, 0.5], [0.5, 0.5], [0.9, 0.5]])


def counted(trips, frame=FRAME, person=None):
    numbers, counts = occupied_pairs(as_trips(trips, frame, person), frame, person)
    return dict(zip(numbers.tolist(), counts.tolist(), strict=True))


def test_pairs_are_counted_from_origin_to_destination():
    assert counted(Trips(XY[[0, 0, 2]], XY[[1, 1, 0]])) == {1: 2, 6: 1}


def test_trips_with_an_end_that_is_nowhere_count_nowhere():
    nowhere = np.array([[np.nan, 0.5], [5, 5], [-1, 0.2]])
    assert counted(Trips(np.vstack([XY, nowhere]), np.vstack([nowhere, XY]))) == {}
    codes = sdp.Codes(["a1", None, "a1", "a"])
    assert counted(Trips(codes, sdp.Codes(["b1", "b1", "c9", "b1"])), ZONES) == {2: 1}


def test_points_and_codes_may_be_mixed():
    import geopandas
    import shapely

    areas = geopandas.GeoDataFrame({"code": ["a", "b"]}, geometry=[shapely.box(0, 0, 1, 1), shapely.box(1, 0, 2, 1)])
    frame = sdp.Frame(sdp.Zones(areas, levels=["code"]))
    assert counted(Trips(sdp.Codes(["b", "a"]), [[0.5, 0.5], [1.5, 0.5]]), frame) == {2: 1, 1: 1}


@pytest.mark.parametrize("bound", [sdp.Person(records=2), sdp.Person(cells=2)])
def test_a_person_is_bounded_over_all_pairs(bound):
    """Whichever places the trips share: at most two in all."""
    trips = Trips(XY[[0, 0, 0, 1, 2]], XY[[0, 1, 2, 1, 1]], person=[1] * 5)
    assert sum(counted(trips, person=bound).values()) == 2
    alone = Trips(XY[[0, 0, 0, 1, 2, 2]], XY[[0, 1, 2, 1, 1, 2]], person=[1] * 5 + [2])
    assert sum(counted(alone, person=bound).values()) == 3


def test_records_without_a_person_count_nowhere():
    trips = Trips(XY, XY, person=["ann", None, "bob"])
    assert counted(trips, person=sdp.Person(records=1)) == {0: 1, 8: 1}


def test_what_is_kept_of_a_person_depends_on_this_person_alone():
    rng = np.random.default_rng(2)
    bound, one = sdp.Person(records=3), rng.integers(0, 3, (2, 20))
    kept = counted(Trips(XY[one[0]], XY[one[1]], person=[7] * 20), person=bound)
    for _ in range(5):
        others = rng.integers(0, 3, (2, 30))
        ends = np.concatenate([others, one], axis=1)
        owners = rng.integers(100, 110, 30).tolist()
        both = counted(Trips(XY[ends[0]], XY[ends[1]], person=[*owners, *[7] * 20]), person=bound)
        alone = counted(Trips(XY[others[0]], XY[others[1]], person=owners), person=bound)
        assert {pair: both[pair] - alone.get(pair, 0) for pair in both if both[pair] > alone.get(pair, 0)} == kept


def test_columns_of_a_frame_become_trips():
    frame = pd.DataFrame({"x": XY[:, 0], "y": 0.5, "to": ["a1", "a2", "b1"], "from": ["a1"] * 3, "who": [1, 1, 2]})
    assert counted(Trips.from_frame(frame, ("x", "y"), ["x", "y"])) == {0: 1, 4: 1, 8: 1}
    trips = Trips.from_frame(frame, "from", "to", person="who")
    assert counted(trips, ZONES, sdp.Person(records=5)) == {0: 1, 1: 1, 2: 1}


def test_nothing_is_shown():
    assert repr(Trips(XY, XY)) == "Trips(<private>)"


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: Trips(XY, XY[:2]), "origins and destinations have different lengths"),
        (lambda: Trips(sdp.Points(XY), XY, person=[1, 2, 3]), "the origins name their persons themselves"),
        (lambda: Trips(XY, sdp.Points(XY, person=[1, 2, 3])), "the destinations name persons"),
        (lambda: Trips.from_frame(pd.DataFrame({"a": [1]}), "b", "a"), "'b' is no column of the trips"),
        (lambda: Trips.from_frame(pd.DataFrame({"a": [1]}), 7, "a"), "the end of the trips is named by 7"),
        (lambda: Trips.from_frame(XY, "a", "b"), "is no column of the trips"),
        (lambda: as_trips(XY, FRAME), "flows need two places for each"),
        (
            lambda: as_trips(Trips(sdp.Codes(["a"]), sdp.Codes(["a"])), FRAME),
            "codes of zones, but the frame has a grid",
        ),
        (lambda: as_trips(Trips(XY, XY), ZONES), "no geometries, so records can be located by codes alone"),
        (lambda: as_trips(Trips(XY, XY, person=[1] * 3), FRAME), "what one person contributes is not bounded"),
        (lambda: as_trips(Trips(XY, XY), FRAME, sdp.Person(records=1)), "the points do not say who they are about"),
    ],
)
def test_wrong_forms_are_refused_in_words(make, words):
    with pytest.raises(PointsError, match=words):
        make()


def table():
    rng = np.random.default_rng(5)
    xy = rng.random((300, 4)) * 1.1
    xy[::7, 2] = np.nan
    codes = rng.choice(["a1", "a2", "b1", "c9"], (300, 2))
    return pd.DataFrame(
        {"x": xy[:, 0], "y": xy[:, 1], "u": xy[:, 2], "v": xy[:, 3], "from": codes[:, 0], "to": codes[:, 1]}
    ).assign(who=rng.integers(0, 40, 300))


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
@pytest.mark.parametrize("person", [None, sdp.Person(records=2)])
def test_trips_of_files_are_those_of_frames(suffix, person, tmp_path):
    """Missing coordinates and unknown codes at one end take the trip away, and never shift the others."""
    frame, path = table(), tmp_path / f"trips{suffix}"
    frame.to_csv(path, index=False) if suffix == ".csv" else frame.to_parquet(path)
    who = None if person is None else "who"
    for places, ends, within in (
        (FRAME, (("x", "y"), ("u", "v")), GRID.domain),
        (ZONES, ("from", "to"), ZONES.space.zones),
    ):
        held = counted(Trips.from_frame(frame, *ends, person=who), places, person)
        assert len(held) > 3
        assert counted(sdp.read_trips(path, within, *ends, person=who), places, person) == held


def test_an_index_of_the_origins_does_not_divide_trips(tmp_path):
    """SQLite reads a query from an index that has its columns, in the index's order: ends of all trips would be mixed.

    Then one trip less would move the ends of all others.
    """
    frame, path = table(), tmp_path / "trips.gpkg"
    places = shapely.points(0.5, [0.5] * len(frame))
    geopandas.GeoDataFrame(frame.assign(note="x" * 500), geometry=places, crs="EPSG:4326").to_file(path)
    with contextlib.closing(sqlite3.connect(path)) as database:
        database.execute("CREATE INDEX of_origins ON trips (x, y)")
        database.commit()
    ends = ("x", "y"), ("u", "v")
    assert counted(sdp.read_trips(path, GRID.domain, *ends)) == counted(Trips.from_frame(frame, *ends))


def test_files_of_different_lengths_are_noticed_when_they_are_read(tmp_path):
    for name, rows in (("a", 3), ("b", 2)):
        table().head(rows).to_csv(tmp_path / f"{name}.csv", index=False)
    ends = [sdp.read_points(tmp_path / f"{name}.csv", GRID.domain, x="x", y="y") for name in "ab"]
    with pytest.raises(PointsError, match="different lengths"):
        counted(Trips(*ends))


def test_coordinates_need_areas(tmp_path):
    table().to_csv(tmp_path / "a.csv", index=False)
    with pytest.raises(PointsError, match="codes without areas"):
        sdp.read_trips(tmp_path / "a.csv", ZONES.space.zones, ("x", "y"), "to")
    with pytest.raises(PointsError, match="named by 7"):
        sdp.read_trips(tmp_path / "a.csv", GRID.domain, 7, "to")


def test_tables_in_engines_are_refused(tmp_path):
    table().to_parquet(tmp_path / "a.parquet")
    points = sdp.read_table(str(tmp_path / "a.parquet"), GRID.domain, x="x", y="y")
    with pytest.raises(PointsError, match="stay in an engine"):
        Trips(points, points)
