import geopandas
import numpy as np
import pandas as pd
import pytest
import shapely

import spatialdp as sdp
from spatialdp.errors import CRSMismatchError, PointsError
from spatialdp.privacy.unit import Bound
from spatialdp.records import zones as records
from spatialdp.records.codes import Codes, as_zone_records
from spatialdp.records.points import Points, in_memory
from spatialdp.records.zones import count_zones, zone_persons_above
from tests.helpers.zones import counties, squares, tiling

BOUNDS = [sdp.Person(cells=2), sdp.Person(records=3), sdp.Person(shares=True), None]


def frame_of(count=3000, seed=1):
    """Records on a tiling and around it, some of them hostile, with the codes of their zones and with persons."""
    generator = np.random.default_rng(seed)
    zones = sdp.Zones(tiling(seed), ["state", "county"])
    x, y = generator.uniform(-0.5, 4.5, (2, count))
    x[:4], y[:4] = [np.nan, np.inf, -np.inf, 1e308], [1, 1, np.nan, 1]
    names = np.append(zones.codes[zones.leaf_nodes], "nowhere")
    ((_, leaves),) = Points(x, y)._leaves(zones)
    persons = generator.integers(0, count // 10, count)
    return zones, pd.DataFrame({"x": x, "y": y, "code": names[leaves], "who": persons})


@pytest.mark.parametrize("person", BOUNDS, ids=str)
def test_arrays_files_and_codes_give_equal_counts(tmp_path, person):
    zones, frame = frame_of()
    frame.to_parquet(tmp_path / "records.parquet")
    frame.to_csv(tmp_path / "records.csv", index=False)
    who = {} if person is None else {"person": "who"}
    column = None if person is None else frame.who
    points = Points(frame.x, frame.y, person=column)
    inputs = [points, Codes(frame.code, person=column)]
    for name in ("records.parquet", "records.csv"):
        read = sdp.read_points(tmp_path / name, zones.domain, x="x", y="y", **who)
        inputs += [read, in_memory(read, zones.domain), sdp.read_codes(tmp_path / name, "code", **who)]
    want = count_zones(points, zones, person)
    assert want.sum() > 0
    for each in inputs:
        assert np.array_equal(count_zones(as_zone_records(each, zones, person), zones, person), want)


@pytest.mark.parametrize("person", BOUNDS, ids=str)
def test_blocks_change_nothing(monkeypatch, person):
    zones, frame = frame_of()
    points = Points(frame.x, frame.y, person=None if person is None else frame.who)
    want = count_zones(points, zones, person)
    monkeypatch.setattr(records, "MANY", 10)
    monkeypatch.setattr("spatialdp.records.points._BLOCK", 7)
    assert np.array_equal(count_zones(points, zones, person), want)


def test_counts_agree_with_geopandas_away_from_borders():
    for seed in range(3):
        zones, frame = frame_of(seed=seed)
        places = geopandas.GeoDataFrame(geometry=geopandas.points_from_xy(frame.x, frame.y))
        areas = geopandas.GeoDataFrame(geometry=np.array(zones.geometry))
        joined = geopandas.sjoin(places, areas, predicate="within")
        assert np.array_equal(
            count_zones(Points(frame.x, frame.y), zones), np.bincount(joined.index_right, minlength=zones.n_leaves)
        )


def test_what_is_kept_of_persons_by_hand():
    zones = sdp.Zones(squares("a", "b", "c"), ["zone"])
    codes, who = ["a", "a", "a", "b", "b", "c", "nowhere", "a"], ["p", "p", "p", "p", "q", "q", "q", None]
    kept = {
        person: count_zones(Codes(codes, person=who), zones, person).tolist()
        for person in (sdp.Person(cells=9), sdp.Person(records=9), sdp.Person(shares=True))
    }
    steps = sdp.Person(shares=True).steps
    assert list(kept.values()) == [
        [1, 2, 1],
        [3, 2, 1],
        [3 * steps // 4, steps // 4 + steps // 2, steps // 2],
    ]


@pytest.mark.parametrize("bound", [3, 1])
def test_no_person_contributes_more_than_the_bound(bound):
    zones, frame = frame_of()
    for person in (sdp.Person(cells=bound), sdp.Person(records=bound)):
        rest = count_zones(Codes(frame.code, person=frame.who), zones, person)
        for who in range(0, 100, 10):
            others = frame[frame.who != who]
            change = rest - count_zones(Codes(others.code, person=others.who), zones, person)
            assert 0 <= change.sum() <= bound
            assert (change >= 0).all()
            assert change.max() <= (1 if person.bound is Bound.CELLS else bound)


def test_persons_above_candidates_are_counted():
    zones = sdp.Zones(squares("a", "b"), ["zone"])
    codes = Codes(["a", "b", "a", "a"], person=["p", "p", "q", "q"])
    assert zone_persons_above(codes, zones, Bound.CELLS, [1, 2]).tolist() == [1, 0]
    assert zone_persons_above(codes, zones, Bound.RECORDS, [1, 2]).tolist() == [2, 0]


def test_hostile_points_change_no_other_count():
    zones, frame = frame_of(200)
    want = count_zones(Points(frame.x, frame.y), zones)
    for x, y in [(np.nan, 1), (np.inf, 1), (1, -np.inf), (1e308, 1e308), (-1e-300, 5), (99, 99)]:
        more = Points(np.append(frame.x, x), np.append(frame.y, y))
        assert np.array_equal(count_zones(more, zones), want)


def test_no_records_are_no_counts():
    zones = sdp.Zones(squares("a", "b"), ["zone"])
    assert count_zones(Points(np.empty((0, 2))), zones).tolist() == [0, 0]
    assert count_zones(Codes([]), zones).tolist() == [0, 0]
    assert count_zones(Codes([], person=[]), zones, sdp.Person(cells=1)).tolist() == [0, 0]


def test_another_crs_is_refused():
    zones = sdp.Zones(squares("a").set_crs(4326), ["zone"])
    with pytest.raises(CRSMismatchError):
        as_zone_records(geopandas.GeoSeries([shapely.Point(0, 0)], crs=3857), zones)
    assert as_zone_records([[0.5, 0.5]], zones)


def test_persons_and_bounds_come_together():
    zones = sdp.Zones(squares("a"), ["zone"])
    for make in (lambda **who: Points([0.5], [0.5], **who), lambda **who: Codes(["a"], **who)):
        with pytest.raises(PointsError, match="not bounded"):
            as_zone_records(make(person=["p"]), zones)
        with pytest.raises(PointsError, match="do not say who"):
            as_zone_records(make(), zones, sdp.Person(cells=1))


def test_zones_without_geometries_need_codes():
    with pytest.raises(PointsError, match="by codes alone"):
        as_zone_records([[0.5, 0.5]], counties())
    assert count_zones(as_zone_records(Codes(["A1", "B", "A"]), counties()), counties()).tolist() == [1, 1, 0]


def test_tables_of_engines_are_refused_in_words():
    ibis = pytest.importorskip("ibis")
    database = ibis.duckdb.connect()
    database.raw_sql("CREATE TABLE homes AS SELECT 0.5::DOUBLE AS x, 0.5::DOUBLE AS y")
    zones = sdp.Zones(squares("a"), ["zone"])
    points = sdp.read_table(database.table("homes"), zones.domain, x="x", y="y")
    with pytest.raises(PointsError, match="do not leave its engine"):
        as_zone_records(points, zones)
