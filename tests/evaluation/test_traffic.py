"""Dwork and McSherry's histogram: 64,909 cells, and errors that agree with theory; and adaptive trees beside it."""

from __future__ import annotations

import math
import re
import subprocess
import sys
from decimal import Decimal
from fractions import Fraction
from pathlib import Path

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pytest

from spatialdp import datasets
from spatialdp.errors import ParameterError
from spatialdp.evaluation import traffic
from spatialdp.mechanisms import Adaptive, Flat
from spatialdp.privacy.noise.laws import Law
from spatialdp.records.counting import count_cells
from spatialdp.workload import random_boxes

mpl.use("Agg")

NUMBER = re.compile(r"\d[\d,]*(?:\.\d+)?")
README = (Path(__file__).parents[2] / "README.md").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def rows():
    """The whole table, which takes long; so tests of it are `unmeasured`."""
    return traffic.run(releases=20, seed=1)


def test_exactly_64909_cells():
    grid = traffic.traffic_grid()
    assert grid.n_cells == traffic.CELLS == 64_909
    assert grid.shape == (514, 221)
    assert traffic.find_cell_size() == pytest.approx(0.11241, abs=1e-5)


def test_a_number_of_cells_that_cannot_be_had_is_refused():
    with pytest.raises(ParameterError, match="neighbouring number"):
        traffic.find_cell_size(4)


def test_junctions_are_counted():
    grid = traffic.traffic_grid()
    counts = count_cells(datasets.us_highway_junctions(), grid)
    assert 60_000 < counts.sum() < 66_000
    assert not counts[~grid.mask].any()


@pytest.mark.unmeasured
def test_averages_agree_with_theory(rows):
    # Four standard errors of a mean of 20 averages; seed fixed.
    assert [row.law for row in rows[:8]] == ["laplace"] * 4 + ["discrete-laplace"] * 4
    for row in rows[:8]:
        tolerance = 4 * row.theory_standard_error / math.sqrt(20)
        assert abs(row.average - row.theory_average) < tolerance
        wrong = 1.05 * row.theory_average  # noise 5 % too large would be seen
        assert abs(row.average - wrong) > tolerance


@pytest.mark.unmeasured
def test_theory_agrees_with_the_known_distribution_of_laplace_noise(rows):
    for row in rows[:4]:
        assert row.theory_average * row.epsilon == pytest.approx(1)
        assert row.theory_standard_error * row.epsilon == pytest.approx(0.003925, abs=1e-6)
        assert row.theory_maximum * row.epsilon == pytest.approx(11.658, abs=1e-3)
        assert row.theory_maximum_low * row.epsilon == pytest.approx(9.775, abs=1e-3)
        assert row.theory_maximum_high * row.epsilon == pytest.approx(14.757, abs=1e-3)
    for row in rows[4:8]:
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
    truth = traffic._Truth.known()
    mechanism = Flat(truth.grid.shape, law=Law.LAPLACE)
    for epsilon in traffic.EPSILONS:
        low, high = (traffic._maximum_quantile(Law.LAPLACE, float(1 / epsilon), p) for p in (0.025, 0.975))
        maxima = [truth.errors(truth.release(mechanism, epsilon, (1, t)).estimate.values)[1] for t in range(20)]
        assert sum(low <= m <= high for m in maxima) >= 17


@pytest.mark.unmeasured
def test_slides_are_printed_beside_ours(rows):
    text = traffic.table(rows)
    for expected in ("1.02", "9.12", "98.56", "1,003.23", "13 ", "109", "1,041", "9,663", "1.000 ± 0.0039"):
        assert expected in text


@pytest.mark.unmeasured
def test_noise_of_the_slides_is_the_same_as_before_there_were_adaptive_trees(rows):
    # Written down from the table that was published first.
    assert [row.average for row in rows[:8:4]] == [0.9997388915094113, 0.8503982498574928]
    assert [row.maximum for row in rows[:4]] == [11.264990234375, 116.82236328125, 1189.756396484375, 11720.8884765625]


def test_errors_of_boxes_are_those_of_the_answers_that_users_get():
    truth = traffic._Truth.known()
    nx, ny = truth.grid.shape
    boxes = random_boxes(truth.grid.domain, traffic.BOXES, shape=(nx, ny)).boxes
    x = np.searchsorted(truth.grid.x_edges, boxes[:, [0, 2]])
    y = np.searchsorted(truth.grid.y_edges, boxes[:, [1, 3]])
    counts = np.array([truth.counts[b:d, a:c].sum() for (a, c), (b, d) in zip(x, y, strict=True)])
    for mechanism in (Flat((nx, ny)), Adaptive((nx, ny))):
        release = truth.release(mechanism, Fraction(1, 10), (3,))
        expected = np.abs(release.answer(boxes) - counts).mean()
        assert truth.errors(release.estimate.values)[2] == pytest.approx(expected, rel=1e-3)


def test_boxes_are_public_and_have_whole_cells():
    truth = traffic._Truth.known()
    for x, y in truth.boxes:
        assert x.whole.all()
        assert y.whole.all()
    x, y = truth.boxes[1]
    shares = (x.stop - x.start) * (y.stop - y.start) / np.prod(truth.grid.shape)
    assert shares.size == traffic.BOXES
    assert shares.min() > 0.0095
    assert shares.max() < 0.0106
    assert shares.mean() == pytest.approx(0.01, rel=0.01)


def test_errors_are_zero_without_noise_and_known_for_one_wrong_cell():
    truth = traffic._Truth.known()
    assert truth.errors(truth.counts).tolist() == [0, 0, 0, 0]
    row, column = 100, 250  # in Kansas
    wrong = truth.counts.copy()
    wrong[row, column] += 7
    average, largest, random, one_percent = truth.errors(wrong)
    assert largest == 7
    assert average == pytest.approx(7 / traffic.CELLS)
    shares = [
        np.mean((x.start <= column) & (column < x.stop) & (y.start <= row) & (row < y.stop)) for x, y in truth.boxes
    ]
    assert [random, one_percent] == pytest.approx([7 * share for share in shares])
    assert min(shares) > 0


def test_errors_outside_the_region_do_not_count():
    truth = traffic._Truth.known()
    outside = truth.counts + 1000 * ~truth.grid.mask
    assert truth.errors(outside).tolist() == [0, 0, 0, 0]


@pytest.mark.unmeasured
def test_adaptive_trees_have_far_smaller_errors_below_one(rows):
    then, now = rows[:4], rows[8:]
    assert {row.mechanism for row in now} == {"adaptive"}
    assert [row.epsilon for row in now] == [row.epsilon for row in then]
    for before, after in zip(then[1:], now[1:], strict=True):
        assert after.average_high < before.average_low / 5
        assert after.random_box_high < before.random_box_low / 2
        assert after.one_percent_box_high < before.one_percent_box_low / 2
    assert all(row.theory_average is None and row.theory_maximum is None for row in now)


@pytest.mark.unmeasured
def test_a_smooth_field_does_not_follow_single_cells(rows):
    # The README says so: the largest error of a cell is larger than with independent noise at ε = 1 and 0.1.
    then, now = rows[:4], rows[8:]
    larger = [after.maximum > before.maximum for before, after in zip(then, now, strict=True)]
    assert larger == [True, True, False, False]


def test_a_map_of_zeros_is_in_the_readme():
    note = traffic.zeros_note()
    for number in ("0.999", "9,238", "821"):
        assert number in note
        assert number in README


def test_maps_are_the_true_one_and_two_rows_in_one_scale():
    figure = traffic.draw_maps([Fraction(1), Fraction(1, 100)], seed=2)
    images = [image for ax in figure.get_axes() for image in ax.get_images()]
    assert len(images) == 5
    assert len({tuple(image.norm.boundaries) for image in images}) == 1
    titles = [ax.get_title() for ax in figure.get_axes()]
    assert [title.split(":")[0] for title in titles[2:]] == ["ε = 1", "ε = 0.01"] * 2
    assert [part.get_suptitle().split(":")[0] for part in figure.subfigs] == ["", "Then", "Now"]
    plt.close(figure)


def test_the_picture_is_the_first_thing_in_the_readme():
    assert README.index("](figures/traffic.png)") < README.index("## Two commands")
    assert README.index("](figures/traffic.png)") < README.index("```")
    assert README.count("figures/traffic.png") == 1


def test_same_seed_same_table():
    assert traffic.run([Fraction(1)], releases=2, seed=9) == traffic.run([Fraction(1)], releases=2, seed=9)
    assert traffic.run([Fraction(1)], releases=2, seed=9) != traffic.run([Fraction(1)], releases=2, seed=10)
    with pytest.raises(ParameterError, match="at least 1"):
        traffic.run(releases=0)


@pytest.mark.unmeasured
def test_readme_shows_the_table_of_seed_one(rows):
    lines = [line for line in traffic.table(rows).splitlines() if line.startswith("| ")]
    assert len(lines) == 9 + 9 + 17
    printed = [line for line in README.splitlines() if line.startswith("| ")]
    first = next(at for at, line in enumerate(printed) if _words(line) == _words(lines[0]))
    for line, shown in zip(lines, printed[first : first + len(lines)], strict=True):
        # Sums of doubles end differently on other processors: the last digit printed may be one off.
        assert _words(line) == _words(shown)
        _require_close(line, shown)


def test_the_table_of_another_seed_is_not_that_of_the_readme():
    """The tolerance is small enough to tell seeds apart."""
    rows = traffic.run([Fraction(1)], releases=2, seed=2)
    line = next(line for line in reversed(traffic.table(rows).splitlines()) if line.startswith("| a random box"))
    shown = next(each for each in README.splitlines() if _words(each) == _words(line))
    with pytest.raises(AssertionError):
        _require_close(line.split("|")[-2], shown.split("|")[-2])


def _require_close(text, shown):
    """Compare the numbers in two texts: they may differ by one in the last digit shown."""
    for (value, step), (expected, _) in zip(_numbers(text), _numbers(shown), strict=True):
        assert abs(value - expected) <= step


def _words(line):
    return NUMBER.sub("#", line).split()


def _numbers(line):
    """Each number of a row of the table, with the step of its last digit."""
    numbers = [Decimal(text.replace(",", "")) for text in NUMBER.findall(line)]
    return [(number, Decimal((0, (1,), number.as_tuple().exponent))) for number in numbers]


def test_script_is_a_worked_example(tmp_path):
    script = Path(__file__).parent.parent.parent / "scripts" / "traffic_histogram.py"
    command = [sys.executable, str(script), "--output", str(tmp_path), "--releases", "2"]
    shown = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert "Average error of a cell" in shown
    assert (tmp_path / "traffic.png").exists()
