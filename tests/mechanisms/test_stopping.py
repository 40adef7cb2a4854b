"""Nodes that end early: public thresholds, whole path costs, two counts made one."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

import spatialdp as sdp
from spatialdp.mechanisms.stopping import count_again
from spatialdp.privacy.noise.laws import Law, NoiseLaw
from spatialdp.privacy.noise.source import SeededNoise
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
