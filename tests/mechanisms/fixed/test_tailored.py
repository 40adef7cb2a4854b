"""Tailored histograms: promised accuracy, perfect reconstruction, variances."""

from __future__ import annotations

import numpy as np
import pytest
import shapely

import spatialdp as sdp
from spatialdp.errors import ParameterError
from spatialdp.privacy.noise.laws import Law
from spatialdp.strategies.axis_workload import ALL_RANGES
from spatialdp.strategies.objective import mean_variance
from spatialdp.strategies.trees import optimised_tree
from spatialdp.transforms.axis import IdentityAxis
from spatialdp.transforms.matrices import WindowAxis
from tests.helpers.sources import ZeroNoise

SIZES = (1, 2, 3, 5, 17, 64, 100, 257)
DOMAIN = sdp.Domain(bounds=(0, 0, 1, 1))


def mean_box_variance(mechanism: sdp.Tailored, shape: tuple[int, int], **budget) -> float:
    """Exact mean over all boxes, from the noise that is really added."""
    axes = mechanism._axes(DOMAIN.grid(shape))
    noise = mechanism.release(np.empty((0, 2)), DOMAIN, noise=ZeroNoise(), **budget).estimate.noise
    return float(noise.variances[0, 0] * np.prod([axis.mean_squares()[0] for axis in axes]))


@pytest.mark.parametrize("workload", ["ranges", ("ranges",), ("ranges", "cells", "total"), 3, None])
def test_2d_workloads_that_make_no_sense_are_refused(workload):
    with pytest.raises(ParameterError):
        sdp.Tailored((4, 4), workload=workload)


def test_ranges_beyond_the_axis_are_refused_before_records_are_read():
    with pytest.raises(ParameterError, match="4 cells"):
        sdp.Tailored((4, 4), workload=([(0, 5)], "ranges")).plan(DOMAIN, epsilon=1)
    with pytest.raises(ParameterError, match="4096"):
        sdp.Tailored((4097, 1)).plan(DOMAIN, epsilon=1)


@pytest.mark.parametrize(("size", "most"), [(64, 476), (128, 1021), (256, 2104)])
def test_mean_box_variance_of_windows_reaches_the_target(size, most):
    mechanism = sdp.Tailored((size, size), law="laplace")
    assert 0.97 * most < mean_box_variance(mechanism, (size, size), epsilon=1) <= most


def test_mean_box_variance_of_trees_reaches_the_target():
    mechanism = sdp.Tailored((256, 256), strategy="trees", law="laplace")
    assert 3110 < mean_box_variance(mechanism, (256, 256), epsilon=1) <= 3120
    gaussian = optimised_tree(256, law=Law.GAUSSIAN)
    assert mean_variance(gaussian, ALL_RANGES, Law.GAUSSIAN) ** 2 / 2 == pytest.approx(69.7, rel=0.001)


@pytest.mark.parametrize("strategy", ["windows", "trees"])
@pytest.mark.parametrize("law", ["discrete-laplace", "laplace", "gaussian"])
@pytest.mark.parametrize("shape", [*((size, 5) for size in SIZES), *((3, size) for size in SIZES), (100, 257)])
def test_perfect_reconstruction_without_noise(shape, law, strategy):
    points = np.random.default_rng(3).random((500, 2)) ** 2
    budget = {"epsilon": 1, "delta": 1e-6} if law == "gaussian" else {"epsilon": 1}
    release = sdp.Tailored(shape, law=law, strategy=strategy).release(points, DOMAIN, noise=ZeroNoise(), **budget)
    counts = np.histogram2d(points[:, 1], points[:, 0], bins=shape[::-1], range=((0, 1), (0, 1)))[0]
    np.testing.assert_allclose(release.estimate.values, counts, atol=1e-8)


def test_short_axes_are_left_as_they_are():
    x, y = sdp.Tailored((5, 64))._axes(DOMAIN.grid((5, 64)))
    assert isinstance(x, IdentityAxis)
    assert isinstance(y, WindowAxis)


def test_box_variances_agree_with_dense_algebra():
    shape = (40, 33)
    release = sdp.Tailored(shape).release([[0.5, 0.5]], DOMAIN, epsilon=1, noise=ZeroNoise())
    estimate = release.estimate
    x, y = estimate.noise.x, estimate.noise.y
    boxes = np.array([[0, 0, 40, 33], [3, 4, 4, 5], [7, 0, 30, 11], [0, 20, 13, 33]])
    lines = estimate.grid.x_lines[boxes[:, [0, 2]]], estimate.grid.y_lines[boxes[:, [1, 3]]]
    lattice = np.stack([lines[0][:, 0], lines[1][:, 0], lines[0][:, 1], lines[1][:, 1]], axis=1)
    strategy = np.kron(y.matrix, x.matrix).astype(float)
    rows = np.zeros((len(boxes), 33, 40))
    for row, (west, south, east, north) in zip(rows, boxes, strict=True):
        row[south:north, west:east] = 1
    flat = rows.reshape(len(boxes), -1)
    weights = strategy @ np.linalg.solve(strategy.T @ strategy, flat.T)
    variance = estimate.noise.variances[0, 0]
    second, kurtosis = estimate.moments(lattice)
    np.testing.assert_allclose(second, variance * (weights**2).sum(axis=0), rtol=1e-8)
    fourth = estimate.noise.kurtosis[0, 0] * (weights**4).sum(axis=0) / (weights**2).sum(axis=0) ** 2
    np.testing.assert_allclose(kurtosis, fourth, rtol=1e-8)
    assert variance == pytest.approx(2 * (x.sensitivities[0].l1 * y.sensitivities[0].l1) ** 2, rel=1e-5)


@pytest.mark.statistical
@pytest.mark.parametrize("law", ["discrete-laplace", "gaussian"])
def test_box_variances_agree_with_simulation(law):
    boxes = np.array([[0, 0, 1, 1], [0.1, 0.2, 0.15, 0.9], [0.33, 0.4, 0.71, 0.52]])
    budget = {"epsilon": 1, "delta": 1e-6} if law == "gaussian" else {"epsilon": 1}
    prepared = sdp.Tailored((64, 32), law=law).prepare(DOMAIN, **budget)
    noise, runs = sdp.SeededNoise(4), 2000
    answers = np.empty((runs, len(boxes)))
    for run in range(runs):
        release = prepared.release(np.empty((0, 2)), noise=noise)
        answers[run] = release.answer(boxes)
    lattice = np.rint(boxes * 2**30).astype(np.int64)
    variance, kurtosis = release.estimate.moments(lattice)
    errors = (answers**2).mean(axis=0) / variance - 1
    spread = np.sqrt((kurtosis + 2) / runs)
    assert np.all(np.abs(errors) < 5 * spread)
    assert np.all(5 * spread < 0.2)  # a scale that is wrong by a tenth would be noticed
    assert np.all(np.abs(answers.mean(axis=0)) < 5 * np.sqrt(variance / runs))


def test_plan_states_the_noise_and_reads_nothing():
    plan = sdp.Tailored((64, 64)).plan(DOMAIN, epsilon=0.5)
    assert sum(plan.budget.values()) == plan.budget.popitem()[1] == 0.5
    replaced = sdp.Tailored((64, 64)).plan(DOMAIN, epsilon=1, neighbours="replace")
    assert replaced.standard_deviation == pytest.approx(plan.standard_deviation, rel=1e-6)


def test_workload_is_what_it_is_good_at():
    shape = (64, 64)
    total = sdp.Tailored(shape, workload=("cells", "total")).release(np.empty((0, 2)), DOMAIN, epsilon=1)
    boxes = sdp.Tailored(shape).release(np.empty((0, 2)), DOMAIN, epsilon=1)
    both = sdp.Tailored(shape, workload="marginals").release(np.empty((0, 2)), DOMAIN, epsilon=1)
    column, row = np.array([[0, 0, 2**24, 2**30]]), np.array([[0, 0, 2**30, 2**24]])
    assert total.estimate.moments(column)[0] < 2.1  # flat: 128
    assert boxes.estimate.moments(column)[0] > 20
    for line in (column, row):
        assert both.estimate.moments(line)[0] < 34


def test_masks_and_file_round_trip(tmp_path):
    domain = sdp.Domain(bounds=(0, 0, 1, 1), region=shapely.Point(0.5, 0.5).buffer(0.4))
    points = np.random.default_rng(5).random((400, 2))
    mechanism = sdp.Tailored((64, 48), workload=([(0, 10), (5, 64)], "ranges"))
    exact = mechanism.release(points, domain, epsilon=1, noise=ZeroNoise())
    inside = np.hypot(*(points - 0.5).T) < 0.4
    assert abs(exact.estimate.total - inside.sum()) < 25  # cells on the rim
    assert np.abs(exact.estimate.values[~exact.estimate.grid.mask]).max() < 1e-8
    release = mechanism.release(points, domain, epsilon=1)
    release.save(tmp_path / "release.parquet")
    again = sdp.load(tmp_path / "release.parquet")
    boxes = np.array([[0, 0, 1, 1], [0.21, 0.3, 0.6, 0.7]])
    assert np.array_equal(again.answer(boxes), release.answer(boxes))
    assert np.array_equal(again.interval(boxes), release.interval(boxes))
    assert again.privacy == release.privacy
