import json
import pickle

import geopandas
import numpy as np
import pandas as pd
import pytest
import shapely

import spatialdp as sdp
from spatialdp.errors import FileFormatError, ParameterError
from tests.helpers.zones import counties, squares, tiling


def same(one, other):
    return one.digest == other.digest and one.codes.tolist() == other.codes.tolist()


def test_columns_and_prefixes_make_the_same_frame():
    frame = tiling(1)
    frame["code"] = frame.state + frame.county
    by_columns = sdp.Zones(frame.assign(county=frame.code), ["state", "county"])
    assert same(by_columns, sdp.Zones.from_codes(frame, "code", {"state": 2, "county": 5}))


@pytest.mark.parametrize("suffix", ["parquet", "gpkg", "geojson", "shp"])
def test_files_make_the_same_frame(tmp_path, suffix):
    frame = tiling(2).set_crs("EPSG:4326")
    path = tmp_path / f"zones.{suffix}"
    frame.to_parquet(path) if suffix == "parquet" else frame.to_file(path)
    zones = sdp.Zones.read(path, levels=["state", "county"])
    want = sdp.Zones(frame, ["state", "county"], name="zones")
    assert zones.name == "zones"
    assert zones.codes.tolist() == want.codes.tolist()
    assert shapely.equals_exact(shapely.normalize(zones.geometry), shapely.normalize(want.geometry), 1e-6).all()
    assert same(zones, want) or suffix in ("geojson", "shp")  # which round corners, and begin rings elsewhere


def test_topojson_is_read(tmp_path):
    path = tmp_path / "zones.topojson"
    topology = {
        "type": "Topology",
        "objects": {
            "zones": {
                "type": "GeometryCollection",
                "geometries": [
                    {"type": "Polygon", "arcs": [[0, 1]], "properties": {"zone": "01"}},
                    {"type": "Polygon", "arcs": [[2, -1]], "properties": {"zone": "02"}},
                ],
            }
        },
        "arcs": [[[1, 0], [1, 1]], [[1, 1], [0, 1], [0, 0], [1, 0]], [[1, 0], [2, 0], [2, 1], [1, 1]]],
    }
    path.write_text(json.dumps(topology))
    zones = sdp.Zones.read(path, levels=["zone"])
    assert zones.codes.tolist() == ["all zones", "01", "02"]
    assert zones.geometry[0].equals(shapely.box(0, 0, 1, 1))


def test_codes_alone_are_read_as_text(tmp_path):
    path = tmp_path / "zones.csv"
    path.write_text("country,region\nNA,01\nDE,\n")
    zones = sdp.Zones.read(path, levels=["country", "region"])
    assert zones.codes.tolist() == ["all zones", "DE", "NA", "01"]
    assert zones.geometry is zones.domain is None
    assert (zones.leaf_areas == 1).all()


@pytest.mark.parametrize("options", [{}, {"levels": ["zone"], "column": "zone"}])
def test_levels_or_one_column_name_the_codes(tmp_path, options):
    with pytest.raises(ParameterError, match="levels"):
        sdp.Zones.read(tmp_path / "none.csv", **options)


def test_a_missing_file_is_an_error_that_names_it(tmp_path):
    with pytest.raises(FileFormatError, match="cannot be opened"):
        sdp.Zones.read(tmp_path / "none.parquet", levels=["zone"])


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: sdp.Zones(squares("a"), ["county"]), "no column 'county'"),
        (lambda: sdp.Zones([1, 2], ["county"]), "the zones are a list"),
        (lambda: sdp.Zones.from_codes(["a"]), "prefixes"),
        (lambda: sdp.Zones.from_codes(["a"], "zone", {"zone": 1}), "column is"),
        (lambda: sdp.Zones.from_codes(squares("a"), None, {"zone": 1}), "column is"),
        (lambda: sdp.Zones.from_codes(["a", None], None, {"zone": 1}), "a code is missing"),
        (lambda: sdp.Zones(squares("a").assign(zone=[5]), ["zone"]), "must be text"),
        (lambda: sdp.Zones(squares("a"), ["zone"], name="\x1b[2J"), "name is"),
    ],
)
def test_what_is_no_frame_is_refused(make, words):
    with pytest.raises(ParameterError, match=words):
        make()


def test_the_digest_tells_frames_apart():
    zones = sdp.Zones(squares("a", "b"), ["zone"])
    moved = squares("a", "b")
    moved.geometry = [shapely.box(0, 0, 1, 1), shapely.box(1, 0, 2, 0.999)]
    others = [
        sdp.Zones(squares("a", "c"), ["zone"]),
        sdp.Zones(moved, ["zone"]),
        sdp.Zones(squares("a", "b").set_crs(4326), ["zone"]),
        sdp.Zones(squares("a", "b").rename(columns={"zone": "area"}), ["area"]),
        sdp.Zones(pd.DataFrame(squares("a", "b").drop(columns="geometry")), ["zone"]),
    ]
    assert len({each.digest for each in [zones, *others]}) == 6
    assert sdp.Zones(squares("a", "b"), ["zone"], name="2020").digest == zones.digest


def test_a_published_frame_is_the_same_frame():
    zones = sdp.Zones(tiling(4), ["state", "county"], name="tiles")
    again = sdp.Zones.published(
        zones.levels, zones.shape, zones.codes, geometry=zones.geometry, domain=zones.domain, name=zones.name
    )
    assert same(zones, again)
    assert (
        repr(again)
        == repr(zones)
        == "Zones('tiles', all zones: 1, state: 4, county: 16)".replace("16", str(zones.n_leaves))
    )


def test_areas_are_in_lattice_squares():
    zones = sdp.Zones(squares("a", "b"), ["zone"])
    assert zones.leaf_areas.tolist() == [2.0**59, 2.0**59]


def test_values_cannot_be_changed():
    zones = counties()
    with pytest.raises(AttributeError):
        zones.codes = []
    with pytest.raises(ValueError, match="read-only"):
        zones.codes[0] = "x"


def test_frames_can_be_sent_to_another_process():
    for zones in (counties(), sdp.Zones(tiling(1), ["state", "county"])):
        zones.digest  # noqa: B018 - what has been computed may go along, but for the locator
        if zones.geometry is not None:
            zones.locator.leaves(np.array([1], np.int32), np.array([1], np.int32))
            assert len(pickle.dumps(zones)) < 2**16
        assert same(pickle.loads(pickle.dumps(zones)), zones)


def test_zones_need_geometries_to_locate_points():
    with pytest.raises(ParameterError, match="no geometries"):
        counties().locator  # noqa: B018


def test_zones_from_a_frame_without_rows_are_refused():
    with pytest.raises(ParameterError, match="no zones"):
        sdp.Zones(geopandas.GeoDataFrame({"zone": np.array([], object)}, geometry=[]), ["zone"])


def test_points_are_not_located_in_millions_of_areas(monkeypatch):
    monkeypatch.setattr("spatialdp.space.zones.frame.MOST_OUTLINES", 1)
    with pytest.raises(ParameterError, match="Give records as codes"):
        sdp.Zones(squares("a", "b"), ["zone"]).locator  # noqa: B018
    assert sdp.Zones(squares("a"), ["zone"]).locator


def test_frames_of_codes_are_no_h3_frames():
    zones = sdp.H3.from_codes(["37063"], None, {"state": 2, "county": 5})
    assert type(zones) is sdp.Zones
