"""The score n·R: its definition, exact fractions, and tables of occupied cells."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from spatialdp.estimates.networks.model import Family
from spatialdp.mechanisms.adaptive.networks.association import Occupied, association
from tests.estimates.networks.test_model import FRAME


def test_the_score_is_half_the_distance_from_independence():
    rng = np.random.default_rng(2)
    for _ in range(20):
        table = rng.integers(0, 9, (3, 4))
        n = table.sum()
        product = table.sum(axis=1, keepdims=True) * table.sum(axis=0) / n
        assert float(association(table)) == pytest.approx(np.abs(table - product).sum() / 2)
        assert isinstance(association(table), Fraction)


def test_parents_together_are_one_attribute():
    table = np.random.default_rng(3).integers(0, 9, (3, 2, 5))
    assert association(table) == association(table.reshape(3, 10))
    assert association(np.zeros((2, 2), dtype=np.int64)) == 0
    assert association(np.array([4, 5])) == 0  # no parents: nothing to depend on


def test_large_counts_are_exact():
    """Beyond 64 bits, Python's own integers; both ways agree where both can."""
    assert association(np.array([[10**13, 0], [0, 10**13]])) == 10**13
    near = np.array([[2**28, 5], [7, 2**29]])
    assert association(near * 2) == 2 * association(near)


def test_tables_are_sums_of_cells():
    counts = np.random.default_rng(4).integers(0, 3, FRAME.shape)
    occupied = Occupied(FRAME, counts)
    assert occupied.total().tolist() == [counts.sum()]
    assert np.array_equal(occupied.table(Family("box")), counts.sum(axis=(0, 1)))
    assert np.array_equal(occupied.table(Family("kind", (("day", 1),))), counts.sum(axis=2))
    blocks = counts.reshape(3, 2, 2, 4).sum(axis=3)
    assert np.array_equal(occupied.table(Family("day", (("kind", 2), ("box", 1)))), blocks.transpose(1, 0, 2))
    assert repr(occupied) == "Occupied(<private>)"
