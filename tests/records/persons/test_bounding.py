"""What is kept of a person depends on this person's own records alone, and is within the bound."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from spatialdp import Person
from spatialdp.privacy.unit import SHARE_STEPS
from spatialdp.records.persons import bounding
from spatialdp.records.persons.bounding import (
    bounded_cells,
    bounded_counts,
    contributions_of,
    gathered,
    sums_of_cells,
)
from spatialdp.records.persons.identifiers import persons_of, texts_of
from spatialdp.records.persons.keys import FACTORS, cell_keys
from tests.reference import persons as reference

N_CELLS = 12
CELLS = st.integers(0, N_CELLS)  # the last one is outside
PERSONS = st.one_of(st.integers(-2, 3), st.sampled_from(["ann", "", "5", "Zoë"]), st.none())
RECORDS = st.lists(st.tuples(PERSONS, CELLS), max_size=60)
OWN = st.lists(CELLS, max_size=30)
BOUNDS = st.one_of(
    st.builds(lambda most: Person(records=most), st.integers(1, 12)),
    st.builds(lambda most: Person(cells=most), st.integers(1, 12)),
    st.just(Person(shares=True)),
)


def arrays(records):
    persons, cells = [person for person, _ in records], [cell for _, cell in records]
    return persons_of(persons), np.array(cells, dtype=np.int64)


def kept(records, bound, n_cells=N_CELLS) -> dict[tuple[str, int], int]:
    """What is kept of each person and cell, as the reference has it."""
    contributions = contributions_of(*arrays(records), n_cells)
    names = np.repeat(np.array(texts_of(contributions.names).to_pylist(), dtype=object), contributions.n_cells)
    triples = zip(names, contributions.cells.tolist(), contributions.kept(bound).tolist(), strict=True)
    return {(name, cell): amount for name, cell, amount in triples if amount}


def counts(records, bound, n_cells=N_CELLS):
    return bounded_counts(*arrays(records), n_cells, bound)


@given(RECORDS, BOUNDS)
def test_the_same_is_kept_as_by_hand(records, bound):
    persons, cells = [person for person, _ in records], [cell for _, cell in records]
    assert kept(records, bound) == reference.kept(persons, cells, N_CELLS, bound)
    assert counts(records, bound).tolist() == reference.counts(persons, cells, N_CELLS, bound)


@pytest.mark.parametrize("bound", [Person(records=7), Person(cells=5), Person(shares=True)], ids=repr)
@pytest.mark.parametrize("kind", ["int64", "wide", "text"])
def test_the_same_is_kept_as_by_hand_of_many_records(bound, kind):
    rng = np.random.default_rng(1)
    names = {"int64": np.arange(200), "wide": rng.integers(-(2**63), 2**63 - 1, 200), "text": None}[kind]
    names = np.array([f"person {n}" * (n % 20) for n in range(200)]) if names is None else names
    persons, cells = rng.choice(names, 5000), rng.integers(0, 120, 5000)
    expected = reference.counts(persons.tolist(), cells.tolist(), 100, bound)
    assert bounded_counts(persons_of(persons), cells, 100, bound).tolist() == expected


# --- one person ------------------------------------------------------------------------------------


@given(RECORDS, OWN, OWN, BOUNDS, st.randoms(use_true_random=False))
def test_one_person_changes_nothing_of_the_others_and_the_counts_within_the_bound(others, own, changed, bound, random):
    """Adding, removing (of which `own` or `changed` may be all) and replacing a person."""
    before, after = ([*others, *(("eve", cell) for cell in cells)] for cells in (own, changed))
    random.shuffle(before)
    random.shuffle(after)
    of_others = [
        {pair: amount for pair, amount in kept(records, bound).items() if pair[0] != "eve"}
        for records in (before, after, others)
    ]
    assert of_others[0] == of_others[1] == of_others[2]
    difference = counts(before, bound) - counts(after, bound)
    most = bound.most * bound.steps
    assert np.maximum(difference, 0).sum() <= most
    assert np.maximum(-difference, 0).sum() <= most
    if bound.cells:
        assert np.abs(difference).max() <= 1


@given(RECORDS, BOUNDS)
def test_what_is_kept_of_a_person_is_within_the_bound(records, bound):
    totals, n_cells = Counter(), Counter()
    for (person, _), amount in kept(records, bound).items():
        totals[person] += amount
        n_cells[person] += 1
    assert max(totals.values(), default=0) <= bound.most * bound.steps
    assert bound.cells is None or max(n_cells.values(), default=0) <= bound.cells


@given(RECORDS)
def test_nothing_is_lost_without_need(records):
    """Whoever is within the bound is kept whole, and whoever is above it is kept up to the bound."""
    own = {person: Counter() for person, _ in records}
    for person, cell in records:
        own[person][cell] += person is not None and cell < N_CELLS
    for person in {str(person) for person, _ in records if person is not None}:
        same = sum((own[each] for each in own if each is not None and str(each) == person), Counter())
        for most in (1, 3, 8):
            amounts = [n for (who, _), n in kept(records, Person(records=most)).items() if who == person]
            assert sum(amounts) == min(most, same.total())
            assert len([1 for (who, _) in kept(records, Person(cells=most)) if who == person]) == min(most, len(+same))


# --- rows ------------------------------------------------------------------------------------------


@given(RECORDS, BOUNDS, st.randoms(use_true_random=False))
def test_the_order_of_rows_does_not_matter(records, bound, random):
    shuffled = records.copy()
    random.shuffle(shuffled)
    assert kept(shuffled, bound) == kept(records, bound)


@given(RECORDS, st.integers(1, 12), st.integers(1, 3))
def test_duplicates_do_not_matter_for_cells_and_shares(records, most, times):
    for bound in (Person(cells=most), Person(shares=True)):
        assert kept(records * times, bound) == kept(records, bound)


@given(RECORDS, BOUNDS, st.lists(st.integers(0, 60), max_size=4))
def test_the_division_into_blocks_does_not_matter(records, bound, cuts):
    """Blocks also have types of their own: whole numbers in one, text in the next."""
    edges = [0, *sorted(cuts), len(records)]
    blocks = (arrays(records[start:stop]) for start, stop in pairwise(edges))
    persons, cells = gathered(blocks, np.ones((3, 4), dtype=bool))
    assert bounded_counts(persons, cells, N_CELLS, bound).tolist() == counts(records, bound).tolist()


@given(RECORDS, BOUNDS)
def test_records_without_a_person_and_outside_count_nowhere(records, bound):
    inside = [(person, cell) for person, cell in records if person is not None and cell < N_CELLS]
    assert kept(records, bound) == kept(inside, bound)


def test_what_is_outside_the_region_is_left_out_before_the_bound():
    region = np.array([True] * 3 + [False] * 9)
    records = [("ann", cell) for cell in range(N_CELLS)] * 2
    persons, cells = gathered([arrays(records)], region)
    for bound, expected in ((Person(cells=3), [1, 1, 1]), (Person(records=6), [2, 2, 2])):
        assert bounded_counts(persons, cells, N_CELLS, bound).tolist() == [*expected, *[0] * 9]


def test_numbers_and_texts_are_the_same_persons():
    rng = np.random.default_rng(2)
    persons, cells = rng.integers(-20, 20, 2000), rng.integers(0, 50, 2000)
    for bound in (Person(records=4), Person(cells=4), Person(shares=True)):
        texts = bounded_counts(texts_of(persons_of(persons)), cells, 50, bound)
        assert np.array_equal(bounded_counts(persons_of(persons), cells, 50, bound), texts)


@pytest.mark.parametrize("persons", [[], [None, None], ["ann"]])
def test_no_records_at_all(persons):
    outside = np.full(len(persons), N_CELLS)
    for bound in (Person(records=4), Person(cells=4), Person(shares=True)):
        assert not bounded_counts(persons_of(persons), outside, N_CELLS, bound).any()
        cells, amounts = bounded_cells(persons_of(persons), outside, N_CELLS, bound)
        assert cells.size == amounts.size == 0
    nobody, nowhere = gathered([], np.ones(4, dtype=bool))
    assert len(nobody) == nowhere.size == 0


# --- numbers ---------------------------------------------------------------------------------------


@given(RECORDS, BOUNDS)
def test_sparse_counts_are_the_dense_ones(records, bound):
    cells, amounts = bounded_cells(*arrays(records), N_CELLS, bound)
    dense = counts(records, bound)
    assert np.array_equal(cells, np.flatnonzero(dense))
    assert np.array_equal(amounts, dense[cells])


def test_cells_and_persons_may_be_as_far_apart_as_they_can():
    persons = np.array([-(2**63), 2**63 - 1, 0, 0], dtype=np.int64)
    cells, amounts = bounded_cells(persons_of(persons), np.array([2**28 - 1, 0, 7, 7]), 2**28, Person(records=9))
    assert cells.tolist() == [0, 7, 2**28 - 1]
    assert amounts.tolist() == [1, 2, 1]


def test_shares_of_very_many_records_are_exact():
    """Up to 2^43 records of a person in a cell, which no memory holds, nothing overflows."""
    records = np.array([2**43 - 1, 1, 2**42, 3, 5], dtype=np.int64)
    starts = np.array([0, 2, 3])
    contributions = bounding.Contributions(pa.array(["a", "b", "c"]), starts, np.arange(5), records)
    totals = [2**43, 2**43, 2**42, 8, 8]
    expected = [m * SHARE_STEPS // n for m, n in zip(records.tolist(), totals, strict=True)]
    assert contributions.kept(Person(shares=True)).tolist() == expected


def test_sums_of_cells_are_whole_numbers_beyond_what_doubles_hold():
    cells, amounts = sums_of_cells(np.array([7, 3, 7]), np.array([2**53, 2, 1]))
    assert cells.tolist() == [3, 7]
    assert amounts.tolist() == [2, 2**53 + 1]


def test_cells_with_equal_keys_are_kept_in_their_own_order(monkeypatch):
    monkeypatch.setattr(bounding, "cell_keys", lambda names, persons, cells: np.zeros(cells.size, dtype=np.uint32))
    records = [("ann", cell) for cell in (9, 4, 6, 4)] + [("bob", cell) for cell in (8, 2)]
    assert kept(records, Person(cells=2)) == {("ann", 4): 1, ("ann", 6): 1, ("bob", 2): 1, ("bob", 8): 1}
    assert kept(records, Person(records=3)) == {("ann", 4): 2, ("ann", 6): 1, ("bob", 2): 1, ("bob", 8): 1}


# --- evenness --------------------------------------------------------------------------------------


SETS = {
    "next to each other": np.arange(12),
    "a column of a grid": 7 + 1024 * np.arange(12),
    "powers of two": 2 ** np.arange(12),
    "a square": (np.arange(4)[:, None] * 256 + np.arange(3)).ravel(),
    "of the lattice": (np.arange(12) << 30) + 5,
}


def evenness(n_persons: int = 10_000, own: Any = SETS["next to each other"], most: int = 5) -> float:
    """The probability that even choices of `most` of m cells are at least as uneven as ours.

    With one cell left out of a uniform choice, the covariance of the numbers of a cell being kept is
    n p (1 - p) m / (m - 1) (I - 1/m), p = most / m; so the sum below has m - 1 degrees of freedom.
    """
    m = own.size
    persons, cells = np.repeat(np.arange(n_persons), m), np.tile(own, n_persons)
    _, numbers = bounded_cells(persons_of(persons), cells, int(own.max()) + 1, Person(cells=most))
    p = most / m
    chi_square = ((numbers - n_persons * p) ** 2).sum() * (m - 1) / (n_persons * p * (1 - p) * m)
    return float(stats.chi2.sf(chi_square, m - 1))


@pytest.mark.statistical
@pytest.mark.parametrize("own", SETS.values(), ids=SETS)
@pytest.mark.parametrize("most", [1, 5])
def test_each_cell_is_kept_equally_often(own, most):
    """The keys are fixed, so the test repeats exactly; of even hashes, one in a million would fail."""
    assert evenness(own=own, most=most) > 1e-6


@pytest.mark.statistical
@pytest.mark.parametrize("own", SETS.values(), ids=SETS)
def test_each_set_of_cells_is_kept_equally_often(own):
    """Of all 220 sets of three cells; of even hashes, one in a million would fail."""
    n, m = 50_000, own.size
    persons, cells = np.repeat(np.arange(n), m), np.tile(own, n)
    contributions = contributions_of(persons_of(persons), cells, int(own.max()) + 1)
    kept = contributions.kept(Person(cells=3)).reshape(n, m)
    sets = np.bincount(kept @ 2 ** np.arange(m), minlength=2**m)
    possible = [number for number in range(2**m) if number.bit_count() == 3]
    assert sets[possible].sum() == n
    assert stats.chisquare(sets[possible]).pvalue > 1e-6


@pytest.mark.statistical
def test_mixing_with_two_factors_would_be_uneven():
    """It keeps some sets of three cells in a column of a grid too often; 400,000 seeds show it."""
    column = SETS["a column of a grid"].astype(np.uint32)
    keys = np.random.default_rng(1).integers(0, 2**32, (400_000, 1), dtype=np.uint32) ^ column
    for shift, factor in ((16, FACTORS[0]), (15, FACTORS[1])):
        keys = (keys ^ keys >> np.uint32(shift)) * np.uint32(factor)
    keys ^= keys >> np.uint32(15)
    kept = keys <= np.partition(keys, 2, axis=1)[:, 2:3]
    sets = np.bincount(kept @ 2 ** np.arange(column.size))
    assert stats.chisquare(sets[sets > 0]).pvalue < 1e-6


@pytest.mark.statistical
@pytest.mark.parametrize(
    "wrong",
    [
        lambda names, persons, cells: cells.astype(np.uint64),
        lambda names, persons, cells: cell_keys(names, np.zeros_like(persons), cells),
        lambda names, persons, cells: cell_keys(names, persons, cells // 2),
        lambda names, persons, cells: cell_keys(names, persons, cells) & np.uint32(3),
    ],
    ids=["by number", "without the person", "of two cells", "of two bits"],
)
def test_wrong_keys_are_uneven(wrong, monkeypatch):
    monkeypatch.setattr(bounding, "cell_keys", wrong)
    assert evenness() < 1e-6


@pytest.mark.statistical
def test_a_persons_choices_are_independent_of_anothers():
    """Pairs of consecutive persons keep the same one of two cells half the time, up to chance of one in a million."""
    n = 20_000
    persons, cells = np.repeat(np.arange(n), 2), np.tile(np.arange(2), n)
    contributions = contributions_of(persons_of(persons), cells, 2)
    first = contributions.kept(Person(cells=1))[::2]
    same = int((first[1:] == first[:-1]).sum())
    assert stats.binomtest(same, n - 1).pvalue > 1e-6
