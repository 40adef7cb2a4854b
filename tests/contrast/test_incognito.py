"""Incognito finds what a search of the whole lattice finds, and the vectors of the tutorial's table."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spatialdp import contrast
from spatialdp.errors import ParameterError
from tests.reference.anonymity import anonymous_vectors

# The six rows of the tutorial: date of birth, sex, zip code.
SIX = {
    "birth": ["1976-01-21", "1986-04-13", "1976-02-28", "1976-01-21", "1986-04-13", "1976-02-28"],
    "sex": ["M", "F", "M", "M", "F", "F"],
    "zip": ["53715", "53715", "53703", "53703", "53706", "53706"],
}
DISEASES = ["flu", "hepatitis", "bronchitis", "broken arm", "sprained ankle", "hang nail"]
TAXONOMIES = {
    "birth": contrast.Taxonomy.flat(sorted(set(SIX["birth"]))),
    "sex": contrast.Taxonomy.flat("MF"),
    "zip": contrast.Taxonomy(
        {code: [f"{code[:4]}*", f"{code[:3]}**"] for code in ("53715", "53710", "53706", "53703")}
    ),
}


@pytest.mark.parametrize(
    ("k", "anonymous", "minimal"), [(2, 5, [(0, 1, 2), (1, 0, 2), (1, 1, 0)]), (3, 2, [(1, 0, 2)])]
)
def test_vectors_of_the_tutorials_table(k, anonymous, minimal):
    lattice = contrast.incognito(SIX, TAXONOMIES, k)
    assert (lattice.size, len(lattice.anonymous), lattice.minimal) == (12, anonymous, minimal)


@st.composite
def cases(draw):
    """A table of three to five columns with random taxonomies of up to three levels above the values."""
    columns = draw(st.integers(3, 5))
    taxonomies, table = {}, {}
    records = draw(st.integers(4, 40))
    for number in range(columns):
        values, height = draw(st.integers(1, 5)), draw(st.integers(0, 3))
        level = list(range(values))
        rows = [[] for _ in range(values)]
        for _ in range(height):
            parents = draw(st.lists(st.integers(0, 2), min_size=5, max_size=5))
            level = [parents[code] for code in level]
            for row, code in zip(rows, level, strict=True):
                row.append(f"{len(row)}:{code}")
        taxonomies[f"q{number}"] = contrast.Taxonomy(dict(enumerate(rows)))
        table[f"q{number}"] = draw(st.lists(st.integers(0, values - 1), min_size=records, max_size=records))
    return table, taxonomies, draw(st.sampled_from([1, 2, 3, 5, 10]))


@given(cases())
@settings(max_examples=120, deadline=None)
def test_all_anonymous_vectors_are_found(case):
    table, taxonomies, k = case
    heights = [taxonomy.height for taxonomy in taxonomies.values()]
    columns = [
        [taxonomy.generalise(table[name], level) for level in range(taxonomy.height + 1)]
        for name, taxonomy in taxonomies.items()
    ]
    rows = [[[level[record] for level in column] for column in columns] for record in range(len(table["q0"]))]
    lattice = contrast.incognito(table, taxonomies, k)
    assert set(lattice.anonymous) == anonymous_vectors(rows, heights, k)
    minimal = lattice.minimal
    for one in minimal:
        assert not any(one != other and np.greater_equal(one, other).all() for other in minimal)
    covered = {vector for vector in lattice.anonymous if any(np.greater_equal(vector, low).all() for low in minimal)}
    assert covered == set(lattice.anonymous)


@pytest.mark.parametrize(("columns", "values"), [(3, 40), (8, 16)], ids=["64,000", "2^32"])
def test_combinations_are_listed_where_most_do_not_occur(columns, values):
    """Of a few records; short and long keys are sorted in two ways."""
    rng = np.random.default_rng(1)
    names = "abcdefgh"[:columns]
    table = {name: rng.integers(0, values, 60) * rng.integers(0, 2, 60) for name in names}
    taxonomies = dict.fromkeys(names, contrast.Taxonomy.ranges(0, values - 1, (10, 20) if columns == 3 else ()))
    height = taxonomies["a"].height
    levels = [[taxonomies[name].generalise(table[name], level) for level in range(height + 1)] for name in names]
    rows = [[[level[record] for level in column] for column in levels] for record in range(60)]
    found = contrast.incognito(table, taxonomies, 2)
    assert set(found.anonymous) == anonymous_vectors(rows, [height] * columns, 2)
    assert 0 < len(found.anonymous) < found.size


def test_pruning_looks_at_fewer_sets_than_there_are():
    rng = np.random.default_rng(2)
    names = "abcdef"
    table = {name: rng.integers(0, 8, 300) for name in names}
    taxonomies = {name: contrast.Taxonomy.ranges(0, 7, (2, 4)) for name in names}
    lattice = contrast.incognito(table, taxonomies, 5)
    assert lattice.size == 4**6
    assert lattice.checked < 4**6 / 2


def test_groups_of_a_vector_are_those_of_its_labels():
    groups = contrast.incognito(SIX, TAXONOMIES, 2).groups((1, 1, 0), DISEASES)
    assert sorted(groups.sizes.tolist()) == [2, 2, 2]
    assert groups.group[0] == groups.group[1] != groups.group[2] == groups.group[3]
    person, group = groups.locator.candidates(groups.records)
    assert np.array_equal(person, np.arange(6))
    assert np.array_equal(group, groups.group)
    with pytest.raises(ParameterError, match="no ranges"):
        groups.bounds((0, 0, 0, 1, 1, 1))


def test_people_without_a_group_have_none():
    groups = contrast.incognito(SIX, TAXONOMIES, 2).groups((1, 1, 0), DISEASES)
    absent = {"birth": ["1976-01-21"], "sex": ["F"], "zip": ["53710"]}
    attack = contrast.intersection([groups], absent)
    assert attack.sizes.tolist() == [[0]]
    assert attack.left.tolist() == [[6]]


def test_two_generalisations_of_one_table_intersect():
    lattice = contrast.incognito(SIX, TAXONOMIES, 2)
    releases = [lattice.groups(vector, DISEASES) for vector in lattice.minimal]
    attack = contrast.intersection(releases, releases[0].records)
    assert attack.holds(DISEASES).all()
    assert attack.perfect == 1.0
    assert attack.single == 0.0


@pytest.mark.parametrize(
    ("taxonomies", "complaint"),
    [({}, "no column"), ({"height": TAXONOMIES["sex"]}, "the table has birth, sex, zip")],
)
def test_taxonomies_must_be_of_columns(taxonomies, complaint):
    with pytest.raises(ParameterError, match=complaint):
        contrast.incognito(SIX, taxonomies, 2)


def test_domains_beyond_63_bits_are_refused():
    table = {str(number): [0] for number in range(4)}
    taxonomies = dict.fromkeys(table, contrast.Taxonomy.flat(range(2**16)))
    with pytest.raises(ParameterError, match="63 bits"):
        contrast.incognito(table, taxonomies, 1)


def test_vectors_have_a_level_for_each_column():
    with pytest.raises(ParameterError, match="one level for each of birth, sex, zip"):
        contrast.incognito(SIX, TAXONOMIES, 2).groups((0, 1), DISEASES)
