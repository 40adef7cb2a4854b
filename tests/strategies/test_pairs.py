"""Workloads of boxes and unions: what is optimised is what is asked, and it pays."""

from __future__ import annotations

import json
import pickle
from dataclasses import replace

import numpy as np
import pytest
import shapely

import spatialdp as sdp
from spatialdp.errors import ParameterError
from spatialdp.planning import all_boxes
from spatialdp.privacy.neighbours import Neighbours
from spatialdp.privacy.noise.laws import Law
from spatialdp.strategies import pairs as joint_strategies
from spatialdp.strategies import store as strategy_store
from spatialdp.strategies.axis_workload import AxisWorkload
from spatialdp.strategies.objective import cells_alone
from spatialdp.strategies.pairs import Pair, joint_windows, mean_pair_variance, stored_pair
from spatialdp.strategies.products import BoxQueries, box_queries, parsed, union_queries
from spatialdp.strategies.windows import optimised_windows
from spatialdp.structures.axis_pairs import AxisPairs, forward
from spatialdp.transforms.matrices import WindowAxis
from tests.helpers.sources import ZeroNoise

DOMAIN = sdp.Domain((-10, 40, 10, 60))
ROUND = sdp.Domain((-10, 40, 10, 60), region=shapely.Point(0, 50).buffer(7))
SHAPE = (40, 24)
LAWS = {"laplace": 0, "gaussian": 1e-6}


@pytest.fixture(autouse=True)
def own_cache(tmp_path_factory, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.getbasetemp() / "cache"))


def placed(boxes: np.ndarray) -> np.ndarray:
    """Boxes of the unit square in the domain."""
    return np.asarray(boxes) * 20 + np.array([-10, 40, -10, 40])


def squares(count: int, width: float, height: float, seed: int = 1) -> np.ndarray:
    low = np.random.default_rng(seed).random((count, 2)) * (1 - np.array([width, height]))
    return placed(np.hstack([low, low + np.array([width, height])]))


def corners(count: int) -> np.ndarray:
    far = 0.05 + 0.95 * np.random.default_rng(2).random((count, 2))
    return placed(np.hstack([np.zeros((count, 2)), far]))


WORKLOADS = {
    "any": all_boxes(DOMAIN, 100),
    "prefixes": corners(60),
    "slabs": np.vstack([squares(40, 1, 0.1), squares(40, 0.1, 1)]),
    "tall": squares(50, 0.05, 1),
    "small": squares(80, 0.06, 0.06),
    "one": placed([[0.3, 0.2, 0.61, 0.77]]),
}
# Mean variance over that of the strategy for all boxes: at most. Measured values are a little below.
GAINS = {"any": 1.0, "prefixes": 0.75, "slabs": 0.5, "tall": 0.05, "small": 0.5, "one": 0.05}


def dense(boxes: np.ndarray, grid: sdp.Grid) -> np.ndarray:
    """(boxes, rows, columns) covered shares, cell by cell."""
    x, y = grid.x_edges, grid.y_edges
    west, south, east, north = boxes.T[:, :, None]
    along = np.clip(np.minimum(east, x[1:]) - np.maximum(west, x[:-1]), 0, None) / np.diff(x)
    across = np.clip(np.minimum(north, y[1:]) - np.maximum(south, y[:-1]), 0, None) / np.diff(y)
    return across[:, :, None] * along[:, None, :]


# --- what is asked ----------------------------------------------------------------------------------


@pytest.mark.parametrize("name", WORKLOADS)
def test_gram_of_boxes_is_that_of_their_covered_shares(name):
    grid, boxes = DOMAIN.grid(SHAPE), WORKLOADS[name]
    queries = box_queries(BoxQueries(boxes), grid)
    order = np.unique(DOMAIN.boxes(boxes), axis=0, return_index=True)[1]
    shares = dense(boxes[order], grid)
    for axis, along in ((queries.x, shares.max(axis=1)), (queries.y, shares.max(axis=2))):
        # The largest share along the other axis is 1 wherever a box covers a whole cell; else divide it out.
        along = along / along.max(axis=1, keepdims=True) * np.minimum(1, axis.coverage.parts.max(axis=0))[:, None]
        weights = np.random.default_rng(3).random(len(order))
        expected = np.einsum("b,bi,bj->ij", weights, along, along)
        np.testing.assert_allclose(axis.gram(weights), expected, atol=1e-6 * weights.sum())


def test_repeated_boxes_count_twice_and_order_does_not_matter():
    grid = DOMAIN.grid(SHAPE)
    few = WORKLOADS["small"][:3]
    twice = box_queries(BoxQueries(few[[0, 1, 1, 2]]), grid)
    assert sorted(twice.weights) == [0.25, 0.25, 0.5]
    assert twice == box_queries(BoxQueries(few[[1, 2, 0, 1]]), grid)
    assert twice != box_queries(BoxQueries(few), grid)
    assert hash(twice) != hash(box_queries(BoxQueries(few), grid))


def test_boxes_are_equal_by_value():
    boxes = WORKLOADS["small"]
    mechanism = sdp.Tailored(SHAPE, workload=boxes)
    assert mechanism == sdp.Tailored(SHAPE, workload=boxes.tolist())
    assert hash(mechanism) == hash(sdp.Tailored(SHAPE, workload=boxes.copy()))
    assert mechanism != sdp.Tailored(SHAPE, workload=boxes[:-1])
    assert BoxQueries([(0.0, 0, 1, 1)]) == BoxQueries([(-0.0, 0, 1, 1)])
    boxes = boxes.copy()
    other = sdp.Tailored(SHAPE, workload=boxes)
    boxes[:] = 0
    assert other == mechanism  # what is given is copied


@pytest.mark.parametrize("workload", ["marginals", ("ranges", [(0, 2)]), [("cells", "total", 2), ([(0, 3)], "cells")]])
def test_workloads_survive_a_copy(workload):
    mechanism = sdp.Tailored(SHAPE, workload=workload)
    assert replace(mechanism, law="gaussian").workload == mechanism.workload
    assert pickle.loads(pickle.dumps(mechanism)) == mechanism


def test_forms_of_workloads_are_told_apart():
    both = [("cells", "total"), ("total", "cells")]
    assert parsed(both) == (("cells", "total", 1.0), ("total", "cells", 1.0))
    assert parsed([("cells", "total", 3), ("ranges", [(0, 2), (1, 4)])])[1] == ("ranges", ((0, 2), (1, 4)), 1.0)
    assert parsed(("ranges", "cells")) == (("ranges", "cells", 1.0),)
    assert parsed(([(0, 2), (1, 3)], [(0, 1), (2, 4)])) == ((((0, 2), (1, 3)), ((0, 1), (2, 4)), 1.0),)
    assert parsed([("ranges", "cells")]) == parsed(("ranges", "cells"))
    assert parsed("Boxes") == "boxes"
    assert isinstance(parsed((0, 0, 1, 1)), BoxQueries)
    assert isinstance(parsed([(0, 0, 1, 1), (0, 0, 2, 2)]), BoxQueries)


@pytest.mark.parametrize(
    ("workload", "says"),
    [
        ([], "no boxes|shape"),
        (np.zeros((0, 4)), "no boxes"),
        (np.zeros((3, 3)), r"\(3, 3\)"),
        ([(0, 0, 1, float("nan"))], "NaN"),
        ([(1, 0, 0, 1)], "xmin must not exceed"),
        ([("cells", "total", -1)], "-1"),
        ([("cells", "total", 0)], "positive"),
        ([("cells", "total", float("nan"))], "positive"),
        ([("cells", "total", True)], "positive"),
        ([("cells", "total"), "cells"], "workload"),
        ([("cells", "nonsense"), ("total", "cells")], "nonsense"),
        ({"cells": "total"}, "workload"),
        ([([(0, 1), (2,)], "cells"), ("cells", "total")], "workload"),
        ([("cells", [(0, 3), (5, 2)]), ("cells", "total")], "empty"),
    ],
)
def test_workloads_that_make_no_sense_are_refused(workload, says):
    with pytest.raises(ParameterError, match=says):
        sdp.Tailored(SHAPE, workload=workload)


@pytest.mark.parametrize("mechanism", [sdp.Tailored, sdp.Hierarchy])
@pytest.mark.parametrize("box", [(100, 100, 101, 101), (0, 45, 0, 55), (-9.9, 40.1, -9.5, 40.5)])
def test_boxes_without_area_in_the_domain_are_refused_before_records_are_read(mechanism, box):
    queries = np.vstack([WORKLOADS["one"], [box]])
    with pytest.raises(ParameterError, match=r"box 1 .* no area"):
        mechanism(SHAPE, workload=queries).plan(ROUND, epsilon=1)


# --- what comes of it -------------------------------------------------------------------------------


@pytest.mark.no_cover
@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("name", WORKLOADS)
@pytest.mark.parametrize("domain", [DOMAIN, ROUND], ids=["whole", "region"])
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


@pytest.mark.no_cover
@pytest.mark.parametrize("name", WORKLOADS)
def test_structured_workloads_gain(name):
    boxes = WORKLOADS[name]
    mine, all_of_them = (
        sdp.Tailored((64, 64), law="laplace", workload=queries).expected_error(DOMAIN, boxes, epsilon=1)
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


def test_statement_is_short_whatever_the_number_of_boxes():
    many = all_boxes(DOMAIN, 5000)
    statement = sdp.Hierarchy(SHAPE, workload=many).release(np.empty((0, 2)), DOMAIN, epsilon=1).privacy
    assert statement.parameters["workload"] == f"5000 boxes, sha256 {BoxQueries(many).digest}"
    assert len(json.dumps(statement.to_json())) < 2000


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
