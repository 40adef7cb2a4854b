"""The released months of a series come back from a file, which holds nothing of the secret state."""

from __future__ import annotations

import json

import geopandas
import numpy as np
import pyarrow.parquet as pq
import pytest
import shapely

import spatialdp as sdp
from spatialdp.errors import FileFormatError, ParameterError
from spatialdp.outputs.files.geoparquet import _digest

GRID = sdp.Frame(sdp.Domain((0, 0, 2, 1), crs="EPSG:4326").grid((2, 1)), kind=sdp.Categories(["a", "b"]))
HALVES = geopandas.GeoDataFrame(
    {"half": ["w", "e"]}, geometry=[shapely.box(0, 0, 1, 1), shapely.box(1, 0, 2, 1)], crs="EPSG:4326"
)
ZONES = sdp.Frame(sdp.Zones(HALVES, levels=["half"]), kind=sdp.Categories(["a", "b"]))
CODES = sdp.Frame(sdp.Zones.from_codes(["w", "e"], None, {"half": 1}), kind=sdp.Categories(["a", "b"]))


def released(frame=GRID, months=3):
    series = sdp.Running(horizon=12).start(frame, epsilon=1, delta=1e-6)
    places = sdp.Codes(["w", "e"]) if frame is CODES else [[0.5, 0.5], [1.5, 0.5]]
    for _ in range(months):
        release = series.add(sdp.Rows(places, kind=["a", "b"]))
    return series, release


@pytest.mark.parametrize("frame", [GRID, ZONES, CODES], ids=["grid", "zones", "codes"])
def test_months_come_back_as_they_were(tmp_path, frame):
    _, release = released(frame)
    release.save(tmp_path / "year.parquet")
    again = sdp.RunningRelease.load(tmp_path / "year.parquet")
    assert (again.months, again.root, again.privacy) == (3, release.root, release.privacy)
    for asked in ({}, {"kind": "a"}, {"first": 2, "last": 2, "kind": ["a", "b"]}):
        assert np.array_equal(again.answer(**asked), release.answer(**asked))
        assert np.array_equal(again.interval(**asked), release.interval(**asked))
    assert again.to_frame().equals(release.to_frame())
    if frame is ZONES:
        assert all(shapely.equals(again.frame.space.zones.geometry, release.frame.space.zones.geometry))


def test_the_file_holds_what_is_published_and_no_noise(tmp_path):
    series, release = released()
    release.save(tmp_path / "year.parquet")
    table = pq.read_table(tmp_path / "year.parquet")
    assert table.column_names == ["estimate"]
    assert np.array_equal(table["estimate"].to_numpy(), np.stack(series._published).ravel() / 2.0**20)
    header = json.loads(table.schema.metadata[b"spatialdp"])["estimate"]
    assert set(header) == {"kind", "frame", "horizon", "bits", "months", "variance", "kurtosis"}


def test_a_file_is_replaced_only_if_that_is_asked_for(tmp_path):
    path = tmp_path / "year.parquet"
    _, release = released()
    release.save(path)
    with pytest.raises(OSError, match="exists"):
        release.save(path)
    release.save(path, overwrite=True)
    with pytest.raises(ParameterError, match=r"year\.csv does not end in \.parquet"):
        release.save(tmp_path / "year.csv")


def test_the_two_kinds_of_files_are_told_apart(tmp_path):
    _, release = released()
    release.save(tmp_path / "year.parquet")
    with pytest.raises(FileFormatError, match=r"read it with RunningRelease\.load"):
        sdp.load(tmp_path / "year.parquet")
    rows = sdp.Rows([[0.5, 0.5]], kind=["a"])
    sdp.Table().release(rows, GRID, epsilon=1).save(tmp_path / "table.parquet")
    with pytest.raises(FileFormatError, match="holds a release; read it with load"):
        sdp.RunningRelease.load(tmp_path / "table.parquet")


@pytest.mark.parametrize(
    "change",
    [
        {"months": 2},
        {"months": 13},
        {"horizon": 2},
        {"horizon": 10**9},
        {"bits": 99},
        {"variance": -1.0},
        {"frame": {}},
    ],
    ids=str,
)
def test_forged_files_are_refused(tmp_path, change):
    path = tmp_path / "year.parquet"
    released()[1].save(path)
    table = pq.read_table(path)
    header = json.loads(table.schema.metadata[b"spatialdp"])
    header["estimate"] |= change
    for honest in (False, True):
        if honest:
            header["sha256"] = _digest(header, table)
        metadata = {**table.schema.metadata, b"spatialdp": json.dumps(header).encode()}
        pq.write_table(table.replace_schema_metadata(metadata), path, use_dictionary=False, compression="none")
        with pytest.raises(FileFormatError, match="altered or damaged"):
            sdp.RunningRelease.load(path)
