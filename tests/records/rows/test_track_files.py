"""Trajectories in files are those in memory; odd fixes count nowhere and change nothing else."""

from __future__ import annotations

import io

import numpy as np
import pandas as pd
import pytest

import spatialdp as sdp
from spatialdp.errors import PointsError
from spatialdp.records.rows.tracks import paths_of

DOMAIN = sdp.Domain((0, 0, 8, 8), crs="EPSG:4326")
FRAME = pd.DataFrame(
    {
        "tid": [1, 1, 2, 2, 2],
        "time": ["2024-01-01 08:00", "2024-01-01 08:02", "2024-01-01 09:00", "2024-01-01 09:01", "2024-01-01 09:05"],
        "x": [0.5, 1.5, 2.5, 2.5, 7.5],
        "y": [0.5, 0.5, 4.5, 5.5, 7.5],
        "uid": ["ann", "ann", "bob", "bob", "bob"],
    }
)


def positions(tracks, person=None):
    paths = paths_of(tracks, DOMAIN, 60_000_000, 60, person)
    return paths.starts.tolist(), paths.columns.tolist(), paths.rows.tolist()


@pytest.mark.parametrize("person", [None, sdp.Person(records=1)])
@pytest.mark.parametrize("suffix", [".csv", ".tsv.gz", ".parquet"])
def test_files_hold_what_frames_do(suffix, person, tmp_path):
    path, names = tmp_path / f"rides{suffix}", {"x": "x", "y": "y", "person": None if person is None else "uid"}
    if suffix == ".parquet":
        FRAME.assign(time=pd.to_datetime(FRAME.time)).to_parquet(path)
    else:
        FRAME.to_csv(path, index=False, sep="," if suffix == ".csv" else "\t")
    read = sdp.read_tracks(path, DOMAIN, **names)
    assert repr(read) == "Tracks(<private>)"
    held = sdp.Tracks.from_frame(FRAME, person=names["person"])
    assert positions(read, person) == positions(held, person)
    both = sdp.read_tracks([path, path], DOMAIN, **names)
    assert positions(both, person) == positions(held, person)


@pytest.mark.parametrize(
    "odd", ["9,never,1,1,ann", "9,,1,1,", ",2024-01-01,1,1,ann", "9,2024-01-01,abc,1,ann", "9,5,1,1,a"]
)
def test_odd_fixes_count_nowhere(odd):
    text = FRAME.to_csv(index=False)
    plain, more = (
        sdp.read_tracks(io.BytesIO(each.encode()), DOMAIN, x="x", y="y", file_format="csv")
        for each in (text, text + odd + "\n")
    )
    assert positions(plain) == positions(more)


def test_times_with_offsets_are_instants(tmp_path):
    FRAME.assign(time=FRAME.time.str.replace(" ", "T") + "+01:00").to_csv(tmp_path / "rides.csv", index=False)
    read = sdp.read_tracks(tmp_path / "rides.csv", DOMAIN, x="x", y="y")
    assert positions(read) == positions(sdp.Tracks.from_frame(FRAME))


@pytest.mark.parametrize(
    ("columns", "words"),
    [
        ({"tid": "ride"}, "ride"),
        ({"time": 5}, "give the name of a column"),
        ({"person": "nobody"}, "nobody"),
    ],
)
def test_columns_that_are_not_there_are_refused(columns, words, tmp_path):
    FRAME.to_csv(tmp_path / "rides.csv", index=False)
    with pytest.raises(PointsError, match=words):
        sdp.read_tracks(tmp_path / "rides.csv", DOMAIN, **{"x": "x", "y": "y", **columns})


@pytest.mark.parametrize("name", ["rides.csv", "rides.parquet"])
def test_messages_name_the_parameters_of_trajectories(name, tmp_path):
    FRAME.to_csv(tmp_path / "rides.csv", index=False)
    FRAME.to_parquet(tmp_path / "rides.parquet", index=False)
    with pytest.raises(PointsError, match=r"Name it with tid=\.\.\. or time=\.\.\.\.$"):
        sdp.read_tracks(tmp_path / name, DOMAIN, x="x", y="y", tid="ride")


def test_other_formats_are_refused(tmp_path):
    (tmp_path / "rides.geojson").write_text("{}")
    with pytest.raises(PointsError, match="trajectories are read from"):
        sdp.read_tracks(tmp_path / "rides.geojson", DOMAIN)


def test_no_fixes_are_no_trajectories(tmp_path):
    FRAME[:0].to_csv(tmp_path / "rides.csv", index=False)
    read = sdp.read_tracks(tmp_path / "rides.csv", DOMAIN, x="x", y="y", person="uid")
    assert positions(read, sdp.Person(records=1)) == ([0], [], [])
    assert np.size(positions(read, sdp.Person(records=1))[1]) == 0
