"""`spatialdp info`: what a file promises."""

from __future__ import annotations

import json

import spatialdp as sdp
from tests.helpers.commands import BOUNDS, QUADTREE, run


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
