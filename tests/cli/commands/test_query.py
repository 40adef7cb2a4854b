"""`spatialdp query`: answers to boxes and polygons."""

from __future__ import annotations

import io
import json
import subprocess
import sys

import geopandas
import numpy as np
import pandas as pd
import pytest
import shapely

import spatialdp as sdp
from tests.helpers.commands import BOUNDS, run


def test_boxes_are_answered_with_intervals(released, tmp_path):
    release = sdp.load(released)
    boxes = np.array([(0, 0, 0.5, 0.5), (0.1, 0.2, 0.9, 0.95)])
    bbox = [f"--bbox={','.join(map(str, box))}" for box in boxes]
    frame = pd.DataFrame(boxes, columns=["xmin", "ymin", "xmax", "ymax"])
    frame.to_csv(tmp_path / "boxes.csv")
    frame.to_parquet(tmp_path / "boxes.parquet")
    out = tmp_path / "out.json"
    run("query", released, "--boxes", tmp_path / "boxes.csv", "-o", out)
    for answers in (
        pd.read_csv(_text(run("query", released, *bbox, "-o", "-").stdout)),
        pd.read_csv(_text(run("query", released, "--boxes", tmp_path / "boxes.parquet").stdout)),
        pd.DataFrame(json.loads(run("query", released, *bbox, "--format=json").stdout)),
        pd.DataFrame(json.loads(out.read_text())),
    ):
        assert answers["estimate"].to_numpy() == pytest.approx(release.answer(boxes), rel=1e-12)
        assert answers[["lower", "upper"]].to_numpy() == pytest.approx(release.interval(boxes, 0.95), rel=1e-12)
    wide = pd.read_csv(_text(run("query", released, *bbox, "--level=0.99").stdout))
    assert wide[["lower", "upper"]].to_numpy() == pytest.approx(release.interval(boxes, 0.99))


def _text(text):
    import io

    return io.StringIO(text)


@pytest.mark.parametrize("name", ["areas.gpkg", "areas.geojson", "areas.shp", "areas.parquet"])
def test_polygons_are_answered_and_keep_their_names(folder, released, tmp_path, name):
    run("query", released, "--polygons", folder / name, "-o", tmp_path / "out.csv")
    answers = pd.read_csv(tmp_path / "out.csv")
    assert answers["name"].tolist() == ["west", "east"]
    halves = [(0, 0, 0.5, 1), (0.5, 0, 1, 1)]
    assert answers["estimate"].to_numpy() == pytest.approx(sdp.load(released).answer(halves))
    assert answers[["lower", "upper"]].to_numpy() == pytest.approx(sdp.load(released).interval(halves))


def test_a_biased_release_gives_no_interval_and_says_why(folder, tmp_path):
    out = tmp_path / "out.parquet"
    given = ("--method=flat", "--shape=4,4", "--truncate=9", "--epsilon=1")
    run("release", folder / "layer.gpkg", BOUNDS, "--crs=EPSG:4326", *given, "-o", out)
    result = run("query", out, "--bbox=0,0,1,1")
    assert "it has no intervals" in result.stderr
    assert result.stdout.strip().endswith(",,")


def test_questions_that_cannot_be_answered_are_refused(folder, released, tmp_path):
    assert "give exactly one of them" in run("query", released, code=2).stderr
    both = run("query", released, "--bbox=0,0,1,1", "--boxes=b.csv", code=2)
    assert "give exactly one of them" in both.stderr
    assert "antimeridian" in run("query", released, "--bbox=170,0,-170,1", code=2).stderr
    assert "4 numbers" in run("query", released, "--bbox=1,2,3", code=2).stderr
    (tmp_path / "boxes.csv").write_text("xmin,ymin,xmax\n1,2,3\n")
    assert "no column 'ymax'" in run("query", released, "--boxes", tmp_path / "boxes.csv", code=2).stderr
    (tmp_path / "boxes.csv").write_text("xmin,ymin,xmax,ymax\n1,2,3,a\n")
    assert "not all numbers" in run("query", released, "--boxes", tmp_path / "boxes.csv", code=2).stderr
    geopandas.read_file(folder / "areas.gpkg").rename(columns={"name": "lower"}).to_file(tmp_path / "taken.gpkg")
    assert "rename it" in run("query", released, "--polygons", tmp_path / "taken.gpkg", code=2).stderr
    lines = geopandas.GeoSeries([shapely.LineString([(0, 0), (1, 1)])], crs="EPSG:4326")
    lines.to_file(tmp_path / "lines.gpkg")
    assert "must be a Polygon" in run("query", released, "--polygons", tmp_path / "lines.gpkg", code=2).stderr
    assert "without geometries" in run("query", released, "--polygons", tmp_path / "boxes.csv", code=2).stderr
    assert "No such file" in run("query", released, "--polygons", tmp_path / "none.gpkg", code=2).stderr
    assert "not a spatialdp release" in run("query", folder / "plain.parquet", "--bbox=0,0,1,1", code=2).stderr
    assert (
        "--format was given with an output file"
        in run("query", released, "--bbox=0,0,1,1", "--format=csv", "-o", tmp_path / "o.csv", code=2).stderr
    )
    assert not (tmp_path / "o.csv").exists()


def test_answers_go_through_pipes(released):
    code = "from spatialdp.cli import main; main(prog_name='spatialdp')"
    ask = f"'{sys.executable}' -c \"{code}\" query '{released}' --bbox 0,0,1,1 --format json"
    command = f"{ask} | '{sys.executable}' -m json.tool"
    done = subprocess.run(command, shell=True, capture_output=True, text=True, check=True)
    assert json.loads(done.stdout)[0]["xmax"] == 1.0
    assert done.stderr == ""


@pytest.fixture(scope="module")
def seeded(folder, tmp_path_factory):
    """A release that is not private."""
    path = tmp_path_factory.mktemp("seeded") / "seeded.parquet"
    given = ("--method=flat", "--shape=4,4", "--epsilon=1", "--seed=1", "--not-private")
    run("release", folder / "layer.gpkg", BOUNDS, "--crs=EPSG:4326", *given, "-o", path)
    return path


def test_answers_of_a_release_that_is_not_private_say_so(folder, released, seeded, tmp_path):
    """In every format, and whoever takes a row takes the mark with it; private releases have no such column."""
    asked = (("--bbox=0,0,1,1",), ("--polygons", folder / "areas.gpkg"))
    for question in asked:
        rows = pd.read_csv(_text(run("query", seeded, *question).stdout))
        for answers in (rows, pd.DataFrame(json.loads(run("query", seeded, *question, "--format=json").stdout))):
            assert set(answers["privacy"]) == {"NOT PRIVATE (seeded noise or true medians)"}
        assert "privacy" not in run("query", released, *question).stdout
    out = tmp_path / "out.csv"
    run("query", seeded, "--bbox=0,0,1,1", "-o", out)
    assert "NOT PRIVATE" in out.read_text()


def test_polygons_in_another_crs_are_reprojected(folder, released, tmp_path):
    geopandas.read_file(folder / "areas.gpkg").to_crs("EPSG:3857").to_file(tmp_path / "other.gpkg")
    own, other = (
        pd.read_csv(io.StringIO(run("query", released, "--polygons", path).stdout))
        for path in (folder / "areas.gpkg", tmp_path / "other.gpkg")
    )
    assert other["estimate"].tolist() == pytest.approx(own["estimate"].tolist(), abs=1e-3)


def test_questions_outside_the_domain_are_noted_or_refused(released):
    some = run("query", released, "--bbox=0,0,1,1", "--bbox=5,5,6,6")
    assert "note: 1 of 2 questions lie outside the domain" in some.stderr
    assert some.stderr.count("note:") == 1
    assert some.stdout.splitlines()[2] == "5.0,5.0,6.0,6.0,,,"
    none = run("query", released, "--bbox=5,5,6,6", code=2)
    assert "1 of 1 questions lie outside the domain" in none.stderr
    assert none.stdout == ""


@pytest.mark.parametrize("suffix", [".gpkg", ".parquet"])
def test_answers_keep_the_geometry_that_was_asked_for(folder, released, seeded, tmp_path, suffix):
    out, read = tmp_path / f"out{suffix}", geopandas.read_parquet if suffix == ".parquet" else geopandas.read_file
    run("query", released, "--polygons", folder / "areas.gpkg", "-o", out)
    answers, asked = read(out), geopandas.read_file(folder / "areas.gpkg")
    assert answers.geometry.geom_equals(asked.geometry).all()
    assert answers.crs == asked.crs
    assert answers["name"].tolist() == ["west", "east"]
    plain = pd.read_csv(_text(run("query", released, "--polygons", folder / "areas.gpkg").stdout))
    assert answers[["estimate", "lower", "upper"]].to_numpy() == pytest.approx(
        plain[["estimate", "lower", "upper"]].to_numpy()
    )
    assert "--force" in run("query", released, "--bbox=0,0,0.5,0.5", "-o", out, code=2).stderr
    run("query", seeded, "--bbox=0,0,0.5,0.5", "--bbox=-inf,0,0.5,inf", "-o", out, "--force")
    boxes = read(out)
    assert boxes.geometry.bounds.to_numpy().tolist() == [[0, 0, 0.5, 0.5], [0, 0, 0.5, 1]]
    assert boxes.crs == "EPSG:4326"
    assert boxes["xmin"].tolist() == [0, -np.inf]
    assert set(boxes["privacy"]) == {"NOT PRIVATE (seeded noise or true medians)"}
    assert json.loads(_statement(out))["private"] is False


def _statement(path):
    import pyarrow.parquet as pq
    import pyogrio

    if path.suffix == ".parquet":
        return pq.read_schema(path).metadata[b"SPATIALDP_PRIVACY"]
    return pyogrio.read_info(path)["layer_metadata"]["SPATIALDP_PRIVACY"]


def test_answers_of_the_same_question_are_the_same_bytes(released, tmp_path):
    for suffix in (".gpkg", ".parquet"):
        for name in ("a", "b"):
            run("query", released, "--bbox=0,0,0.5,0.5", "-o", tmp_path / f"{name}{suffix}")
        assert (tmp_path / f"a{suffix}").read_bytes() == (tmp_path / f"b{suffix}").read_bytes()


def test_names_of_areas_do_not_reach_a_terminal_as_they_are(folder, released, tmp_path, monkeypatch):
    """Whoever reads the output with a program gets every character; a terminal gets those that can be seen."""
    areas = geopandas.read_file(folder / "areas.gpkg").assign(name="west\u202e")
    areas.to_file(tmp_path / "areas.gpkg")
    asked = ("query", released, "--polygons", tmp_path / "areas.gpkg")
    assert "\u202e" in run(*asked).stdout
    monkeypatch.setattr("click.testing._NamedTextIOWrapper.isatty", lambda _: True, raising=False)
    shown = run(*asked).stdout
    assert "\u202e" not in shown
    assert "west\ufffd" in shown


def test_query_of_a_list_says_that_other_cells_are_missing(tmp_path):
    release = sdp.Sparse((2**20, 2**20)).release([[0.3, 0.5]] * 500, sdp.Domain((0, 0, 1, 1)), epsilon=1)
    release.save(tmp_path / "list.parquet")
    done = run("query", tmp_path / "list.parquet", "--bbox=0.2,0.4,0.6,0.6")
    assert "note: estimates are of records in listed cells. Listed are those of" in done.stderr
    answers = pd.read_csv(_text(done.stdout))
    assert answers["estimate"].tolist() == [release.answer((0.2, 0.4, 0.6, 0.6))]
