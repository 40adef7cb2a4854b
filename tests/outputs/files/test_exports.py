"""Every file format: opens where it should, says what it promises, and holds nothing but the release."""

from __future__ import annotations

import errno
import itertools
import json
import os
import resource
import signal
import subprocess
import sys
import time
from pathlib import Path

import geopandas
import numpy as np
import pandas as pd
import pyogrio
import pytest
import rasterio
import shapely

import spatialdp as sdp
from spatialdp.errors import FileFormatError, ParameterError
from spatialdp.outputs.files import exports
from spatialdp.outputs.files import geoparquet as files
from spatialdp.outputs.files.statement import read_statement
from spatialdp.privacy.statement import Privacy
from tests.helpers.sources import ZeroNoise

ROOT = Path(__file__).parent.parent
BOUNDS = (500_000.0, 5_000_000.0, 508_000.0, 5_006_000.0)
REGION = shapely.Polygon([(500_000, 5_000_000), (508_000, 5_000_000), (508_000, 5_005_000), (500_000, 5_003_000)])
DOMAIN = sdp.Domain(BOUNDS, crs="EPSG:32633", region=REGION)
XY = np.random.default_rng(3).uniform(BOUNDS[:2], BOUNDS[2:], size=(500, 2))
SUFFIXES = sorted(set(files.FORMATS) - {".tiff"})


def make(mechanism=None, points=XY, domain=DOMAIN, noise=None):
    return (mechanism or sdp.Flat((16, 12))).release(points, domain, epsilon=0.5, noise=noise)


def statement_in(path):
    """The statement as a reader of this format finds it."""
    if path.suffix == ".parquet":
        import pyarrow.parquet as pq

        return json.loads(pq.read_schema(path).metadata[b"spatialdp"])["privacy"]
    if path.suffix == ".gpkg":
        return json.loads(pyogrio.read_info(path)["layer_metadata"][exports.STATEMENT])
    if path.suffix == ".tif":
        with rasterio.open(path) as raster:
            return json.loads(raster.tags()[exports.STATEMENT])
    if path.suffix == ".geojson":
        return json.loads(path.read_text())["privacy"]
    return json.loads(path.with_suffix(".privacy.json").read_text())


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_every_format_carries_the_statement(suffix, tmp_path):
    path = tmp_path / f"map{suffix}"
    release = make()
    release.save(path)
    assert Privacy.from_json(statement_in(path)) == release.privacy


@pytest.mark.parametrize("suffix", SUFFIXES)
@pytest.mark.parametrize("noise", [sdp.SeededNoise(1), ZeroNoise()], ids=["seeded", "none"])
def test_seeded_releases_are_marked_in_every_format(suffix, noise, tmp_path):
    path = tmp_path / f"map{suffix}"
    make(noise=noise).save(path)
    said = statement_in(path)
    assert said["private"] is False
    assert suffix == ".parquet" or "NOT PRIVATE" in said["summary"]


@pytest.mark.parametrize("mechanism", [None, sdp.Quadtree(height=3), sdp.KdTree(height=3)], ids=str)
def test_geopackage_has_the_cells(mechanism, tmp_path):
    release = make(mechanism)
    release.save(tmp_path / "map.gpkg")
    frame, own = geopandas.read_file(tmp_path / "map.gpkg"), release.to_geodataframe()
    assert frame.crs == "EPSG:32633"
    assert len(frame) == release.estimate.n_cells
    assert frame.estimate.tolist() == own.estimate.tolist()
    assert frame.geometry.geom_equals(own.geometry).all()
    assert pyogrio.list_layers(tmp_path / "map.gpkg")[0].tolist() == ["release", "Polygon"]


def test_geotiff_is_north_up_and_cloud_optimized(tmp_path):
    release = make()
    release.save(tmp_path / "map.tif")
    with rasterio.open(tmp_path / "map.tif") as raster:
        assert raster.crs == "EPSG:32633"
        assert tuple(raster.bounds) == BOUNDS
        assert raster.transform.e < 0 < raster.transform.a
        assert (raster.width, raster.height) == (16, 12)
        assert raster.descriptions == ("estimate",)
        assert raster.tags(ns="IMAGE_STRUCTURE")["LAYOUT"] == "COG"
        assert raster.compression is None
        values = raster.read(1)
        mask = release.estimate.grid.mask
        assert np.array_equal(np.isnan(values[::-1]), ~mask)
        assert np.array_equal(raster.read(1, masked=True).mask[::-1], ~mask)
        assert np.array_equal(values[::-1][mask], release.estimate.values[mask])
        assert tuple(raster.transform)[:6] == (500, 0, 500_000, 0, -500, 5_006_000)


@pytest.mark.parametrize("mechanism", [sdp.Quadtree(height=3), sdp.KdTree(height=3), sdp.Flat((16, 12))], ids=str)
def test_trees_are_rasterised_on_request(mechanism, tmp_path):
    release = make(mechanism, domain=sdp.Domain(BOUNDS, crs="EPSG:32633"))
    release.save(tmp_path / "map.tif", shape=(10, 7))
    with rasterio.open(tmp_path / "map.tif") as raster:
        assert (raster.width, raster.height) == (10, 7)
        values = raster.read(1)[::-1]
    grid = release.domain.grid((10, 7))
    box = (grid.x_edges[3], grid.y_edges[2], grid.x_edges[5], grid.y_edges[6])
    assert values[2:6, 3:5].sum() == pytest.approx(release.answer(box))
    assert values.sum() == pytest.approx(release.total)


def test_trees_need_a_shape_and_others_refuse_one(tmp_path):
    with pytest.raises(ParameterError, match=r"is a tree.*shape=\(nx, ny\)"):
        make(sdp.Quadtree(height=3)).save(tmp_path / "map.tif")
    with pytest.raises(ParameterError, match=r"shape is for GeoTIFF files; map\.gpkg is GeoPackage"):
        make().save(tmp_path / "map.gpkg", shape=(3, 3))
    with pytest.raises(ParameterError, match="shape is"):
        make().save(tmp_path / "map.tif", shape=(0, 3))
    assert os.listdir(tmp_path) == []


def test_geotiff_without_rasterio_says_what_to_install(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "rasterio", None)
    with pytest.raises(ParameterError, match=r"pip install 'spatialdp\[raster\]'"):
        make().save(tmp_path / "map.tif")
    assert os.listdir(tmp_path) == []


def test_geojson_is_in_wgs84(tmp_path):
    release = make()
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
    make(points=[[11, 40.5]], domain=domain).save(tmp_path / "map.geojson")
    frame = geopandas.read_file(tmp_path / "map.geojson")
    assert tuple(frame.total_bounds) == domain.bounds
    assert frame.geometry.count_coordinates().max() == 5
    with pytest.raises(ParameterError, match="GeoJSON is always in WGS 84"):
        make(points=[[11, 40.5]], domain=sdp.Domain((10, 40, 12, 41))).save(tmp_path / "no.geojson")


@pytest.mark.parametrize("suffix", [".gpkg", ".tif", ".csv"])
def test_domains_without_a_crs(suffix, tmp_path):
    make(points=[[1, 1]], domain=sdp.Domain((0, 0, 2, 2))).save(tmp_path / f"map{suffix}")
    if suffix == ".gpkg":
        assert tuple(geopandas.read_file(tmp_path / "map.gpkg").total_bounds) == (0, 0, 2, 2)


def test_csv_has_corners_and_estimates(tmp_path):
    release = make()
    release.save(tmp_path / "map.csv")
    frame, own = pd.read_csv(tmp_path / "map.csv"), release.to_geodataframe()
    assert list(frame.columns) == ["xmin", "ymin", "xmax", "ymax", "column", "row", "estimate"]
    assert np.array_equal(frame[["xmin", "ymin", "xmax", "ymax"]].to_numpy(), own.geometry.bounds.to_numpy())
    assert frame.estimate.tolist() == own.estimate.tolist()
    assert sorted(os.listdir(tmp_path)) == ["map.csv", "map.privacy.json"]


class Compensating(ZeroNoise):
    """Noise that turns the counts of a data set into given numbers: what neighbours may both have led to."""

    def __init__(self, points):
        silent = make(points=points, noise=ZeroNoise()).estimate
        self._counts = silent.values[silent.grid.mask].astype(np.int64)

    def laplace(self, scale, size):
        return np.arange(self._counts.size).reshape(size) % 7 - 2 - self._counts.reshape(size)


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_files_of_neighbours_with_the_same_release_are_the_same(suffix, tmp_path):
    far = np.append(XY, [[500_001.0, 5_000_001.0]], axis=0)
    nowhere = np.append(XY, [[np.nan, 9e9]], axis=0)
    for name, points in (("a", XY), ("b", XY[1:]), ("c", far), ("d", nowhere)):
        make(points=points, noise=Compensating(points)).save(tmp_path / f"{name}{suffix}")
        if name == "a":
            time.sleep(1.1 if suffix == ".gpkg" else 0)  # a date would show
    first, *others = ((tmp_path / f"{name}{suffix}").read_bytes() for name in "abcd")
    assert all(first == other for other in others)
    if suffix == ".csv":
        assert len({(tmp_path / f"{name}.privacy.json").read_text() for name in "abcd"}) == 1


@pytest.mark.parametrize("suffix", [".gpkg", ".tif", ".geojson", ".csv"])
def test_only_geoparquet_is_loaded(suffix, tmp_path):
    make().save(tmp_path / f"map{suffix}")
    with pytest.raises(FileFormatError, match=r"load the GeoParquet file \(\.parquet\)"):
        sdp.load(tmp_path / f"map{suffix}")


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_nothing_is_overwritten_unasked(suffix, tmp_path):
    path = tmp_path / f"map{suffix}"
    make().save(path)
    before = {file.name: file.read_bytes() for file in tmp_path.iterdir()}
    with pytest.raises(FileExistsError, match="overwrite=True"):
        make().save(path)
    assert {file.name: file.read_bytes() for file in tmp_path.iterdir()} == before
    make(noise=sdp.SeededNoise(2)).save(path, overwrite=True)
    assert statement_in(path)["private"] is False
    assert set(os.listdir(tmp_path)) == set(before)


def test_an_old_statement_is_not_overwritten_unasked(tmp_path):
    (tmp_path / "map.privacy.json").write_text("mine")
    with pytest.raises(FileExistsError, match=r"map\.privacy\.json exists"):
        make().save(tmp_path / "map.csv")
    assert os.listdir(tmp_path) == ["map.privacy.json"]


def test_bad_names_are_refused_with_what_is_known(tmp_path):
    for name in ("map.shp", "map", "map.parquet.gz"):
        with pytest.raises(ParameterError, match=r"one of \.parquet \(GeoParquet\), \.gpkg"):
            make().save(tmp_path / name)
    (tmp_path / "folder.gpkg").mkdir()
    with pytest.raises(IsADirectoryError, match="is a folder"):
        make().save(tmp_path / "folder.gpkg", overwrite=True)
    with pytest.raises(FileNotFoundError, match="make it first"):
        make().save(tmp_path / "no" / "map.gpkg")
    assert os.listdir(tmp_path) == ["folder.gpkg"]


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_folders_one_may_not_write_in(tmp_path):
    tmp_path.chmod(0o500)
    with pytest.raises(PermissionError, match="you may not write"):
        make().save(tmp_path / "map.gpkg")


@pytest.mark.parametrize("named", [False, True], ids=["nameless", "named"])
@pytest.mark.parametrize("suffix", SUFFIXES)
def test_a_full_disk_leaves_what_was_there(suffix, named, tmp_path, monkeypatch):
    if named:
        monkeypatch.delattr(os, "O_TMPFILE", raising=False)
    path = tmp_path / f"map{suffix}"
    make().save(path)
    before = {file.name: file.read_bytes() for file in tmp_path.iterdir()}
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, hard))
    try:
        for target in (path, tmp_path / f"new{suffix}"):
            with pytest.raises(OSError, match=r"could not be written .*nothing was left behind") as caught:
                make().save(target, overwrite=True)
            assert caught.value.errno == errno.EFBIG
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert {file.name: file.read_bytes() for file in tmp_path.iterdir()} == before


def test_a_pair_is_put_in_place_together_or_not_at_all(tmp_path, monkeypatch):
    real, calls = os.link, []

    def link(source, target, **options):
        calls.append(target)
        if len(calls) == 2:
            raise OSError(errno.ENOSPC, "No space left on device")
        real(source, target, **options)

    monkeypatch.setattr(os, "link", link)
    with pytest.raises(OSError, match=r"No space left on device.*nothing was left behind"):
        make().save(tmp_path / "map.csv")
    assert len(calls) == 2
    assert os.listdir(tmp_path) == []
    calls.append("")
    make().save(tmp_path / "map.csv")
    calls.clear()
    with pytest.raises(OSError, match=r"but .*map.privacy.json had been replaced already"):
        make().save(tmp_path / "map.csv", overwrite=True)
    with pytest.raises(FileFormatError, match="is not the statement of"):  # and the old table is not taken for the new
        read_statement(tmp_path / "map.csv")


@pytest.mark.skipif(not hasattr(os, "O_TMPFILE"), reason="files without a name are Linux's")
@pytest.mark.parametrize("suffix", SUFFIXES)
def test_a_kill_leaves_the_old_file_or_nothing(suffix, tmp_path):
    # Killed in the middle of the last write, when all of the file but its place is there.
    path = tmp_path / f"map{suffix}"
    code = f"""
import os, signal, numpy as np, spatialdp as sdp
release = sdp.Flat((8, 8)).release([], sdp.Domain((0, 0, 1, 1), crs="EPSG:4326"), epsilon=1)
os.fsync = lambda handle: os.kill(os.getpid(), signal.SIGKILL)
release.save({str(path)!r}, overwrite=True)
"""
    for old in (None, b"old"):
        if old:
            path.write_bytes(old)
        done = subprocess.run([sys.executable, "-c", code], check=False)
        assert done.returncode == -signal.SIGKILL
        assert os.listdir(tmp_path) == ([path.name] if old else [])
        assert not old or path.read_bytes() == old


# Ways to write: with a name from the start or without one, where nothing is yet or over what there is.
WAYS = [
    f"{how}{named}{overwrite}"
    for how in ("all", "whole")
    for named in (("", "-named") if how == "all" else ("",))
    for overwrite in ("", "-overwrite")
]


def moments(way, folder, names, old=()):
    """What the names hold when writing them is killed at each of its lines, first to last."""
    given = folder / "given"
    given.mkdir()
    for name in old:
        (given / name).write_bytes(b"old")
    command = [sys.executable, "-m", "tests.attacks.killed", way, str(given), *names]
    found = json.loads(subprocess.run(command, cwd=ROOT, capture_output=True, check=True).stdout)
    assert len(found) > 10
    assert found[-1] == {"held": ["new"] * len(names), "others": [], "done": True}
    for moment in found:  # a whole copy under a hidden name is all else that can be left
        assert all(other.startswith(".") and other.endswith(".partial") for other in moment["others"])
    return found


def stages(found):
    """What the names hold, each state once, in the order in which they come about."""
    return [list(state) for state, _ in itertools.groupby(tuple(moment["held"]) for moment in found)]


@pytest.mark.parametrize(("way", "old"), [(way, old) for way in WAYS for old in (False, True)[: 1 + ("over" in way)]])
def test_a_kill_at_any_moment_leaves_the_old_file_or_the_new_one(way, old, tmp_path):
    found = moments(way, tmp_path, ["map.gpkg"], ["map.gpkg"] if old else [])
    assert stages(found) == [["old" if old else "none"], ["new"]]
    if way == "all" and hasattr(os, "O_TMPFILE"):
        assert not any(moment["others"] for moment in found)
    # Not only at the very beginning or end: the new file is there some lines before all is done.
    assert sum(moment["held"] == ["new"] for moment in found) > 3


@pytest.mark.parametrize("old", [(), ("map.privacy.json", "map.csv")], ids=["nothing", "old"])
def test_a_kill_between_two_files_leaves_the_statement_first(old, tmp_path):
    before = "old" if old else "none"
    found = moments("all-overwrite", tmp_path, ["map.privacy.json", "map.csv"], old)
    assert stages(found) == [[before, before], ["new", before], ["new", "new"]]


def test_a_statement_beside_another_table_is_refused(tmp_path):
    """As a kill between the two files leaves it: a table that is not private must not get a promise by accident."""
    make(noise=sdp.SeededNoise(1)).save(tmp_path / "map.csv")
    assert not read_statement(tmp_path / "map.csv").private
    make().save(tmp_path / "new.csv")
    (tmp_path / "new.privacy.json").replace(tmp_path / "map.privacy.json")
    with pytest.raises(FileFormatError, match="is not the statement of"):
        read_statement(tmp_path / "map.csv")
