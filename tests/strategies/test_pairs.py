"""Strategies of both axes, fitted to boxes and unions: what is optimised is what is asked, and it pays."""

from __future__ import annotations

import numpy as np
import pytest

import spatialdp as sdp
from spatialdp.errors import ParameterError
from spatialdp.privacy.neighbours import Neighbours
from spatialdp.privacy.noise.laws import Law
from spatialdp.strategies import pairs as joint_strategies
from spatialdp.strategies import store as strategy_store
from spatialdp.strategies.axis_workload import AxisWorkload
from spatialdp.strategies.objective import cells_alone
from spatialdp.strategies.pairs import Pair, joint_windows, mean_pair_variance, stored_pair
from spatialdp.strategies.products import BoxQueries, box_queries, union_queries
from spatialdp.strategies.windows import optimised_windows
from spatialdp.structures.axis_pairs import AxisPairs, forward
from spatialdp.transforms.matrices import WindowAxis
from tests.helpers.sources import ZeroNoise
from tests.helpers.workloads import DOMAIN, LAWS, ROUND, SHAPE, WORKLOADS, placed


@pytest.fixture(autouse=True)
def own_cache(tmp_path_factory, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.getbasetemp() / "cache"))


# Mean variance over that of the strategy for all boxes: at most. Measured values are a little below.
GAINS = {"any": 1.0, "prefixes": 0.75, "slabs": 0.5, "tall": 0.05, "small": 0.5, "one": 0.05}


# --- what comes of it -------------------------------------------------------------------------------


@pytest.mark.unmeasured
@pytest.mark.parametrize(
    ("name", "law", "domain"),
    [
        pytest.param(name, law, domain, marks=pytest.mark.audit if (turn + i + j) % 2 else ())
        for turn, name in enumerate(WORKLOADS)
        for i, law in enumerate(LAWS)
        for j, domain in enumerate((DOMAIN, ROUND))
    ],
)
def test_claimed_variance_is_the_expected_error_of_the_boxes(name, law, domain):
    boxes = WORKLOADS[name]
    lattice = box_questions_or_none(boxes, domain)
    if lattice is None:
        boxes = np.clip(boxes, [-3, 47, -2, 48], [2, 52, 3, 53])
    mechanism = sdp.Tailored(SHAPE, workload=boxes, law=law)
    grid = domain.grid(SHAPE)
    queries = box_queries(mechanism.workload, grid)
    claimed = mean_pair_variance(queries, stored_pair(queries, mechanism.law), mechanism.law)
    budget = {"epsilon": 0.5, "delta": LAWS[law]}
    one = sdp.Flat((1, 1), law=law).expected_error(domain, [domain.bounds], **budget)
    assert mechanism.expected_error(domain, boxes, **budget) == pytest.approx(one * np.sqrt(claimed), rel=1e-3)
    everything = sdp.Tailored(SHAPE, law=law).expected_error(domain, boxes, **budget)
    cells = sdp.Flat(SHAPE, law=law).expected_error(DOMAIN, boxes, **budget)
    assert mechanism.expected_error(domain, boxes, **budget) <= 1.0005 * min(everything, cells)


def box_questions_or_none(boxes, domain):
    try:
        return box_queries(BoxQueries(boxes), domain.grid(SHAPE))
    except ParameterError:
        return None


@pytest.mark.unmeasured
@pytest.mark.parametrize("side", [32, pytest.param(64, marks=pytest.mark.audit)])
@pytest.mark.parametrize("name", WORKLOADS)
def test_structured_workloads_gain(name, side):
    boxes = WORKLOADS[name]
    mine, all_of_them = (
        sdp.Tailored((side, side), law="laplace", workload=queries).expected_error(DOMAIN, boxes, epsilon=1)
        for queries in (boxes, "boxes")
    )
    assert mine**2 <= GAINS[name] * all_of_them**2


def test_trees_can_be_fitted_to_boxes():
    boxes = WORKLOADS["tall"]
    mine, general, windows = (
        sdp.Tailored((64, 64), workload=queries, strategy=strategy).expected_error(DOMAIN, boxes, epsilon=1)
        for queries, strategy in ((boxes, "trees"), ("boxes", "trees"), (boxes, "windows"))
    )
    assert windows <= mine < 0.5 * general


@pytest.mark.parametrize("law", LAWS)
def test_sensitivity_of_a_fitted_strategy_by_unit_impulses(law):
    shape = (30, 7)
    mechanism = sdp.Tailored(shape, workload=np.vstack([WORKLOADS["slabs"], WORKLOADS["any"]]), law=law)
    grid = DOMAIN.grid(shape)
    axes = mechanism._axes(grid)
    units = np.eye(30 * 7, dtype=np.int64).reshape(-1, 7, 30)
    changes = np.array([forward(unit, axes).ravel() for unit in units])
    declared = AxisPairs(grid, *axes).sensitivity(0, Neighbours.ADD_REMOVE)
    assert any(isinstance(axis, WindowAxis) for axis in axes)
    assert declared.l1 == np.abs(changes).sum(axis=1).max()
    assert declared.l2_squared == (changes**2).sum(axis=1).max()


@pytest.mark.parametrize("domain", [DOMAIN, ROUND], ids=["whole", "region"])
def test_perfect_reconstruction_and_file_round_trip(domain, tmp_path):
    points = np.random.default_rng(5).uniform((-10, 40), (10, 60), (300, 2))
    mechanism = sdp.Tailored(SHAPE, workload=np.clip(WORKLOADS["slabs"], [-3, 47, -2, 48], [2, 52, 3, 53]))
    exact = mechanism.release(points, domain, epsilon=1, noise=ZeroNoise())
    flat = sdp.Flat(SHAPE).release(points, domain, epsilon=1, noise=ZeroNoise())
    mask = flat.estimate.grid.mask
    np.testing.assert_allclose(exact.estimate.values[mask], flat.estimate.values[mask], atol=1e-7)
    release = mechanism.release(points, domain, epsilon=1)
    release.save(tmp_path / "release.parquet")
    again = sdp.load(tmp_path / "release.parquet")
    assert again.privacy == release.privacy
    assert again.interval(WORKLOADS["one"]) == pytest.approx(release.interval(WORKLOADS["one"]))


# --- unions -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("law", [Law.LAPLACE, Law.GAUSSIAN])
def test_a_union_of_one_product_is_that_product(law):
    queries = union_queries([("prefixes", "ranges", 2.0)], (40, 30))
    found = mean_pair_variance(queries, joint_windows(queries, law), law)
    x, y = (optimised_windows(n, AxisWorkload(q), law) for n, q in ((40, "prefixes"), (30, "ranges")))
    assert found == pytest.approx(mean_pair_variance(queries, Pair(x, y), law), rel=0.003)


def test_union_is_the_weighted_mean_of_its_products():
    products = [("cells", "total", 1.0), ("total", "prefixes", 3.0)]
    pair = Pair(optimised_windows(30, AxisWorkload(), Law.LAPLACE), cells_alone(20))
    parts = [mean_pair_variance(union_queries([p], (30, 20)), pair, Law.LAPLACE) for p in products]
    mixed = mean_pair_variance(union_queries(products, (30, 20)), pair, Law.LAPLACE)
    assert mixed == pytest.approx((parts[0] + 3 * parts[1]) / 4)


def lines(shape: tuple[int, int]) -> tuple[np.ndarray, np.ndarray]:
    """Boxes of all columns and of all rows."""
    x, y = (np.arange(n) / n for n in shape)
    columns = np.stack([x, 0 * x, x + 1 / shape[0], 0 * x + 1], axis=1)
    rows = np.stack([0 * y, y, 0 * y + 1, y + 1 / shape[1]], axis=1)
    return placed(columns), placed(rows)


def test_marginals_are_both_marginals():
    columns, rows = lines((64, 64))
    by_name, by_boxes, product = (
        sdp.Tailored((64, 64), workload=queries, law="laplace").expected_error(
            DOMAIN, np.vstack([columns, rows]), epsilon=1
        )
        for queries in ("marginals", np.vstack([columns, rows]), ("marginal", "marginal"))
    )
    assert by_name**2 < 32  # two histograms with half the budget each, which hold nothing else: 8; flat: 128
    assert by_boxes == pytest.approx(by_name, rel=0.01)
    assert by_name < product


def test_weights_move_accuracy_to_where_it_matters():
    columns, rows = lines((64, 64))
    weighted = sdp.Tailored((64, 64), workload=[("cells", "total", 100), ("total", "cells")])
    on_columns, on_rows = (weighted.expected_error(DOMAIN, queries, epsilon=1) for queries in (columns, rows))
    assert on_columns**2 < 12 < on_rows**2


# --- kept results -----------------------------------------------------------------------------------


def test_fitted_strategies_are_kept_and_damaged_ones_ignored(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    queries = box_queries(BoxQueries(WORKLOADS["slabs"]), DOMAIN.grid((20, 12)))
    stored_pair.cache_clear()
    first = stored_pair(queries, Law.LAPLACE)
    mine = sorted(strategy_store.cache_folder().glob(f"{queries.digest[:24]}-?-laplace-*.npz"))
    assert len(mine) == 2
    with monkeypatch.context() as without:
        without.setattr(joint_strategies, "joint_windows", None)
        stored_pair.cache_clear()
        for again, before in zip(stored_pair(queries, Law.DISCRETE_LAPLACE), first, strict=True):
            assert np.array_equal(again.matrix, before.matrix)
        other = box_queries(BoxQueries(WORKLOADS["slabs"][1:]), DOMAIN.grid((20, 12)))
        with pytest.raises(TypeError):
            stored_pair(other, Law.LAPLACE)
    for damage in (b"", mine[0].read_bytes()[:-30], mine[1].read_bytes()):
        mine[0].write_bytes(damage)
        stored_pair.cache_clear()
        for again, before in zip(stored_pair(queries, Law.LAPLACE), first, strict=True):
            assert np.array_equal(again.matrix, before.matrix)
    assert mine[0].stat().st_size > 100  # and is written anew


# --- hierarchies and recommendations ----------------------------------------------------------------


@pytest.mark.parametrize("name", ["prefixes", "slabs", "small"])
def test_hierarchies_fit_given_boxes(name):
    boxes = WORKLOADS[name]
    errors = [
        sdp.Hierarchy((64, 64), workload=queries).expected_error(DOMAIN, boxes, epsilon=1)
        for queries in (boxes, "boxes", "cells")
    ]
    assert errors[0] <= 1.01 * min(errors)


def test_recommendation_is_fitted_to_the_boxes_and_can_be_used():
    boxes = WORKLOADS["slabs"]
    best, *others = sdp.recommend(DOMAIN, 1, boxes, shape=(32, 32))
    assert best.mechanism == sdp.Tailored((32, 32), workload=boxes)
    assert best.error < 0.9 * min(other.error for other in others)
    release = best.mechanism.release(np.empty((0, 2)), DOMAIN, epsilon=1)
    assert best.error**2 == pytest.approx(release.estimate.moments(DOMAIN.boxes(boxes))[0].mean())
    assert any(other.mechanism == sdp.Hierarchy((32, 32), workload=boxes) for other in others)
