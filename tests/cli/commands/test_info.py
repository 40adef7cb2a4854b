"""`spatialdp info`: what a file promises."""

from __future__ import annotations

import json

import pytest
from click.testing import CliRunner

import spatialdp as sdp
from spatialdp._support.terminal import printable
from spatialdp.cli import main
from tests.helpers.commands import BOUNDS, QUADTREE, run
from tests.helpers.release_files import rewrite, set_to


def test_files_without_a_statement_promise_nothing(folder):
    for name in ("layer.gpkg", "layer.geojson", "table.csv"):
        assert "holds no privacy statement" in run("info", folder / name, code=2).stderr


def test_info_tells_the_promise(released):
    told = run("info", released).stdout
    assert "at most e^ε = 2.719 (rounded up)" in told
    assert "ε = 1 (add-remove one record), quadtree" in told
    assert "CRS        EPSG:4326" in told
    facts = json.loads(run("info", released, "--json").stdout)
    assert facts["privacy"]["epsilon"] == 1
    assert facts["privacy"]["epsilon_exact"] == "1"
    assert facts["cells"] == 256
    assert facts["total"] == sdp.load(released).total


def test_info_warns_of_what_is_not_private(folder, tmp_path):
    out = tmp_path / "out.parquet"
    run("release", folder / "layer.gpkg", BOUNDS, "--crs=EPSG:4326", *QUADTREE, "--seed=1", "--not-private", "-o", out)
    assert run("info", out).stdout.startswith("NOT PRIVATE")


ESCAPES = "\x1b[2J\x1b]0;owned\x07\x9b31m\u202e"


@pytest.mark.parametrize(
    "change",
    [
        set_to("privacy", "parameters", "height", value=ESCAPES),
        set_to("privacy", "parameters", ESCAPES, value=1),
        set_to("privacy", "parameters", "height", value=[{"a": [ESCAPES]}]),
        set_to("domain", "crs", value=ESCAPES),
        set_to("domain", "crs", value=f'LOCAL_CS["{ESCAPES}"]'),
        set_to("domain", "crs", value='LOCAL_CS["two\nlines"]'),
        set_to("format", value=ESCAPES),
        set_to("format_version", value=[ESCAPES]),
    ],
)
def test_foreign_text_does_not_reach_the_terminal(released, tmp_path, change):
    path = tmp_path / "forged.parquet"
    path.write_bytes(released.read_bytes())
    rewrite(path, header=change, sign=True)
    for words in (("info", path), ("info", path, "--json")):
        result = CliRunner().invoke(main, [str(word) for word in words])
        assert result.exit_code in (0, 2)
        assert printable(result.stdout + result.stderr, keep="\n") == result.stdout + result.stderr


def test_a_crs_of_several_lines_is_shown_on_one(released, tmp_path):
    """One of its lines could look like a promise."""
    path = tmp_path / "forged.parquet"
    path.write_bytes(released.read_bytes())
    rewrite(path, header=set_to("domain", "crs", value='LOCAL_CS["two\npromise    ε = 0.001"]'), sign=True)
    promises = [line for line in run("info", path).stdout.splitlines() if line.startswith("promise")]
    assert len(promises) == 1
    assert promises[0].startswith("promise    ε = 1 ")


def test_foreign_names_are_shown_with_marks(tmp_path):
    """Statements beside a table are read by themselves; names that cannot be shown are refused there too."""
    path = tmp_path / "map.csv"
    sdp.Flat((2, 2)).release([], sdp.Domain((0, 0, 1, 1)), epsilon=1).save(path)
    beside = tmp_path / "map.privacy.json"
    statement = json.loads(beside.read_text())
    for name in ("budget", "budget_exact"):
        statement[name] = {f"counts{ESCAPES}": cost for cost in statement[name].values()}
    beside.write_text(json.dumps(statement))
    told = run("info", path, code=2).stderr
    assert "privacy statement" in told
    assert printable(told, keep="\n") == told


def test_adaptive_trees_have_blocks(folder, tmp_path):
    out = tmp_path / "out.parquet"
    done = run("release", folder / "layer.gpkg", BOUNDS, "--crs=EPSG:4326", "--epsilon=1", "--shape=16,16", "-o", out)
    assert " blocks, on a grid of 16 x 16 cells" in done.stderr
    assert f"blocks     {sdp.load(out).estimate.n_cells}, of different sizes" in run("info", out).stdout


def test_info_of_a_list_tells_what_was_searched(tmp_path):
    release = sdp.Sparse((2**20, 2**20)).release([[0.3, 0.5]] * 500, sdp.Domain((0, 0, 1, 1)), epsilon=1)
    release.save(tmp_path / "list.parquet")
    told = run("info", tmp_path / "list.parquet").stdout
    assert f"listed     {release.estimate.n_cells} cells" in told
    assert "whose noisy count was at least 37 records." in told
    facts = json.loads(run("info", tmp_path / "list.parquet", "--json").stdout)
    assert facts["shape"] == [2**20, 2**20]
    assert facts["threshold"] == release.estimate.threshold
    assert facts["false"] == release.estimate.false


def test_info_of_a_list_over_a_map_tells_of_both(tmp_path):
    mechanism = sdp.SparseMap((2**20, 2**20), blocks=(8, 8))
    release = mechanism.release([[0.3, 0.5]] * 500, sdp.Domain((0, 0, 1, 1)), epsilon=1)
    release.save(tmp_path / "both.parquet")
    told = run("info", tmp_path / "both.parquet").stdout
    assert "blocks     64" in told
    assert "have counts of their own." in told
    facts = json.loads(run("info", tmp_path / "both.parquet", "--json").stdout)
    assert facts["cells"] == 64
    assert facts["listed"] == release.estimate.listed.n_cells
    assert facts["threshold"] == release.estimate.listed.threshold
