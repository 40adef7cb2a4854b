"""Zones on the command line: from a file of points or codes to files, answers, maps and points of zones."""

from __future__ import annotations

import json

import geopandas
import numpy as np
import pandas as pd
import pyogrio
import pytest
import shapely

import spatialdp as sdp
from tests.cli.options.test_frame import ZONES
from tests.helpers.commands import run
from tests.helpers.point_files import write

GIVEN = ("--levels=state,county", "--epsilon=1")


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """Points, codes, zones and a release in every format."""
    place = tmp_path_factory.mktemp("zones")
    rng = np.random.default_rng(1)
    write(place / "points.csv", *rng.random((2, 500)))
    pd.DataFrame({"GEOID": rng.choice(["01001", "01002", "99999"], 300)}).to_csv(place / "codes.csv", index=False)
    ZONES.to_parquet(place / "zones.parquet")
    ZONES.drop(columns="geometry").to_csv(place / "codes_alone.csv", index=False)
    outputs = [word for suffix in ("parquet", "gpkg", "geojson", "csv") for word in ("-o", place / f"out.{suffix}")]
    points = (place / "points.csv", "--x=lon", "--y=lat")
    (place / "told.txt").write_text(
        run("release", *points, "--zones", place / "zones.parquet", *GIVEN, *outputs).stderr
    )
    return place


def test_a_release_says_how_many_zones_it_has(made):
    told = (made / "told.txt").read_text()
    assert "zones    1 of level all zones, 2 of level state, 3 of level county" in told
    assert "95 % interval" in told


def test_a_geopackage_has_a_layer_for_each_level(made):
    assert pyogrio.list_layers(made / "out.gpkg")[:, 0].tolist() == ["all zones", "state", "county"]
    release = sdp.load(made / "out.parquet")
    for level in ("state", "county"):
        layer = geopandas.read_file(made / "out.gpkg", layer=level)
        assert layer["zone"].tolist() == release.level(level)["zone"].tolist()
        assert layer["estimate"].to_numpy() == pytest.approx(release.answer(layer["zone"].tolist()))
        assert shapely.area(layer.geometry).sum() == pytest.approx(1, abs=1e-6)
    assert "promise    ε = 1" in run("info", made / "out.gpkg").stdout


def test_tables_keep_codes_as_text(made):
    table = pd.read_csv(made / "out.csv", dtype={"zone": str, "parent": str})
    assert table["zone"].tolist() == ["all zones", "01", "02", "01001", "01002", "02001"]
    assert table["parent"].tolist()[3:] == ["01", "01", "02"]
    assert '"01001"' in (made / "out.csv").read_text()
    geojson = json.loads((made / "out.geojson").read_text())
    assert [feature["properties"]["zone"] for feature in geojson["features"]] == ["01001", "01002", "02001"]
    assert geojson["privacy"]["epsilon"] == 1.0


def test_records_may_be_codes(made, tmp_path):
    given = (made / "codes.csv", "--code-column=GEOID", "--zones", made / "zones.parquet", *GIVEN)
    run("release", *given, "-o", tmp_path / "out.parquet")
    release = sdp.load(tmp_path / "out.parquet")
    assert 150 < release.total < 250  # a third of the codes are of no zone
    told = run("release", *given, "--x=lon", "--y=lat", "-o", tmp_path / "o.parquet", code=2).stderr
    assert "records are codes or places" in told
    bounds = ("--bounds=0,0,1,1", "--epsilon=1", "-o", tmp_path / "o.parquet")
    told = run("release", made / "codes.csv", "--code-column=GEOID", *bounds, code=2).stderr
    assert "--code-column is for codes of zones" in told


def test_zones_that_are_codes_alone_need_codes_and_files_without_places(made, tmp_path):
    zones = ("--zones", made / "codes_alone.csv", *GIVEN)
    records = (made / "codes.csv", "--code-column=GEOID")
    told = run("release", *records, *zones, "-o", tmp_path / "o.gpkg", code=2).stderr
    assert "which needs polygons" in told
    told = run("release", made / "points.csv", "--x=lon", "--y=lat", *zones, "-o", tmp_path / "o.csv", code=2).stderr
    assert "give the column of the records' codes with --code-column" in " ".join(told.split())
    run("release", *records, *zones, "-o", tmp_path / "o.csv", "-o", tmp_path / "o.parquet")
    assert "none: the zones are codes without polygons" in run("info", tmp_path / "o.parquet").stdout
    assert "bounds" not in json.loads(run("info", tmp_path / "o.parquet", "--json").stdout)


def test_zones_are_asked_by_code_by_level_and_together(made, tmp_path):
    path, release = made / "out.parquet", sdp.load(made / "out.parquet")
    table = pd.read_csv(_lines(run("query", path, "--codes", "01001,02", "--codes", "02001")), dtype={"zone": str})
    assert table["zone"].tolist() == ["01001", "02", "02001"]
    assert table["estimate"].to_numpy() == pytest.approx(release.answer(["01001", "02", "02001"]))
    assert table[["lower", "upper"]].to_numpy() == pytest.approx(release.interval(["01001", "02", "02001"]))
    both = pd.read_csv(_lines(run("query", path, "--codes", "01001,02", "--together", "--about=noise")))
    assert both["estimate"][0] == pytest.approx(release.answer_set(["01001", "02"]))
    assert both[["lower", "upper"]].to_numpy()[0] == pytest.approx(release.interval_set(["01001", "02"], about="noise"))
    run("query", path, "--zones", "state", "-o", tmp_path / "states.gpkg")
    states = geopandas.read_file(tmp_path / "states.gpkg")
    assert states["estimate"].to_numpy() == pytest.approx(release.answer(["01", "02"]))
    assert shapely.area(states.geometry).tolist() == pytest.approx([2 / 3, 1 / 3], abs=1e-6)
    run("query", path, "--codes", "01001,02001", "--together", "-o", tmp_path / "set.parquet")
    assert shapely.area(geopandas.read_parquet(tmp_path / "set.parquet").geometry)[0] == pytest.approx(2 / 3, abs=1e-6)


def _lines(result):
    import io

    return io.StringIO(result.stdout)


def test_questions_that_do_not_fit_are_refused(made):
    path = made / "out.parquet"
    for options, words in {
        ("--codes", "99"): "there is no zone '99'",
        ("--zones", "parish"): "the levels of these zones are",
        ("--zones", "state", "--codes", "01"): "give exactly one of them",
        ("--zones", "state", "--together"): "--at and --together are for --codes",
    }.items():
        assert words in run("query", path, *options, code=2).stderr


def test_only_releases_by_zones_have_codes(released):
    assert "is not by zones" in run("query", released, "--codes", "01", code=2).stderr


def test_maps_pages_and_points_are_of_zones(made, tmp_path):
    path = made / "out.parquet"
    run("map", path, "--level=state", "--view=uncertainty", "-o", tmp_path / "map.png")
    assert (tmp_path / "map.png").read_bytes().startswith(b"\x89PNG")
    assert (
        "the levels of these zones are" in run("map", path, "--level=parish", "-o", tmp_path / "m.png", code=2).stderr
    )
    run("map", path, "-o", tmp_path / "map.html")
    assert '<select id="level"' in (tmp_path / "map.html").read_text(encoding="utf-8")
    run("sample", path, "-n", "20", "--seed=1", "-o", tmp_path / "points.csv")
    points = pd.read_csv(tmp_path / "points.csv", dtype={"zone": str})
    assert list(points.columns) == ["zone", "x", "y"]
    places = geopandas.GeoDataFrame(points, geometry=geopandas.points_from_xy(points.x, points.y), crs=ZONES.crs)
    assert (geopandas.sjoin(places, ZONES, predicate="within")["county"] == points["zone"]).all()


def test_rasters_need_pixels_that_are_asked_for(made, tmp_path):
    rasterio = pytest.importorskip("rasterio")
    given = (made / "points.csv", "--x=lon", "--y=lat", "--zones", made / "zones.parquet", *GIVEN)
    assert "give --pixels NX,NY" in run("release", *given, "-o", tmp_path / "o.tif", code=2).stderr
    run("release", *given, "--pixels=6,4", "-o", tmp_path / "o.tif", "-o", tmp_path / "o.parquet")
    with rasterio.open(tmp_path / "o.tif") as raster:
        assert raster.shape == (4, 6)
        assert np.nansum(raster.read(1)) == pytest.approx(sdp.load(tmp_path / "o.parquet").total, rel=1e-6)


def test_info_tells_levels_frame_and_digest(made):
    release = sdp.load(made / "out.parquet")
    told = run("info", made / "out.parquet").stdout
    assert "zones      1 of level all zones, 2 of level state, 3 of level county" in told
    assert "frame      zones" in told
    facts = json.loads(run("info", made / "out.parquet", "--json").stdout)
    assert facts["levels"] == {"all zones": 1, "state": 2, "county": 3}
    assert facts["frame_digest"] == release.zones.digest


def test_exact_totals_are_told_first(made, tmp_path):
    given = (made / "points.csv", "--x=lon", "--y=lat", "--zones", made / "zones.parquet", *GIVEN)
    run("release", *given, "--invariants=state", "-o", tmp_path / "o.parquet")
    first = run("info", tmp_path / "o.parquet").stdout.splitlines()[0]
    assert first.startswith("This is not ε-differential privacy in the plain sense")


def test_known_totals_come_from_a_table(made, tmp_path):
    (tmp_path / "known.csv").write_text("level,zone,total\nstate,01,333\n")
    given = (made / "points.csv", "--x=lon", "--y=lat", "--zones", made / "zones.parquet", *GIVEN)
    run("release", *given, "--known", tmp_path / "known.csv", "-o", tmp_path / "o.parquet")
    assert sdp.load(tmp_path / "o.parquet").answer("01") == pytest.approx(333)
    (tmp_path / "known.csv").write_text("level,zone,total\nstate,01,many\n")
    told = run("release", *given, "--known", tmp_path / "known.csv", "-o", tmp_path / "p.parquet", code=2).stderr
    assert "not all whole numbers" in told
