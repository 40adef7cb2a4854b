"""GeoPackage, GeoTIFF, GeoJSON and CSV: they open where they should, and hold nothing but the release."""

from __future__ import annotations

import json
import os
import sys
import time

import geopandas
import numpy as np
import pandas as pd
import pyogrio
import pytest
import rasterio

import spatialdp as sdp
from spatialdp.errors import ParameterError
from tests.helpers.metre_maps import BOUNDS, SUFFIXES, XY, release_in_metres
from tests.helpers.sources import ZeroNoise


@pytest.mark.parametrize("mechanism", [None, sdp.Quadtree(height=3), sdp.KdTree(height=3)], ids=str)
def test_geopackage_has_the_cells(mechanism, tmp_path):
    release = release_in_metres(mechanism)
    release.save(tmp_path / "map.gpkg")
    frame, own = geopandas.read_file(tmp_path / "map.gpkg"), release.to_geodataframe()
    assert frame.crs == "EPSG:32633"
    assert len(frame) == release.estimate.n_cells
    assert frame.estimate.tolist() == own.estimate.tolist()
    assert frame.geometry.geom_equals(own.geometry).all()
    assert pyogrio.list_layers(tmp_path / "map.gpkg")[0].tolist() == ["release", "Polygon"]


def test_geotiff_is_north_up_and_cloud_optimized(tmp_path):
    release = release_in_metres()
    release.save(tmp_path / "map.tif")
    with rasterio.open(tmp_path / "map.tif") as raster:
        assert raster.crs == "EPSG:32633"
        assert tuple(raster.bounds) == BOUNDS
        assert raster.transform.e < 0 < raster.transform.a
        assert (raster.width, raster.height) == (16, 12)
        assert raster.descriptions == ("estimate", "lower", "upper", "sd")
        assert json.loads(raster.tags()["SPATIALDP_COLUMNS"])["lower"] == "lower end of the 95 % interval"
        assert raster.tags(ns="IMAGE_STRUCTURE")["LAYOUT"] == "COG"
        assert raster.compression is None
        values = raster.read(1)
        mask = release.estimate.grid.mask
        assert np.array_equal(np.isnan(values[::-1]), ~mask)
        assert np.array_equal(raster.read(1, masked=True).mask[::-1], ~mask)
        assert np.array_equal(values[::-1][mask], release.estimate.values[mask])
        for number, name in enumerate(raster.descriptions, 1):
            assert np.array_equal(raster.read(number)[::-1][mask], release.to_geodataframe()[name])
        assert tuple(raster.transform)[:6] == (500, 0, 500_000, 0, -500, 5_006_000)


@pytest.mark.parametrize("mechanism", [sdp.Quadtree(height=3), sdp.KdTree(height=3), sdp.Flat((16, 12))], ids=str)
def test_trees_are_rasterised_on_request(mechanism, tmp_path):
    release = release_in_metres(mechanism, domain=sdp.Domain(BOUNDS, crs="EPSG:32633"))
    release.save(tmp_path / "map.tif", shape=(10, 7))
    with rasterio.open(tmp_path / "map.tif") as raster:
        assert (raster.width, raster.height) == (10, 7)
        assert raster.descriptions == ("estimate", "lower", "upper")
        values, lower, upper = raster.read()[:, ::-1]
    grid = release.domain.grid((10, 7))
    pixel = (grid.x_edges[3], grid.y_edges[2], grid.x_edges[4], grid.y_edges[3])
    assert (lower[2, 3], upper[2, 3]) == pytest.approx(tuple(release.interval(pixel)))
    box = (grid.x_edges[3], grid.y_edges[2], grid.x_edges[5], grid.y_edges[6])
    assert values[2:6, 3:5].sum() == pytest.approx(release.answer(box, extrapolate=False))
    assert values.sum() == pytest.approx(release.total)


def test_a_pruned_quadtree_has_pixels_of_its_finest_leaves(tmp_path):
    release = release_in_metres(sdp.Quadtree(4, prune=20), domain=sdp.Domain(BOUNDS, crs="EPSG:32633"))
    assert len(set(release.to_geodataframe()["depth"])) > 1
    release.save(tmp_path / "map.tif")
    with rasterio.open(tmp_path / "map.tif") as raster:
        assert raster.shape == (16, 16)
        assert raster.read(1).sum() == pytest.approx(release.total)


@pytest.mark.parametrize("mechanism", [sdp.Quadtree(3), sdp.Hierarchy((13, 11)), sdp.Tailored((16, 12))], ids=str)
def test_every_release_on_a_grid_is_a_geotiff_without_asking(mechanism, tmp_path):
    release = release_in_metres(mechanism)
    release.save(tmp_path / "map.tif")
    frame = release.to_geodataframe()
    with rasterio.open(tmp_path / "map.tif") as raster:
        places = (frame["row"].to_numpy(), frame["column"].to_numpy())
        for number, name in enumerate(("estimate", "lower", "upper", "sd"), 1):
            values = raster.read(number)[::-1]
            assert np.array_equal(values[places], frame[name])
            assert np.isnan(values).sum() == values.size - len(frame)


def test_biased_releases_have_no_intervals_and_files_say_so(tmp_path):
    release = release_in_metres().non_negative()
    for suffix in (".gpkg", ".geojson", ".csv", ".tif"):
        release.save(tmp_path / f"map{suffix}")
    assert list(geopandas.read_file(tmp_path / "map.gpkg").columns) == ["column", "row", "estimate", "geometry"]
    with rasterio.open(tmp_path / "map.tif") as raster:
        assert raster.descriptions == ("estimate",)
        said = [json.loads(raster.tags()["SPATIALDP_COLUMNS"])]
    said.append(json.loads(pyogrio.read_info(tmp_path / "map.gpkg")["layer_metadata"]["SPATIALDP_COLUMNS"]))
    said.append(json.loads((tmp_path / "map.geojson").read_text())["columns"])
    said.append(json.loads((tmp_path / "map.privacy.json").read_text())["columns"])
    assert all(words["intervals"].startswith("none: this release was truncated") for words in said)


def test_trees_need_a_shape_and_others_refuse_one(tmp_path):
    with pytest.raises(ParameterError, match=r"is a tree.*shape=\(nx, ny\)"):
        release_in_metres(sdp.KdTree(height=3)).save(tmp_path / "map.tif")
    with pytest.raises(ParameterError, match=r"shape was given, but map\.gpkg is GeoPackage"):
        release_in_metres().save(tmp_path / "map.gpkg", shape=(3, 3))
    with pytest.raises(ParameterError, match="shape is"):
        release_in_metres().save(tmp_path / "map.tif", shape=(0, 3))
    assert os.listdir(tmp_path) == []


def test_geotiff_without_rasterio_says_what_to_install(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "rasterio", None)
    with pytest.raises(ParameterError, match=r"pip install 'spatialdp\[raster\]'"):
        release_in_metres().save(tmp_path / "map.tif")
    assert os.listdir(tmp_path) == []


def test_geojson_is_in_wgs84(tmp_path):
    release = release_in_metres()
    release.save(tmp_path / "map.geojson")
    data = json.loads((tmp_path / "map.geojson").read_text())
    assert data["type"] == "FeatureCollection"
    assert "crs" not in data
    frame = geopandas.read_file(tmp_path / "map.geojson")
    assert frame.crs == "EPSG:4326"
    assert len(frame) == release.estimate.n_cells
    assert frame.estimate.tolist() == release.to_geodataframe().estimate.tolist()
    back = frame.to_crs("EPSG:32633").geometry
    assert back.symmetric_difference(release.to_geodataframe().geometry).area.max() < 0.001 * 500 * 500
    assert frame.geometry.count_coordinates().min() == 17


def test_geojson_of_degrees_keeps_four_corners_and_needs_a_crs(tmp_path):
    domain = sdp.Domain((10, 40, 12, 41), crs="EPSG:4326")
    release_in_metres(points=[[11, 40.5]], domain=domain).save(tmp_path / "map.geojson")
    frame = geopandas.read_file(tmp_path / "map.geojson")
    assert tuple(frame.total_bounds) == domain.bounds
    grid = domain.grid((16, 12))
    assert np.array_equal(frame.geometry.bounds["maxx"], grid.x_edges[frame["column"] + 1])
    assert frame.geometry.count_coordinates().max() == 5
    with pytest.raises(ParameterError, match="GeoJSON is always in WGS 84"):
        release_in_metres(points=[[11, 40.5]], domain=sdp.Domain((10, 40, 12, 41))).save(tmp_path / "no.geojson")


@pytest.mark.parametrize("suffix", [".gpkg", ".tif", ".csv"])
def test_domains_without_a_crs(suffix, tmp_path):
    release_in_metres(points=[[1, 1]], domain=sdp.Domain((0, 0, 2, 2))).save(tmp_path / f"map{suffix}")
    if suffix == ".gpkg":
        assert tuple(geopandas.read_file(tmp_path / "map.gpkg").total_bounds) == (0, 0, 2, 2)


def test_csv_has_corners_and_estimates(tmp_path):
    release = release_in_metres()
    release.save(tmp_path / "map.csv")
    frame, own = pd.read_csv(tmp_path / "map.csv"), release.to_geodataframe()
    corners, numbers = ["xmin", "ymin", "xmax", "ymax"], ["estimate", "lower", "upper", "sd"]
    assert list(frame.columns) == [*corners, "column", "row", *numbers]
    assert np.array_equal(frame[numbers].to_numpy(), own[numbers].to_numpy())
    assert np.array_equal(frame[["xmin", "ymin", "xmax", "ymax"]].to_numpy(), own.geometry.bounds.to_numpy())
    assert frame.estimate.tolist() == own.estimate.tolist()
    assert sorted(os.listdir(tmp_path)) == ["map.csv", "map.privacy.json"]


class Compensating(ZeroNoise):
    """Noise that turns the counts of a data set into given numbers: what neighbours may both have led to."""

    def __init__(self, points):
        silent = release_in_metres(points=points, noise=ZeroNoise()).estimate
        self._counts = silent.values[silent.grid.mask].astype(np.int64)

    def laplace(self, scale, size):
        return np.arange(self._counts.size).reshape(size) % 7 - 2 - self._counts.reshape(size)


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_files_of_neighbours_with_the_same_release_are_the_same(suffix, tmp_path):
    far = np.append(XY, [[500_001.0, 5_000_001.0]], axis=0)
    nowhere = np.append(XY, [[np.nan, 9e9]], axis=0)
    for name, points in (("a", XY), ("b", XY[1:]), ("c", far), ("d", nowhere)):
        release_in_metres(points=points, noise=Compensating(points)).save(tmp_path / f"{name}{suffix}")
        if name == "a":
            time.sleep(1.1 if suffix == ".gpkg" else 0)  # a date would show
    first, *others = ((tmp_path / f"{name}{suffix}").read_bytes() for name in "abcd")
    assert all(first == other for other in others)
    if suffix == ".csv":
        assert len({(tmp_path / f"{name}.privacy.json").read_text() for name in "abcd"}) == 1


def test_areas_that_a_format_cannot_hold_are_refused_in_words(tmp_path):
    domain = sdp.Domain.published((0, 0, 8, 200), "EPSG:4326", None, "touching")
    release = sdp.Flat((2, 2)).release([], domain, epsilon=1)
    with pytest.raises(ParameterError, match="latitude"):
        release.save(tmp_path / "map.geojson")
    assert not list(tmp_path.iterdir())
