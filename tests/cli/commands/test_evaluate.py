"""`spatialdp evaluate`: a table, figures and a ranking."""

from __future__ import annotations

import pandas as pd
import pytest
from click.testing import CliRunner

import spatialdp as sdp
from spatialdp import workload
from spatialdp.cli import main
from spatialdp.evaluation.evaluate import NOTE
from tests.cli.options.test_frame import ZONES
from tests.helpers.evaluations import XY, mean


def command(*words):
    return CliRunner().invoke(main, ["evaluate", *map(str, words)])


def test_command_writes_table_figures_and_ranking(tmp_path):
    words = ("-m", "mine=quadtree:height=4:consistent=no", "-m", "kd-tree:height=3:median=cell:cells=16")
    queries = ("-w", "area:shares=0.01,0.1:count=20", "-w", "sized:width=0.1:height=0.05")
    shared = ("--epsilons", "0.1,1", "--trials", 2, "-q", "-o", tmp_path / "out", "--cache", tmp_path / "trials.jsonl")
    done = command("chattanooga", *words, *queries, *shared)
    assert done.exit_code == 0, done.output
    assert NOTE in done.stdout
    assert "| mine " in done.stdout
    assert {path.name for path in (tmp_path / "out").iterdir()} == {
        "errors.csv",
        "errors.png",
        "sizes.png",
        "ranking.md",
    }
    files = [*(tmp_path / "out").iterdir(), tmp_path / "trials.jsonl"]
    assert {path.stat().st_mode & 0o777 for path in files} == {0o600}  # as private as the records
    frame = pd.read_csv(tmp_path / "out" / "errors.csv")
    assert set(frame["mechanism"]) == {"mine", "kd-tree(height=3, median=cell, cells=16)", "flat", "uniform"}
    assert set(frame["note"]) == {NOTE}
    data = sdp.datasets.DATASETS["chattanooga"]
    mine = {"mine": sdp.Quadtree(4, consistent=False)}
    again = sdp.evaluate(
        mine, data.points(), data.domain, workload.area_boxes(data.domain, [0.01, 0.1], 20, seed=1), [0.1, 1], 2
    )
    keys = {"metric": "rmse", "mechanism": "mine", "workload": "1 % of the area", "epsilon": 0.1}
    assert mean(frame, **keys) == pytest.approx(mean(again, **keys), rel=1e-12)


def test_command_evaluates_zones_as_the_library_does(tmp_path):
    ZONES.to_parquet(tmp_path / "zones.parquet")
    codes = ["01001"] * 40 + ["02001"] * 7 + ["elsewhere", None]
    pd.DataFrame({"zone": codes}).to_csv(tmp_path / "cases.csv", index=False)
    zones = ("--zones", tmp_path / "zones.parquet", "--levels", "state,county", "--code-column", "zone")
    shared = ("--epsilons", "0.5,2", "--trials", 3, "--seed", 4, "-q")
    methods = ("-m", "zone-tree", "-m", "flat=zone-tree:budget=leaves")
    done = command(tmp_path / "cases.csv", *zones, *methods, *shared, "-o", tmp_path / "out")
    assert done.exit_code == 0, done.output
    assert NOTE in done.stdout
    frame = pd.read_csv(tmp_path / "out" / "errors.csv")
    again = sdp.evaluate(
        {"zone-tree": sdp.ZoneTree(), "flat": sdp.ZoneTree(budget="leaves")},
        sdp.Codes(codes),
        sdp.Zones(ZONES, levels=["state", "county"]),
        None,
        [0.5, 2],
        3,
        seed=4,
    )
    assert set(frame["workload"]) == {"all zones", "state", "county"}
    for name in ("zone-tree", "flat"):
        keys = {"metric": "rmse", "mechanism": name, "workload": "state", "epsilon": 0.5}
        assert mean(frame, **keys) == pytest.approx(mean(again, **keys), rel=1e-12)


def test_command_evaluates_zones_by_default_methods_at_one_level(tmp_path):
    ZONES.to_parquet(tmp_path / "zones.parquet")
    pd.DataFrame(XY, columns=["a", "b"]).to_csv(tmp_path / "points.csv", index=False)
    zones = ("--x", "a", "--y", "b", "--zones", tmp_path / "zones.parquet", "--levels", "state,county", "-w", "county")
    done = command(tmp_path / "points.csv", *zones, "--epsilons", "1", "--trials", 1, "-q", "-o", tmp_path)
    assert done.exit_code == 0, done.output
    frame = pd.read_csv(tmp_path / "errors.csv")
    assert set(frame["mechanism"]) == {"zone-tree", "zone-tree(budget=leaves)"}
    assert set(frame["workload"]) == {"county"}


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--boxes", "zones.parquet"), "--boxes, --polygons or --records was given with --zones or --h3"),
        (("--records", "10"), "--boxes, --polygons or --records was given with --zones or --h3"),
        (("-m", "quadtree:height=3"), "--method quadtree counts in a domain, but zones were given"),
        (("-w", "tract"), "tract"),
        (("--cache", "trials.jsonl"), "--cache keeps trials of grids and trees"),
        (("--bounds", "0,0,1,1"), "--zones and --bounds were given"),
    ],
    ids=["boxes", "parts", "method", "level", "cache", "bounds"],
)
def test_what_zones_cannot_do_is_refused(tmp_path, monkeypatch, words, message):
    monkeypatch.chdir(tmp_path)
    ZONES.to_parquet("zones.parquet")
    pd.DataFrame(XY, columns=["a", "b"]).to_csv("points.csv", index=False)
    zones = ("--x", "a", "--y", "b", "--zones", "zones.parquet", "--levels", "state,county")
    done = command("points.csv", *zones, *words, "--trials", 1, "-q", "-o", "out")
    assert done.exit_code == 2
    assert message in " ".join(done.output.split())
    assert not (tmp_path / "out").exists()


def test_command_takes_files_and_parts_of_the_records(tmp_path):
    pd.DataFrame(XY, columns=["a", "b"]).to_csv(tmp_path / "points.csv", index=False)
    pd.DataFrame([[0, 0, 0.5, 0.5]], columns=["xmin", "ymin", "xmax", "ymax"]).to_csv(tmp_path / "box.csv", index=False)
    place = ("--x", "a", "--y", "b", "--bounds", "0,0,1,1", "--boxes", tmp_path / "box.csv")
    few = ("-m", "quadtree:height=3", "--epsilons", "1/2", "--trials", 1, "-q", "-o", tmp_path)
    done = command(tmp_path / "points.csv", *place, *few, "--records", "100,1000")
    assert done.exit_code == 0, done.output
    assert (tmp_path / "records.png").exists()
    frame = pd.read_csv(tmp_path / "errors.csv")
    assert set(frame["records"]) == {100, 1000}
    assert set(frame["workload"]) == {"box"}


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("nothing.csv",), "no domain was given"),
        (("auckland", "-m", "quadtre:height=3"), "Did you mean 'quadtree'"),
        (("auckland", "-m", "quadtree:height=tall"), "cannot be read"),
        (("auckland", "-m", "quadtree:hight=3"), "Did you mean 'height'"),
        (("auckland", "-m", "quadtree:height"), "PARAMETER=VALUE"),
        (("auckland", "-m", "quadtree:height=3", "-m", "quadtree:height=3"), "same label"),
        (("auckland", "-w", "circles"), "must be one of random"),
        (("auckland", "-w", "sized:width=1"), "needs height"),
        (("auckland", "-w", "random:number=1"), "no parameter 'number'"),
        (("auckland", "--epsilons", "much"), "number"),
        (("auckland", "--metric", "accuracy"), "must be one of mean_error"),
    ],
)
def test_command_refuses_nonsense(tmp_path, words, said):
    done = command(*words, "-q", "-o", tmp_path / "out", "--trials", 1)
    assert done.exit_code == 2
    assert said in done.output
    assert not (tmp_path / "out").exists()


def test_command_replaces_nothing_without_force(tmp_path):
    (tmp_path / "ranking.md").write_text("mine")
    words = ("chattanooga", "-m", "quadtree:height=2", "--epsilons", "1", "--trials", 1, "-q", "-o", tmp_path)
    assert "ranking.md exists" in command(*words).output
    assert [path.name for path in tmp_path.iterdir()] == ["ranking.md"]
    assert command(*words, "--force").exit_code == 0
    assert (tmp_path / "ranking.md").read_text() != "mine"


def test_persons_are_evaluated(tmp_path):
    pd.DataFrame({"x": XY[:400, 0], "y": XY[:400, 1], "who": [i % 30 for i in range(400)]}).to_csv(
        tmp_path / "visits.csv", index=False
    )
    given = (tmp_path / "visits.csv", "--x=x", "--y=y", "--bounds=0,0,1,1", "-m", "quadtree:height=3", "--epsilons=1")
    shared = ("--trials=1", "-w", "random:count=20", "-q", "--person-column=who")
    done = command(*given, *shared, "--person=cells=4", "--records=10,20", "-o", tmp_path / "out")
    assert done.exit_code == 0, done.output
    assert "what the bound on persons cuts off" in done.stdout
    frame = pd.read_csv(tmp_path / "out" / "errors.csv")
    assert set(frame["bound"]) == {"at most 4 cells each"}
    assert sorted(frame["persons"].unique()) == [10, 20]
    without = command(*given, *shared, "-o", tmp_path / "other")
    assert without.exit_code == 2
    assert "such as --person cells=20" in without.stderr
