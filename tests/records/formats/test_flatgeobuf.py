"""FlatGeobuf: offsets are followed within a feature, never out of it; the header is structure."""

from __future__ import annotations

import io
import struct

import geopandas
import numpy as np
import pandas as pd
import pytest
import shapely
from hypothesis import given
from hypothesis import strategies as st

import spatialdp as sdp
from spatialdp.errors import CRSMismatchError, PointsError
from spatialdp.records.counting import count_cells
from spatialdp.records.formats.flatgeobuf import _batch
from tests.attacks.records import flat_feature, write_flatgeobuf
from tests.helpers.person_files import persons_in
from tests.helpers.point_files import place_in

DOMAIN = sdp.Domain((0, 0, 1, 1), crs="EPSG:4326")


def count(path, domain=DOMAIN, **options):
    return count_cells(sdp.read_points(path, domain, **options), domain.grid((1, 1))).sum()


def test_our_features_are_those_that_gdal_reads(tmp_path):
    write_flatgeobuf(tmp_path / "a.fgb", [flat_feature(0.5, 0.25)])
    assert geopandas.read_file(tmp_path / "a.fgb").geometry.tolist() == [shapely.Point(0.5, 0.25)]
    assert count(tmp_path / "a.fgb") == 1


@pytest.mark.parametrize("index", ["YES", "NO"])
@pytest.mark.parametrize("size", [1, 2, 15, 16, 17, 300])
def test_files_with_and_without_an_index_are_read(tmp_path, index, size):
    x, y = np.random.default_rng(size).uniform(-0.2, 1.2, (2, size))
    frame = geopandas.GeoDataFrame(
        {"a": ["n" * (i % 7) for i in range(size)]}, geometry=shapely.points(x, y), crs="EPSG:4326"
    )
    frame.to_file(tmp_path / "a.fgb", SPATIAL_INDEX=index)
    inside = (x >= 0) & (x <= 1) & (y >= 0) & (y <= 1)
    assert count(tmp_path / "a.fgb") == inside.sum()
    assert count(io.BytesIO((tmp_path / "a.fgb").read_bytes()), file_format="fgb") == inside.sum()


def test_other_geometries_count_nowhere(tmp_path):
    mixed = [
        shapely.Point(0.5, 0.5),
        shapely.box(0, 0, 1, 1),
        shapely.Point(0.25, 0.5),
        shapely.MultiPoint([[0.5, 0.5]]),
        shapely.MultiPoint([[0.5, 0.5], [0.6, 0.6]]),
        shapely.GeometryCollection([shapely.Point(0.5, 0.5)]),
        None,
    ]
    geopandas.GeoDataFrame({"a": range(7)}, geometry=mixed, crs="EPSG:4326").to_file(
        tmp_path / "a.fgb", SPATIAL_INDEX="NO"
    )
    assert count(tmp_path / "a.fgb") == 3


@pytest.mark.parametrize("kind", range(18))
def test_a_feature_without_a_type_is_of_the_declared_one(kind):
    """Points and multi-points are; of a layer of lines or polygons, no feature counts."""
    records = [flat_feature(0.5, 0.5, kind=0), flat_feature(0.5, 0.5, kind=4), flat_feature(0.5, 0.5, kind=3)]
    data = np.frombuffer(b"".join(struct.pack("<I", len(record)) + record for record in records), dtype=np.uint8)
    x = _batch(data, np.cumsum([0, *(4 + len(record) for record in records[:-1])]), kind, None).x
    assert np.isfinite(x).tolist() == [kind in (1, 4), True, False]


@given(st.binary(max_size=120), st.integers(0, 90), st.sampled_from([0, 1, 3, 4]))
def test_any_bytes_of_a_feature_are_a_record(content, keep, declared):
    """They never lead to another feature, whose coordinates would be counted twice."""
    odd = flat_feature(0.5, 0.5)[:keep] + content
    records = [flat_feature(0.25, 0.25), odd, flat_feature(0.75, 0.75)]
    data = np.frombuffer(b"".join(struct.pack("<I", len(record)) + record for record in records), dtype=np.uint8)
    starts = np.cumsum([0, *(4 + len(record) for record in records[:-1])])
    x = _batch(data, starts, declared, None).x
    assert (x[0], x[2]) == (0.25, 0.75)
    assert x.size == 3


def test_structure_is_checked(tmp_path):
    path = tmp_path / "a.fgb"
    write_flatgeobuf(path, [flat_feature(0.5, 0.5)] * 3)
    whole = path.read_bytes()
    for cut in (b"fgb\x03fgb\x00", whole[:20], whole[:-1], whole + b"\x01", b"x" + whole[1:], whole[:12] + bytes(400)):
        path.write_bytes(cut)
        with pytest.raises(PointsError, match="truncated, damaged"):
            count(path)
    path.write_bytes(whole)
    with pytest.raises(PointsError, match=r"is FlatGeobuf.*leave x, y and geometry out"):
        count(path, x="a", y="b")
    frame = geopandas.GeoDataFrame(geometry=shapely.points(np.random.default_rng(0).random((40, 2))), crs="EPSG:4326")
    frame.to_file(path)
    path.write_bytes(path.read_bytes()[:-30])
    with pytest.raises(PointsError, match="truncated, damaged"):
        count(path)


@pytest.mark.filterwarnings("ignore:'crs' was not provided")
@pytest.mark.parametrize("crs", ["EPSG:4326", "EPSG:2154", "+proj=laea +lat_0=45 +lon_0=7", None])
def test_the_crs_is_the_declared_one(tmp_path, crs):
    point, domain = place_in(crs)
    geopandas.GeoDataFrame(geometry=[point], crs=crs).to_file(tmp_path / "a.fgb")
    assert count(tmp_path / "a.fgb", domain) == 1
    with pytest.raises(CRSMismatchError):
        count(tmp_path / "a.fgb", place_in("EPSG:3857")[1])


# --- persons ---------------------------------------------------------------------------------------

KINDS = {
    "int8": (np.int8, [5, -7], ["5", "-7"]),
    "uint16": (np.uint16, [5, 7], ["5", "7"]),
    "int64": (np.int64, [2**62, -7], [str(2**62), "-7"]),
    "float32": (np.float32, [5, 0.5], ["5", None]),
    "float64": (np.float64, [5, 2.0**53], ["5", None]),
    "text": (object, ["ann", ""], ["ann", ""]),
    "missing": (object, ["ann", None], ["ann", None]),
}


@pytest.mark.parametrize("index", ["YES", "NO"])
@pytest.mark.parametrize("kind", KINDS)
def test_persons_are_properties_behind_any_others(tmp_path, kind, index):
    dtype, persons, expected = KINDS[kind]
    others = {"a": ["longer text", None], "b": [True, False], "c": [0.5, np.nan], "d": [1, 2], "e": ["x", "y"]}
    frame = geopandas.GeoDataFrame(
        {**others, "who": np.array(persons, dtype=dtype), "z": [3, 4]},
        geometry=[shapely.Point(0.25, 0.25), shapely.Point(0.26, 0.26)],
        crs="EPSG:4326",
    )
    frame.to_file(tmp_path / "a.fgb", SPATIAL_INDEX=index)
    assert sorted(persons_in(tmp_path / "a.fgb"), key=str) == sorted(expected, key=str)


def test_columns_that_are_no_identifiers_are_refused(tmp_path):
    frame = geopandas.GeoDataFrame(
        {"flag": [True], "day": pd.to_datetime(["2020-01-01"])}, geometry=[shapely.Point(0.5, 0.5)], crs="EPSG:4326"
    )
    frame.to_file(tmp_path / "a.fgb")
    for name, kind in (("flag", "Bool"), ("day", "DateTime")):
        with pytest.raises(
            PointsError, match=f"column '{name}' of .* is of type {kind}; persons must be whole numbers"
        ):
            sdp.read_points(tmp_path / "a.fgb", DOMAIN, person=name)
    with pytest.raises(PointsError, match="has no column 'who'; its columns are flag, day"):
        sdp.read_points(tmp_path / "a.fgb", DOMAIN, person="who")
