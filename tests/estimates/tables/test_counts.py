"""Sums of a table's cells, along all axes, in any order."""

from __future__ import annotations

from unittest import mock

import numpy as np
import pytest

import spatialdp as sdp
from spatialdp.estimates.tables import counts
from spatialdp.estimates.tables.counts import drawable

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


def test_tables_to_draw_from_keep_totals_of_categories_and_blocks():
    """Setting negative cells to 0 would add records to empty places."""
    frame = sdp.Frame(sdp.Domain((0, 0, 1, 1)).grid((16, 16)), blocks=4, kind=sdp.Categories(["a", "b"]))
    values = np.random.default_rng(1).normal(2, 5, frame.shape)
    values[:, :16] += 20
    drawn = drawable(frame, values)
    assert drawn.min() >= 0
    assert drawn.sum() == pytest.approx(values.sum())
    np.testing.assert_allclose(drawn.sum(axis=1), values.sum(axis=1))
    blocks = [each.reshape(2, 16, 16).sum(axis=2) for each in (drawn, values)]
    kept = blocks[1].min(axis=1) > 0
    np.testing.assert_allclose(blocks[0][kept], blocks[1][kept])
    assert np.maximum(values, 0).sum() > 1.2 * values.sum()
    assert np.array_equal(drawable(frame, values - 100), np.maximum(values - 100, 0))
    with mock.patch.object(counts, "_LARGEST_PROJECTION", 10):
        assert np.array_equal(drawable(frame, values), np.maximum(values, 0))
