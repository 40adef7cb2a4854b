"""Nodes that end early: public thresholds, whole path costs, two counts made one."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

import spatialdp as sdp
from spatialdp.mechanisms.stopping import NoisyLevel, count_again, count_level, count_tree, joined, stopping_rule
from spatialdp.privacy.neighbours import Neighbours, count_sensitivity
from spatialdp.privacy.noise.laws import Law, NoiseLaw
from spatialdp.privacy.noise.source import SeededNoise
from spatialdp.space.boxes.quadtree import quadtree
from spatialdp.trees.shape import sums
from tests.helpers.sources import RecordingNoise, ZeroNoise

UNIT = sdp.Domain((0, 0, 1, 1))
RNG = np.random.default_rng(4)
XY = np.concatenate([RNG.normal(0.3, 0.03, (300, 2)), RNG.random((100, 2))])


class TestStopping:
    def test_structure_follows_released_counts_only(self):
        release = sdp.Quadtree(5, stop=20).release(XY, UNIT, epsilon=2, noise=SeededNoise(1))
        tree = release.estimate.tree
        assert tree.n_leaves < 4**5
        assert len(set(tree.depth[tree.leaves].tolist())) > 1

    def test_stopped_nodes_spend_the_rest_of_their_path(self):
        source = RecordingNoise(2)
        mechanism = sdp.Quadtree(3, stop=1e9, consistent=False)  # stops at the root, whatever it holds
        release = mechanism.release(XY, UNIT, epsilon=1, noise=source)
        costs = list(release.privacy.budget.values())
        assert [call[1] for call in source.calls] == [1 / costs[0], 1 / sum(costs[1:])]
        laws = [NoiseLaw(Law.DISCRETE_LAPLACE, call[1]) for call in source.calls]
        combined = 1 / sum(1 / law.variance for law in laws)
        assert release.estimate.variances == pytest.approx([combined])
        assert release.estimate.n_cells == 1

    def test_two_counts_are_combined_by_inverse_variance(self):
        laws = NoiseLaw(Law.DISCRETE_LAPLACE, Fraction(10)), NoiseLaw(Law.DISCRETE_LAPLACE, Fraction(5))
        values, variance, kurtosis = count_again(np.array([7]), np.array([9.0]), *laws, ZeroNoise())
        share = laws[1].variance / (laws[0].variance + laws[1].variance)
        assert values[0] == pytest.approx(share * 9 + (1 - share) * 7)
        assert variance < laws[1].variance
        assert 0 < kurtosis < 3.1

    def test_no_threshold_stops_nothing(self):
        assert sdp.Quadtree(3, stop=-1e9).release(XY, UNIT, epsilon=1).estimate.n_cells == 64


ONCE = count_sensitivity(Neighbours.ADD_REMOVE, 4)


def rule(threshold, left):
    return stopping_rule(threshold, left, Law.DISCRETE_LAPLACE, [ONCE] * len(left))


def test_a_count_at_the_threshold_goes_on_and_one_below_ends():
    laws = [NoiseLaw(Law.DISCRETE_LAPLACE, Fraction(2))] * 3
    level = count_level(np.array([9, 10, 11]), 1, laws, rule(10, [Fraction(1, 2)] * 2), ZeroNoise())
    assert level.ended.tolist() == [True, False, False]
    assert level.values.tolist() == [9, 10, 11]
    assert level.variances[0] < level.variances[1] == level.variances[2] == laws[1].variance


@pytest.mark.parametrize("stop", [None, 1e9])
def test_nothing_ends_at_the_deepest_level_or_where_nothing_is_measured(stop):
    laws = [None, NoiseLaw(Law.DISCRETE_LAPLACE, Fraction(2))]
    stopping = None if stop is None else rule(stop, [Fraction(1)])
    unmeasured, deepest = (count_level(np.array([3, 4]), depth, laws, stopping, ZeroNoise()) for depth in (0, 1))
    assert not unmeasured.ended.any()
    assert not deepest.ended.any()
    assert np.isinf(unmeasured.variances).all()
    assert np.isfinite(deepest.variances).all()


@pytest.mark.parametrize("threshold", [-1e9, 5, 40, 1e9])
def test_every_path_costs_the_same(threshold):
    """Scales of the noise tell what was paid: along each path, once for each level, and the rest where it ended."""
    height, costs = 3, [Fraction(1, 8), Fraction(1, 8), Fraction(1, 4), Fraction(1, 2)]
    tree = quadtree(height)
    counts = sums(tree, np.random.default_rng(2).poisson(1.5, tree.n_leaves))
    left = [sum(costs[depth + 1 :]) for depth in range(height)]
    laws = [NoiseLaw(Law.DISCRETE_LAPLACE, 1 / cost) for cost in costs]
    found, noisy = count_tree(tree, counts, laws, rule(threshold, left), ZeroNoise())
    spent = np.cumsum([float(cost) for cost in costs])
    for node in np.flatnonzero(found.leaves):
        depth = found.depth[node]
        variance = laws[depth].variance
        if depth < height:
            second = NoiseLaw(Law.DISCRETE_LAPLACE, 1 / left[depth]).variance
            variance = 1 / (1 / variance + 1 / second)
            assert spent[depth] + float(left[depth]) == 1
            assert noisy.values[node] < threshold
        assert noisy.variances[node] == pytest.approx(variance)
    inner = ~found.leaves
    assert (noisy.values[inner] >= threshold).all()
    assert {(-1e9): 64, 1e9: 1}.get(threshold, found.n_leaves) == found.n_leaves


def test_levels_are_joined_root_first():
    levels = [NoisyLevel(np.full(n, n), np.full(n, 2.0 * n), np.full(n, 3.0), np.zeros(n, bool)) for n in (1, 4)]
    assert joined(levels).values.tolist() == [1, 4, 4, 4, 4]
    assert joined(levels).variances.tolist() == [2, 8, 8, 8, 8]
