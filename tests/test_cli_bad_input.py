"""Bad input on the command line: a clear message, an exit code, and nothing written."""

from __future__ import annotations

import os
import resource
import signal
import subprocess
import sys
import time

import geopandas
import numpy as np
import pytest
import shapely
from click.testing import CliRunner

import spatialdp as sdp
from spatialdp.cli import main
from spatialdp.mechanisms import PreparedRelease
from tests.helpers.point_files import write

RUN = "from spatialdp.cli import main; main(prog_name='spatialdp')"
GOOD = {
    "points": "points.gpkg",
    "--bounds": "0,0,1,1",
    "--crs": "EPSG:4326",
    "--method": "quadtree",
    "--height": "3",
    "--epsilon": "1",
    "-o": "out.parquet",
}


@pytest.fixture
def place(tmp_path, monkeypatch):
    """A folder with a file of points, to work in."""
    monkeypatch.chdir(tmp_path)
    write(tmp_path / "points.gpkg", *np.random.default_rng(1).random((2, 50)))
    return tmp_path


def command(**changes):
    """A release that works, but for the changes; None leaves an option out."""
    named = {
        key if key == "points" else "-o" if key == "o" else f"--{key.replace('_', '-')}": changes[key]
        for key in changes
    }
    words = {**GOOD, **named}
    points = words.pop("points")
    return [
        "release",
        points,
        *(f"{k}={v}" if k.startswith("--") else f"{k}{v}" for k, v in words.items() if v is not None),
    ]


def refused(words, *, code=2):
    """What a command that fails says, after checking that it left nothing behind."""
    before = sorted(os.listdir())
    result = CliRunner().invoke(main, words)
    assert result.exit_code == code, result.output
    assert result.stdout == ""
    assert "Traceback" not in result.stderr
    assert sorted(os.listdir()) == before
    return result.stderr


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
        ({"crs": "EPSG:2154"}, "the domain has CRS EPSG:2154 but the points have EPSG:4326; reproject"),
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
        ({"method": None, "height": None}, "no --method was given; it must be one of flat"),
        ({"method": None}, "--height is a parameter of quadtree, kd-tree; choose one"),
        ({"method": "quadtre"}, "Did you mean 'quadtree'?"),
        ({"method": "flat"}, "--height is a parameter of quadtree, kd-tree and not of flat"),
        ({"height": None}, "quadtree needs --height INTEGER"),
        ({"height": None, "heigth": "3"}, "--height"),
        ({"height": "tall"}, "'tall' was given; INTEGER is required"),
        ({"height": "99"}, "height is 99; it must be a whole number from 0 to 14"),
        ({"law": "normal"}, "'discrete-laplace', 'laplace', 'gaussian'"),
        ({"budget": "much"}, "LevelBudget is 'much'"),
        ({"points": "none.parquet"}, "No such file"),
        ({"points": "."}, "is a folder"),
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
        ({"o": "out.tif", "pixels": "0,8"}, "shape is"),
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


def test_a_format_that_can_not_be_written_is_refused_before_the_file_is_opened(place, monkeypatch):
    monkeypatch.setattr("spatialdp.records.files._checked_path", lambda _: pytest.fail("the points were opened"))
    monkeypatch.setattr("importlib.util.find_spec", lambda _: None)
    assert "pip install 'spatialdp[raster]'" in refused(command(o="out.tif", pixels="4,4"))


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (MemoryError("Unable to allocate 8 bytes for 123456 records"), "there is not enough memory"),
        (RuntimeError("record 0.123456, 0.5"), "unexpected RuntimeError"),
    ],
)
def test_failures_on_the_way_are_told_without_their_own_words(place, monkeypatch, error, message):
    """These may quote records, or how many there are."""

    def fail(*_, **__):
        raise error

    monkeypatch.setattr(PreparedRelease, "release", fail)
    told = refused(command(), code=1)
    assert message in told
    assert "123456" not in told


def test_one_output_twice_is_refused_before_anything_is_spent(place):
    for again in ("out.parquet", "./out.parquet"):
        assert "an output was given twice" in refused([*command(), "-o", again])


def test_what_is_read_is_not_replaced_even_by_force(place):
    """Records, boxes and releases stay, under whatever name the output names them."""
    before = (place / "points.gpkg").read_bytes()
    (place / "link.gpkg").symlink_to("points.gpkg")
    for name in ("points.gpkg", "./points.gpkg", "link.gpkg"):
        assert "would replace the input points.gpkg" in refused([*command(o=name), "--force"])
    assert (place / "points.gpkg").read_bytes() == before
    assert CliRunner().invoke(main, command()).exit_code == 0
    (place / "boxes.csv").write_text("xmin,ymin,xmax,ymax\n0,0,1,1\n")
    for words in (
        ["query", "out.parquet", "--boxes=boxes.csv", "-oboxes.csv"],
        ["sample", "out.parquet", "-oout.parquet"],
    ):
        assert "would replace the input" in refused([*words, "--force"])


def test_a_link_to_nowhere_is_a_file_that_exists(place):
    (place / "out.parquet").symlink_to("nowhere.parquet")
    assert "out.parquet exists" in refused(command())


def test_of_several_outputs_all_or_none_are_written(place, monkeypatch):
    def fail(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("spatialdp.outputs.files.exports.geojson", fail)
    told = refused([*command(), "-oout.gpkg", "-oout.geojson"], code=1)
    assert "No space left on device" in told
    assert "Errno" not in told


def test_bad_regions_are_refused(place):
    def region(*shapes, crs="EPSG:4326"):
        geopandas.GeoSeries(shapes, crs=crs).to_file("region.gpkg")
        return command(region="region.gpkg")

    assert "outside the bounds (0.0, 0.0, 1.0, 1.0)" in refused(region(shapely.box(5, 5, 6, 6)))
    assert "does not hold polygons alone" in refused(region(shapely.Point(0, 0)))
    bowtie = shapely.Polygon([(0, 0), (1, 1), (1, 0), (0, 1)])
    assert "not a valid polygon" in refused(region(bowtie))
    assert "EPSG:2154" in refused(region(shapely.box(0, 0, 1, 1), crs="EPSG:2154"))
    (place / "region.gpkg").write_text("nonsense")
    assert "cannot be read" in refused(command(region="region.gpkg"))


def test_bad_files_are_refused(place):
    geopandas.GeoSeries([shapely.box(0, 0, 1, 1)], crs="EPSG:4326").to_file("squares.gpkg")
    assert "type Polygon; points are required" in refused(command(points="squares.gpkg"))
    mixed = geopandas.GeoSeries([shapely.Point(0.5, 0.5), shapely.box(0, 0, 1, 1)], crs="EPSG:4326")
    geopandas.GeoDataFrame(geometry=mixed).to_parquet("mixed.parquet")
    assert "of type Point, Polygon; points are required" in refused(command(points="mixed.parquet"))
    write(place / "geo.parquet", *np.random.default_rng(1).random((2, 500)))
    (place / "cut.parquet").write_bytes((place / "geo.parquet").read_bytes()[:5000])
    assert "truncated, damaged" in refused(command(points="cut.parquet"))
    (place / "empty.csv").touch()
    assert "is an empty file" in refused(command(points="empty.csv", x="x", y="y"))
    (place / "table.csv").write_text("a,b\n1,2\n")
    assert "no column 'x'" in refused(command(points="table.csv", x="x", y="b"))


def test_a_file_without_permission_is_refused(place, monkeypatch):
    from pathlib import Path

    opened = Path.open

    def closed(path, *args, **kwargs):
        if path.name == "points.gpkg":
            raise PermissionError(13, "Permission denied", str(path))
        return opened(path, *args, **kwargs)

    monkeypatch.setattr(Path, "open", closed)  # root, who runs tests in containers, may read everything
    assert "points.gpkg cannot be opened (Permission denied)" in refused(command())


def test_a_folder_without_permission_is_refused(place, monkeypatch):
    may = os.access
    monkeypatch.setattr(os, "access", lambda path, mode, **_: mode != os.W_OK and may(path, mode))
    assert "cannot be written to" in refused(command())


def test_releases_that_are_none_are_refused(place):
    (place / "text.parquet").write_text("no release")
    for words in (["query", "--bbox=0,0,1,1"], ["map", "-omap.png"], ["info"]):
        name, *options = words
        assert "is not a file" in refused([name, "none.parquet", *options])
        assert "not a readable release" in refused([name, "text.parquet", *options])


# --- real processes --------------------------------------------------------------------------------


def start(words, code=RUN, **options):
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    return subprocess.Popen(
        [sys.executable, "-c", code, *words],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment,
        **options,
    )


def test_a_full_disk_leaves_nothing_and_the_old_file(place):
    def small_files():
        resource.setrlimit(resource.RLIMIT_FSIZE, (2000, 2000))

    for old in (None, b"old"):
        if old is not None:
            (place / "out.parquet").write_bytes(old)
        before = sorted(os.listdir())
        process = start([*command(), "--force"], preexec_fn=small_files)
        _, stderr = process.communicate(timeout=60)
        assert process.returncode == 1
        assert "Error: " in stderr
        assert "Traceback" not in stderr
        assert sorted(os.listdir()) == before
        assert old is None or (place / "out.parquet").read_bytes() == old


KILLED = """
import os, time
def slow(handle):
    print("writing", flush=True)
    time.sleep(60)
os.fsync = slow
from spatialdp.cli import main
main(prog_name="spatialdp")
"""


@pytest.mark.skipif(not hasattr(os, "O_TMPFILE"), reason="files without a name are Linux's")
@pytest.mark.parametrize("old", [None, b"old"], ids=["nothing before", "old file"])
def test_killed_while_writing_leaves_nothing_or_the_old_file(place, old):
    if old is not None:
        (place / "out.parquet").write_bytes(old)
    process = start([*command(), "--force"], KILLED)
    assert process.stdout.readline() == "writing\n"
    process.send_signal(signal.SIGKILL)
    process.communicate(timeout=60)
    assert sorted(os.listdir()) == [*([] if old is None else ["out.parquet"]), "points.gpkg"]
    assert old is None or (place / "out.parquet").read_bytes() == old


def test_interrupted_while_writing_leaves_nothing(place):
    process = start(command(), KILLED)
    assert process.stdout.readline() == "writing\n"
    time.sleep(0.1)
    process.send_signal(signal.SIGINT)
    _, stderr = process.communicate(timeout=60)
    assert process.returncode == 1
    assert "Aborted" in stderr
    assert os.listdir() == ["points.gpkg"]


def test_exit_codes_of_the_process(place):
    for words, code in ((command(), 0), (command(), 2), (["--nonsense"], 2), (["--version"], 0)):
        process = start(words)
        process.communicate(timeout=60)
        assert process.returncode == code
    assert sdp.load("out.parquet").privacy.private
