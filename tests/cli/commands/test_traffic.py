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
    with (tmp_path / "new" / "traffic.csv").open() as file:
        written = list(csv.DictReader(file))
    assert len(written) == 8
    assert float(written[0]["theory_average"]) == 1
    picture = (tmp_path / "new" / "traffic.png").read_bytes()
    assert picture.startswith(b"\x89PNG")
    assert len(picture) < 300_000


@pytest.mark.parametrize("arguments", [["--releases", "0"], ["--seed", "-1"], ["--nonsense"]])
def test_command_line_refuses_nonsense(arguments, tmp_path):
    result = CliRunner().invoke(main, ["traffic", "-o", str(tmp_path / "out"), *arguments])
    assert result.exit_code == 2
    assert not (tmp_path / "out").exists()
