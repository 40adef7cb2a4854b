"""Tables on the command line: from files of records to releases, answers, promises and synthetic records."""

from __future__ import annotations

import io
import json

import geopandas
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
import shapely
from click.testing import CliRunner

import spatialdp as sdp
from spatialdp.cli import main
from tests.cli.options.test_frame import ZONES
from tests.helpers.commands import run

AREA = ("--bounds=0,0,1,1", "--crs=EPSG:4326", "--shape=4,2")
HOURS = ("--time=2024-01-01,2024-02-01", "--fold=hour of day", "--time-zone=Europe/Vienna", "--time-column=when")
KINDS = ("--categories", "theft,assault,fraud", "--category-column", "offence")
PLACES = ("--x=lon", "--y=lat")
KIND = sdp.Categories(["theft", "assault", "fraud"])
TIME = sdp.Time("2024-01-01", "2024-02-01", zone="Europe/Vienna", fold="hour of day")
SEEDED = ("--seed=3", "--not-private", "--epsilon=1")
N = 600


def records():
    rng = np.random.default_rng(1)
    return pd.DataFrame(
        {
            "lon": rng.uniform(-0.1, 1.1, N),
            "lat": rng.uniform(-0.1, 1.1, N),
            "when": np.datetime64("2023-12-30") + rng.integers(0, 35 * 86400, N).astype("timedelta64[s]"),
            "offence": rng.choice(["theft", "assault", "fraud", "arson", None], N),
            "county": rng.choice(["01001", "01002", "02001", "99999"], N),
            "who": rng.integers(0, 90, N),
        }
    )


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """Records, zones, and released tables."""
    place = tmp_path_factory.mktemp("tables")
    records().to_csv(place / "events.csv", index=False)
    records().to_parquet(place / "events.parquet")
    ZONES.to_parquet(place / "zones.parquet")
    outputs = ("-o", place / "table.parquet", "-o", place / "table.csv")
    told = run("release", place / "events.csv", *PLACES, *AREA, *HOURS, *KINDS, *SEEDED, *outputs).stderr
    (place / "told.txt").write_text(told)
    given = (place / "events.csv", "--code-column=county", "--zones", place / "zones.parquet", "--levels=state,county")
    run("release", *given, *KINDS, "--epsilon=1", "-o", place / "zones_kinds.parquet")
    return place


@pytest.fixture(scope="module")
def release(made):
    return sdp.load(made / "table.parquet")


def rows_of(result):
    return pd.read_csv(io.StringIO(result.stdout))


def test_a_table_is_what_python_releases(made, release):
    frame = sdp.Frame(sdp.Domain((0, 0, 1, 1), crs="EPSG:4326").grid((4, 2)), time=TIME, kind=KIND)
    xy = records()[["lon", "lat"]].to_numpy()
    rows = sdp.Rows(xy, time=records()["when"], kind=records()["offence"])
    same = sdp.Table().release(rows, frame, epsilon=1, noise=sdp.SeededNoise(3))
    assert np.array_equal(release.estimate.values, same.estimate.values)
    told = (made / "told.txt").read_text()
    assert "cells    8 box x 24 time x 3 kind = 576" in told
    assert "95 % interval" in told
    table = pd.read_csv(made / "table.csv")
    assert len(table) == 576
    assert json.loads((made / "table.privacy.json").read_text())["in_words"].endswith(
        "so all cells together cost ε once."
    )


@pytest.mark.parametrize("name", ["events.csv", "events.parquet", "-"])
def test_files_and_standard_input_give_the_same_bytes(made, tmp_path, name):
    given = (made / name, *PLACES) if name != "-" else ("-", *PLACES, "--points-format=csv")
    words = ["release", *map(str, given), *AREA, *HOURS, *KINDS, *SEEDED, "-o", str(tmp_path / "out.parquet")]
    content = (made / "events.csv").read_bytes() if name == "-" else None
    result = CliRunner().invoke(main, words, input=content)
    assert result.exit_code == 0, result.output
    assert (tmp_path / "out.parquet").read_bytes() == (made / "table.parquet").read_bytes()


def test_zones_persons_and_several_lists(made, tmp_path):
    zones = ("--zones", made / "zones.parquet", "--levels=state,county")
    more = ("--categories", "offence=theft,assault", "--categories", "county=01001,02001")
    given = (made / "events.csv", *PLACES, *zones, *more, "--person-column=who", "--person=records=2", "--epsilon=2")
    run("release", *given, "-o", tmp_path / "out.parquet")
    release = sdp.load(tmp_path / "out.parquet")
    assert release.frame.names == ("zone", "offence", "county")
    assert release.privacy.person == sdp.Person(records=2)
    told = run("query", tmp_path / "out.parquet", "--by=zone=state", "--offence=theft")
    assert "at most 2 records" in told.stderr
    assert rows_of(told)["zone"].tolist() == [1, 2]


def test_a_table_is_asked_along_its_axes(made, release):
    path = made / "table.parquet"
    found = rows_of(run("query", path, "--time", "08:00", "10:00", "--kind", "theft"))
    assert found["time"].tolist() == ["08:00 to 10:00"]
    assert found["estimate"][0] == pytest.approx(release.answer(time=("08:00", "10:00"), kind="theft"))
    assert found[["lower", "upper"]].to_numpy()[0] == pytest.approx(
        release.interval(time=("08:00", "10:00"), kind="theft")
    )
    assert rows_of(run("query", path, "--by=kind"))["kind"].tolist() == ["theft", "assault", "fraud"]
    assert len(rows_of(run("query", path, "--by=kind,time", "--bbox=0,0,0.5,0.5"))) == 72
    both = rows_of(run("query", path, "--kind=theft,fraud", "--together"))
    assert both["estimate"][0] == pytest.approx(release.answer(kind=("theft", "fraud")))


def test_answers_have_places_where_they_are_boxes(made, tmp_path):
    path = made / "table.parquet"
    run("query", path, "--by=box", "--kind=theft", "-o", tmp_path / "cells.gpkg")
    cells = geopandas.read_file(tmp_path / "cells.gpkg")
    assert len(cells) == 8
    assert cells.total_bounds.tolist() == [0, 0, 1, 1]
    run("query", path, "--by=kind", "-o", tmp_path / "kinds.parquet")
    assert len(pd.read_parquet(tmp_path / "kinds.parquet")) == 3
    told = run("query", path, "--by=kind", "-o", tmp_path / "kinds.gpkg", code=2).stderr
    assert "these answers have no places" in told


def test_zones_of_tables_are_asked_by_code_and_level(made):
    path = made / "zones_kinds.parquet"
    release = sdp.load(path)
    found = pd.read_csv(io.StringIO(run("query", path, "--codes=01,02001", "--kind=theft").stdout), dtype={"zone": str})
    assert found["zone"].tolist() == ["01", "02001"]
    assert found["estimate"].to_numpy() == pytest.approx(release.answer(zone=["01", "02001"], kind="theft"))
    assert len(rows_of(run("query", path, "--zones=county"))) == 3
    together = rows_of(run("query", path, "--codes=01001,02001", "--together"))
    assert together["estimate"][0] == pytest.approx(release.answer(zone=("01001", "02001")))


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ((), "give exactly one of them, or for a table --by, --time or another axis"),
        (("--kindd=theft",), "--kindd"),
        (("--kind=arson",), "the category 'arson' is not on the public list"),
        (("--time=08:30",), "time is '08:30', which is no part of this axis"),
        (("--codes=01",), "the space of this table is cells"),
        (("--at=county", "--by=kind"), "--at and --together are for --codes"),
        (("--bbox=0,0,1,1", "--codes=1"), "give exactly one of them"),
    ],
)
def test_questions_that_do_not_fit_are_refused(made, options, words):
    assert words in " ".join(run("query", made / "table.parquet", *options, code=2).stderr.split())


def test_other_releases_have_no_axes(released):
    assert "No such option" in run("query", released, "--kind=theft", code=2).stderr
    assert "is no axis of this release" in run("query", released, "--time=08:00", code=2).stderr
    assert "is no table" in run("query", released, "--by=kind", code=2).stderr


def test_info_tells_the_axes_and_why_they_cost_once(made, release):
    told = run("info", made / "table.parquet").stdout
    assert "A record is in one cell of this table at most (box, time, kind), so all cells together cost ε once." in told
    assert (
        "time       2024-01-01 to 2024-02-01 in Europe/Vienna, in ticks of 1 h, laid over each other by hour of day"
        in told
    )
    assert "kind       theft, assault, fraud; levels all categories, categories" in told
    assert "box        4 x 2 cells; levels the whole region, cells" in told
    facts = json.loads(run("info", made / "table.parquet", "--json").stdout)
    assert facts["axes"]["kind"]["names"] == ["theft", "assault", "fraud"]
    assert facts["axes"]["box"]["cells"] == 8
    assert facts["bounds"] == [0, 0, 1, 1]
    assert "zone       zones 01001, 01002, 02001" in run("info", made / "zones_kinds.parquet").stdout


@pytest.mark.parametrize("suffix", ["csv", "parquet", "gpkg", "geojson"])
def test_synthetic_records_have_all_columns(made, tmp_path, suffix):
    path = tmp_path / f"drawn.{suffix}"
    run("sample", made / "table.parquet", "-n", "40", "--seed=1", "-o", path)
    read = {"csv": pd.read_csv, "parquet": geopandas.read_parquet}.get(suffix, geopandas.read_file)
    drawn = read(path)
    assert len(drawn) == 40
    assert set(drawn["kind"]) <= {"theft", "assault", "fraud"}
    assert {"time", "x" if suffix == "csv" else "geometry"} <= set(drawn.columns)
    assert json.loads((tmp_path / "drawn.privacy.json").read_text())["summary"].startswith("synthetic points")


def test_synthetic_records_of_zones_have_codes(made, tmp_path):
    for suffix in ("csv", "parquet"):
        run("sample", made / "zones_kinds.parquet", "-n", "9", "-o", tmp_path / f"drawn.{suffix}", "--force")
    assert pd.read_csv(tmp_path / "drawn.csv", dtype=str)["zone"].isin(ZONES["county"]).all()
    assert pd.read_parquet(tmp_path / "drawn.parquet")["zone"].isin(ZONES["county"]).all()
    told = run("sample", made / "zones_kinds.parquet", "-o", tmp_path / "other.gpkg", code=2).stderr
    assert "codes of zones and no points" in " ".join(told.split())


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("-o", "out.gpkg"), "holds one map, but a table has a map for every time"),
        (("-o", "out.parquet", "--pixels=3,3"), "--pixels is for GeoTIFF files"),
        (("-o", "out.parquet", "--layer=x"), "--layer is for GeoPackages"),
        (("-o", "out.parquet", "--time-column=nix"), "Name it with --time-column"),
        (("-o", "out.parquet", "--category-column=time=nix"), "which is none of categories"),
        (("-o", "out.parquet", "--code-column=county"), "records are codes or places"),
    ],
)
def test_releases_that_do_not_fit_are_refused(made, tmp_path, monkeypatch, options, words):
    monkeypatch.chdir(tmp_path)
    given = (made / "events.csv", *PLACES, *AREA, "--time=2024-01-01,2024-02-01", "--time-column=when", "--epsilon=1")
    assert words in " ".join(run("release", *given, *options, code=2).stderr.split())
    assert not list(tmp_path.iterdir())


def test_columns_of_tables_need_a_table(made, tmp_path):
    given = (made / "events.csv", *PLACES, *AREA, "--epsilon=1", "-o", tmp_path / "out.parquet", "--method=flat")
    assert "--time-column is for --time" in run("release", *given, "--time-column=when", code=2).stderr
    told = run("release", *given, "--category-column=offence", code=2).stderr
    assert "does not say which of the axes" in " ".join(told.split())
    (tmp_path / "some.db").touch()
    address = f"duckdb:///{tmp_path / 'some.db'}?table=t"
    told = run("release", address, *PLACES, *AREA, "--epsilon=1", "-o", tmp_path / "o.parquet", *HOURS, code=2).stderr
    assert "times and categories are read from files" in " ".join(told.split())
    coded = (made / "events.csv", "--code-column=county", *AREA, *HOURS, "--epsilon=1", "-o", tmp_path / "o.parquet")
    told = run("release", *coded, code=2).stderr
    assert "--code-column is for codes of zones" in " ".join(told.split())


def test_no_output_replaces_a_list_of_categories(made, tmp_path):
    path = tmp_path / "kinds.csv"
    path.write_text("kind\ntheft\n")
    given = (made / "events.csv", *PLACES, *AREA, "--categories", path, "--category-column=offence", "--epsilon=1")
    assert "would replace the input" in run("release", *given, "-o", path, "--force", code=2).stderr


def test_maps_of_times_and_categories_are_drawn(made, tmp_path):
    run("map", made / "table.parquet", "--time", "08:00", "10:00", "--kind=theft", "-o", tmp_path / "one.png")
    run("map", made / "table.parquet", "--kind=theft,fraud", "-o", tmp_path / "two.png")
    run("map", made / "table.parquet", "--kind=theft,fraud", "--together", "-o", tmp_path / "sum.png")
    run("map", made / "zones_kinds.parquet", "--kind=theft", "--level=state", "-o", tmp_path / "zones.svg")
    sizes = {name: plt.imread(tmp_path / f"{name}.png").shape[:2] for name in ("one", "two", "sum")}
    assert sizes["one"] == sizes["sum"] != sizes["two"]
    assert "kind theft" in (tmp_path / "zones.svg").read_text()


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--kind=arson",), "'arson' is not on the public list"),
        (("--colour=red",), "No such option"),
        (("--kind=theft", "--level=3"), "this release is a grid and has no levels"),
        (("--together",), "--together is for categories of a table"),
    ],
)
def test_maps_that_do_not_fit_are_refused(made, tmp_path, options, words):
    result = CliRunner().invoke(main, ["map", str(made / "table.parquet"), *options, "-o", str(tmp_path / "x.png")])
    assert result.exit_code == 2
    assert words in result.stderr
    assert not list(tmp_path.iterdir())


def test_polygons_are_answered_at_a_time_and_of_a_category(made, tmp_path, release):
    areas = geopandas.GeoDataFrame({"name": ["a"]}, geometry=[shapely.box(0.1, 0.2, 0.7, 0.8)], crs="EPSG:4326")
    areas.to_file(tmp_path / "areas.gpkg")
    asked = ("query", made / "table.parquet", "--polygons", tmp_path / "areas.gpkg", "--kind=theft")
    answers = pd.read_csv(io.StringIO(run(*asked).stdout))
    assert answers["estimate"].tolist() == release.at(kind="theft").answer_polygons(areas).tolist()
    several = CliRunner().invoke(main, [*map(str, asked[:4]), "--kind=theft,fraud"])
    assert several.exit_code == 2
    assert "polygons are answered for one map" in several.stderr
    assert CliRunner().invoke(main, [*map(str, asked[:4]), "--by=kind"]).exit_code == 2
