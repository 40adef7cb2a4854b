"""Numbers of persons above a bound: exact, and moved by one person by at most one."""

from __future__ import annotations

from collections import Counter, defaultdict

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from spatialdp import Points
from spatialdp.errors import ParameterError, PointsError
from spatialdp.privacy.unit import Bound
from spatialdp.records.persons.contributions import count_above, persons_above
from spatialdp.records.persons.identifiers import persons_of
from tests.helpers.points import GRID

N_CELLS = 6
CANDIDATES = [1, 2, 5, 10, 1]
RECORDS = st.lists(st.tuples(st.one_of(st.integers(0, 4), st.none()), st.integers(0, N_CELLS)), max_size=40)
KINDS = [Bound.RECORDS, Bound.CELLS]


def above(records, bound):
    persons, cells = [person for person, _ in records], np.array([cell for _, cell in records], dtype=np.int64)
    return count_above(persons_of(persons), cells, N_CELLS, bound, CANDIDATES)


@given(RECORDS)
def test_numbers_are_those_by_hand(records):
    own = defaultdict(Counter)
    for person, cell in records:
        if person is not None and cell < N_CELLS:
            own[person][cell] += 1
    assert above(records, Bound.RECORDS).tolist() == [
        sum(c.total() > most for c in own.values()) for most in CANDIDATES
    ]
    assert above(records, Bound.CELLS).tolist() == [sum(len(c) > most for c in own.values()) for most in CANDIDATES]


@given(RECORDS, st.lists(st.integers(0, N_CELLS)), st.lists(st.integers(0, N_CELLS)))
def test_one_person_moves_each_number_by_at_most_one(others, own, changed):
    for bound in KINDS:
        before, after = (above([*others, *((9, cell) for cell in cells)], bound) for cells in (own, changed))
        assert np.abs(before - after).max() <= 1


def test_points_are_counted_in_the_cells_of_a_grid():
    points = Points([0.5, 0.6, 1.5, 0.5, 9.0], [0.5] * 5, person=["ann", "ann", "ann", "bob", "bob"])
    assert persons_above(points, GRID, Bound.RECORDS, [0, 1, 2, 3]).tolist() == [2, 1, 1, 0]
    assert persons_above(points, GRID, Bound.CELLS, [0, 1, 2]).tolist() == [2, 1, 0]


def test_shares_have_nothing_to_choose_and_persons_are_needed():
    with pytest.raises(ParameterError, match="no bound to choose; choose records or cells"):
        persons_above(Points([[0.5, 0.5]], person=[1]), GRID, Bound.SHARES, [1])
    with pytest.raises(PointsError, match="do not say who they are about"):
        persons_above(Points([[0.5, 0.5]]), GRID, Bound.CELLS, [1])
