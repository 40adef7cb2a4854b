"""`spatialdp map`: pictures and pages."""

from __future__ import annotations

import os

import geopandas
import pytest
import shapely

from tests.helpers.commands import run


@pytest.mark.parametrize(("name", "start"), [("map.png", b"\x89PNG"), ("map.svg", b"<?xml"), ("map.pdf", b"%PDF")])
def test_maps_are_drawn(released, tmp_path, name, start):
    run("map", released, "-o", tmp_path / name, "--log", "--level=2", "--limits=0,50", "--dpi=40")
    assert (tmp_path / name).read_bytes().startswith(start)
    assert "--force" in run("map", released, "-o", tmp_path / name, code=2).stderr
    run("map", released, "-o", tmp_path / name, "--no-caption", "--force", "--dpi=40", "--per=km2", "--linear")


def test_maps_show_doubts_and_boundaries(released, tmp_path):
    edges = geopandas.GeoSeries([shapely.box(0.2, 0.2, 0.6, 0.7)], crs="EPSG:4326").to_crs("EPSG:3857")
    edges.to_file(tmp_path / "edges.gpkg")
    look = ("--boundaries", tmp_path / "edges.gpkg", "--lines=2", "--no-mark-noise", "--no-scale-bar", "--dpi=40")
    run("map", released, "-o", tmp_path / "map.png", *look)
    run("map", released, "-o", tmp_path / "doubts.svg", "--view=uncertainty")
    run("map", released, "-o", tmp_path / "widths.png", "--view=half-width", "--limits=0,9", "--dpi=40")
    assert {path.name for path in tmp_path.iterdir()} == {"edges.gpkg", "map.png", "doubts.svg", "widths.png"}


@pytest.mark.parametrize("name", ["map.svg", "map.html"])
def test_titles_and_boundaries_are_for_both_kinds(released, tmp_path, name):
    edges = geopandas.GeoSeries([shapely.box(0.2, 0.2, 0.6, 0.7)], crs="EPSG:4326").to_crs("EPSG:3857")
    edges.to_file(tmp_path / "edges.gpkg")
    run("map", released, "-o", tmp_path / "plain.svg")
    run("map", released, "-o", tmp_path / name, "--title=Homes & barns", "--boundaries", tmp_path / "edges.gpkg")
    text = (tmp_path / name).read_text()
    assert "Homes &amp; barns" in text
    if name == "map.html":
        assert 'id="boundaries"' in text
    else:
        assert text.count("LineCollection") > (tmp_path / "plain.svg").read_text().count("LineCollection")
    told = run("map", released, "-o", tmp_path / "edges.gpkg", "--boundaries", tmp_path / "edges.gpkg", code=2).stderr
    assert "must end in one of" in told


def test_map_options_that_do_not_fit_are_refused(released, tmp_path):
    def told(*options, name="map.png"):
        return run("map", released, "-o", tmp_path / name, *options, code=2).stderr

    assert "classes of relative uncertainty are fixed" in told("--view=uncertainty", "--log")
    assert "'doubts' is not one of" in told("--view=doubts")
    assert "lines is 77" in told("--lines=77")
    assert "--cmap is 'greenish'" in told("--cmap=greenish")
    assert "nowhere.gpkg cannot be" in told("--boundaries", tmp_path / "nowhere.gpkg")
    assert "--mark-noise is for pictures" in told("--no-mark-noise", name="map.html")
    assert not os.listdir(tmp_path)


def test_maps_of_other_kinds_are_refused(released, tmp_path):
    assert (
        "must end in one of .png, .svg, .pdf, .html" in run("map", released, "-o", tmp_path / "map.gif", code=2).stderr
    )
    assert "level is 9" in run("map", released, "-o", tmp_path / "map.png", "--level=9", code=2).stderr
    assert not os.listdir(tmp_path)


def test_pages_are_written(released, tmp_path):
    run("map", released, "-o", tmp_path / "map.html", "--title", "Homes")
    assert "<h1>Homes</h1>" in (tmp_path / "map.html").read_text()
    assert "--force" in run("map", released, "-o", tmp_path / "map.html", code=2).stderr
    run("map", released, "-o", tmp_path / "map.html", "--force")
    assert "<h1>Homes</h1>" not in (tmp_path / "map.html").read_text()
    assert "--log is for pictures" in run("map", released, "-o", tmp_path / "new.html", "--log", code=2).stderr
    assert "--cmap is for pictures" in run("map", released, "-o", tmp_path / "new.html", "--cmap=jet", code=2).stderr
    assert os.listdir(tmp_path) == ["map.html"]
