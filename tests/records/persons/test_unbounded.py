"""What would be counted of persons if nothing were cut off: by brute force, in a region, with records of nobody."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
import shapely

import spatialdp as sdp
from spatialdp.privacy.unit import Person
from spatialdp.records.counting import count_cells
from spatialdp.records.persons.unbounded import PersonRecords

DOMAIN = sdp.Domain((0, 0, 1, 1), region=shapely.box(0, 0, 0.75, 1))
RNG = np.random.default_rng(8)
XY = RNG.uniform(-0.1, 1.1, (400, 2))
WHO = [None if number == 0 else f"person {number}" for number in RNG.integers(0, 30, 400)]
SHAPE = (4, 4)
INSIDE = [(x, y, who) for (x, y), who in zip(XY.tolist(), WHO, strict=True) if who and 0 <= x < 0.75 and 0 <= y <= 1]


def cell_of(x, y):
    return min(int(4 * x), 3), min(int(4 * y), 3)


def records():
    return PersonRecords.of(sdp.Points(XY, person=WHO), DOMAIN)


def test_records_of_nobody_and_of_other_places_are_left_out():
    assert records().columns.size == len(INSIDE)
    assert records().n_persons == len({who for *_, who in INSIDE})
    assert records().names.to_pylist() == [who for *_, who in INSIDE]


@pytest.mark.parametrize("bound", ["records", "cells", "shares"])
def test_weights_are_those_of_brute_force(bound):
    persons, pairs = Counter(who for *_, who in INSIDE), Counter((who, cell_of(x, y)) for x, y, who in INSIDE)
    expected = {
        "records": [1.0] * len(INSIDE),
        "cells": [1 / pairs[who, cell_of(x, y)] for x, y, who in INSIDE],
        "shares": [1 / persons[who] for *_, who in INSIDE],
    }[bound]
    person = Person(shares=True) if bound == "shares" else Person(**{bound: 2})
    assert records().weights(person, SHAPE).tolist() == expected


@pytest.mark.parametrize("person", [Person(records=10**6), Person(cells=10**6), Person(shares=True)], ids=str)
def test_weights_add_up_to_counts_with_a_bound_that_nobody_reaches(person):
    grid, held = DOMAIN.grid(SHAPE), records()
    counts = np.zeros(SHAPE[::-1])
    x, y = held.columns >> 28, held.rows >> 28  # of 30 bits
    np.add.at(counts, (y, x), held.weights(person, SHAPE))
    assert counts == pytest.approx(count_cells(held.points(), grid, person) / person.steps, abs=1e-4)


def test_some_records_keep_their_persons():
    held = records()
    chosen = held.persons < 3
    part = held.some(chosen)
    assert part.n_persons == 3
    assert part.names.to_pylist() == [who for who, mine in zip(held.names.to_pylist(), chosen, strict=True) if mine]


def test_no_records_have_no_persons():
    nothing = PersonRecords.of(sdp.Points(np.empty((0, 2)), person=[]), DOMAIN)
    assert (nothing.n_persons, nothing.columns.size) == (0, 0)
    assert nothing.weights(Person(cells=2), SHAPE).size == 0
