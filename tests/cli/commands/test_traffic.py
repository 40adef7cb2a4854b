"""`spatialdp traffic`: the table and the maps."""

from __future__ import annotations

import csv

import matplotlib as mpl
import pytest
from click.testing import CliRunner

from spatialdp.cli import main

mpl.use("Agg")


def test_command_line_writes_table_and_maps(tmp_path):
    result = CliRunner().invoke(main, ["traffic", "-o", str(tmp_path / "new"), "--releases", "2"])
    assert result.exit_code == 0, result.output
    assert "64,909 cells" in result.output
    assert "not private" in result.output
    assert "now: adaptive tree" in result.output
    assert "a map of zeros is off by" in result.output
    with (tmp_path / "new" / "traffic.csv").open() as file:
        written = list(csv.DictReader(file))
    assert [(row["mechanism"], row["law"]) for row in written[::4]] == [
        ("flat", "laplace"),
        ("flat", "discrete-laplace"),
        ("adaptive", "discrete-laplace"),
    ]
    assert len(written) == 12
    assert float(written[0]["theory_average"]) == 1
    assert written[-1]["theory_average"] == ""
    assert all(float(row["random_box"]) > 0 and float(row["one_percent_box"]) > 0 for row in written)
    picture = (tmp_path / "new" / "traffic.png").read_bytes()
    assert picture.startswith(b"\x89PNG")
    assert len(picture) < 300_000


@pytest.mark.parametrize("arguments", [["--releases", "0"], ["--seed", "-1"], ["--nonsense"]])
def test_command_line_refuses_nonsense(arguments, tmp_path):
    result = CliRunner().invoke(main, ["traffic", "-o", str(tmp_path / "out"), *arguments])
    assert result.exit_code == 2
    assert not (tmp_path / "out").exists()
