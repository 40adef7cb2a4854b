"""Dwork and McSherry's histogram: 64,909 cells, and errors that agree with theory."""

from __future__ import annotations

import math
import subprocess
import sys
from fractions import Fraction
from pathlib import Path

import matplotlib as mpl
import numpy as np
import pytest

from spatialdp import datasets
from spatialdp.errors import ParameterError
from spatialdp.evaluation import traffic
from spatialdp.privacy.noise.laws import Law
from spatialdp.records.counting import count_cells

mpl.use("Agg")


@pytest.fixture(scope="module")
def rows():
    return traffic.run(releases=20, seed=1)


def test_exactly_64909_cells():
    grid = traffic.traffic_grid()
    assert grid.n_cells == traffic.CELLS == 64_909
    assert grid.shape == (514, 221)
    assert traffic.find_cell_size() == pytest.approx(0.11241, abs=1e-5)


def test_a_number_of_cells_that_can_not_be_had_is_refused():
    with pytest.raises(ParameterError, match="neighbouring number"):
        traffic.find_cell_size(4)


def test_junctions_are_counted():
    grid = traffic.traffic_grid()
    counts = count_cells(datasets.us_highway_junctions(), grid)
    assert 60_000 < counts.sum() < 66_000
    assert not counts[~grid.mask].any()


def test_averages_agree_with_theory(rows):
    # Four standard errors of a mean of 20 averages; seed fixed.
    assert [row.law for row in rows] == ["laplace"] * 4 + ["discrete-laplace"] * 4
    for row in rows:
        tolerance = 4 * row.theory_standard_error / math.sqrt(20)
        assert abs(row.average - row.theory_average) < tolerance
        wrong = 1.05 * row.theory_average  # noise 5 % too large would be seen
        assert abs(row.average - wrong) > tolerance


def test_theory_is_the_briefs(rows):
    for row in rows[:4]:
        assert row.theory_average * row.epsilon == pytest.approx(1)
        assert row.theory_standard_error * row.epsilon == pytest.approx(0.003925, abs=1e-6)
        assert row.theory_maximum * row.epsilon == pytest.approx(11.658, abs=1e-3)
        assert row.theory_maximum_low * row.epsilon == pytest.approx(9.775, abs=1e-3)
        assert row.theory_maximum_high * row.epsilon == pytest.approx(14.757, abs=1e-3)
    for row in rows[4:]:
        assert row.theory_average == pytest.approx(1 / math.sinh(row.epsilon))


def test_discrete_maximum_agrees_with_simulation():
    from spatialdp.privacy.noise.source import SeededNoise

    draws = np.abs(SeededNoise(4).laplace(Fraction(1), (200, traffic.CELLS))).max(axis=1)
    assert draws.mean() == pytest.approx(
        traffic._mean_maximum(Law.DISCRETE_LAPLACE, 1.0), abs=4 * draws.std() / 200**0.5
    )
    low, high = (traffic._maximum_quantile(Law.DISCRETE_LAPLACE, 1.0, p) for p in (0.025, 0.975))
    assert np.mean((draws >= low) & (draws <= high)) > 0.9


def test_at_least_17_of_20_maxima_lie_in_the_band():
    grid = traffic.traffic_grid()
    points = datasets.us_highway_junctions()
    truth = count_cells(points, grid)[grid.mask]
    for epsilon in traffic.EPSILONS:
        low, high = (traffic._maximum_quantile(Law.LAPLACE, float(1 / epsilon), p) for p in (0.025, 0.975))
        maxima = [
            np.abs(
                traffic._release(points, grid, Law.LAPLACE, epsilon, (1, t)).estimate.values[grid.mask] - truth
            ).max()
            for t in range(20)
        ]
        assert sum(low <= m <= high for m in maxima) >= 17


def test_slides_are_printed_beside_ours(rows):
    text = traffic.table(rows)
    for expected in ("1.02", "9.12", "98.56", "1,003.23", "13 ", "109", "1,041", "9,663", "1.000 ± 0.0039"):
        assert expected in text


def test_same_seed_same_table(rows):
    assert traffic.run([Fraction(1)], releases=2, seed=9) == traffic.run([Fraction(1)], releases=2, seed=9)
    assert traffic.run([Fraction(1)], releases=2, seed=9) != traffic.run([Fraction(1)], releases=2, seed=10)
    with pytest.raises(ParameterError, match="at least 1"):
        traffic.run(releases=0)


def test_readme_shows_the_table_of_seed_one(rows):
    readme = (Path(__file__).parent.parent.parent / "README.md").read_text()
    for line in traffic.table(rows).splitlines():
        if line.startswith("| "):
            assert line in readme


def test_script_is_a_worked_example(tmp_path):
    script = Path(__file__).parent.parent.parent / "scripts" / "traffic_histogram.py"
    command = [sys.executable, str(script), "--output", str(tmp_path), "--releases", "2"]
    shown = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert "Average error of a cell" in shown
    assert (tmp_path / "traffic.png").exists()
