"""GeoParquet: complete, and checked on the way in."""

from __future__ import annotations

import json
import struct

import geopandas
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import shapely

import spatialdp as sdp
from spatialdp.errors import FileFormatError
from tests.helpers.metre_maps import release_in_metres
from tests.helpers.release_files import REGION, XY, in_text, make, rewrite, set_to
from tests.helpers.sources import ZeroNoise

BOXES = np.sort(np.random.default_rng(4).uniform((0, 0), (8, 6), size=(50, 2, 2)), axis=1).reshape(-1, 4)


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"law": "laplace"},
        {"law": "gaussian", "delta": 1e-6},
        {"region": None, "crs": None},
        {"truncate": 3},
        {"noise": sdp.SeededNoise(1)},
        {"epsilon": 900},
        {"epsilon": 1e-6},
    ],
    ids=str,
)
def test_loaded_release_is_the_saved_one(options, tmp_path):
    release = make(**options)
    release.save(tmp_path / "release.parquet")
    loaded = sdp.load(tmp_path / "release.parquet")
    assert loaded.privacy == release.privacy
    assert loaded.domain == release.domain
    assert np.array_equal(loaded.estimate.values, release.estimate.values)
    assert np.array_equal(loaded.answer(BOXES), release.answer(BOXES))
    if not release.estimate.biased:
        assert np.array_equal(loaded.interval(BOXES), release.interval(BOXES))
    assert loaded.estimate.biased == release.estimate.biased


@pytest.mark.parametrize("noise", [sdp.SeededNoise(1), ZeroNoise()])
def test_seeded_releases_stay_marked_through_files(noise, tmp_path):
    make(noise=noise).save(tmp_path / "release.parquet")
    assert sdp.load(tmp_path / "release.parquet").privacy.private is False
    metadata = json.loads(pq.read_schema(tmp_path / "release.parquet").metadata[b"spatialdp"])
    assert metadata["privacy"]["private"] is False


@pytest.mark.parametrize("rule", ["touching", "centres"])
def test_the_rule_of_the_regions_cells_is_kept(rule, tmp_path):
    domain = sdp.Domain((0, 0, 8, 6), region=REGION, region_cells=rule)
    release = sdp.Flat((16, 12)).release(XY, domain, epsilon=1)
    release.save(tmp_path / "map.parquet")
    assert sdp.load(tmp_path / "map.parquet").domain == domain
    assert sdp.load(tmp_path / "map.parquet").estimate.n_cells == release.estimate.n_cells


def test_files_from_before_there_was_a_rule_have_cells_by_centres(tmp_path):
    """Version 0.1 wrote no rule: a cell belonged to the region if its centre did."""
    domain = sdp.Domain((0, 0, 8, 6), region=REGION, region_cells="centres")
    release = sdp.Flat((16, 12)).release(XY, domain, epsilon=1)
    release.save(tmp_path / "map.parquet")
    rewrite(tmp_path / "map.parquet", header=lambda header: header["domain"].pop("region_cells"), sign=True)
    old = sdp.load(tmp_path / "map.parquet")
    assert old.domain == domain
    assert np.array_equal(old.estimate.values, release.estimate.values)


def test_file_opens_as_geoparquet(saved):
    frame = geopandas.read_parquet(saved)
    release = sdp.load(saved)
    assert frame.crs == "EPSG:4326"
    assert len(frame) == release.estimate.grid.n_cells
    assert frame.geometry.is_valid.all()
    assert frame.estimate.sum() == release.total
    same = release.to_geodataframe()
    assert same.geometry.geom_equals(frame.geometry).all()
    assert list(same.columns) == ["column", "row", "estimate", "lower", "upper", "sd", "geometry"]
    assert json.loads(pq.read_schema(saved).metadata[b"geo"])["columns"]["geometry"]["bbox"] == [0, 0, 8, 6]


@pytest.mark.parametrize("sign", [False, True], ids=["unsigned", "signed"])
@pytest.mark.parametrize(
    "change",
    [
        set_to("privacy", "epsilon", value="1/1000"),
        set_to("privacy", "epsilon", value="-1"),
        set_to("privacy", "epsilon", value="1e999999999"),
        set_to("privacy", "epsilon", value=1),
        set_to("privacy", "private", value="yes"),
        set_to("privacy", "budget", value={"counts": "5"}),
        set_to("privacy", "budget", value=None),
        set_to("privacy", value=None),
        set_to("estimate", "noise", "variance", value=None),
        set_to("estimate", "noise", "variance", value=-5.0),
        set_to("estimate", "noise", "variance", value=float("nan")),
        set_to("estimate", "noise", "width", value=-100),
        set_to("estimate", "biased", value="false"),
        set_to("estimate", "shape", value=[16, 12, 1]),
        set_to("estimate", "shape", value=[16384, 16384]),
        set_to("privacy", "neighbours", value="whatever"),
        set_to("privacy", "currency", value="beans"),
        set_to("privacy", "unit", value="country"),
        set_to("privacy", "budget", value={}),
        set_to("privacy", "mechanism", value="\x1b[31mflat"),
        set_to("privacy", "version", value="newest"),
        set_to("privacy", "epsilon", value="100000"),
        set_to("estimate", value={}),
        set_to("estimate", "kind", value="other"),
        set_to("estimate", "shape", value=[12, 16]),
        set_to("estimate", "shape", value=[10**9, 10**9]),
        set_to("estimate", "shape", value=["a", "b"]),
        set_to("estimate", "shape", value=[]),
        set_to("domain", "bounds", value=[0, 0, 8, 7]),
        set_to("domain", "bounds", value=[8, 6, 0, 0]),
        set_to("domain", "region", value="not a polygon"),
        set_to("domain", "region", value="AAAA"),
        set_to("domain", "region", value=in_text(struct.pack("<BII", 1, 7, 1) * 100_000)),
        set_to("domain", "region", value=in_text(struct.pack("<BII", 1, 6, 1) * 100_000)),
        set_to("domain", "region", value=in_text(struct.pack("<BII", 1, 6, 2**32 - 1))),
        set_to("domain", "region", value=in_text(shapely.to_wkb(shapely.Point(1, 1)))),
        set_to("domain", "region", value=in_text(shapely.to_wkb(shapely.box(0, 0, 1, 1), byte_order=0))),
        set_to("domain", "crs", value="nonsense"),
        set_to("format", value="other"),
        set_to("format_version", value=99),
        lambda header: header.pop("domain"),
        lambda header: header.pop("privacy"),
    ],
)
def test_altered_metadata_is_refused(saved, change, sign):
    rewrite(saved, header=change, sign=sign)
    with pytest.raises(FileFormatError):
        sdp.load(saved)


@pytest.mark.parametrize(
    "change",
    [
        set_to("sha256", value="0" * 64),
        lambda header: header.pop("sha256"),
        set_to("domain", "crs", value="EPSG:3857"),
        set_to("estimate", "noise", "variance", value=0.0),
        set_to("estimate", "biased", value=True),
        set_to("privacy", "private", value=False),
    ],
)
def test_alterations_that_make_sense_are_caught_by_the_digest(saved, change):
    rewrite(saved, header=change)
    with pytest.raises(FileFormatError):
        sdp.load(saved)


@pytest.mark.parametrize("sign", [False, True], ids=["unsigned", "signed"])
@pytest.mark.parametrize(
    "change",
    [
        lambda t: t.set_column(3, "estimate", pa.array(["x"] * len(t))),
        lambda t: t.set_column(3, "estimate", pa.nulls(len(t), pa.float64())),
        lambda t: t.slice(1),
        lambda t: t.take(pa.array(np.arange(len(t))[::-1])),
        lambda t: t.drop_columns(["estimate"]),
        lambda t: t.slice(0, 0),
    ],
    ids=["text", "nulls", "shorter", "order", "column", "empty"],
)
def test_altered_rows_are_refused(saved, change, sign):
    rewrite(saved, table=change, sign=sign)
    with pytest.raises(FileFormatError):
        sdp.load(saved)


@pytest.mark.parametrize(
    "change",
    [
        lambda t: t.set_column(3, "estimate", pa.array(t["estimate"].to_numpy() + 1)),
        lambda t: t.set_column(4, "geometry", pa.array([b"elsewhere"] * len(t))),
        lambda t: t.append_column("truth", pa.array(np.zeros(len(t)))),
        lambda t: t.replace_schema_metadata({**t.schema.metadata, b"geo": b"{}"}),
    ],
    ids=["estimates", "polygons", "another column", "map metadata"],
)
def test_altered_contents_are_caught_by_the_digest(saved, change):
    rewrite(saved, table=change)
    with pytest.raises(FileFormatError):
        sdp.load(saved)


def test_flipped_bits_are_noticed_or_harmless(saved):
    release, whole = sdp.load(saved), saved.read_bytes()
    frame = geopandas.read_parquet(saved)
    noticed = 0
    for place in np.random.default_rng(1).integers(0, 8 * len(whole), 300):
        damaged = bytearray(whole)
        damaged[place // 8] ^= 1 << place % 8
        saved.write_bytes(damaged)
        try:
            loaded = sdp.load(saved)
        except FileFormatError:
            noticed += 1
            continue
        assert np.array_equal(loaded.estimate.values, release.estimate.values)
        assert loaded.privacy == release.privacy
        assert geopandas.read_parquet(saved).geometry.geom_equals(frame.geometry).all()
    assert noticed > 150


def test_deeply_nested_metadata_is_refused(saved):
    table = pq.read_table(saved)
    nested = b"[" * 100_000
    pq.write_table(table.replace_schema_metadata({b"spatialdp": nested}), saved)
    with pytest.raises(FileFormatError):
        sdp.load(saved)


def test_truncated_and_foreign_files_are_refused(saved, tmp_path):
    whole = saved.read_bytes()
    for length in (0, 4, 100, len(whole) // 2, len(whole) - 1):
        saved.write_bytes(whole[:length])
        with pytest.raises(FileFormatError):
            sdp.load(saved)
    foreign = tmp_path / "foreign.parquet"
    pq.write_table(pa.table({"column": [1], "row": [1], "estimate": [1.0]}), foreign)
    with pytest.raises(FileFormatError, match="not a spatialdp release"):
        sdp.load(foreign)
    pq.write_table(pa.table({"a": [1]}), foreign)
    with pytest.raises(FileFormatError):
        sdp.load(foreign)
    foreign.write_text("hello")
    with pytest.raises(FileFormatError, match="not a readable release"):
        sdp.load(foreign)
    with pytest.raises(FileNotFoundError, match="not a file"):
        sdp.load(tmp_path / "nothing.parquet")
    with pytest.raises(FileNotFoundError, match="not a file"):
        sdp.load(tmp_path)


@pytest.mark.parametrize("suffix", [".gpkg", ".tif", ".geojson", ".csv"])
def test_only_geoparquet_is_loaded(suffix, tmp_path):
    release_in_metres().save(tmp_path / f"map{suffix}")
    with pytest.raises(FileFormatError, match=r"load the GeoParquet file \(\.parquet\)"):
        sdp.load(tmp_path / f"map{suffix}")
