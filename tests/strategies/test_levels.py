"""Which levels of blocks to measure, and how the budget is best divided over them."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

import spatialdp as sdp
from spatialdp.privacy.noise.laws import Law
from spatialdp.space.lattice import edge_lines
from spatialdp.strategies.levels import BlockQueries, best_budget, best_levels, mean_variance
from tests.helpers.boxes import cell_boxes
from tests.helpers.sources import ZeroNoise

UNIT = sdp.Domain((0, 0, 1, 1))


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
        for side, variance in zip(estimate.leaf_grid.block_sides, estimate.variances, strict=True)
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
