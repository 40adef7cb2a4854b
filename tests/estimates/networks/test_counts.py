"""Estimates by a network: totals, sums of the model, and what is refused."""

from __future__ import annotations

import numpy as np
import pytest

import spatialdp as sdp
from spatialdp.errors import ReleaseError
from spatialdp.estimates.flows.fit import CountNoise
from spatialdp.estimates.networks.counts import NetworkCounts
from tests.estimates.networks.test_model import FAMILIES, FRAME


def counts(first=3.0, variance=2.0, counted=40.0):
    tables = (np.full(8, first), np.full((2, 2), 6.0), np.full((3, 2, 2), 2.0))
    noise = CountNoise(variance, 3.0, 1.0)
    return NetworkCounts(FRAME, tuple(FAMILIES), tables, counted, noise, CountNoise(4 * variance, 3.0, 1.0))


def test_the_total_weighs_tables_by_their_noise():
    """Variances 8, 16, 8 and 24; totals 40, 24, 24, 24."""
    weights = np.array([1 / 8, 1 / 16, 1 / 8, 1 / 24])
    assert counts().total == pytest.approx(np.average([40, 24, 24, 24], weights=weights))
    assert counts(variance=0.0).total == pytest.approx(28)


def test_sums_of_the_model_add_up_to_the_total():
    estimate = counts()
    assert estimate.sums(estimate.every()).item() == pytest.approx(estimate.total)
    assert estimate.n_cells == estimate.values.size == 48
    assert estimate.step == 1
    assert counts(first=-9.0, counted=-500.0).values.max() == 0  # no records rather than fewer


def test_models_have_no_intervals_and_no_rounded_cells():
    estimate = counts()
    assert estimate.biased
    assert estimate.non_negative() is estimate
    with pytest.raises(ReleaseError, match="rounding would lose them"):
        estimate.rounded()
    with pytest.raises(ReleaseError, match="a table has a map for every time and category"):
        estimate.leaf_values()
    assert estimate.half_width(0.95) == pytest.approx(counts(counted=0.0).half_width(0.95))


@pytest.mark.statistical
def test_intervals_of_measured_counts_cover():
    """4,000 counts that are 0: the stated probability or a little more."""
    frame = sdp.Frame(sdp.Domain((0, 0, 1, 1)).grid((50, 80)))
    release = sdp.PrivBayes().release(sdp.Rows([]), frame, epsilon=0.3, noise=sdp.SeededNoise(4))
    table = release.measured("box", level=0.9)
    covered = ((table["lower"] <= 0) & (table["upper"] >= 0)).mean()
    assert 0.88 < covered < 0.94
    assert table["estimate"].std() == pytest.approx(table["sd"][0], rel=0.08)
