"""`spatialdp contrast`: headed as private-only, files for the owner alone, and errors that show no record."""

from __future__ import annotations

import geopandas
import numpy as np
import pandas as pd
import pytest

from tests.helpers.commands import BOUNDS, run

NAMES = ("contrast.md", "attack.png", "maps.png")


@pytest.fixture
def frame():
    rng = np.random.default_rng(1)
    return pd.DataFrame({"lon": rng.random(400), "lat": rng.random(400), "kind": rng.choice(list("abcd"), 400)})


def test_tables_and_pictures_are_for_their_owner(tmp_path, frame):
    frame.to_csv(tmp_path / "crimes.csv", index=False)
    options = ("--x", "lon", "--y", "lat", "--sensitive", "kind", BOUNDS, "--k", 3, "--k", 9, "--releases", 2, "-q")
    told = run("contrast", tmp_path / "crimes.csv", *options, "-o", tmp_path / "out").stdout
    assert told.startswith("# Private-only: computed from the true records.")
    assert "3-anonymous" in told
    assert "9-anonymous" in told
    for name in NAMES:
        path = tmp_path / "out" / name
        assert path.stat().st_mode & 0o777 == 0o600
    assert (tmp_path / "out" / "contrast.md").read_text() in told
    again = run("contrast", tmp_path / "crimes.csv", *options, "-o", tmp_path / "out", code=2)
    assert "--force" in again.stderr


@pytest.mark.parametrize("name", ["points.parquet", "points.gpkg"])
def test_geometries_are_read(tmp_path, frame, name):
    points = geopandas.GeoDataFrame(frame, geometry=geopandas.points_from_xy(frame.lon, frame.lat), crs="EPSG:4326")
    (points.to_parquet if name.endswith("parquet") else points.to_file)(tmp_path / name)
    options = ("--sensitive", "kind", BOUNDS, "--releases", 2, "-o", tmp_path / "out")
    done = run("contrast", tmp_path / name, *options, "--crs", "EPSG:4326")
    assert "attacking" in done.stderr
    assert "EPSG:4326" in run("contrast", tmp_path / name, *options, "--crs", "EPSG:3857", "--force", code=2).stderr


def test_tables_of_plain_columns_are_read_from_parquet(tmp_path, frame):
    frame.to_parquet(tmp_path / "plain.parquet")
    options = ("--x", "lon", "--y", "lat", "--sensitive", "kind", BOUNDS, "--releases", 2, "-q", "-o", tmp_path / "out")
    assert "5-anonymous" in run("contrast", tmp_path / "plain.parquet", *options).stdout


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        (("--sensitive", "kind", "--x", "lon", BOUNDS), "only one of --x and --y"),
        (("--sensitive", "nothing", "--x", "lon", "--y", "lat", BOUNDS), "cannot be read with the columns"),
        (("--sensitive", "kind", BOUNDS), "and a geometry"),
        (("--sensitive", "kind", "--x", "lon", "--y", "lat"), "no domain was given"),
        (("--x", "lon", "--y", "lat", BOUNDS), "--sensitive"),
        (("--sensitive", "kind", "--x", "lon", "--y", "lat", BOUNDS, "--overlap", "300"), "--overlap is 300"),
    ],
)
def test_mistakes_in_options_and_columns_are_named_and_nothing_is_written(tmp_path, frame, options, complaint):
    frame.to_parquet(tmp_path / "crimes.parquet")
    told = run("contrast", tmp_path / "crimes.parquet", *options, "-o", tmp_path / "out", code=2)
    assert complaint in told.stderr
    assert not (tmp_path / "out").exists()
