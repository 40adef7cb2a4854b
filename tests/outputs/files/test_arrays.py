"""Releases as xarray Datasets: the cells in their places, with CRS and privacy statement."""

from __future__ import annotations

import json
import sys

import numpy as np
import pytest
from pyproj import CRS

import spatialdp as sdp
from spatialdp.errors import ParameterError
from tests.helpers.metre_maps import release_in_metres


@pytest.mark.parametrize("mechanism", [sdp.Flat((16, 12)), sdp.Hierarchy((13, 11)), sdp.Quadtree(3)], ids=str)
def test_cells_are_where_the_table_has_them(mechanism):
    release = release_in_metres(mechanism)
    data, frame = release.to_xarray(), release.to_geodataframe()
    assert list(data.data_vars) == ["estimate", "lower", "upper", "sd"]
    centres = frame.geometry.centroid
    for name in data.data_vars:
        assert data[name].dims == ("y", "x")
        values = [float(data[name].sel(x=point.x, y=point.y, method="nearest")) for point in centres[::7]]
        assert values == frame[name].tolist()[::7]
        assert int(np.isnan(data[name]).sum()) == data[name].size - len(frame)
    assert (np.diff(data["y"]) < 0).all()
    assert (np.diff(data["x"]) > 0).all()


def test_the_crs_is_where_other_tools_look_for_it():
    data = release_in_metres().to_xarray()
    assert data["estimate"].attrs["grid_mapping"] == "spatial_ref"
    attributes = data["spatial_ref"].attrs
    assert CRS.from_wkt(attributes["crs_wkt"]) == CRS.from_wkt(attributes["spatial_ref"]) == CRS("EPSG:32633")
    assert CRS.from_cf(attributes) == CRS("EPSG:32633")
    assert attributes["GeoTransform"] == "500000.0 500.0 0.0 5006000.0 0.0 -500.0"
    assert data["x"].attrs["standard_name"] == "projection_x_coordinate"
    assert data["y"].attrs["units"] == "metre"
    degrees = sdp.Flat((4, 2)).release([], sdp.Domain((0, 0, 4, 2), crs="EPSG:4326"), epsilon=1).to_xarray()
    assert degrees["x"].attrs["units"] == "degrees_east"


def test_trees_keep_their_crs_too():
    assert "crs_wkt" in release_in_metres(sdp.Hierarchy((13, 11))).to_xarray()["spatial_ref"].attrs


def test_the_statement_comes_along():
    release = sdp.Flat((4, 4)).release([], sdp.Domain((0, 0, 1, 1)), epsilon=0.5, noise=sdp.SeededNoise(1))
    data = release.to_xarray()
    assert data.attrs["title"].startswith("NOT PRIVATE")
    assert json.loads(data.attrs["SPATIALDP_PRIVACY"])["private"] is False
    assert list(data["spatial_ref"].attrs) == ["GeoTransform"]
    assert "intervals" not in data.attrs


def test_a_biased_release_has_no_intervals_and_says_so():
    data = release_in_metres().non_negative().to_xarray()
    assert list(data.data_vars) == ["estimate"]
    assert data.attrs["intervals"].startswith("none: ")


def test_leaves_that_follow_no_grid_need_a_shape():
    release = release_in_metres(sdp.KdTree(2))
    with pytest.raises(ParameterError, match=r"shape=\(nx, ny\)"):
        release.to_xarray()
    assert release.to_xarray(shape=(8, 6))["estimate"].shape == (6, 8)


def test_without_xarray_the_error_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "xarray", None)
    with pytest.raises(ParameterError, match=r"pip install 'spatialdp\[xarray\]'"):
        release_in_metres().to_xarray()
