"""Options of the public area."""

from __future__ import annotations

import geopandas
import pytest
import shapely

import spatialdp as sdp
from tests.helpers.commands import QUADTREE, command, refused, run


@pytest.mark.parametrize("name", ["areas.gpkg", "areas.geojson", "areas.shp", "areas.parquet"])
def test_a_region_of_every_format_is_the_domain(folder, tmp_path, name):
    out = tmp_path / "out.parquet"
    run("release", folder / "layer.gpkg", "--region", folder / name, *QUADTREE, "-o", out)
    domain = sdp.load(out).domain
    assert domain.bounds == (0, 0, 1, 1)
    assert domain.crs == "EPSG:4326"
    assert domain.region.area == pytest.approx(1)


def test_bounds_and_region_go_together(folder, tmp_path):
    out = tmp_path / "out.parquet"
    options = ("--region", folder / "areas.gpkg", "--bounds", "-1,-1,2,2", *QUADTREE)
    run("release", folder / "layer.gpkg", *options, "-o", out)
    assert sdp.load(out).domain.bounds == (-1, -1, 2, 2)
    assert sdp.load(out).domain.crs == "EPSG:4326"


def test_cells_of_the_region_touch_it_or_have_their_centre_in_it(tmp_path):
    geopandas.GeoSeries([shapely.Polygon([(0, 0), (4, 0), (0, 4)])], crs="EPSG:4326").to_file(tmp_path / "region.gpkg")
    options = ("plan", "--region", tmp_path / "region.gpkg", "--method", "flat", "--shape", "4,4", "--epsilon", "1")
    assert "cells     13" in run(*options).stdout
    assert "cells     13" in run(*options, "--region-cells", "touching").stdout
    assert "cells     6" in run(*options, "--region-cells", "centres").stdout
    alone = run("plan", "--bounds", "0,0,1,1", "--region-cells", "centres", *QUADTREE, code=2).stderr
    assert "without --region" in alone


def test_bad_regions_are_refused(place):
    def region(*shapes, crs="EPSG:4326"):
        geopandas.GeoSeries(shapes, crs=crs).to_file("region.gpkg")
        return command(region="region.gpkg")

    assert "outside the bounds 0,0,1,1" in refused(region(shapely.box(5, 5, 6, 6)))
    assert "does not hold polygons alone" in refused(region(shapely.Point(0, 0)))
    bowtie = shapely.Polygon([(0, 0), (1, 1), (1, 0), (0, 1)])
    assert "not a valid polygon" in refused(region(bowtie))
    assert "outside the bounds" in refused(region(shapely.box(5e5, 6e6, 6e5, 7e6), crs="EPSG:2154"))  # reprojected
    (place / "region.gpkg").write_text("nonsense")
    assert "cannot be read" in refused(command(region="region.gpkg"))


def test_the_area_must_be_given():
    told = run("plan", *QUADTREE, code=2).stderr
    assert "never taken from the points" in told
    assert "cells     64" in run("plan", "--bounds=-5,-5,0,-1", *QUADTREE).stdout
    assert "xmin" in run("plan", "--bounds=1,1,0,0", *QUADTREE, code=2).stderr


@pytest.mark.parametrize("words", [("-79.7", "43.5", "-79.1", "43.9"), ("-79.7 43.5 -79.1 43.9",)])
def test_bounds_may_be_four_numbers(words):
    options = ("--method", "flat", "--shape", "6", "4", "--epsilon", "1", "--json")
    separate = run("plan", "--bounds", *words, *options).stdout
    assert separate == run("plan", "--bounds=-79.7,43.5,-79.1,43.9", *options).stdout
    assert '"cells": 24' in separate


def test_three_bounds_are_refused_with_all_of_them():
    told = refused(["plan", "--bounds", "-79.7", "43.5", "-79.1", "--method=flat", "--shape=2,2", "--epsilon=1"])
    assert "'-79.7,43.5,-79.1' was given; 4 numbers XMIN,YMIN,XMAX,YMAX are required" in told
