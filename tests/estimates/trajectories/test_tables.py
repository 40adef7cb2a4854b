"""Tables of lengths: sums with the noise of as many cells, and distributions without negative parts."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from spatialdp.estimates.flows.fit import CountNoise
from spatialdp.estimates.trajectories.tables import LengthTable, _without_negative

NOISE = CountNoise(2.0, 3.0, 1.0)
tables = arrays(np.float64, (3, 4), elements=st.floats(-1e6, 1e6))


@given(tables)
def test_sums_are_those_of_rows_and_columns(values):
    table = LengthTable(values, NOISE)
    assert np.array_equal(table.by_length.values, values.sum(axis=0))
    assert np.array_equal(table.by_kind.values, values.T.sum(axis=0))
    assert table.by_length.variance.tolist() == [6.0] * 4
    assert table.by_kind.variance.tolist() == [8.0] * 3
    assert table.by_kind.kurtosis == pytest.approx(3 / 4)
    assert table.total.variance.tolist() == [24.0]


@given(tables)
def test_distributions_are_positive_and_add_up(values):
    table = LengthTable(values, NOISE)
    assert table.lengths_of_kinds.sum(axis=1) == pytest.approx(1)
    assert table.kinds_of_lengths.sum(axis=0) == pytest.approx(1)
    assert (table.lengths_of_kinds > 0).all()
    assert (table.kinds_of_lengths > 0).all()


@given(tables)
def test_nothing_negative_is_left_and_the_sum_stays(values):
    made = _without_negative(values)
    assert (made >= 0).all()
    assert made.sum() == pytest.approx(max(values.sum(), 0), abs=1e-3)
    assert _without_negative(np.abs(values)) == pytest.approx(np.abs(values), abs=1e-3)


def test_the_nearest_point_of_the_simplex_is_taken():
    assert _without_negative(np.array([3.0, 1.0, -2.0])).tolist() == [2.0, 0.0, 0.0]
    assert _without_negative(np.array([3.0, 2.0, -1.0])).tolist() == [2.5, 1.5, 0.0]
