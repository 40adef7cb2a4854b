"""`spatialdp release`: from a file of points to files of a release, or to a message and nothing else."""

from __future__ import annotations

import json
import os
from fractions import Fraction

import geopandas
import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

import spatialdp as sdp
from spatialdp.cli import main
from spatialdp.outputs.files.formats import FORMATS
from tests.helpers.commands import BOUNDS, command, refused, run


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
        ("adaptive", "--shape=8,8"),
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
    whole = release.answer((0, 0, 1, 1), extrapolate=False)
    assert pd.read_csv(tmp_path / "out.csv")["estimate"].sum() == pytest.approx(whole)
    with rasterio.open(tmp_path / "out.tif") as raster:
        assert raster.shape == (8, 8)
        south = raster.read(1)[-1]
        assert south.sum() == pytest.approx(release.answer((0, 0, 1, 1 / 8), extrapolate=False))
    for suffix in FORMATS:
        assert json.loads(run("info", tmp_path / f"out{suffix}", "--json").stdout)[
            "privacy"
        ] == release.privacy.to_json() | {"parameters": json.loads(json.dumps(dict(release.privacy.parameters)))}
        assert "at most e^ε = 2.719 (rounded up)" in run("info", tmp_path / f"out{suffix}").stdout


def test_without_a_method_an_adaptive_tree_is_released(folder, tmp_path):
    given = ("release", folder / "layer.gpkg", BOUNDS, "--crs=EPSG:4326", "--epsilon=1")
    run(*given, "-o", tmp_path / "one.parquet")
    run(*given, "--shape=16,8", "--estimate=unbiased", "-o", tmp_path / "two.parquet")
    assert sdp.load(tmp_path / "one.parquet").privacy.mechanism == "adaptive"
    assert sdp.load(tmp_path / "two.parquet").privacy.parameters["shape"] == (16, 8)
    assert "[default: adaptive]" in run("release", "--help").stdout


def test_the_good_command_is_good(place):
    assert CliRunner().invoke(main, command()).exit_code == 0


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"bounds": None}, "no domain was given; a public area is required"),
        ({"bounds": "0,0,1"}, "'0,0,1' was given; 4 numbers XMIN,YMIN,XMAX,YMAX are required"),
        ({"bounds": "0,0,x,1"}, "4 numbers"),
        ({"bounds": "0,0,inf,1"}, "they must be finite"),
        ({"bounds": "170,-20,-170,20"}, "For an area across the antimeridian use longitudes from 0 to 360, or two"),
        ({"crs": "EPSG:99999999"}, "which pyproj does not know"),
        ({"crs": "EPSG:4258"}, "the domain has CRS EPSG:4258 but the points have EPSG:4326; reproject"),
        ({"crs": None}, "the points have CRS EPSG:4326 but the domain has none"),
        ({"epsilon": "one"}, "'one' was given; a number is required, such as 0.5 or 1/2"),
        ({"epsilon": "1/0"}, "a number is required"),
        ({"epsilon": "-1"}, "epsilon is -1; it must lie between"),
        ({"epsilon": "0"}, "epsilon is 0; it must lie between"),
        ({"epsilon": "nan"}, "it must be finite. Give a number such as 0.1"),
        ({"epsilon": "1e400000000"}, "absurdly large or small. Give a number such as 0.1"),
        ({"epsilon": "1e-401"}, "absurdly large or small"),
        ({"epsilon": None}, "Missing option '--epsilon'"),
        ({"delta": "2"}, "delta is 2"),
        ({"delta": "1e-6"}, "delta"),
        ({"neighbours": "all"}, "'add-remove', 'replace'"),
        ({"method": None}, "--height is a parameter of quadtree, kd-tree and not of adaptive"),
        ({"method": "quadtre"}, "Did you mean 'quadtree'?"),
        ({"method": "flat"}, "--height is a parameter of quadtree, kd-tree and not of flat"),
        ({"height": None}, "quadtree needs --height INTEGER"),
        ({"height": None, "heigth": "3"}, "--height"),
        ({"height": "tall"}, "'tall' was given; INTEGER is required"),
        ({"height": "99"}, "height is 99; it must be a whole number from 0 to 14"),
        ({"law": "normal"}, "'discrete-laplace', 'laplace', 'gaussian'"),
        ({"budget": "much"}, "--budget is 'much'"),
        ({"points": "none.parquet"}, "No such file"),
        ({"points": "nowhere*.csv"}, "no file matches nowhere*.csv"),
        ({"points": "points.xyz"}, "use one of .parquet"),
        ({"x": "lon", "y": "height"}, "no column 'height'"),
        ({"x": "lon"}, "only one of --x and --y"),
        ({"layer": "homes"}, "no layer 'homes'"),
        ({"o": None}, "Missing option '-o'"),
        ({"o": "out.xlsx"}, "must end in one of .parquet"),
        ({"o": "."}, "must end in"),
        ({"o": "nowhere/out.parquet"}, "there is no folder nowhere"),
        ({"seed": "1"}, "add --not-private"),
        ({"seed": "-1", "not_private": None}, "x>=0"),
        ({"o": "out.tif", "method": "kd-tree"}, "give --pixels NX,NY"),
        ({"pixels": "8,8"}, "--pixels is for GeoTIFF"),
        ({"o": "out.tif", "pixels": "0,8"}, "--pixels is 0"),
        ({"o": "out.geojson", "crs": None}, "needs a CRS"),
        ({"region": "none.gpkg"}, "none.gpkg cannot be"),
    ],
    ids=lambda value: str(value)[:40],
)
def test_bad_options_are_refused(place, changes, message):
    assert message in " ".join(refused(command(**changes)).split())


def test_bad_options_are_refused_before_the_file_is_opened(place, monkeypatch):
    monkeypatch.setattr("spatialdp.records.files._checked_path", lambda _: pytest.fail("the points were opened"))
    (place / "there.parquet").touch()
    for changes in (
        {"bounds": None},
        {"epsilon": "-1"},
        {"height": "99"},
        {"method": "flt"},
        {"o": "there.parquet"},
        {"seed": "1"},
        {"law": "gaussian"},
        {"bounds": "1,1,0,0"},
    ):
        refused(command(**changes))


def test_a_format_that_cannot_be_written_is_refused_before_the_file_is_opened(place, monkeypatch):
    monkeypatch.setattr("spatialdp.records.files._checked_path", lambda _: pytest.fail("the points were opened"))
    monkeypatch.setattr("importlib.util.find_spec", lambda _: None)
    assert "pip install 'spatialdp[raster]'" in refused(command(o="out.tif", pixels="4,4"))


def test_of_several_outputs_all_or_none_are_written(place, monkeypatch):
    def fail(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("spatialdp.outputs.files.exports.geojson", fail)
    told = refused([*command(), "-oout.gpkg", "-oout.geojson"], code=1)
    assert "No space left on device" in told
    assert "Errno" not in told


@pytest.mark.parametrize(
    ("options", "told"),
    [(["--person=cells=5"], "do not say who they are about"), (["--person-column=user"], "is not bounded")],
)
def test_persons_and_their_bound_are_compared_before_the_file_is_opened(options, told, tmp_path):
    (tmp_path / "visits.csv").write_text("user,x,y\nann,0.5,0.5\n")
    given = ["--x=x", "--y=y", BOUNDS, "--method=flat", "--shape=4,4", "--epsilon=1", "-o", tmp_path / "a.parquet"]
    done = run("release", tmp_path / "visits.csv", *given, *options, code=2)
    assert told in done.stderr
    assert "opening the points" not in done.stderr


def test_a_summary_of_public_facts_follows(tmp_path):
    (tmp_path / "homes.csv").write_text("lon,lat\n" + "-85.3,35.05\n" * 500)
    options = ["--x", "lon", "--y", "lat", "--method", "flat", "--shape", "8,8", "--epsilon", "1", "--seed", "1"]
    options += ["--not-private", "--bounds", "-85.6,34.9,-84.9,35.5", "-o"]
    done = run("release", tmp_path / "homes.csv", "--crs", "EPSG:4326", *options, tmp_path / "a.parquet")
    assert "domain   63.7 x 66.6 km, in EPSG:4326" in done.stderr
    assert "cells    64, on a grid of 8 x 8 cells of about 7.97 x 8.32 km each" in done.stderr
    release = sdp.load(tmp_path / "a.parquet")
    low, high = release.interval(release.domain.bounds)
    assert f"total    {release.total:,.0f} records, estimated; 95 % interval {low:,.0f} to {high:,.0f}" in done.stderr
    assert "NOT PRIVATE" in done.stderr
    plain = run("release", tmp_path / "homes.csv", *options, tmp_path / "b.parquet")
    assert "domain   0.7 x 0.6 units, without a CRS" in plain.stderr
    assert "cells of about 0.0875 x 0.075 units each" in plain.stderr
    assert run("release", tmp_path / "homes.csv", *options, tmp_path / "c.parquet", "--quiet").stderr == ""


def test_the_summary_of_a_tree_and_of_a_biased_release(tmp_path):
    (tmp_path / "homes.csv").write_text("x,y\n" + "0.3,0.5\n" * 500)
    options = ["--x", "x", "--y", "y", "--bounds", "0,0,1,1", "--epsilon", "1"]
    tree = run(
        "release", tmp_path / "homes.csv", *options, "--method=kd-tree", "--height=2", "-o", tmp_path / "a.parquet"
    )
    assert "cells    16, of different sizes" in tree.stderr
    flat = ("--method=flat", "--shape=2,2", "--truncate=2", "-o", tmp_path / "b.parquet")
    assert "interval" not in run("release", tmp_path / "homes.csv", *options, *flat).stderr


@pytest.fixture(scope="module")
def visits(tmp_path_factory):
    """A table of places of forty persons."""
    rng = np.random.default_rng(3)
    path = tmp_path_factory.mktemp("visits") / "visits.csv"
    frame = {"lon": rng.random(400), "lat": rng.random(400), "who": rng.integers(0, 40, 400)}
    pd.DataFrame(frame).to_csv(path, index=False)
    return path


@pytest.mark.parametrize("bound", ["records=5", "cells=5", "shares"])
def test_persons_are_released(visits, tmp_path, bound):
    out = tmp_path / "out.parquet"
    given = ("release", visits, "--x=lon", "--y=lat", BOUNDS, "--method=flat", "--shape=8,8", "--epsilon=1")
    told = run(*given, "--person-column=who", f"--person={bound}", "--seed=2", "--not-private", "-o", out).stderr
    privacy = sdp.load(out).privacy
    assert f"{privacy.counted}, estimated; 95 % interval" in told
    assert privacy.person.in_short() in told
    points = sdp.read_points(visits, sdp.Domain((0, 0, 1, 1)), x="lon", y="lat", person="who")
    same = sdp.Flat((8, 8)).release(
        points, sdp.Domain((0, 0, 1, 1)), epsilon=1, person=privacy.person, noise=sdp.SeededNoise(2)
    )
    assert np.array_equal(sdp.load(out).estimate.values, same.estimate.values)


def test_a_bound_on_persons_is_chosen(visits, tmp_path):
    out = tmp_path / "out.parquet"
    given = ("release", visits, "--x=lon", "--y=lat", BOUNDS, "--method=flat", "--shape=8,8", "--epsilon=1")
    told = run(*given, "--person-column=who", "--person=records=chosen", "-o", out).stderr
    privacy = sdp.load(out).privacy
    assert privacy.person.chosen == sdp.Chosen()
    assert privacy.budget["choice of the bound"] == Fraction(1, 20)
    assert privacy.person.in_short() in told


def test_a_bound_and_a_column_of_persons_belong_together(visits, tmp_path):
    given = ("release", visits, "--x=lon", "--y=lat", BOUNDS, "--epsilon=1", "-o", tmp_path / "out.parquet")
    assert "--person-column NAME" in run(*given, "--person=cells=5", code=2).stderr
    assert "such as --person cells=20" in run(*given, "--person-column=who", code=2).stderr
    assert not os.listdir(tmp_path)


def listed(folder, *options, code=0):
    """Release a list of a file with one hot spot on the whole lattice."""
    (folder / "spots.csv").write_text("x,y\n" + "0.3,0.5\n" * 500)
    given = ("--x=x", "--y=y", BOUNDS, "--method=sparse", "--epsilon=1", "--false=1e-6")
    return run("release", folder / "spots.csv", *given, *options, code=code)


def test_list_is_released_and_summed_up(tmp_path):
    done = listed(tmp_path, "--shape=1073741824,1073741824", "-o", tmp_path / "list.parquet")
    assert "listed   1 cells. Listed are those of 1,152,921,504,606,846,976 cells" in done.stderr
    assert "records in listed cells, estimated" in done.stderr
    release = sdp.load(tmp_path / "list.parquet")
    assert f"total    {release.total:,.0f} records" in done.stderr


def test_list_over_a_map_is_released(tmp_path):
    (tmp_path / "spots.csv").write_text("x,y\n" + "0.3,0.5\n" * 500)
    given = ("--x=x", "--y=y", BOUNDS, "--method=sparse-map", "--epsilon=1", "--shape=1048576,1048576")
    out = tmp_path / "both.parquet"
    done = run("release", tmp_path / "spots.csv", *given, "--blocks=8,4", "--share=0.25", "-o", out)
    assert "listed   Within blocks, " in done.stderr
    assert "on a grid of 8 x 4" in done.stderr
    assert sdp.load(out).privacy.parameters["share"] == "1/4"
    assert (
        "each cell must lie in one block"
        in run("release", tmp_path / "spots.csv", *given, "--blocks=7,4", "-o", tmp_path / "no.parquet", code=2).stderr
    )


def test_raster_of_a_list_needs_pixels_if_its_grid_is_fine(tmp_path):
    fine = "--shape=1073741824,1073741824"
    assert "give --pixels NX,NY" in listed(tmp_path, fine, "-o", tmp_path / "list.tif", code=2).stderr
    listed(tmp_path, fine, "--pixels=8,8", "-o", tmp_path / "pixels.tif")
    listed(tmp_path, "--shape=8,8", "-o", tmp_path / "cells.tif")
    assert "neither of --shape and --cell-size" in listed(tmp_path, "-o", tmp_path / "out.parquet", code=2).stderr


def test_list_of_zones_is_released(tmp_path):
    (tmp_path / "codes.csv").write_text("code\n" + "A07\n" * 300)
    pd.DataFrame({"letter": list("AAB"), "code": ["A07", "A08", "B01"]}).to_csv(tmp_path / "zones.csv", index=False)
    given = ("--code-column=code", "--zones", tmp_path / "zones.csv", "--levels=letter,code", "--epsilon=1")
    done = run(
        "release", tmp_path / "codes.csv", *given, "--method=sparse", "--false=1e-6", "-o", tmp_path / "list.parquet"
    )
    assert "1 of level code" in done.stderr
    release = sdp.load(tmp_path / "list.parquet")
    assert release.zones.codes[release.zones.leaf_nodes].tolist() == ["A07"]
    assert release.zones.name == "listed zones of zones"
