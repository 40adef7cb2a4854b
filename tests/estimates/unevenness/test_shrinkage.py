"""Heterogeneities and counts, shrunk to the scale above where noise is large."""

from __future__ import annotations

import numpy as np
import pytest

from spatialdp.estimates.unevenness.shrinkage import (
    expected_squares,
    extrapolated,
    grown,
    heterogeneity,
    posterior,
    small_box,
)


def test_heterogeneity_goes_from_the_data_to_the_prior_as_noise_grows():
    found = [heterogeneity(80.0, 100.0, error, prior=0.2) for error in (0.0, 10.0, 1e6)]
    assert found[0] == pytest.approx(0.8)
    assert found[2] == pytest.approx(0.2, abs=1e-3)
    assert found == sorted(found, reverse=True)
    assert heterogeneity(-5.0, 100.0, 0.0, prior=0.2) == 1e-4
    assert heterogeneity(500.0, 100.0, 0.0, prior=0.2) == 1
    assert heterogeneity(1.0, -1.0, 0.0, prior=0.2) == 0.2


def test_extrapolation_grows_by_half_at_most_and_never_shrinks():
    assert extrapolated(0.2, 0.16) == pytest.approx(0.25)
    assert extrapolated(0.2, 0.01) == pytest.approx(0.3)
    assert extrapolated(0.2, 0.9) == 0.2
    assert extrapolated(0.9, 0.5) == 1


def test_posterior_without_noise_is_the_count_and_with_much_noise_the_share_of_the_parent():
    parent, share, counts = (np.array([100.0]), np.array([4.0])), np.array([0.25]), np.array([70.0])
    mean, variance = posterior(parent, share, 0.2, counts, 0.0)
    assert (mean[0], variance[0]) == (70, 0)
    mean, variance = posterior(parent, share, 0.2, counts, 1e12)
    assert mean[0] == pytest.approx(25)
    assert 0 < variance[0] < 1000
    nothing = posterior((np.zeros(1), np.zeros(1)), np.zeros(1), 0.2, np.zeros(1), np.zeros(1))
    assert [float(part[0]) for part in nothing] == [0, 0]


def test_expected_squares_are_never_zero_where_something_is_unknown():
    squares, firsts = expected_squares(np.array([-5.0, 0.0, 10.0]), np.array([4.0, 0.0, 4.0]))
    assert squares.tolist() == [4, 0, 104]
    assert firsts.tolist() == pytest.approx([0.6, 0, 10])


def test_growth_and_small_boxes():
    assert grown(np.array([1.0, 1.4, 1.6]), np.array([0.1, 1.0, 2**0.5, 4.0, 900.0])).tolist() == pytest.approx(
        [1, 1, 1.2, 1.6, 1.6]
    )
    assert small_box(np.array([0.0, 0.25, 0.5, 3.0])).tolist() == [0, 1, 0, 0]
