"""Releases of networks on the command line: `info`, `query` and `sample` take them as tables."""

from __future__ import annotations

import csv
import io

import pytest
from click.testing import CliRunner

import spatialdp as sdp
from spatialdp.cli import main
from tests.networks.test_release import released


@pytest.fixture
def saved(tmp_path):
    path = tmp_path / "network.parquet"
    released().save(path)
    return str(path)


def run(*arguments):
    done = CliRunner().invoke(main, list(arguments))
    assert done.exit_code == 0, done.output
    return done.stdout


def test_info_names_the_axes_and_the_costs(saved):
    shown = run("info", saved)
    assert "ε 0.3 for choices of parents" in shown
    assert "intervals  none" in shown
    assert "kind" in shown


def test_queries_are_answered_by_the_model(saved):
    rows = list(csv.DictReader(io.StringIO(run("query", saved, "--by", "kind"))))
    release = sdp.load(saved)
    assert [float(row["estimate"]) for row in rows] == pytest.approx(
        release.answer(kind=["theft", "fraud", "other"]).tolist(), rel=1e-3
    )


def test_records_of_a_file_are_released(tmp_path):
    points = tmp_path / "points.csv"
    points.write_text("x,y,what\n" + "0.1,0.1,theft\n" * 60 + "0.9,0.9,fraud\n" * 40)
    place = ["--x", "x", "--y", "y", "--bounds", "0,0,1,1", "--shape", "4,4"]
    axis = ["--categories", "theft,fraud", "--category-column", "what"]
    out = tmp_path / "network.parquet"
    run("release", str(points), *place, *axis, "--method", "privbayes", "--parents", "1", "--epsilon", "50",
        "-o", str(out))  # fmt: skip
    release = sdp.load(out)
    assert release.privacy.private
    assert release.privacy.parameters["parents"] == 1
    assert release.answer(kind="theft") == pytest.approx(60, abs=5)
    assert "choices of parents" in run("plan", *place[4:], *axis[:2], "--method", "privbayes", "--epsilon", "1")


def test_records_are_drawn(saved, tmp_path):
    run("sample", saved, "-n", "9", "-o", str(tmp_path / "drawn.csv"))
    assert (tmp_path / "drawn.csv").read_text().count("\n") == 10
