"""The lattice: one monotone rule for every coordinate."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from spatialdp import Domain
from spatialdp.space.lattice import LATTICE, cells_of
from tests.helpers.domains import domains, finite, shapes


@given(finite, finite, st.floats(1, 1e6), st.floats(1, 1e6), shapes)
def test_cell_edges_snap_to_themselves(x, y, width, height, shape):
    # Wherever doubles are finer than the lattice, as they are for any sensible domain.
    domain = Domain((x, y, x + width, y + height))
    grid = domain.grid(shape)
    for axis, edges, lines in zip(domain.axes, (grid.x_edges, grid.y_edges), (grid.x_lines, grid.y_lines), strict=True):
        assert np.array_equal(axis.positions(edges), lines)
        assert (edges[0], edges[-1]) == (axis.low, axis.high)


@given(finite, st.floats(1, 1e6), st.lists(st.integers(0, LATTICE), min_size=1, max_size=20))
def test_lattice_lines_snap_to_themselves(low, width, lines):
    axis = Domain((low, 0, low + width, 1)).axes[0]
    assert axis.positions(axis.coordinates(np.array(lines))).tolist() == lines


@given(shapes)
def test_cells_partition_the_lattice(shape):
    grid = Domain((0, 0, 1, 1)).grid(shape)
    for lines, count in zip((grid.x_lines, grid.y_lines), shape, strict=True):
        assert lines[0] == 0
        assert lines[-1] == LATTICE
        assert (np.diff(lines) > 0).all()
        assert np.array_equal(cells_of(lines[:-1], count), np.arange(count))
        assert np.array_equal(cells_of(lines[1:] - 1, count), np.arange(count))


@given(domains(), st.lists(st.floats(0, 1), min_size=2, max_size=20))
def test_snapping_is_monotone(domain, shares):
    x = domain.axes[0]
    values = np.sort(np.minimum(x.low + np.array(shares) * (x.high - x.low), x.high))
    assert (np.diff(x.positions(values)) >= 0).all()
