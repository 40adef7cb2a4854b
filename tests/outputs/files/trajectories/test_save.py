"""Synthetic trajectories as files: whole, with the statement, or not at all."""

from __future__ import annotations

import json

import geopandas
import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest

import spatialdp as sdp
from spatialdp.errors import ParameterError
from tests.helpers.trajectory_cases import DOMAIN, tracks_of


@pytest.fixture
def release():
    tracks = tracks_of([[0, 1, 2, 10], [63, 62], [9]] * 200)
    return sdp.Trajectories().release(tracks, DOMAIN, epsilon=20, noise=sdp.SeededNoise(1))


def test_files_hold_what_is_sampled_and_the_statement(release, tmp_path):
    path = tmp_path / "synthetic.parquet"
    release.save_sample(path, 50, noise=sdp.SeededNoise(4))
    wanted, read = release.sample(50, noise=sdp.SeededNoise(4)), geopandas.read_parquet(path)
    assert read.tid.tolist() == wanted.tid.tolist()
    assert read.time.tolist() == wanted.time.tolist()
    assert read.geometry.geom_equals(wanted.geometry).all()
    statement = json.loads(pq.read_schema(path).metadata[b"SPATIALDP_PRIVACY"])
    assert statement["private"] is False
    assert statement["mechanism"] == "trajectories"


def test_times_of_the_longest_trajectories_go_on():
    times = np.tile(np.array([0, 10**18], dtype="M8[us]"), 500)
    tracks = sdp.Tracks([[0.5, 0.5]] * 1000, tid=np.repeat(np.arange(500), 2), time=times)
    longest = sdp.Trajectories(step=10**8, longest=10_000, ends=0, systems=(0,))
    drawn = longest.release(tracks, DOMAIN, epsilon=20).sample(2)
    assert drawn.groupby("tid").size().tolist() == [10_001] * 2
    assert drawn.groupby("tid").time.is_monotonic_increasing.all()


def test_tables_have_the_statement_beside_them(release, tmp_path):
    release.save_sample(tmp_path / "synthetic.csv", 20, noise=sdp.SeededNoise(4))
    read = pd.read_csv(tmp_path / "synthetic.csv")
    assert read.columns.tolist() == ["tid", "time", "x", "y"]
    assert read.x.tolist() == release.sample(20, noise=sdp.SeededNoise(4)).x.tolist()
    statement = json.loads((tmp_path / "synthetic.privacy.json").read_text())
    assert statement["summary"].startswith("synthetic trajectories, drawn from: ")


def test_wrong_names_and_files_that_are_there_are_refused(release, tmp_path):
    path = tmp_path / "synthetic.parquet"
    with pytest.raises(ParameterError, match=r"ends in \.parquet"):
        release.save(tmp_path / "release.csv")
    with pytest.raises(ParameterError, match=r"ends in \.parquet or \.csv"):
        release.save_sample(tmp_path / "synthetic.gpkg")
    path.write_text("mine")
    with pytest.raises(FileExistsError):
        release.save_sample(path, 5)
    assert path.read_text() == "mine"
    release.save_sample(path, 5, overwrite=True)
    assert len(geopandas.read_parquet(path)) >= 5


def test_the_account_is_told_of_the_file(tmp_path):
    account = sdp.Ledger(tmp_path / "privacy.ledger").open("taxis", epsilon=1)
    release = sdp.Trajectories().release(tracks_of([[0, 1]] * 500), DOMAIN, epsilon=1, account=account)
    release.save(tmp_path / "taxis.parquet")
    release.save_sample(tmp_path / "synthetic.parquet", 0)
    told = (tmp_path / "privacy.ledger").read_bytes().decode(errors="ignore")
    assert "taxis.parquet" in told
    assert "synthetic.parquet" in told
