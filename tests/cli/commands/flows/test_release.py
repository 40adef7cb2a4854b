"""`spatialdp flows`: from a file of trips to files of flows, or to a message and nothing else."""

from __future__ import annotations

import os

import geopandas
import numpy as np
import pandas as pd
import pytest
import shapely

import spatialdp as sdp
from tests.helpers.commands import run

ENDS = ("--origin=x,y", "--destination=u,v")
GRID = ("--bounds=0,0,1,1", "--shape=4,4")


@pytest.fixture
def trips(tmp_path):
    folder = tmp_path / "in"
    folder.mkdir()
    rng = np.random.default_rng(2)
    ends = np.where(rng.random((400, 1)) < 0.5, [[0.1, 0.1, 0.9, 0.9]], rng.random((400, 4)))
    frame = pd.DataFrame(ends, columns=["x", "y", "u", "v"]).assign(who=rng.integers(0, 90, 400))
    frame["from"], frame["to"] = rng.choice(["a1", "a2", "b1"], (2, 400))
    frame.to_csv(folder / "trips.csv", index=False)
    squares = [shapely.box(i / 3, 0, (i + 1) / 3, 1) for i in range(3)]
    zones = geopandas.GeoDataFrame({"letter": ["a", "a", "b"], "code": ["a1", "a2", "b1"]}, geometry=squares)
    zones.to_parquet(folder / "zones.parquet")
    return folder


def test_both_files_hold_the_same_flows(trips, tmp_path):
    told = run(
        "flows",
        trips / "trips.csv",
        *ENDS,
        *GRID,
        "--epsilon=5",
        "-o",
        tmp_path / "o.csv",
        "-o",
        tmp_path / "o.parquet",
    )
    release, rows = sdp.load(tmp_path / "o.parquet"), pd.read_csv(tmp_path / "o.csv")
    assert rows["flow"].tolist() == pytest.approx(release.estimate.values.tolist())
    assert (tmp_path / "o.privacy.json").exists()
    assert release.privacy.private
    assert release.answer(origin=(0, 0, 0.25, 0.25), destination=(0.75, 0.75, 1, 1)) == pytest.approx(200, abs=60)
    assert "pairs    256, all of them" in told.stderr
    assert "total    " in told.stderr
    assert "ledger   none: nothing records what was spent" in told.stderr


def test_lists_say_which_flows_are_seen(trips, tmp_path):
    given = ("flows", trips / "trips.csv", *ENDS, *GRID, "--epsilon=5", "--pairs=listed", "--false=2", "--margins=0.1")
    told = run(*given, "-o", tmp_path / "o.parquet").stderr
    assert "are listed with a probability of 95 %" in told
    assert "of the total is in listed pairs" in told
    assert sdp.load(tmp_path / "o.parquet").privacy.parameters["false"] == "2"
    assert not run(*given, "-q", "-o", tmp_path / "p.parquet").stderr


@pytest.mark.parametrize("ends", [("--origin=from", "--destination=to"), ("--origin=x,y", "--destination=to")])
def test_places_may_be_zones_and_persons_are_bounded(ends, trips, tmp_path):
    run(
        "flows", trips / "trips.csv", *ends, "--zones", trips / "zones.parquet", "--levels=letter,code", "--epsilon=50",
        "--person-column=who", "--person=records=1", "-o", tmp_path / "o.parquet",
    )  # fmt: skip
    release = sdp.load(tmp_path / "o.parquet")
    assert release.total == pytest.approx(90, abs=12)
    assert release.answer(origin="a") == pytest.approx(release.answer(origin=("a1", "a2")))


def test_maps_and_facts_of_flows(trips, tmp_path):
    path = tmp_path / "o.parquet"
    run("flows", trips / "trips.csv", *ENDS, *GRID, "--epsilon=5", "-o", path)
    run("map", path, "-o", tmp_path / "o.png", "--title", "Rides")
    assert (tmp_path / "o.png").stat().st_size > 5000
    assert "trips of each pair" in run("info", path).stdout
    told = run("map", path, "-o", tmp_path / "p.png", "--view=uncertainty", code=2)
    assert "--view is for maps of places" in told.stderr
    assert "flows are between places" in run("sample", path, "-o", tmp_path / "p.csv", code=2).stderr
    assert "flows are between places" in run("map", path, "-o", tmp_path / "p.html", code=2).stderr


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        (("--origin=from",), "names one column, of codes of zones, but the places are cells of a grid"),
        (("--origin=x,y,u",), "--origin names 3 columns"),
        (("--origin=x,nothing",), "nothing"),
        (("--delta=1e-6",), "purely epsilon-private"),
        (("--seed=1",), "add --not-private"),
        (("--margins=1",), "--margins is 1"),
        (("--person=records=2",), "the points do not say who they are about"),
        (("--pairs=some",), "some"),
        (("-o", "flows.tif"), "must end in one of .parquet, .csv"),
    ],
)
def test_mistakes_cost_nothing_and_leave_no_file(changes, words, trips, tmp_path):
    out = tmp_path / "out"
    out.mkdir()
    told = run("flows", trips / "trips.csv", *ENDS, *GRID, "--epsilon=1", "-o", out / "o.csv", *changes, code=2)
    assert words in told.stderr
    assert not os.listdir(out)


def test_places_must_be_given(trips, tmp_path):
    given = ("flows", trips / "trips.csv", *ENDS, "--epsilon=1", "-o", tmp_path / "o.csv")
    assert "exactly one must divide the domain" in run(*given, "--bounds=0,0,1,1", code=2).stderr
    assert run(*given, code=2).stderr


def test_seeded_flows_are_marked_and_inputs_are_spared(trips, tmp_path):
    given = ("flows", trips / "trips.csv", *ENDS, *GRID, "--epsilon=1")
    run(*given, "--seed=1", "--not-private", "-o", tmp_path / "o.parquet")
    assert not sdp.load(tmp_path / "o.parquet").privacy.private
    assert "would replace the input" in run(*given, "--force", "-o", trips / "trips.csv", code=2).stderr


def test_an_account_pays_or_nothing_is_read(trips, tmp_path):
    ledger = tmp_path / "privacy.ledger"
    sdp.Ledger(ledger).open("rides", epsilon=2, about="rides of a week")
    given = ("flows", trips / "trips.csv", *ENDS, *GRID, "--ledger", ledger, "--account=rides")
    assert "rides" in run(*given, "--epsilon=1.5", "-o", tmp_path / "one.parquet").stderr
    assert run(*given, "--epsilon=1", "-o", tmp_path / "two.parquet", code=2).stderr
    assert not (tmp_path / "two.parquet").exists()
    told = run(*given, "--epsilon=0.1", "--seed=1", "--not-private", "-o", tmp_path / "two.parquet", code=2).stderr
    assert "no account pays for it" in told
