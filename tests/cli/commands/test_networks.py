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


def test_records_are_drawn(saved, tmp_path):
    run("sample", saved, "-n", "9", "-o", str(tmp_path / "drawn.csv"))
    assert (tmp_path / "drawn.csv").read_text().count("\n") == 10
