"""Hierarchies of blocks: structure, sensitivity, budgets, the fit, and the promised accuracy."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise, product

import numpy as np
import pytest
import shapely

import spatialdp as sdp
from spatialdp.errors import BudgetError, DomainError, ParameterError
from spatialdp.mechanisms.fixed.hierarchy import published_branching
from spatialdp.privacy.noise.laws import Law
from spatialdp.privacy.noise.source import SeededNoise
from spatialdp.space.coverage import block_powers
from spatialdp.space.lattice import edge_lines
from spatialdp.strategies.levels import BlockQueries, best_budget, best_levels, mean_variance
from spatialdp.trees.blocks import block_tree, levels_of
from spatialdp.trees.tree import sums
from tests.helpers.sources import RecordingNoise, ZeroNoise
from tests.helpers.trees import dense_membership
from tests.reference.dense_trees import box_moments

UNIT = sdp.Domain((0, 0, 1, 1))
REGION = shapely.Polygon([(0, 0), (1, 0), (1, 0.6), (0.3, 1), (0, 0.5)])
RNG = np.random.default_rng(4)
XY = np.concatenate([RNG.normal(0.3, 0.05, (300, 2)), RNG.random((200, 2))])
BOXES = np.sort(RNG.random((60, 2, 2)), axis=1).reshape(-1, 4)


def cell_boxes(shape, count, seed=0):
    """Random boxes of whole cells, every box equally likely."""
    rng = np.random.default_rng(seed)
    ends = [np.sort([rng.choice(n + 1, 2, replace=False) for _ in range(count)], axis=1) for n in shape]
    (xlo, xhi), (ylo, yhi) = (edge_lines(n)[end].T for n, end in zip(shape, ends, strict=True))
    return np.stack([xlo, ylo, xhi, yhi], axis=1)


def coverage(leaves, lattice):
    """Covered share of every leaf by every box, by the definition."""
    q, b = lattice[:, None, :].astype(float), leaves[None, :, :].astype(float)
    width = np.clip(np.minimum(q[..., 2], b[..., 2]) - np.maximum(q[..., 0], b[..., 0]), 0, None)
    height = np.clip(np.minimum(q[..., 3], b[..., 3]) - np.maximum(q[..., 1], b[..., 1]), 0, None)
    return width * height / ((b[..., 2] - b[..., 0]) * (b[..., 3] - b[..., 1]))


CASES = {
    "default": ((13, 7), {}),
    "whole blocks": ((12, 12), {"levels": (1, 2, 6)}),
    "odd": ((7, 7), {"levels": (1, 2, 4), "budget": (3, 2, 1)}),
    "root": ((9, 4), {"levels": (1, 3), "root": True}),
    "zero": ((9, 5), {"levels": (1, 2, 4), "budget": (1, 0, 2)}),
    "row": ((11, 1), {"branching": 2, "levels": "uniform", "root": True}),
    "column": ((1, 6), {"branching": 3, "levels": "uniform"}),
    "hay": ((8, 8), {"branching": 2, "levels": "uniform", "root": True}),
    "hb": ((10, 10), {"branching": "hb", "levels": "uniform"}),
    "flat": ((40, 3), {"levels": (1,)}),
    "cells": ((6, 6), {"workload": "cells"}),
    "gaussian": ((9, 8), {"law": "gaussian"}),
    "fine": ((5, 5), {"law": "laplace", "levels": (1, 2)}),
    "one": ((1, 1), {"root": True}),
}


def make(name, region=None, noise=None, consistent=True, epsilon=1):
    shape, options = CASES[name]
    delta = 1e-6 if name == "gaussian" else 0
    domain = sdp.Domain((0, 0, 1, 1), region=region if min(shape) > 1 else None)
    mechanism = sdp.Hierarchy(shape, consistent=consistent, **options)
    return mechanism.release(XY, domain, epsilon=epsilon, delta=delta, noise=noise or SeededNoise(3))


# --- structure ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("region", [None, REGION], ids=["whole", "region"])
@pytest.mark.parametrize(
    ("shape", "sides"), [((7, 5), (8, 4, 2, 1)), ((9, 9), (9, 3, 1)), ((100, 37), (128, 16, 1)), ((5, 40), (64, 8, 1))]
)
def test_blocks_partition_their_parents(shape, sides, region):
    grid = sdp.Domain((0, 0, 1, 1), region=region).grid(shape)
    blocks = block_tree(grid, sides)
    tree, nx = blocks.tree, shape[0]
    assert tree.n_leaves == grid.n_cells == blocks.cells.size
    rows, columns = np.divmod(blocks.cells, nx)
    x, y = grid.x_lines, grid.y_lines
    leaves = tree.boxes[tree.leaves]
    assert np.array_equal(leaves, np.stack([x[columns], y[rows], x[columns + 1], y[rows + 1]], axis=1))
    parents = tree.boxes[tree.parent[1:]]
    assert (tree.boxes[1:, :2] >= parents[:, :2]).all()
    assert (tree.boxes[1:, 2:] <= parents[:, 2:]).all()
    ones = sums(tree, np.ones(tree.n_leaves, dtype=int))
    for depth, side in enumerate(sides):
        shapes = [(-(-n // side)) for n in shape]
        held = np.zeros(shapes[::-1], dtype=int)
        np.add.at(held, (rows // side, columns // side), 1)
        assert sorted(ones[tree.level(depth)]) == sorted(held[held > 0])
        lower = tree.boxes[tree.level(depth), :2]
        assert np.isin(lower[:, 0], x[:-1:side]).all()
        assert np.isin(lower[:, 1], y[:-1:side]).all()


def test_too_many_children_get_nodes_between():
    assert levels_of((1, 8, 32), (256, 256)) == (256, 32, 8, 1)
    assert levels_of((1, 16, 300), (300, 20)) == (304, 16, 1)
    assert levels_of((1,), (1, 1)) == (1,)
    for shape in ((5000, 2), (3, 70_000)):
        sides = levels_of((1, 2), shape)
        assert sides[0] >= max(shape)
        assert all(a % b == 0 and a // b <= 32 for a, b in pairwise(sides))


# --- privacy -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", CASES)
def test_levels_cost_the_whole_exactly(name):
    privacy = make(name, epsilon=Fraction(1, 3)).privacy
    assert sum(privacy.budget.values()) == (privacy._granted() if name == "gaussian" else Fraction(1, 3))
    assert all(cost > 0 for cost in privacy.budget.values())


@pytest.mark.parametrize("neighbours", ["add-remove", "replace"])
def test_every_measured_level_draws_noise_of_its_scale_once(neighbours):
    source = RecordingNoise(1)
    mechanism = sdp.Hierarchy((10, 10), levels=(1, 2, 4), budget=(3, 0, 2), root=False)
    release = mechanism.release(XY, UNIT, epsilon=1, neighbours=neighbours, noise=source)
    factor = 1 if neighbours == "add-remove" else 2
    assert release.privacy.budget == {"counts of cells": Fraction(3, 5), "counts of 4 x 4 cells": Fraction(2, 5)}
    assert source.calls == [("laplace", factor * Fraction(5, 2), (9,)), ("laplace", factor * Fraction(5, 3), (100,))]
    source = RecordingNoise(1)
    sdp.Hierarchy((4, 4), levels=(1,), budget=(1, 1), root=True).release(
        [], UNIT, epsilon=1, neighbours=neighbours, noise=source
    )
    assert source.calls == [("laplace", Fraction(2), (1,)), ("laplace", factor * Fraction(2), (16,))]


def test_regions_draw_no_noise_outside():
    domain, source = sdp.Domain((0, 0, 1, 1), region=shapely.box(0, 0, 0.5, 0.25)), RecordingNoise(1)
    mechanism = sdp.Hierarchy((16, 16), levels=(1, 4), budget=(1, 1))
    release = mechanism.release(XY, domain, epsilon=1, noise=source)
    assert [call[2] for call in source.calls] == [(2,), (32,)]
    assert release.answer((0.6, 0.6, 1, 1)) == 0
    whole = mechanism.release([], UNIT, epsilon=1).estimate
    lattice = UNIT.boxes(BOXES)
    assert (release.estimate.moments(lattice)[0] <= whole.moments(lattice)[0] * (1 + 1e-9)).all()


# --- the fit and its variances -----------------------------------------------------------------------


@pytest.mark.parametrize("region", [None, REGION], ids=["whole", "region"])
@pytest.mark.parametrize("name", CASES)
def test_estimates_and_variances_equal_dense_least_squares(name, region):
    release, raw = make(name, region), make(name, region, consistent=False)
    estimate, tree = release.estimate, release.estimate.tree
    variances = estimate.variances[tree.depth]
    measured = np.isfinite(variances)
    design = dense_membership(tree)[measured]
    weighted = design.T / variances[measured]
    covariance = np.linalg.inv(weighted @ design)
    assert estimate.values[tree.leaves] == pytest.approx(
        covariance @ weighted @ raw.estimate.values[measured], abs=1e-7
    )
    lattice = UNIT.boxes(np.concatenate([BOXES, [(0, 0, 1, 1), (0.2, 0.3, 0.2, 0.3)]]))
    shares = coverage(estimate.leaf_boxes(), lattice)
    variance, kurtosis = estimate.moments(lattice)
    assert variance == pytest.approx(np.einsum("ij,jk,ik->i", shares, covariance, shares), rel=1e-8, abs=1e-10)
    assert kurtosis == pytest.approx(
        box_moments(tree, estimate.noise.subtree, shares, estimate.kurtosis)[1], rel=1e-6, abs=1e-9
    )
    assert release.answer(BOXES) == pytest.approx(shares[: len(BOXES)] @ estimate.values[tree.leaves], abs=1e-7)
    cut = np.where((shares > 0) & (shares < 1), np.maximum(shares, 1 - shares), 0)
    bound = cut @ np.maximum(estimate.values[tree.leaves], 0)
    assert estimate.uniformity(lattice) == pytest.approx(bound, abs=1e-6)


@pytest.mark.parametrize("region", [None, REGION], ids=["whole", "region"])
@pytest.mark.parametrize("name", CASES)
def test_raw_answers_take_the_largest_nodes(name, region):
    estimate, lattice = make(name, region, consistent=False).estimate, UNIT.boxes([*BOXES, (0, 0, 1, 1)])
    weights = largest_nodes(estimate, lattice)
    variances = estimate.variances[estimate.tree.depth]
    held = np.where(np.isfinite(variances), variances, 0)
    assert estimate.answer(lattice) == pytest.approx(weights @ estimate.values, abs=1e-7)
    variance, kurtosis = estimate.moments(lattice)
    assert variance == pytest.approx(weights**2 @ held, rel=1e-9, abs=1e-12)
    fourth = weights**4 @ (held**2 * estimate.kurtosis[estimate.tree.depth])
    assert kurtosis * variance**2 == pytest.approx(fourth, rel=1e-7, abs=1e-9)


def largest_nodes(estimate, lattice):
    """Weight of every node in every answer: measured nodes wholly inside, shares of cut leaves, nothing twice."""
    tree = estimate.tree
    shares = coverage(tree.boxes, lattice)
    usable = tree.leaves | ((shares == 1) & np.isfinite(estimate.variances[tree.depth]))
    covered = np.zeros_like(usable)
    for node in range(1, tree.n_nodes):
        parent = tree.parent[node]
        covered[:, node] = covered[:, parent] | usable[:, parent]
    return np.where(usable & ~covered, shares, 0.0)


def test_closed_form_equals_the_walk():
    mechanism = sdp.Hierarchy((160, 120), levels=(1, 4, 20), root=True)
    estimate, lattice = mechanism.release([], UNIT, epsilon=1).estimate, UNIT.boxes(BOXES)
    assert estimate._is_complete
    second, fourth = estimate._fitted_cumulants(lattice)
    variance, kurtosis = estimate.moments(lattice)
    assert variance == pytest.approx(second, rel=1e-8)
    assert (kurtosis >= fourth / second**2 - 1e-9).all()
    ragged = sdp.Hierarchy((160, 121), levels=(1, 4, 20)).release([], UNIT, epsilon=1).estimate
    assert not ragged._is_complete
    masked = sdp.Domain((0, 0, 1, 1), region=REGION)
    assert not mechanism.release([], masked, epsilon=1).estimate._is_complete


@pytest.mark.statistical
def test_variance_and_coverage_of_simulated_releases():
    mechanism, boxes = sdp.Hierarchy((11, 9), levels=(1, 3)), BOXES[:20]
    noise = SeededNoise(5)
    releases = [mechanism.release([], UNIT, epsilon=1, noise=noise) for _ in range(2000)]
    answers = np.array([release.answer(boxes) for release in releases])
    variance = releases[0].estimate.moments(UNIT.boxes(boxes))[0]
    assert np.median(answers.var(axis=0) / variance) == pytest.approx(1, abs=0.03)
    assert answers.var(axis=0) == pytest.approx(variance, rel=0.25)  # 5 standard errors, fixed seed
    half = np.diff(releases[0].interval(boxes), axis=1)[:, 0] / 2
    assert 0.94 < (np.abs(answers) <= half).mean() < 0.965


# --- optimised levels --------------------------------------------------------------------------------


@pytest.mark.parametrize("size", [None, (3, 2), (1, 1), (12, 8)])
def test_mean_variance_is_that_of_all_boxes(size):
    shape, workload = (12, 8), BlockQueries(size)
    release = sdp.Hierarchy(shape, levels=(1, 2, 4), budget=(3, 2, 1), law="laplace").release([], UNIT, epsilon=1)
    ends = [[(a, b) for a in range(n) for b in range(a + 1, n + 1)] for n in shape]
    if size:
        ends = [[(a, b) for a, b in one if b - a == length] for one, length in zip(ends, size, strict=True)]
    x, y = (edge_lines(n)[np.array(end)] for n, end in zip(shape, ends, strict=True))
    boxes = np.array([(a, c, b, d) for (a, b), (c, d) in product(x, y)])
    variances = release.estimate.variances[1:][::-1]
    expected = release.estimate.moments(boxes)[0].mean()
    assert mean_variance(shape, (1, 2, 4), variances, workload) == pytest.approx(expected, rel=1e-9)


def test_cut_off_blocks_are_close_to_their_estimate():
    shape, sides = (50, 37), (1, 4, 12)
    release = sdp.Hierarchy(shape, levels=sides, law="laplace").release([], UNIT, epsilon=1)
    exact = release.estimate.moments(cell_boxes(shape, 4000))[0].mean()
    flat = mean_variance(shape, [1], [2.0], BlockQueries())
    sample = release.estimate._leaf_values.coverages(cell_boxes(shape, 4000))
    drawn = 2 * (sample[0].squares(1) * sample[1].squares(1)).mean()
    variances = release.estimate.variances[1:][::-1]
    assert mean_variance(shape, sides, variances, BlockQueries()) / flat == pytest.approx(exact / drawn, rel=0.03)


def exact_mean(mechanism, epsilon=1, delta=0):
    release = mechanism.release([], UNIT, epsilon=epsilon, delta=delta, noise=ZeroNoise())
    estimate = release.estimate
    measured = [
        (side[0], variance)
        for side, variance in zip(estimate._leaf_grid.block_sides, estimate.variances, strict=True)
        if np.isfinite(variance)
    ]
    sides, variances = zip(*measured[::-1], strict=True)
    return mean_variance(estimate.shape, sides, variances, BlockQueries())


def test_promised_mean_variances_on_256_cells_a_side():
    flat, best = sdp.Hierarchy((256, 256), levels=(1,), law="laplace"), sdp.Hierarchy((256, 256), law="laplace")
    assert exact_mean(flat) == pytest.approx(14_792, rel=1e-3)
    assert exact_mean(best) <= 3_300
    assert exact_mean(sdp.Hierarchy((256, 256))) < exact_mean(best)  # discrete noise is a little narrower
    boxes = cell_boxes((256, 256), 2000)
    for branching, expected in ((16, 7_250), ("hb", 7_769), (4, 8_464)):
        mechanism = sdp.Hierarchy((256, 256), branching=branching, levels="uniform", law="laplace")
        variance = mechanism.release([], UNIT, epsilon=1).estimate.moments(boxes)[0].mean()
        assert variance == pytest.approx(expected, rel=0.03)


def test_gaussian_noise_wants_all_levels():
    best = best_levels((256, 256), Law.GAUSSIAN, BlockQueries())
    assert best.sides == (1, 2, 4, 8, 16, 32, 64, 128)
    variances = [1 / (2 * share) for share in best.shares]
    assert mean_variance((256, 256), best.sides, variances, BlockQueries()) == pytest.approx(236, rel=0.02)
    rooted = best_levels((256, 256), Law.GAUSSIAN, BlockQueries(), root=True)
    assert mean_variance((256, 256), rooted.sides, [1 / (2 * s) for s in rooted.shares], BlockQueries()) < 236.5


@pytest.mark.parametrize("law", [Law.LAPLACE, Law.GAUSSIAN])
@pytest.mark.parametrize("shape", [(256, 256), (100, 37), (1000, 1), (31, 64)])
def test_no_small_change_of_the_shares_is_better(shape, law):
    best = best_levels(shape, law, BlockQueries())

    def mean(shares):
        spent = np.array(shares) / sum(shares)
        return mean_variance(shape, best.sides, 2 / spent**2 if law is Law.LAPLACE else 0.5 / spent, BlockQueries())

    least = mean(best.shares)
    for i, factor in product(range(len(best.shares)), (0.98, 1.02)):
        moved = list(best.shares)
        moved[i] *= factor
        assert mean(moved) >= least * (1 - 1e-9)
    assert least <= mean_variance(shape, [1], [2.0 if law is Law.LAPLACE else 0.5], BlockQueries())


def test_the_workload_decides():
    def sides(workload, **options):
        return list(sdp.Hierarchy((64, 64), workload=workload, **options).plan(UNIT, epsilon=1).budget)

    assert sides("cells") == ["counts of cells"]
    assert sides("boxes") == ["counts of cells", "counts of 8 x 8 cells"]
    assert "count of all records" in sides((64, 64), root=True)
    assert best_budget((64, 64), (1, 8), Law.LAPLACE, BlockQueries((1, 1))).sides == (1,)
    for size in ((4, 4), (20, 30)):
        best = best_levels((64, 64), Law.LAPLACE, BlockQueries(size))
        other = best_levels((64, 64), Law.LAPLACE, BlockQueries())
        means = [
            mean_variance((64, 64), one.sides, [2 / s**2 for s in one.shares], BlockQueries(size))
            for one in (best, other)
        ]
        assert means[0] <= means[1] * 1.021


@pytest.mark.parametrize("shape", [(1, 1), (1, 2), (2, 2), (3, 5), (17, 1), (257, 100), (4096, 4096), (100_000, 1)])
def test_any_shape_has_best_levels(shape):
    for law in (Law.LAPLACE, Law.GAUSSIAN):
        best = best_levels(shape, law, BlockQueries())
        assert best.sides[0] == 1
        assert sum(best.shares) == pytest.approx(1)
        assert best.sides[-1] < max(shape) or best.sides == (1,)


def test_block_powers_equal_the_definition():
    start, stop = np.sort(RNG.random((2, 50)) * 20, axis=0)
    ends = np.arange(21)
    shares = np.clip(np.minimum(stop[:, None], ends[1:]) - np.maximum(start[:, None], ends[:-1]), 0, None)
    for power in (2, 4):
        assert block_powers(start, stop, power) == pytest.approx((shares**power).sum(axis=1))


@pytest.mark.parametrize("one_row", [False, True])
def test_published_branching_is_the_least_of_its_rule(one_row):
    def height(b, n):
        h, reach = 0, 1
        while reach < n:
            h, reach = h + 1, reach * b
        return h

    def error(b, n):
        h = height(b, n)
        return 3 * (b - 1) * h**3 - 2 * (b + 1) * h**2 if one_row else b * (n - 1) * h**2

    for n in (2, 3, 16, 64, 100, 243, 256, 1000, 1024):
        found = published_branching((n, 1 if one_row else n))
        assert error(found, n) == min(error(b, n) for b in range(2, n + 1))
    assert published_branching((256, 256)) == 7
    budget = sdp.Hierarchy((256, 256), branching=4, levels="uniform").plan(UNIT, epsilon=1).budget
    assert list(budget.values()) == [Fraction(1, 4)] * 4  # four levels, not the five of a rounded logarithm


# --- releases ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("consistent", [True, False])
@pytest.mark.parametrize("region", [None, REGION], ids=["whole", "region"])
@pytest.mark.parametrize("name", CASES)
def test_loaded_releases_answer_as_the_saved_ones(name, region, consistent, tmp_path):
    release = make(name, region, consistent=consistent)
    release.save(tmp_path / "release.parquet")
    loaded = sdp.load(tmp_path / "release.parquet")
    assert np.array_equal(loaded.answer(BOXES), release.answer(BOXES))
    assert np.array_equal(loaded.interval(BOXES), release.interval(BOXES))
    assert loaded.privacy == release.privacy
    assert loaded.estimate.shape == release.estimate.shape
    assert len(loaded.to_geodataframe()) == release.estimate.n_cells


def test_files_hold_many_children(tmp_path):
    release = sdp.Hierarchy((300, 200), branching=299, levels="uniform").release(XY, UNIT, epsilon=1)
    assert release.estimate.tree.n_children.max() > 2**15
    release.save(tmp_path / "release.parquet")
    assert sdp.load(tmp_path / "release.parquet").total == release.total


def test_zero_noise_gives_the_counts():
    release = sdp.Hierarchy((50, 30)).release(XY, UNIT, epsilon=1, noise=ZeroNoise())
    inside = ((XY >= 0) & (XY < (0.5, 0.3))).all(axis=1).sum()
    assert release.answer((0, 0, 0.5, 0.3)) == pytest.approx(inside)


def test_adjusted_releases_add_up():
    release = make("odd", epsilon=0.1)
    for adjusted in (release.non_negative(), release.non_negative("least-squares"), release.rounded()):
        values, tree = adjusted.estimate.values, adjusted.estimate.tree
        assert values == pytest.approx(sums(tree, values[tree.leaves]), abs=1e-6)


def test_cell_sizes_and_plans():
    plan = sdp.Hierarchy(cell_size=0.125).plan(sdp.Domain((0, 0, 1, 2)), epsilon=1)
    assert plan.cells == 128
    assert plan.currency == "epsilon"
    assert sum(plan.budget.values()) == 1
    assert sdp.Hierarchy((9, 9), law="gaussian").plan(UNIT, epsilon=1, delta=1e-6).currency == "rho"


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"shape": (4, 4), "cell_size": 0.1},
        {"shape": (4, 0)},
        {"shape": (4, 4), "branching": 1},
        {"shape": (4, 4), "branching": "h"},
        {"shape": (4, 4), "levels": "uniform"},
        {"shape": (4, 4), "levels": "best"},
        {"shape": (4, 4), "levels": ()},
        {"shape": (4, 4), "levels": (2, 4)},
        {"shape": (9, 9), "levels": (1, 2, 3)},
        {"shape": (9, 9), "levels": (1, 2, 2)},
        {"shape": (9, 9), "levels": (1, 2), "branching": 2},
        {"shape": (9, 9), "budget": (1, 2)},
        {"shape": (9, 9), "levels": (1, 2), "budget": (1,)},
        {"shape": (9, 9), "levels": (1, 2), "budget": (0, 1)},
        {"shape": (9, 9), "levels": (1, 2), "budget": (1, 1), "root": True},
        {"shape": (9, 9), "workload": "ranges"},
        {"shape": (9, 9), "workload": (3,)},
        {"shape": (9, 9), "workload": [(0, 0, 1, 1), (0, 0)]},
        {"shape": (9, 9), "root": "no"},
        {"shape": (9, 9), "consistent": "no"},
        {"shape": (9, 9), "law": "cauchy"},
    ],
)
def test_bad_parameters_are_refused_when_they_are_given(options):
    with pytest.raises(ParameterError):
        sdp.Hierarchy(**options)


def test_bad_parameters_are_refused_before_records_are_read():
    with pytest.raises(ParameterError, match="smaller than"):
        sdp.Hierarchy((8, 8), levels=(1, 8)).plan(UNIT, epsilon=1)
    with pytest.raises(BudgetError, match="negative"):
        sdp.Hierarchy((8, 8), levels=(1, 4), budget=(1, -1)).plan(UNIT, epsilon=1)
    with pytest.raises(DomainError, match="no cell"):
        sdp.Hierarchy((2, 2)).plan(sdp.Domain((0, 0, 1, 1), region=shapely.box(0, 0, 0.1, 0.1)), epsilon=1)
