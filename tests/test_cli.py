"""Every command through real files."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from fractions import Fraction

import geopandas
import numpy as np
import pandas as pd
import pytest
import shapely
from click.testing import CliRunner

import spatialdp as sdp
from spatialdp.cli import main
from spatialdp.cli.parameters import parameters_of, read_value
from spatialdp.mechanisms import MECHANISMS
from spatialdp.outputs.files.formats import FORMATS
from spatialdp.records.counting import count_cells
from tests.helpers.point_files import FILES, columns_of, write

BOUNDS = "--bounds=0,0,1,1"
QUADTREE = ("--method", "quadtree", "--height", "3", "--epsilon", "1")


def run(*args, code=0):
    """Run a command, check its exit code, and give back what it printed."""
    result = CliRunner().invoke(main, [str(arg) for arg in args])
    assert result.exit_code == code, result.output
    return result


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    place = tmp_path_factory.mktemp("points")
    xy = np.random.default_rng(1).uniform(-0.1, 1.1, (2, 3000))
    for name in FILES:
        write(place / name, *xy)
    areas = geopandas.GeoDataFrame(
        {"name": ["west", "east"]}, geometry=[shapely.box(0, 0, 0.5, 1), shapely.box(0.5, 0, 1, 1)], crs="EPSG:4326"
    )
    areas.to_parquet(place / "areas.parquet")
    for name in ("areas.gpkg", "areas.geojson", "areas.shp"):
        areas.to_file(place / name)
    return place


@pytest.fixture(scope="module")
def released(folder):
    path = folder / "released.parquet"
    options = ("--x", "lon", "--y", "lat", BOUNDS, "--crs", "EPSG:4326", "--method=quadtree", "--height=4")
    run("release", folder / "table.csv", *options, "--epsilon", "1", "-o", path)
    return path


# --- release -------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", FILES)
def test_points_of_every_format_are_released(folder, tmp_path, name):
    columns = [f"--{key}={value}" for key, value in columns_of(name).items()]
    seeded = ("--seed", 3, "--not-private", "--crs", "EPSG:4326")
    result = run("release", folder / name, *columns, BOUNDS, *seeded, *QUADTREE, "-o", tmp_path / "out.parquet")
    assert result.stdout == ""
    assert "NOT PRIVATE" in result.stderr
    points = sdp.read_points(folder / "plain.parquet", sdp.Domain((0, 0, 1, 1)), x="lon", y="lat")
    same = sdp.Quadtree(3).release(points, sdp.Domain((0, 0, 1, 1)), epsilon=1, noise=sdp.SeededNoise(3))
    release = sdp.load(tmp_path / "out.parquet")
    assert release.domain.crs == "EPSG:4326"
    assert np.array_equal(release.estimate.values, same.estimate.values)


@pytest.mark.parametrize("name", ["areas.gpkg", "areas.geojson", "areas.shp", "areas.parquet"])
def test_a_region_of_every_format_is_the_domain(folder, tmp_path, name):
    out = tmp_path / "out.parquet"
    run("release", folder / "layer.gpkg", "--region", folder / name, *QUADTREE, "-o", out)
    domain = sdp.load(out).domain
    assert domain.bounds == (0, 0, 1, 1)
    assert domain.crs == "EPSG:4326"
    assert domain.region.area == pytest.approx(1)


def test_bounds_and_region_go_together(folder, tmp_path):
    out = tmp_path / "out.parquet"
    options = ("--region", folder / "areas.gpkg", "--bounds", "-1,-1,2,2", *QUADTREE)
    run("release", folder / "layer.gpkg", *options, "-o", out)
    assert sdp.load(out).domain.bounds == (-1, -1, 2, 2)
    assert sdp.load(out).domain.crs == "EPSG:4326"


def test_terms_reach_the_release(folder, tmp_path):
    out = tmp_path / "out.parquet"
    given = ("--method", "flat", "--shape", "8,4", "--law", "gaussian", "--epsilon", "1/3", "--delta", "1e-6")
    run("release", folder / "plain.parquet", "--x=lon", "--y=lat", BOUNDS, *given, "--neighbours=replace", "-o", out)
    privacy = sdp.load(out).privacy
    assert (privacy.epsilon, privacy.delta, privacy.neighbours) == (Fraction(1, 3), Fraction(1, 10**6), "replace")
    assert privacy.private
    assert privacy.parameters["shape"] == (8, 4)


def test_quiet_says_nothing(folder, tmp_path):
    result = run(
        "release", folder / "layer.gpkg", BOUNDS, "--crs=EPSG:4326", *QUADTREE, "-q", "-o", tmp_path / "o.parquet"
    )
    assert result.output == ""


def test_force_replaces_and_nothing_else_does(folder, tmp_path):
    out = tmp_path / "out.parquet"
    given = ("release", folder / "layer.gpkg", BOUNDS, "--crs=EPSG:4326", *QUADTREE, "-o", out)
    run(*given)
    before = out.read_bytes()
    assert "exists; choose another name, or replace the file with --force" in run(*given, code=2).stderr
    assert out.read_bytes() == before
    run(*given, "--force")
    assert out.read_bytes() != before
    assert os.listdir(tmp_path) == ["out.parquet"]


def test_what_is_not_private_must_be_said(folder, tmp_path):
    given = ("release", folder / "layer.gpkg", BOUNDS, "--crs=EPSG:4326", "--epsilon=1", "-o", tmp_path / "o.parquet")
    assert "add --not-private" in run(*given, "--method=quadtree", "--height=2", "--seed=1", code=2).stderr
    true = ("--method=kd-tree", "--height=2", "--median=true")
    assert "true medians" in run(*given, *true, code=2).stderr
    assert not os.listdir(tmp_path)
    assert "NOT PRIVATE" in run(*given, *true, "--not-private").stderr
    assert not sdp.load(tmp_path / "o.parquet").privacy.private


@pytest.mark.parametrize(
    "method",
    [
        ("quadtree", "--height=3"),
        ("flat", "--shape=8,8"),
        ("hierarchy", "--shape=8,8"),
        ("kd-tree", "--height=2", "--pixels=8,8"),
    ],
    ids=lambda method: method[0],
)
def test_one_release_is_written_in_every_format(folder, tmp_path, method):
    import rasterio

    outputs = [word for suffix in FORMATS for word in ("-o", tmp_path / f"out{suffix}")]
    given = ("release", folder / "layer.gpkg", BOUNDS, "--crs=EPSG:4326", "--epsilon=1", "--method", *method)
    told = run(*given, *outputs).stderr
    assert all(f"out{suffix}" in told.partition("3/3 writing ")[2] for suffix in FORMATS)
    assert sorted(os.listdir(tmp_path)) == sorted([*(f"out{suffix}" for suffix in FORMATS), "out.privacy.json"])
    release = sdp.load(tmp_path / "out.parquet")
    cells = release.to_geodataframe()
    for name in ("out.gpkg", "out.geojson"):
        layer = geopandas.read_file(tmp_path / name)
        assert layer.crs == "EPSG:4326"
        assert layer["estimate"].to_numpy() == pytest.approx(cells["estimate"].to_numpy())
    assert pd.read_csv(tmp_path / "out.csv")["estimate"].sum() == pytest.approx(release.total)
    with rasterio.open(tmp_path / "out.tif") as raster:
        assert raster.shape == (8, 8)
        south = raster.read(1)[-1]
        assert south.sum() == pytest.approx(release.answer((0, 0, 1, 1 / 8)))
    for suffix in FORMATS:
        assert json.loads(run("info", tmp_path / f"out{suffix}", "--json").stdout)[
            "privacy"
        ] == release.privacy.to_json() | {"parameters": json.loads(json.dumps(dict(release.privacy.parameters)))}
        assert "at most e^ε = 2.719" in run("info", tmp_path / f"out{suffix}").stdout


def test_a_statement_is_not_replaced_either(folder, tmp_path):
    (tmp_path / "out.privacy.json").write_text("mine")
    given = ("release", folder / "layer.gpkg", BOUNDS, "--crs=EPSG:4326", *QUADTREE, "-o", tmp_path / "out.csv")
    assert "out.privacy.json exists" in run(*given, code=2).stderr
    assert os.listdir(tmp_path) == ["out.privacy.json"]
    run(*given, "--force")


def test_files_without_a_statement_promise_nothing(folder):
    for name in ("layer.gpkg", "layer.geojson", "table.csv"):
        assert "holds no privacy statement" in run("info", folder / name, code=2).stderr


# --- methods and their parameters ------------------------------------------------------------------


def test_every_parameter_is_an_option_with_help():
    listed = run("methods").stdout
    for name, method in MECHANISMS.items():
        assert name in listed
        shown = run("methods", name).stdout
        helped = run("release", "--method", name, "--help").stdout
        for parameter in parameters_of(method):
            assert parameter.text or parameter.name == "law", f"{name} {parameter.name}"
            assert parameter.flag in shown
            assert parameter.flag in helped


def test_values_are_read_as_the_types_ask():
    hints = {parameter.name: parameter.hint for method in MECHANISMS.values() for parameter in parameters_of(method)}
    assert read_value("1,2,4", hints["budget"] | tuple[int, ...]) == (1, 2, 4)
    assert read_value("2.5", hints["cell_size"]) == 2.5
    assert read_value("2.5,1", hints["cell_size"]) == (2.5, 1.0)
    assert read_value("1", dict(_hints("hierarchy"))["levels"]) == (1,)
    assert read_value("uniform", dict(_hints("hierarchy"))["levels"]) == "uniform"
    assert read_value("hb", hints["branching"]) == "hb"
    assert read_value("hyperbolic,3", hints["block"]) == ("hyperbolic", 3)
    assert read_value("8,8;hyperbolic,3;marginals", hints["candidates"]) == ((8, 8), ("hyperbolic", 3), "marginals")
    assert read_value("3/10", hints["median_share"]) == Fraction(3, 10)
    tailored = dict(_hints("tailored"))["workload"]
    assert read_value("boxes", tailored) == "boxes"
    assert read_value("ranges/cells", tailored) == read_value("ranges,cells", tailored) == ("ranges", "cells")
    assert read_value("ranges,total; total,ranges,0.5", tailored) == (("ranges", "total"), ("total", "ranges", 0.5))
    assert read_value("ranges/0,4;4,8", tailored) == ("ranges", ((0, 4), (4, 8)))
    with pytest.raises(ValueError, match=r"^$"):
        read_value("eight", hints["shape"])


def _hints(name):
    return [(parameter.name, parameter.hint) for parameter in parameters_of(MECHANISMS[name])]


@pytest.mark.parametrize(
    ("method", "options"),
    [
        (sdp.Flat(cell_size=(0.5, 0.25), truncate=9), ["--cell-size=0.5,0.25", "--truncate=9"]),
        (sdp.Quadtree(3, budget=(1, 0, 1, 2), consistent=False), ["--height=3", "--budget=1,0,1,2", "--no-consistent"]),
        (sdp.Quadtree(3, stop=8, prune=2.5), ["--height=3", "--stop=8", "--prune=2.5"]),
        (
            sdp.KdTree(3, data_levels=1, median_share=Fraction(1, 3)),
            ["--height=3", "--data-levels=1", "--median-share=1/3"],
        ),
        (sdp.Hierarchy((32, 32), levels=(1, 8), budget=(2, 1)), ["--shape=32,32", "--levels=1,8", "--budget=2,1"]),
        (sdp.Hierarchy((32, 32), branching=4, root=True), ["--shape=32,32", "--branching=4", "--root"]),
        (sdp.Wavelet((8, 8), form="quadtree"), ["--shape=8,8", "--form=quadtree"]),
        (sdp.Fourier((8, 8), candidates=((2, 2), "marginals")), ["--shape=8,8", "--candidates=2,2;marginals"]),
        (sdp.Tailored((32, 32), workload="cells"), ["--shape=32,32", "--workload=cells"]),
    ],
    ids=lambda value: value.name if isinstance(value, sdp.Quadtree.__mro__[2]) else None,
)
def test_options_build_the_method_they_describe(method, options):
    shown = run("plan", BOUNDS, "--epsilon=1", "--method", method.name, *options, "--json").stdout
    plan = method.plan(sdp.Domain((0, 0, 1, 1)), epsilon=1)
    told = json.loads(shown)
    assert told["budget"] == {step: str(cost) for step, cost in plan.budget.items()}
    assert told["cells"] == plan.cells
    assert told["errors"] == plan.errors


def test_completion_knows_methods_and_their_options():
    environment = {**os.environ, "_SPATIALDP_COMPLETE": "bash_complete"}
    code = "from spatialdp.cli import main; main(prog_name='spatialdp')"

    def complete(words):
        asked = {**environment, "COMP_WORDS": " ".join(["spatialdp", *words]), "COMP_CWORD": str(len(words))}
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, env=asked)
        return {line.partition(",")[2] for line in done.stdout.splitlines()}

    assert "release" in complete(["rel"])
    assert complete(["release", "--method", "quad"]) == {"quadtree"}
    assert "--height" in complete(["release", "--method", "quadtree", "--he"])


# --- plan ------------------------------------------------------------------------------------------


def test_plan_tells_cost_size_and_error():
    told = run("plan", BOUNDS, *QUADTREE).stdout
    assert "cells    64" in told
    assert "cost     ε = 1\n" in told
    assert "counts at depth 3" in told
    assert "the whole domain" in told
    assert "depends on the records" in run("plan", BOUNDS, "--method=kd-tree", "--height=2", "--epsilon=1").stdout


# --- query -----------------------------------------------------------------------------------------


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


def test_questions_that_can_not_be_answered_are_refused(folder, released, tmp_path):
    assert "give exactly one of them" in run("query", released, code=2).stderr
    both = run("query", released, "--bbox=0,0,1,1", "--boxes=b.csv", code=2)
    assert "give exactly one of them" in both.stderr
    assert "antimeridian" in run("query", released, "--bbox=170,0,-170,1", code=2).stderr
    assert "4 numbers" in run("query", released, "--bbox=1,2,3", code=2).stderr
    (tmp_path / "boxes.csv").write_text("xmin,ymin,xmax\n1,2,3\n")
    assert "no column 'ymax'" in run("query", released, "--boxes", tmp_path / "boxes.csv", code=2).stderr
    (tmp_path / "boxes.csv").write_text("xmin,ymin,xmax,ymax\n1,2,3,a\n")
    assert "not all numbers" in run("query", released, "--boxes", tmp_path / "boxes.csv", code=2).stderr
    other = geopandas.read_file(folder / "areas.gpkg").to_crs("EPSG:3857")
    other.to_file(tmp_path / "other.gpkg")
    assert "EPSG:3857" in run("query", released, "--polygons", tmp_path / "other.gpkg", code=2).stderr
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


@pytest.mark.parametrize("suffix", [".parquet", ".gpkg", ".geojson", ".csv"])
def test_points_are_drawn(released, tmp_path, suffix):
    out = tmp_path / f"drawn{suffix}"
    run("sample", released, "-n", 500, "--seed", 4, "-o", out)
    assert set(os.listdir(tmp_path)) == {f"drawn{suffix}", "drawn.privacy.json"}
    columns = {"x": "x", "y": "y"} if suffix == ".csv" else {}
    domain = sdp.Domain((0, 0, 1, 1), crs="EPSG:4326")
    points = sdp.read_points(out, domain, **columns)
    held = sdp.Points(sdp.load(released).sample(500, noise=sdp.SeededNoise(4)))
    counts, wanted = (count_cells(each, domain.grid((8, 8))) for each in (points, held))
    assert counts.sum() == 500
    assert np.abs(counts - wanted).sum() <= (4 if suffix == ".geojson" else 0)  # which has seven decimals
    assert "synthetic points" in (tmp_path / "drawn.privacy.json").read_text()
    assert "--force" in run("sample", released, "-o", out, code=2).stderr


# --- map, info -------------------------------------------------------------------------------------


@pytest.mark.parametrize(("name", "start"), [("map.png", b"\x89PNG"), ("map.svg", b"<?xml")])
def test_maps_are_drawn(released, tmp_path, name, start):
    run("map", released, "-o", tmp_path / name, "--log", "--level=2", "--limits=0,50", "--dpi=40")
    assert (tmp_path / name).read_bytes().startswith(start)
    assert "--force" in run("map", released, "-o", tmp_path / name, code=2).stderr
    run("map", released, "-o", tmp_path / name, "--no-caption", "--force", "--dpi=40")


def test_maps_show_doubts_and_boundaries(released, tmp_path):
    edges = geopandas.GeoSeries([shapely.box(0.2, 0.2, 0.6, 0.7)], crs="EPSG:4326").to_crs("EPSG:3857")
    edges.to_file(tmp_path / "edges.gpkg")
    look = ("--boundaries", tmp_path / "edges.gpkg", "--lines=2", "--no-mark-noise", "--no-scale-bar", "--dpi=40")
    run("map", released, "-o", tmp_path / "map.png", *look)
    run("map", released, "-o", tmp_path / "doubts.svg", "--view=uncertainty")
    run("map", released, "-o", tmp_path / "widths.png", "--view=half-width", "--limits=0,9", "--dpi=40")
    assert {path.name for path in tmp_path.iterdir()} == {"edges.gpkg", "map.png", "doubts.svg", "widths.png"}


def test_map_options_that_do_not_fit_are_refused(released, tmp_path):
    def told(*options, name="map.png"):
        return run("map", released, "-o", tmp_path / name, *options, code=2).stderr

    assert "classes of relative uncertainty are fixed" in told("--view=uncertainty", "--log")
    assert "'doubts' is not one of" in told("--view=doubts")
    assert "lines is 77" in told("--lines=77")
    assert "nowhere.gpkg cannot be" in told("--boundaries", tmp_path / "nowhere.gpkg")
    assert "--mark-noise is for pictures" in told("--no-mark-noise", name="map.html")
    assert not os.listdir(tmp_path)


def test_maps_of_other_kinds_are_refused(released, tmp_path):
    assert "must end in one of .png, .svg, .html" in run("map", released, "-o", tmp_path / "map.gif", code=2).stderr
    assert "level is 9" in run("map", released, "-o", tmp_path / "map.png", "--level=9", code=2).stderr
    assert not os.listdir(tmp_path)


def test_pages_are_written(released, tmp_path):
    run("map", released, "-o", tmp_path / "map.html", "--title", "Homes")
    assert "<h1>Homes</h1>" in (tmp_path / "map.html").read_text()
    assert "--force" in run("map", released, "-o", tmp_path / "map.html", code=2).stderr
    run("map", released, "-o", tmp_path / "map.html", "--force")
    assert "<h1>Homes</h1>" not in (tmp_path / "map.html").read_text()
    assert "--log is for pictures" in run("map", released, "-o", tmp_path / "new.html", "--log", code=2).stderr
    assert "--title is for web pages" in run("map", released, "-o", tmp_path / "new.png", "--title=x", code=2).stderr
    assert os.listdir(tmp_path) == ["map.html"]


def test_info_tells_the_promise(released):
    told = run("info", released).stdout
    assert "at most e^ε = 2.719" in told
    assert "ε = 1 (add-remove one record), quadtree" in told
    assert "CRS        EPSG:4326" in told
    facts = json.loads(run("info", released, "--json").stdout)
    assert facts["privacy"]["epsilon"] == "1"
    assert facts["cells"] == 256
    assert facts["total"] == sdp.load(released).total


def test_info_warns_of_what_is_not_private(folder, tmp_path):
    out = tmp_path / "out.parquet"
    run("release", folder / "layer.gpkg", BOUNDS, "--crs=EPSG:4326", *QUADTREE, "--seed=1", "--not-private", "-o", out)
    assert run("info", out).stdout.startswith("NOT PRIVATE")


# --- the group -------------------------------------------------------------------------------------


def test_every_command_has_help_with_an_example():
    listed = run("--help").stdout
    assert "Exit codes" in listed
    assert "_SPATIALDP_COMPLETE" in listed
    for name in main.list_commands(None):
        shown = run(name, "--help").stdout
        assert f"spatialdp {name}" in shown.partition("Options:")[0].partition("\n")[2], name


@pytest.mark.parametrize("name", [None, *main.list_commands(None)])
def test_examples_in_the_help_can_be_pasted(name):
    """Each stands in lines of its own, as in the docstring, and not in a paragraph."""
    shown = run(*([] if name is None else [name]), "--help").stdout
    source = (main if name is None else main.get_command(None, name)).callback.__doc__
    lines = [line.strip() for line in source.splitlines()]
    examples = [line for line in lines if line.startswith("spatialdp ")]
    assert examples or name == "traffic"
    assert {line.strip() for line in shown.splitlines()} >= set(examples)
    assert r"\b" not in shown
    assert "\n  POINTS\n" not in shown.partition("Options:")[2]


def test_help_needs_nothing_but_click():
    heavy = ("numpy", "pyarrow", "geopandas", "shapely", "pandas", "matplotlib", "scipy", "pyproj")
    code = (
        "import sys\nfrom spatialdp.cli import main\n"
        f"try: main(['--help'])\nexcept SystemExit: print([name for name in {heavy} if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip().endswith("[]")


def test_defects_are_reported_without_what_they_held(monkeypatch, released):
    def fail(*_):
        raise KeyError("secret 73519284")

    monkeypatch.setattr("spatialdp.outputs.files.geoparquet.load", fail)
    told = run("info", released, code=1).stderr
    assert "unexpected KeyError at info.py" in told
    assert "secret" not in told


@pytest.mark.parametrize("name", ["", *main.list_commands(None)])
def test_examples_in_the_help_keep_their_lines(name):
    shown = CliRunner().invoke(main, [*name.split(), "--help"]).output
    assert "\\b" not in shown
    if "Examples:\n" in shown:
        assert "\n    spatialdp " in shown.split("Examples:\n")[1]
