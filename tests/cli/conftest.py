"""Files that commands read."""

from __future__ import annotations

import geopandas
import numpy as np
import pytest
import shapely

from tests.helpers.commands import BOUNDS, run
from tests.helpers.point_files import FILES, write


@pytest.fixture(scope="session")
def folder(tmp_path_factory):
    """Points and areas in every format; not to be written in."""
    place = tmp_path_factory.mktemp("points")
    xy = np.random.default_rng(1).uniform(-0.1, 1.1, (2, 3000))
    for name in FILES:
        write(place / name, *xy)
    areas = geopandas.GeoDataFrame(
        {"name": ["west", "east"]}, geometry=[shapely.box(0, 0, 0.5, 1), shapely.box(0.5, 0, 1, 1)], crs="EPSG:4326"
    )
    areas.to_parquet(place / "areas.parquet")
    for name in ("areas.gpkg", "areas.geojson", "areas.shp"):
        areas.to_file(place / name)
    return place


@pytest.fixture(scope="session")
def released(folder):
    """A quadtree of 256 cells of these points."""
    path = folder / "released.parquet"
    options = ("--x", "lon", "--y", "lat", BOUNDS, "--crs", "EPSG:4326", "--method=quadtree", "--height=4")
    run("release", folder / "table.csv", *options, "--epsilon", "1", "-o", path)
    return path


@pytest.fixture
def place(tmp_path, monkeypatch):
    """A folder with a file of points, to work in."""
    monkeypatch.chdir(tmp_path)
    write(tmp_path / "points.gpkg", *np.random.default_rng(1).random((2, 50)))
    return tmp_path
