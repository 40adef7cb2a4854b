"""Files: complete, atomic, checked on the way in, and of a size that tells nothing."""

from __future__ import annotations

import base64
import errno
import json
import os
import struct

import geopandas
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import shapely

import spatialdp as sdp
from spatialdp._support.atomic import write_all
from spatialdp.errors import FileFormatError, ParameterError
from spatialdp.outputs.files.geoparquet import _digest
from tests.helpers.sources import ZeroNoise

REGION = shapely.Polygon([(0, 0), (8, 0), (8, 5), (3, 6), (0, 3)])
XY = np.random.default_rng(3).uniform((0, 0), (8, 6), size=(500, 2))
BOXES = np.sort(np.random.default_rng(4).uniform((0, 0), (8, 6), size=(50, 2, 2)), axis=1).reshape(-1, 4)


def make(law="discrete-laplace", region=REGION, crs="EPSG:4326", epsilon=0.5, delta=0, noise=None, **options):
    domain = sdp.Domain((0, 0, 8, 6), crs=crs, region=region)
    return sdp.Flat((16, 12), law=law, **options).release(XY, domain, epsilon=epsilon, delta=delta, noise=noise)


@pytest.fixture
def saved(tmp_path):
    path = tmp_path / "release.parquet"
    make().save(path)
    return path


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


def test_file_opens_as_geoparquet(saved):
    frame = geopandas.read_parquet(saved)
    release = sdp.load(saved)
    assert frame.crs == "EPSG:4326"
    assert len(frame) == release.estimate.grid.n_cells
    assert frame.geometry.is_valid.all()
    assert frame.estimate.sum() == release.total
    same = release.to_geodataframe()
    assert same.geometry.geom_equals(frame.geometry).all()
    assert list(same.columns) == ["column", "row", "estimate", "geometry"]
    assert json.loads(pq.read_schema(saved).metadata[b"geo"])["columns"]["geometry"]["bbox"] == [0, 0, 8, 6]


def rewrite(path, table=None, header=None, sign=False):
    """Alter a saved release, leaving everything else as it was; `sign` makes the digest agree again."""
    old = pq.read_table(path)
    stated = json.loads(old.schema.metadata[b"spatialdp"])
    if header:
        header(stated)
    new = table(old) if table else old
    if sign:
        stated["rows"] = len(new)
        stated["sha256"] = _digest(stated, new)
    pq.write_table(
        new.replace_schema_metadata({**new.schema.metadata, b"spatialdp": json.dumps(stated).encode()}), path
    )


def _in_text(wkb):
    return base64.b64encode(wkb).decode()


def _set(*keys, value):
    def change(header):
        for key in keys[:-1]:
            header = header[key]
        header[keys[-1]] = value

    return change


@pytest.mark.parametrize("sign", [False, True], ids=["unsigned", "signed"])
@pytest.mark.parametrize(
    "change",
    [
        _set("privacy", "epsilon", value="1/1000"),
        _set("privacy", "epsilon", value="-1"),
        _set("privacy", "epsilon", value="1e999999999"),
        _set("privacy", "epsilon", value=1),
        _set("privacy", "private", value="yes"),
        _set("privacy", "budget", value={"counts": "5"}),
        _set("privacy", "budget", value=None),
        _set("privacy", value=None),
        _set("estimate", "noise", "variance", value=None),
        _set("estimate", "noise", "variance", value=-5.0),
        _set("estimate", "noise", "variance", value=float("nan")),
        _set("estimate", "noise", "width", value=-100),
        _set("estimate", "biased", value="false"),
        _set("estimate", "shape", value=[16, 12, 1]),
        _set("estimate", "shape", value=[16384, 16384]),
        _set("privacy", "neighbours", value="whatever"),
        _set("privacy", "currency", value="beans"),
        _set("privacy", "unit", value="country"),
        _set("privacy", "budget", value={}),
        _set("privacy", "mechanism", value="\x1b[31mflat"),
        _set("privacy", "version", value="newest"),
        _set("privacy", "epsilon", value="100000"),
        _set("estimate", value={}),
        _set("estimate", "kind", value="other"),
        _set("estimate", "shape", value=[12, 16]),
        _set("estimate", "shape", value=[10**9, 10**9]),
        _set("estimate", "shape", value=["a", "b"]),
        _set("estimate", "shape", value=[]),
        _set("domain", "bounds", value=[0, 0, 8, 7]),
        _set("domain", "bounds", value=[8, 6, 0, 0]),
        _set("domain", "region", value="not a polygon"),
        _set("domain", "region", value="AAAA"),
        _set("domain", "region", value=_in_text(struct.pack("<BII", 1, 7, 1) * 100_000)),
        _set("domain", "region", value=_in_text(struct.pack("<BII", 1, 6, 1) * 100_000)),
        _set("domain", "region", value=_in_text(struct.pack("<BII", 1, 6, 2**32 - 1))),
        _set("domain", "region", value=_in_text(shapely.to_wkb(shapely.Point(1, 1)))),
        _set("domain", "region", value=_in_text(shapely.to_wkb(shapely.box(0, 0, 1, 1), byte_order=0))),
        _set("domain", "crs", value="nonsense"),
        _set("format", value="other"),
        _set("format_version", value=99),
        lambda header: header.pop("domain"),
        lambda header: header.pop("privacy"),
    ],
)
def test_altered_metadata_is_refused(saved, change, sign):
    rewrite(saved, header=change, sign=sign)
    with pytest.raises(FileFormatError):
        sdp.load(saved)


def _row(name, value):
    """Another value in the second row of a column."""

    def change(table):
        values = table[name].to_numpy().copy()
        values[1] = value
        return table.set_column(table.column_names.index(name), name, pa.array(values))

    return change


@pytest.mark.parametrize(
    "changes",
    [
        {"table": _row("xlo", -1)},
        {"table": _row("xhi", 2**31 - 1)},
        {"table": _row("yhi", 0)},
        {"table": _row("depth", 2)},
        {"table": _row("children", 3)},
        {"header": _set("estimate", "levels", "variance", value=[1.0])},
        {"header": _set("estimate", "levels", "variance", value=[1.0, -1.0, 1.0])},
        {"header": _set("estimate", "levels", "kurtosis", value=[1.0, None, 1.0])},
        {"header": _set("estimate", "step", value=-1)},
        {"header": _set("estimate", "step", value=None)},
        {"header": _set("estimate", "consistent", value="yes")},
        {"header": _set("estimate", "shape", value=[4, "4"])},
        {"header": _set("estimate", "shape", value=[4, 0])},
        {"header": _set("estimate", "shape", value=[10**6, 10**6])},
        {"header": _set("estimate", "offsets", value=[0, 1])},
        {"header": _set("estimate", "offsets", value=[0, 10**9])},
    ],
)
def test_forged_trees_are_refused(tmp_path, changes):
    """Though their digest is right: who forges a file must not be able to ask for memory, or get nonsense answered."""
    path = tmp_path / "tree.parquet"
    sdp.Quadtree(height=2).release(XY, sdp.Domain((0, 0, 8, 6)), epsilon=1).save(path)
    rewrite(path, sign=True)
    sdp.load(path)  # the forger's tools work
    rewrite(path, **changes, sign=True)
    with pytest.raises(FileFormatError):
        sdp.load(path)


@pytest.mark.parametrize(
    "change",
    [
        _set("sha256", value="0" * 64),
        lambda header: header.pop("sha256"),
        _set("domain", "crs", value="EPSG:3857"),
        _set("estimate", "noise", "variance", value=0.0),
        _set("estimate", "biased", value=True),
        _set("privacy", "private", value=False),
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
    with pytest.raises(FileFormatError, match="no spatialdp release"):
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


def test_existing_files_are_kept_unless_one_says_so(saved):
    before = saved.read_bytes()
    with pytest.raises(FileExistsError, match="overwrite=True"):
        make().save(saved)
    assert saved.read_bytes() == before
    make().save(saved, overwrite=True)
    assert saved.read_bytes() != before


def test_only_known_formats_and_only_where_there_is_a_folder(tmp_path):
    with pytest.raises(ParameterError, match=r"\.parquet"):
        make().save(tmp_path / "release.shp")
    with pytest.raises(FileNotFoundError, match="make it first"):
        make().save(tmp_path / "no" / "release.parquet")
    assert os.listdir(tmp_path) == []


def test_failed_writing_leaves_nothing_behind(saved, tmp_path, monkeypatch):
    before = saved.read_bytes()

    def fail(_):
        raise OSError("disk full")

    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(OSError, match="disk full"):
        write_all({saved: b"half"}, overwrite=True)
    assert saved.read_bytes() == before
    assert os.listdir(tmp_path) == [saved.name]


def test_file_systems_without_nameless_files_get_whole_files_too(tmp_path, monkeypatch):
    """Some know of such files only that they have none."""
    opened = os.open

    def refusing(path, flags, *rest, **options):
        if flags & os.O_TMPFILE == os.O_TMPFILE:
            raise OSError(errno.EOPNOTSUPP, "Operation not supported")
        return opened(path, flags, *rest, **options)

    monkeypatch.setattr(os, "open", refusing)
    for release in (make(), make()):
        release.save(tmp_path / "release.parquet", overwrite=True)
        assert np.array_equal(sdp.load(tmp_path / "release.parquet").estimate.values, release.estimate.values)
    assert os.listdir(tmp_path) == ["release.parquet"]


def test_an_interruption_between_two_files_leaves_neither(tmp_path, monkeypatch):
    linked, places = os.link, []

    def link(source, target, **options):
        if places:
            raise KeyboardInterrupt
        linked(source, target, **options)
        places.append(target)

    monkeypatch.setattr(os, "link", link)
    with pytest.raises(KeyboardInterrupt):
        make().save(tmp_path / "release.csv")
    assert places
    assert os.listdir(tmp_path) == []


def test_folders_one_may_not_write_in_are_refused_before_anything_is_written(tmp_path, monkeypatch):
    monkeypatch.setattr(os, "access", lambda *_, **__: False)  # root, who runs tests in containers, may write anywhere
    with pytest.raises(PermissionError, match="you may not write in the folder"):
        make().save(tmp_path / "release.parquet")
    assert os.listdir(tmp_path) == []
