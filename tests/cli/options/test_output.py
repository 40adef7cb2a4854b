"""Options of where to write: nothing is replaced unasked, and never what is read."""

from __future__ import annotations

import os

import click
import pytest
from click.testing import CliRunner

from spatialdp.cli import main
from spatialdp.cli.options.output import Target, check_output
from tests.helpers.commands import BOUNDS, QUADTREE, command, refused, run


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


def test_a_statement_is_not_replaced_either(folder, tmp_path):
    (tmp_path / "out.privacy.json").write_text("mine")
    given = ("release", folder / "layer.gpkg", BOUNDS, "--crs=EPSG:4326", *QUADTREE, "-o", tmp_path / "out.csv")
    assert "out.privacy.json exists" in run(*given, code=2).stderr
    assert os.listdir(tmp_path) == ["out.privacy.json"]
    run(*given, "--force")


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


def test_a_folder_without_permission_is_refused(place, monkeypatch):
    may = os.access
    monkeypatch.setattr(os, "access", lambda path, mode, **_: mode != os.W_OK and may(path, mode))
    assert "cannot be written to" in refused(command())


def test_one_file_by_two_names_is_spared(tmp_path):
    source, link = tmp_path / "a.csv", tmp_path / "b.csv"
    source.write_text("records")
    link.hardlink_to(source)
    with pytest.raises(click.UsageError, match="would replace the input"):
        Target((link,), True).spare(None, source)
    Target((tmp_path / "c.csv",), True).spare(source, None)


def test_a_statement_is_an_output_too(tmp_path):
    """`-o a.csv` writes a.privacy.json as well, which may be what is read."""
    (tmp_path / "a.privacy.json").write_text("{}")
    with pytest.raises(click.UsageError, match="would replace the input"):
        Target((tmp_path / "a.csv",), True).spare(tmp_path / "a.privacy.json")


def test_standard_output_is_no_file(tmp_path):
    assert Target((), False).path is None
    assert Target((tmp_path,), False).path == Target((tmp_path,), False).file == tmp_path


def test_endings_are_read_in_either_case(tmp_path):
    assert check_output(tmp_path / "map.PNG", (".png",), force=False) == tmp_path / "map.PNG"
    (tmp_path / "map.png").mkdir()
    for name, said in (("map.gif", "one of .png"), ("map.png", "is a folder"), ("no/map.png", "no folder")):
        with pytest.raises(click.UsageError, match=said):
            check_output(tmp_path / name, (".png",), force=True)
