"""Array tools: views that stay as they are, points that fill a cube evenly, ranges one after the other."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from spatialdp._support.arrays import even_points, expand_ranges, read_only

ranges = st.lists(st.tuples(st.integers(-50, 50), st.integers(-50, 50)), max_size=20)


def test_read_only_views_refuse_writing_and_leave_the_original_writable():
    values = np.arange(3)
    view = read_only(values, np.int64)
    with pytest.raises(ValueError, match="read-only"):
        view[0] = 7
    assert np.shares_memory(view, values)
    values[0] = 7
    assert view[0] == 7


def test_read_only_copies_where_the_type_has_to_change():
    values = np.arange(3)
    view = read_only(values, np.float64)
    assert view.dtype == np.float64
    assert not np.shares_memory(view, values)


@pytest.mark.parametrize("dimensions", [1, 2, 3])
@pytest.mark.parametrize("start", [0.0, 0.5])
def test_even_points_lie_in_the_unit_cube_and_fill_it_more_evenly_than_chance(dimensions, start):
    count, parts = 1000, 5
    points = even_points(count, dimensions, start=start)
    assert points.shape == (count, dimensions)
    assert points.min() >= 0
    assert points.max() < 1
    held, _ = np.histogramdd(points, bins=parts, range=[(0, 1)] * dimensions)
    expected = count / parts**dimensions
    assert ((held - expected) ** 2).mean() < expected / 2  # of random points it would be `expected`


def test_more_even_points_begin_with_the_same_ones():
    assert np.array_equal(even_points(50, 2)[:20], even_points(20, 2))


@given(ranges)
def test_expanded_ranges_are_those_of_python(pairs):
    first, last = (np.array([pair[i] for pair in pairs], dtype=np.int64) for i in (0, 1))
    owner, numbers = expand_ranges(first, last)
    expected = [(i, n) for i, pair in enumerate(pairs) for n in range(*pair)]
    assert list(zip(owner.tolist(), numbers.tolist(), strict=True)) == expected
