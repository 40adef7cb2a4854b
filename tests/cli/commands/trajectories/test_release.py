"""`spatialdp trajectories`: from a file of fixes to a release, or to a message and nothing else."""

from __future__ import annotations

import json
import os

import geopandas
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import shapely

import spatialdp as sdp
from tests.helpers.commands import run

PLACE = ("--x=lon", "--y=lat", "--bounds=0,0,8,8")


@pytest.fixture
def fixes(tmp_path):
    folder = tmp_path / "in"
    folder.mkdir()
    random = np.random.default_rng(1)
    start, steps = random.uniform(1, 3, (400, 1, 2)), np.arange(6)[:, None]
    xy = (start + 0.4 * steps).reshape(-1, 2)
    tids = np.repeat(np.arange(400), 6)
    times = np.datetime64("2024-01-01T08:00") + np.tile(np.arange(6), 400).astype("timedelta64[m]")
    frame = pd.DataFrame({"tid": tids, "time": times, "lon": xy[:, 0], "lat": xy[:, 1], "uid": tids // 4})
    frame.to_csv(folder / "rides.csv", index=False)
    renamed = frame.rename(columns={"tid": "ride", "time": "when"})
    geopandas.GeoDataFrame(renamed, geometry=shapely.points(xy)).to_parquet(folder / "rides.parquet")
    return folder


def test_a_release_is_made_described_certified_and_sampled(fixes, tmp_path):
    path = tmp_path / "o.parquet"
    told = run("trajectories", fixes / "rides.csv", *PLACE, "--epsilon=20", "--ends=1", "-o", path)
    release = sdp.load(path)
    assert release.privacy.private
    assert release.total == pytest.approx(400, abs=25)
    assert "trajectories, estimated; 95 % interval" in told.stderr
    assert "ledger   none: nothing records what was spent" in told.stderr
    assert "ways       in" in run("info", path).stdout
    assert json.loads(run("info", path, "--json").stdout)["blocks_a_side"] == 2
    assert "whole trajectories" in run("certificate", path).stdout
    run("sample", path, "-n", 30, "-o", tmp_path / "s.parquet")
    run("sample", path, "-n", 30, "--seed=1", "-o", tmp_path / "t.csv")
    assert geopandas.read_parquet(tmp_path / "s.parquet").tid.nunique() == 30
    assert pd.read_csv(tmp_path / "t.csv").columns.tolist() == ["tid", "time", "x", "y"]
    assert "synthetic trajectories" in (tmp_path / "t.privacy.json").read_text()
    run("sample", path, "-n", 3, "-o", tmp_path / "u.gpkg")
    assert geopandas.read_file(tmp_path / "u.gpkg").tid.nunique() == 3


def test_columns_have_names_of_their_own_and_persons_are_bounded(fixes, tmp_path):
    named = ("--trajectory=ride", "--time=when", "--bounds=0,0,8,8", "--person-column=uid", "--person=records=2")
    run("trajectories", fixes / "rides.parquet", *named, "--epsilon=90", "--ends=1", "-o", tmp_path / "o.parquet")
    release = sdp.load(tmp_path / "o.parquet")
    assert release.total == pytest.approx(200, abs=25)
    assert release.privacy.person == sdp.Person(records=2)


def test_nothing_leaves_a_region(fixes, tmp_path):
    half = geopandas.GeoDataFrame(geometry=[shapely.Polygon([(0, 0), (4, 0), (4, 4)])], crs="EPSG:4326")
    half.to_file(tmp_path / "half.geojson")
    area = ("--region", tmp_path / "half.geojson", "--bounds=0,0,8,8", "--x=lon", "--y=lat", "--crs=EPSG:4326")
    run("trajectories", fixes / "rides.csv", *area, "--epsilon=20", "--ends=1", "-o", tmp_path / "o.parquet")
    run("sample", tmp_path / "o.parquet", "-n", 200, "-o", tmp_path / "s.parquet")
    points = geopandas.read_parquet(tmp_path / "s.parquet").geometry
    assert shapely.distance(points.to_numpy(), half.geometry[0]).max() < 1e-9


def test_a_plan_reads_nothing(tmp_path):
    text = run("trajectories", "--bounds=0,0,8,8", "--epsilon=1", "--plan").stdout
    assert "trajectories of each pair of ends" in text
    given = ("trajectories", "--bounds=0,0,8,8", "--epsilon=1", "--step=30", "--json")
    assert json.loads(run(*given).stdout)["mechanism"] == "trajectories"
    told = run("trajectories", "--bounds=0,0,8,8", "--epsilon=1", code=2).stderr
    assert "are required for a release" in told


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        (("--trajectory=ride",), "Name it with --trajectory or --time."),
        (("--time=lon",), None),
        (("--x=nothing",), "nothing"),
        (("--delta=1e-6",), "purely epsilon-private"),
        (("--seed=1",), "add --not-private"),
        (("--step=0",), "--step is 0"),
        (("--systems=1",), "--systems is 1"),
        (("--longest=0",), "--longest is 0"),
        (("--person=records=2",), "do not say who they are about"),
        (("--person=cells=2",), "whole trajectories"),
        (("-o", "rides.csv"), "must end in one of .parquet"),
        (("--region-cells=centres",), "--region"),
    ],
)
def test_mistakes_cost_nothing_and_leave_no_file(changes, words, fixes, tmp_path):
    out = tmp_path / "out"
    out.mkdir()
    if words is None:  # cells of CSV have no type, so numbers are no times, and count nowhere
        run("trajectories", fixes / "rides.csv", *PLACE, "--epsilon=1", "-o", out / "o.parquet", *changes)
        return
    told = run("trajectories", fixes / "rides.csv", *PLACE, "--epsilon=1", "-o", out / "o.parquet", *changes, code=2)
    assert words in told.stderr
    assert not os.listdir(out)


def test_declared_types_that_cannot_be_are_refused(fixes, tmp_path):
    table = pa.table({"ride": ["a"], "when": ["2024-01-01"], "lon": [0.5], "lat": [0.5]})
    pq.write_table(table, fixes / "plain.parquet")
    given = ("trajectories", fixes / "plain.parquet", *PLACE, "--epsilon=1", "-o", tmp_path / "o.parquet")
    assert "times must be timestamps" in run(*given, "--trajectory=ride", "--time=lon", code=2).stderr
    assert "trajectories must be text or whole" in run(*given, "--trajectory=lon", "--time=when", code=2).stderr


def test_inputs_are_spared_and_maps_refused(fixes, tmp_path):
    given = ("trajectories", fixes / "rides.csv", *PLACE, "--epsilon=9")
    run(*given, "--seed=1", "--not-private", "-o", tmp_path / "o.parquet")
    assert not sdp.load(tmp_path / "o.parquet").privacy.private
    named = ("trajectories", fixes / "rides.parquet", "--trajectory=ride", "--time=when", "--bounds=0,0,8,8")
    told = run(*named, "--epsilon=1", "--force", "-o", fixes / "rides.parquet", code=2).stderr
    assert "would replace the input" in told
    assert "no map" in run("map", tmp_path / "o.parquet", "-o", tmp_path / "o.png", code=2).stderr
    assert "no map" in run("query", tmp_path / "o.parquet", "--bbox=0,0,1,1", code=2).stderr


def test_an_account_pays_or_nothing_is_read(fixes, tmp_path):
    ledger = tmp_path / "privacy.ledger"
    sdp.Ledger(ledger).open("rides", epsilon=2, about="rides of a week")
    given = ("trajectories", fixes / "rides.csv", *PLACE, "--ledger", ledger, "--account=rides")
    assert "rides" in run(*given, "--epsilon=1.5", "-o", tmp_path / "one.parquet").stderr
    assert run(*given, "--epsilon=1", "-o", tmp_path / "two.parquet", code=2).stderr
    assert not (tmp_path / "two.parquet").exists()
    told = run(*given, "--epsilon=0.1", "--seed=1", "--not-private", "-o", tmp_path / "two.parquet", code=2).stderr
    assert "no account pays for it" in told
    assert "releases" in run("certificate", tmp_path / "one.parquet", "--ledger", ledger).stdout
