"""Single cells, or their total alone: nothing outside the region is measured, estimated or noisy."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
import shapely

from spatialdp.privacy.neighbours import Neighbours, Sensitivity
from spatialdp.privacy.noise.laws import Law, NoiseLaw
from spatialdp.space.domain import Domain
from spatialdp.structures.cells import CellCounts, EvenTotal

GRID = Domain((0, 0, 4, 4), region=shapely.Polygon([(0, 0), (4, 0), (0, 4)])).grid((4, 4))
LAWS = [NoiseLaw(Law.DISCRETE_LAPLACE, Fraction(2))]
COUNTS = np.random.default_rng(1).integers(0, 99, (4, 4)) * GRID.mask


def test_cells_are_measured_row_by_row_and_come_back_in_their_places():
    structure = CellCounts(GRID)
    (measured,) = structure.measure(COUNTS)
    assert measured.tolist() == [
        COUNTS[row, column] for row in range(4) for column in range(4) if GRID.mask[row, column]
    ]
    assert np.array_equal(structure.fit([measured.astype(float)], LAWS), COUNTS)


def test_the_total_is_spread_evenly_over_the_region():
    structure = EvenTotal(GRID)
    (measured,) = structure.measure(COUNTS)
    assert measured.tolist() == [COUNTS.sum()]
    values = structure.fit([np.array([60.0])], LAWS)
    assert np.array_equal(values, np.where(GRID.mask, 60 / GRID.n_cells, 0))


@pytest.mark.parametrize(("relation", "cells", "total"), [(Neighbours.ADD_REMOVE, 1, 1), (Neighbours.REPLACE, 2, 1)])
def test_replacing_moves_two_cells_and_no_total(relation, cells, total):
    assert CellCounts(GRID).sensitivity(0, relation) == Sensitivity(cells, cells)
    assert EvenTotal(GRID).sensitivity(0, relation) == Sensitivity(total, total)


def test_cells_have_noises_of_their_own_and_the_total_one_for_all():
    boxes = GRID.domain.boxes([(0, 0, 4, 4), (0, 0, 1, 1)])
    variance = LAWS[0].variance
    cells, total = (structure(GRID).blank(LAWS).moments(boxes)[0] for structure in (CellCounts, EvenTotal))
    assert cells == pytest.approx([GRID.n_cells * variance, variance])
    assert total == pytest.approx([variance, variance / GRID.n_cells**2])
