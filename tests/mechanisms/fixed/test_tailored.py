"""Tailored histograms: optimised strategies, exact sensitivities, perfect reconstruction, variances, storage."""

from __future__ import annotations

import io
import itertools

import numpy as np
import pytest
import shapely
from scipy.optimize import check_grad

import spatialdp as sdp
from spatialdp.errors import ParameterError
from spatialdp.outputs.files.noise_models import axis_from_json
from spatialdp.privacy.noise.laws import Law
from spatialdp.strategies import objective
from spatialdp.strategies import store as strategy_store
from spatialdp.strategies import windows as strategies
from spatialdp.strategies.axis_workload import ALL_RANGES, AxisWorkload
from spatialdp.strategies.objective import mean_variance, rounded
from spatialdp.strategies.trees import optimised_tree, tree_strategy
from spatialdp.strategies.windows import Problem, optimised_windows
from spatialdp.transforms.axis import IdentityAxis, sample_intervals
from spatialdp.transforms.matrices import DenseAxis, WindowAxis
from tests.helpers.sources import ZeroNoise

LAWS = (Law.LAPLACE, Law.GAUSSIAN)
SIZES = (1, 2, 3, 5, 17, 64, 100, 257)
DOMAIN = sdp.Domain(bounds=(0, 0, 1, 1))


@pytest.fixture(autouse=True)
def own_cache(tmp_path_factory, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.getbasetemp() / "cache"))


def some_weights(windows: int, size: int) -> np.ndarray:
    return np.random.default_rng(windows * 1000 + size).uniform(0, 1, (windows, size))


def all_ranges(size: int) -> np.ndarray:
    low, high = np.triu_indices(size + 1, 1)
    cells = np.arange(size)
    return ((low[:, None] <= cells) & (cells < high[:, None])).astype(float)


def mean_box_variance(mechanism: sdp.Tailored, shape: tuple[int, int], **budget) -> float:
    """Exact mean over all boxes, from the noise that is really added."""
    axes = mechanism._axes(DOMAIN.grid(shape))
    noise = mechanism.release(np.empty((0, 2)), DOMAIN, noise=ZeroNoise(), **budget).estimate.noise
    return float(noise.variances[0, 0] * np.prod([axis.mean_squares()[0] for axis in axes]))


# --- workloads --------------------------------------------------------------------------------------


@pytest.mark.parametrize("size", [1, 2, 7])
def test_grams_are_means_over_queries(size):
    ranges = all_ranges(size)
    queries = {
        "ranges": ranges,
        "prefixes": ranges[ranges[:, 0] == 1],
        "cells": np.eye(size),
        "total": np.ones((1, size)),
        "marginal": np.vstack([np.eye(size), np.ones((size, size))]),
    }
    for name, rows in queries.items():
        np.testing.assert_allclose(AxisWorkload(name).gram(size), rows.T @ rows / len(rows), err_msg=name)


def test_gram_of_a_list_counts_repeated_ranges():
    rows = np.array([[1, 1, 0, 0], [0, 1, 1, 1], [0, 1, 1, 1]])
    np.testing.assert_allclose(AxisWorkload([(0, 2), (1, 4), (1, 4)]).gram(4), rows.T @ rows / 3)
    pairs = tuple(zip(*np.triu_indices(6, 1), strict=True))
    np.testing.assert_allclose(AxisWorkload(pairs).gram(5), ALL_RANGES.gram(5))


@pytest.mark.parametrize("queries", ["boxes", [], 3, [(2, 2)], [(-1, 2)], [(0, 1.5)], [(0, 1, 2)]])
def test_workloads_that_make_no_sense_are_refused(queries):
    with pytest.raises(ParameterError):
        AxisWorkload(queries)
    with pytest.raises(ParameterError):
        sdp.Tailored((4, 4), workload=(queries, "ranges"))


@pytest.mark.parametrize("workload", ["ranges", ("ranges",), ("ranges", "cells", "total"), 3, None])
def test_2d_workloads_that_make_no_sense_are_refused(workload):
    with pytest.raises(ParameterError):
        sdp.Tailored((4, 4), workload=workload)


def test_ranges_beyond_the_axis_are_refused_before_records_are_read():
    with pytest.raises(ParameterError, match="4 cells"):
        sdp.Tailored((4, 4), workload=([(0, 5)], "ranges")).plan(DOMAIN, epsilon=1)
    with pytest.raises(ParameterError, match="4096"):
        sdp.Tailored((4097, 1)).plan(DOMAIN, epsilon=1)


# --- the objective ----------------------------------------------------------------------------------


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize(("size", "stretches", "windows"), [(6, 6, 2), (9, 9, 12), (13, 5, 3)])
def test_gradient_agrees_with_finite_differences(law, size, stretches, windows):
    problem = Problem.of(ALL_RANGES.gram(size), stretches, law)
    start = some_weights(windows, stretches).ravel()
    shape = (windows, stretches)
    error = check_grad(
        lambda at: problem.value_and_gradient(at.reshape(shape))[0],
        lambda at: problem.value_and_gradient(at.reshape(shape))[1].ravel(),
        start,
        epsilon=1e-6,
    )
    assert error < 1e-5 * np.linalg.norm(problem.value_and_gradient(start.reshape(shape))[1])


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize(("size", "stretches"), [(8, 8), (11, 4)])
def test_objective_is_the_mean_variance_by_pseudo_inverse(law, size, stretches):
    problem = Problem.of(ALL_RANGES.gram(size), stretches, law)
    weights = some_weights(3, stretches)
    cells = np.repeat(weights, problem.sizes.astype(int), axis=1)
    matrix = np.vstack([np.eye(size), cells])
    matrix /= np.linalg.norm(matrix, ord=None, axis=0) if law is Law.GAUSSIAN else matrix.sum(axis=0)
    direct = ((all_ranges(size) @ np.linalg.pinv(matrix)) ** 2).sum(axis=1).mean()
    assert problem.value_and_gradient(weights)[0] == pytest.approx(direct, rel=1e-10)


@pytest.mark.parametrize("law", LAWS)
def test_rounding_gives_whole_weights_and_costs_little(law):
    for size, windows in ((40, 3), (64, 8)):
        weights = some_weights(windows, size) / windows
        exact = Problem.of(ALL_RANGES.gram(size), size, law).value_and_gradient(weights)[0]
        axis = rounded(weights, law)
        assert axis.matrix.dtype == np.int64
        assert axis.diagonal.min() >= 1
        assert axis.windows.min() >= 0
        if law is Law.GAUSSIAN:
            assert (axis.matrix**2).sum(axis=0).max() <= objective.SCALE**2
        else:
            assert set(axis.matrix.sum(axis=0)) == {objective.SCALE}
        assert mean_variance(axis, ALL_RANGES, law) == pytest.approx(exact, rel=0.0025)


@pytest.mark.parametrize("law", LAWS)
def test_rounding_always_leaves_something_to_the_cells(law):
    axis = rounded(np.full((3, 5), 1e9), law)
    assert axis.diagonal.min() >= 1
    power = 2 if law is Law.GAUSSIAN else 1
    assert (axis.matrix**power).sum(axis=0).max() <= objective.SCALE**power


# --- what the optimiser finds -----------------------------------------------------------------------


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("queries", ["ranges", "prefixes", "cells", "total", "marginal", [(0, 9), (3, 20), (5, 6)]])
@pytest.mark.parametrize("size", [20, 65])
def test_never_worse_than_cells_alone(law, queries, size):
    workload = AxisWorkload(queries)
    assert mean_variance(optimised_windows(size, workload, law), workload, law) <= np.trace(workload.gram(size))


@pytest.mark.parametrize("law", LAWS)
def test_simple_workloads_get_their_known_optimum(law):
    cells, total = AxisWorkload("cells"), AxisWorkload("total")
    assert mean_variance(optimised_windows(50, cells, law), cells, law) == pytest.approx(1, abs=1e-6)
    assert mean_variance(optimised_windows(50, total, law), total, law) < 1.02  # one count of everybody has 1


def test_long_axes_are_optimised_in_stretches(monkeypatch):
    # With shorter stretches than usual, so that an axis of 300 cells is a long one.
    monkeypatch.setattr(strategies, "_LONGEST", 64)
    monkeypatch.setattr(strategies, "_SCREENED", 32)
    axis = optimised_windows(300, ALL_RANGES, Law.LAPLACE)
    assert mean_variance(axis, ALL_RANGES, Law.LAPLACE) < mean_variance(optimised_tree(300), ALL_RANGES, Law.LAPLACE)


def test_the_gaussian_optimum_differs_and_is_better_for_gaussian_noise():
    for_laplace, for_gaussian = (strategy_store.stored_windows(64, ALL_RANGES, law) for law in LAWS)
    assert mean_variance(for_gaussian, ALL_RANGES, Law.GAUSSIAN) < 0.8 * mean_variance(
        for_laplace, ALL_RANGES, Law.GAUSSIAN
    )
    assert mean_variance(for_laplace, ALL_RANGES, Law.LAPLACE) < 0.8 * mean_variance(
        for_gaussian, ALL_RANGES, Law.LAPLACE
    )


@pytest.mark.parametrize(("size", "most"), [(64, 476), (128, 1021), (256, 2104)])
def test_mean_box_variance_of_windows_reaches_the_target(size, most):
    mechanism = sdp.Tailored((size, size), law="laplace")
    assert 0.97 * most < mean_box_variance(mechanism, (size, size), epsilon=1) <= most


def test_mean_box_variance_of_trees_reaches_the_target():
    mechanism = sdp.Tailored((256, 256), strategy="trees", law="laplace")
    assert 3110 < mean_box_variance(mechanism, (256, 256), epsilon=1) <= 3120
    gaussian = optimised_tree(256, law=Law.GAUSSIAN)
    assert mean_variance(gaussian, ALL_RANGES, Law.GAUSSIAN) ** 2 / 2 == pytest.approx(69.7, rel=0.001)


def test_gaussian_windows_beat_gaussian_trees_by_far():
    windows = strategy_store.stored_windows(256, ALL_RANGES, Law.GAUSSIAN)
    assert mean_variance(windows, ALL_RANGES, Law.GAUSSIAN) ** 2 / 2 < 35.6  # trees: 69.7, flat: 3,698


def test_the_best_tree_on_256_cells_has_two_levels():
    axis = optimised_tree(256)
    assert axis.windows.shape == (16, 256)
    assert axis.diagonal[0] / 1024 == pytest.approx(0.519, abs=0.002)


@pytest.mark.parametrize("law", LAWS)
def test_tree_weights_are_a_local_optimum(law):
    axis = optimised_tree(64, law=law)
    least = mean_variance(axis, ALL_RANGES, law)
    for factor in (0.9, 1.1):
        changed = WindowAxis(np.rint(axis.diagonal * factor), axis.windows)
        assert mean_variance(changed, ALL_RANGES, law) > least


def test_trees_need_a_level_of_cells():
    with pytest.raises(ParameterError):
        tree_strategy(8, (1, 2), (0.5, 0.5))
    assert tree_strategy(5, (0, 1), (0.5, 0.5)).windows.tolist()[-1] == [0, 0, 0, 0, 512]


# --- the axis ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("size", [2, 17, 40, 64])
def test_sensitivity_is_the_largest_change_by_any_record(law, size):
    for axis in (strategy_store.stored_windows(size, ALL_RANGES, law), optimised_tree(size, law=law)):
        columns = axis.forward(np.eye(size, dtype=np.int64))
        assert axis.sensitivities[0].l1 == np.abs(columns).sum(axis=1).max()
        assert axis.sensitivities[0].l2_squared == (columns**2).sum(axis=1).max()


@pytest.mark.parametrize("law", LAWS)
def test_window_axis_agrees_with_dense_algebra(law):
    axis = strategy_store.stored_windows(64, ALL_RANGES, law)
    dense = DenseAxis(axis.matrix)
    assert axis.sensitivities == dense.sensitivities
    assert axis.n_coefficients == dense.n_coefficients
    counts = np.random.default_rng(1).integers(0, 1000, (5, 64))
    assert np.array_equal(axis.forward(counts), dense.forward(counts))
    noisy = np.random.default_rng(2).normal(size=(3, axis.n_coefficients))
    np.testing.assert_allclose(axis.inverse(noisy), dense.inverse(noisy), atol=1e-12)
    for mine, other in zip(axis.powers(sample_intervals(64)), dense.powers(sample_intervals(64)), strict=True):
        np.testing.assert_allclose(mine, other, rtol=1e-9)
    assert axis.mean_squares()[0] == pytest.approx(axis.powers(sample_intervals(64))[0].mean(), rel=1e-10)


def test_window_axis_sums_exactly_beyond_doubles():
    axis = WindowAxis([3, 5], [[7, 11]])
    large = np.array([[2**55 + 1, 3]])
    assert axis.forward(large).tolist() == [[3 * (2**55 + 1), 15, 7 * (2**55 + 1) + 33]]


@pytest.mark.parametrize(
    ("diagonal", "windows"),
    [([0, 1], [[1, 1]]), ([1, 1], [[1, -1]]), ([1, 1], [[1, 1, 1]]), ([], np.zeros((1, 0))), ([1, 2**40], [[1, 1]])],
)
def test_window_axis_checks_its_weights(diagonal, windows):
    with pytest.raises(ValueError, match=r"weights|fit"):
        WindowAxis(diagonal, windows)


def test_window_axis_as_plain_values():
    axis = WindowAxis([3, 5, 4], [[7, 11, 0], [0, 1, 2]])
    again = axis_from_json(axis.to_json(), 3)
    assert isinstance(again, WindowAxis)
    assert np.array_equal(again.matrix, axis.matrix)
    for data, size in ((axis.to_json(), 4), (axis.to_json() | {"weights": "AAAA"}, 3)):
        with pytest.raises(ValueError):  # noqa: PT011 - numpy's words, or ours
            axis_from_json(data, size)


# --- the mechanism ----------------------------------------------------------------------------------


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
    mechanism, noise, runs = sdp.Tailored((64, 32), law=law), sdp.SeededNoise(4), 2000
    answers = np.empty((runs, len(boxes)))
    for run in range(runs):
        release = mechanism.release(np.empty((0, 2)), DOMAIN, noise=noise, **budget)
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


# --- storage ----------------------------------------------------------------------------------------


def test_shipped_strategies_are_all_there_and_small():
    files = [strategy_store.SHIPPED / strategy_store.file_name(n, ALL_RANGES, law) for n in (32, 512) for law in LAWS]
    assert all(file.is_file() for file in files)
    assert sum(file.stat().st_size for file in strategy_store.SHIPPED.iterdir()) < 1_200_000
    for size, law in itertools.product(strategy_store.SHIPPED_SIZES, LAWS):
        path = strategy_store.SHIPPED / strategy_store.file_name(size, ALL_RANGES, law)
        assert strategy_store.load_axis(path, size, ALL_RANGES, law) is not None


@pytest.mark.parametrize(("size", "law"), [(64, Law.LAPLACE), (128, Law.LAPLACE), (32, Law.GAUSSIAN)])
def test_shipped_strategies_are_what_the_script_finds(size, law):
    path = strategy_store.SHIPPED / strategy_store.file_name(size, ALL_RANGES, law)
    shipped = strategy_store.load_axis(path, size, ALL_RANGES, law)
    again = optimised_windows(size, ALL_RANGES, law)
    assert shipped.windows.shape == again.windows.shape
    assert mean_variance(shipped, ALL_RANGES, law) == pytest.approx(mean_variance(again, ALL_RANGES, law), rel=1e-3)


def least_gaussian_variance(gram: np.ndarray) -> float:
    """Least mean variance of any strategy with Gaussian noise: (tr (V^½ G V^½)^½)² for any V of trace 1, by duality."""
    scale = np.full(len(gram), 1 / np.sqrt(len(gram)))
    for _ in range(40):
        powers, vectors = np.linalg.eigh(gram * np.outer(scale, scale))
        roots = (vectors * np.sqrt(np.maximum(powers, 0))) @ vectors.T
        bound = np.trace(roots) ** 2
        scale = np.sqrt(np.diag(roots) / np.trace(roots))
    return float(bound)


@pytest.mark.parametrize("size", [32, 64, 100, 128, 256])
def test_gaussian_strategies_are_close_to_the_best_of_any_form(size):
    found = mean_variance(strategy_store.stored_windows(size, ALL_RANGES, Law.GAUSSIAN), ALL_RANGES, Law.GAUSSIAN)
    least = least_gaussian_variance(ALL_RANGES.gram(size))
    assert least <= found * (1 + 1e-9)
    assert found <= 1.001 * least


@pytest.mark.parametrize(
    ("size", "law"), [(150, Law.GAUSSIAN), (150, Law.LAPLACE), (200, Law.LAPLACE), (250, Law.LAPLACE)]
)
def test_sizes_between_shipped_ones_come_close_without_a_search(size, law):
    path = strategy_store.SHIPPED / strategy_store.file_name(size, ALL_RANGES, law)
    best = mean_variance(strategy_store.load_axis(path, size, ALL_RANGES, law), ALL_RANGES, law)
    found = optimised_windows(size, ALL_RANGES, law, strategy_store._neighbours(size, law), search=False)
    assert mean_variance(found, ALL_RANGES, law) <= 1.005 * best


def test_no_bar_is_shown_where_nobody_watches(capsys):
    optimised_windows(50, ALL_RANGES, Law.LAPLACE)
    assert capsys.readouterr() == ("", "")


@pytest.fixture
def cached(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    strategy_store.stored_windows.cache_clear()
    strategy_store.stored_windows(40, ALL_RANGES, Law.LAPLACE)
    strategy_store.stored_windows.cache_clear()
    return strategy_store.cache_folder() / strategy_store.file_name(40, ALL_RANGES, Law.LAPLACE)


def test_strategies_are_found_once(cached, monkeypatch):
    assert cached.is_file()
    monkeypatch.setattr(strategy_store, "optimised_windows", None)
    assert len(strategy_store.stored_windows(40, ALL_RANGES, Law.DISCRETE_LAPLACE).windows)


def archive(**arrays) -> bytes:
    file = io.BytesIO()
    np.savez(file, **arrays)
    return file.getvalue()


def test_cached_files_that_are_not_what_they_should_be_are_ignored(cached):
    good, purpose = cached.read_bytes(), ["ranges", "laplace"]
    with np.load(cached) as stored:
        weights, digest = stored["weights"], stored["digest"]
    altered = weights.copy()
    altered[0, 0] += 1
    poor = np.vstack([np.ones(40), np.full((1, 40), 30_000)]).astype("<i2")
    others = [
        *(b"", b"nonsense", good[:-40], good[:200] + b"\xff" + good[201:]),
        archive(weights=altered, digest=digest),
        archive(weights=weights),
        archive(weights=weights[:, 1:], digest=digest),
        archive(weights=weights.astype(float), digest=digest),
        archive(weights=np.array([{}], dtype=object), digest=digest),
        archive(weights=-weights, digest=strategy_store._digest(-weights, purpose)),
        archive(weights=poor, digest=strategy_store._digest(poor, purpose)),
    ]
    for content in others:
        cached.write_bytes(content)
        assert strategy_store.load_axis(cached, 40, ALL_RANGES, Law.LAPLACE) is None
    strategy_store.stored_windows(40, ALL_RANGES, Law.LAPLACE)  # and are replaced
    assert strategy_store.load_axis(cached, 40, ALL_RANGES, Law.LAPLACE) is not None
    assert strategy_store.load_axis(cached, 40, AxisWorkload("prefixes"), Law.LAPLACE) is None


def test_a_cache_that_can_not_be_written_does_not_matter(tmp_path, monkeypatch):
    (tmp_path / "spatialdp").write_text("not a folder")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    strategy_store.stored_windows.cache_clear()
    assert strategy_store.stored_windows(41, ALL_RANGES, Law.LAPLACE).size == 41
