"""Sums of a table's cells, along all axes, in any order."""

from __future__ import annotations

import numpy as np
import pytest

import spatialdp as sdp

FRAME = sdp.Frame(
    sdp.Domain((0, 0, 3, 1)).grid((3, 1)), kind=sdp.Categories(["a", "b"]), sex=sdp.Categories(["f", "m"])
)


def estimate_of():
    return sdp.Table().release(sdp.Rows([], kind=[], sex=[]), FRAME, epsilon=1).estimate


def test_sums_are_those_of_the_array():
    estimate = estimate_of()
    values = estimate.values  # kind, sex, cell
    sums = estimate.sums(FRAME.select({"kind": ["b", "a"], "box": [(0, 0, 2, 1), (1, 0, 1.5, 1)]}))
    assert sums[:, 0, 0] == pytest.approx(values[::-1, :, :2].sum(axis=(1, 2)))
    assert sums[:, 0, 1] == pytest.approx(values[::-1, :, 1].sum(axis=1) / 2)
    assert estimate.sums(estimate.every()).item() == pytest.approx(estimate.total)


def test_values_are_read_only():
    estimate = estimate_of()
    assert not estimate.values.flags.writeable
    assert estimate.n_cells == 12
    assert (estimate.non_negative().values >= 0).all()
    assert estimate.rounded().biased
    assert np.array_equal(estimate.rounded().values, np.rint(estimate.values))
