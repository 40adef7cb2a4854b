"""`spatialdp sample`: synthetic points."""

from __future__ import annotations

import os

import numpy as np
import pytest

import spatialdp as sdp
from spatialdp.records.counting import count_cells
from tests.helpers.commands import run


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


def test_as_many_points_as_the_release_has_records_unless_one_says(released, tmp_path):
    release = sdp.load(released)
    run("sample", released, "-o", tmp_path / "all.csv")
    assert len((tmp_path / "all.csv").read_text().splitlines()) == 1 + round(release.total)
    run("sample", released, "-n", 0, "-o", tmp_path / "none.csv")
    assert (tmp_path / "none.csv").read_text().split() == ["x,y"]
    assert "-1 is not in the range" in run("sample", released, "-n", -1, "-o", tmp_path / "less.csv", code=2).stderr
    assert not (tmp_path / "less.csv").exists()
