"""Metrics against cases that were worked out by hand."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog

from spatialdp.errors import ParameterError
from spatialdp.evaluation.metrics import DEFAULT_METRICS, METRICS, Outcome, check_metrics, earth_movers_distance


def outcome(**changes):
    """Errors 1, -3, 0 and 10; the noise-free answers are off by 0, -1, 0 and 4."""
    held = {
        "answers": np.array([11.0, -3.0, 5.0, 110.0]),
        "truth": np.array([10.0, 0.0, 5.0, 100.0]),
        "even": np.array([11.0, -3.0, 5.0, 110.0]),
        "noise_free": np.array([10.0, -1.0, 5.0, 104.0]),
        "intervals": np.array([[9.0, 13.0], [-4.0, -1.0], [5.5, 6.0], [90.0, 104.0]]),
        "noise_intervals": np.array([[9.0, 13.0], [-4.0, -1.0], [5.5, 6.0], [90.0, 104.0]]),
        "records": 200,
        "floor": 2.0,
    }
    return Outcome(**(held | changes))


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("mean_error", 14 / 4),
        ("median_error", 2.0),
        ("p95_error", 3 + 0.85 * 7),  # at place 2.85 of 0, 1, 3, 10
        ("max_error", 10.0),
        ("rmse", np.sqrt(110 / 4)),
        ("relative_error", (0.1 + 1.5 + 0 + 0.1) / 4),  # the empty query divides by the floor
        ("median_relative_error", 0.1),
        ("scaled_error", np.sqrt(110) / (4 * 200)),
        ("uniformity_rmse", np.sqrt(17 / 4)),
        ("noise_rmse", np.sqrt((1 + 4 + 0 + 36) / 4)),
        ("coverage", 2 / 4),
        ("noise_coverage", 3 / 4),
        ("interval_width", (4 + 3 + 0.5 + 14) / 4),
    ],
)
def test_metrics_by_hand(name, value):
    assert METRICS[name](outcome()) == pytest.approx(value)


def test_every_metric_is_in_the_list():
    assert len(METRICS) == 13
    assert set(DEFAULT_METRICS) < set(METRICS)


def test_without_intervals_there_is_nothing_to_cover():
    for name in ("coverage", "noise_coverage", "interval_width"):
        assert METRICS[name](outcome(intervals=None, noise_intervals=None)) is None


def test_no_records_and_no_errors():
    zero = np.zeros(3)
    empty = Outcome(zero, zero, zero, zero, None, None, records=0, floor=1.0)
    assert all(METRICS[name](empty) == 0 for name in DEFAULT_METRICS)


def test_unknown_metrics_are_refused():
    with pytest.raises(ParameterError, match="metric is 'mse'; it must be one of mean_error"):
        check_metrics(["mse"])
    with pytest.raises(ParameterError, match="metrics is empty"):
        check_metrics([])
    assert check_metrics("rmse") == ("rmse",)


def test_mass_travels_as_far_as_it_must():
    assert earth_movers_distance([[1, 0, 0, 0]], [[0, 0, 0, 5]]) == pytest.approx(3 / 4)
    assert earth_movers_distance([[1, 1], [1, 1]], [[2, 0], [2, 0]]) == pytest.approx(1 / 2 / 2)
    assert earth_movers_distance([[3, 1]], [[30, 10]]) == 0  # only where it lies matters
    assert earth_movers_distance([[-5, 1]], [[0, 1]]) == 0  # below zero there is no mass
    assert earth_movers_distance([[0, 0]], [[1, 1]]) == 0  # no mass counts as even
    assert earth_movers_distance([[7]], [[1]]) == 0
    with pytest.raises(ParameterError, match="maps of the same cells"):
        earth_movers_distance([[1, 2]], [[1], [2]])


@settings(max_examples=25)
@given(st.integers(0, 2**31))
def test_earth_movers_distance_is_the_optimum_over_all_transports(seed):
    """Against the textbook's linear program with a variable for each pair of cells."""
    random = np.random.default_rng(seed)
    ny, nx = random.integers(1, 4, 2)
    a, b = (part / part.sum() for part in random.integers(0, 5, (2, ny * nx)) + 0.01)
    places = np.array([(x / nx, y / ny) for y, x in itertools.product(range(ny), range(nx))])
    costs = np.abs(places[:, None] - places[None]).sum(axis=2)
    out, into = np.kron(np.eye(ny * nx), np.ones(ny * nx)), np.kron(np.ones(ny * nx), np.eye(ny * nx))
    best = linprog(costs.ravel(), A_eq=np.vstack([out, into])[:-1], b_eq=np.concatenate([a, b])[:-1]).fun
    found = earth_movers_distance(a.reshape(ny, nx), b.reshape(ny, nx))
    assert found == pytest.approx(best, abs=1e-9)
    assert found == pytest.approx(earth_movers_distance(b.reshape(ny, nx), a.reshape(ny, nx)), abs=1e-9)
