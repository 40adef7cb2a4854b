"""Mondrian's groups: as large as asked, as small as possible, and the same as those of a plain recursion."""

from __future__ import annotations

import numpy as np
import pytest

from spatialdp import contrast
from spatialdp.errors import ParameterError
from tests.reference.mondrian import boundaries, mondrian


def tables(count, seed):
    """Random tables with ties, of one to four columns."""
    rng = np.random.default_rng(seed)
    for _ in range(count):
        columns, records = rng.integers(1, 5), rng.integers(8, 130)
        yield rng.integers(0, rng.integers(2, 40), (columns, records)).astype(float), int(rng.integers(1, 7))


def members(groups):
    return [np.flatnonzero(groups.group == number) for number in range(groups.sizes.size)]


def grouped(columns, k, secrets=None, **options):
    return contrast.Mondrian(k, **options).group(columns.T, np.zeros(columns.shape[1]) if secrets is None else secrets)


def test_groups_are_those_of_a_plain_recursion():
    for columns, k in tables(300, 1):
        assert {frozenset(each.tolist()) for each in members(grouped(columns, k))} == mondrian(columns, k)


def test_groups_are_large_enough_and_cannot_be_cut_any_further():
    for columns, k in tables(60, 2):
        groups = grouped(columns, k)
        assert groups.sizes.min() >= k
        assert not any(boundaries(column[each], k) for each in members(groups) for column in columns)


def test_no_group_is_above_the_bound():
    """Of a minimal partition in d columns: 2 d (k - 1) + m, for m duplicates of one point."""
    for columns, k in tables(60, 3):
        duplicates = np.unique(columns, axis=1, return_counts=True)[1].max()
        assert grouped(columns, k).sizes.max() <= 2 * len(columns) * (k - 1) + duplicates


def test_boxes_do_not_overlap():
    for columns, k in tables(30, 4):
        groups = grouped(columns, k)
        apart = (groups.lower[:, None] > groups.upper) | (groups.upper[:, None] < groups.lower)
        assert (apart.any(axis=2) | np.eye(groups.sizes.size, dtype=bool)).all()


def test_everybody_is_found_in_their_group_alone():
    for columns, k in tables(30, 5):
        groups = grouped(columns, k)
        person, group = groups.locator.candidates(groups.records)
        assert person.tolist() == list(range(columns.shape[1]))
        assert np.array_equal(group, groups.group)


def test_people_elsewhere_have_one_region():
    columns, k = next(tables(1, 6))
    people = contrast.QuasiIdentifiers.of(np.random.default_rng(1).uniform(-50, 90, (200, len(columns))))
    person, _ = grouped(columns, k).locator.candidates(people)
    assert person.tolist() == list(range(200))


def test_order_of_the_records_does_not_matter():
    for columns, k in tables(20, 7):
        order = np.random.default_rng(1).permutation(columns.shape[1])
        assert np.array_equal(grouped(columns[:, order], k).group, grouped(columns, k).group[order])


def test_units_of_a_column_do_not_matter():
    for columns, k in tables(20, 8):
        assert np.array_equal(grouped(columns * 1024 - 7, k).group, grouped(columns, k).group)


def test_relaxed_groups_are_smaller_than_twice_k():
    for columns, k in tables(60, 9):
        groups = grouped(columns, k, relaxed=True)
        assert k <= groups.sizes.min() <= groups.sizes.max() < 2 * k


def test_people_at_a_relaxed_cut_may_be_in_either_half():
    groups = grouped(np.zeros((1, 8)), 2, relaxed=True)
    assert groups.sizes.tolist() == [2, 2, 2, 2]
    person, group = groups.locator.candidates(contrast.QuasiIdentifiers.of([[0.0]]))
    assert (person.tolist(), group.tolist()) == ([0] * 4, [0, 1, 2, 3])


@pytest.mark.parametrize(
    "condition",
    [
        {"diversity": contrast.Distinct(2)},
        {"diversity": contrast.Entropy(1.7)},
        {"diversity": contrast.Recursive(2, 2)},
        {"diversity": contrast.Folk(2)},
        {"closeness": contrast.Closeness(0.3)},
        {"diversity": contrast.Distinct(3), "closeness": contrast.Closeness(0.4, "ordered")},
    ],
    ids=str,
)
def test_conditions_hold_in_all_groups(condition):
    rng = np.random.default_rng(10)
    columns, secrets = rng.integers(0, 30, (2, 400)), rng.integers(0, 6, 400) * (rng.random(400) < 0.7)
    groups = grouped(columns, 3, secrets, **condition)
    assert groups.sizes.size > 2
    for each in condition.values():
        assert each.holds(groups.counts, groups.counts.sum(axis=0), groups.secrets.values).all()
    assert groups.sizes.size < grouped(columns, 3, secrets).sizes.size


def test_a_refused_column_gives_way_to_the_next():
    """The wide column would part the values; the narrow one mixes them."""
    table = {"wide": [0, 0, 9, 9], "narrow": [0, 1, 0, 1]}
    groups = contrast.Mondrian(2, diversity=contrast.Distinct(2)).group(table, ["a", "a", "b", "b"])
    assert groups.group.tolist() == [0, 1, 0, 1]


def test_duplicates_stay_together():
    assert grouped(np.array([[1.0, 1, 1, 1, 2]]), 2).sizes.tolist() == [5]


@pytest.mark.parametrize(
    ("changes", "complaint"),
    [({"k": 0}, "k is 0"), ({"relaxed": "no"}, "relaxed is 'no'"), ({"diversity": 3}, "diversity is a int")],
)
def test_nonsense_is_refused(changes, complaint):
    with pytest.raises(ParameterError, match=complaint):
        contrast.Mondrian(**changes)


def test_too_few_records_are_refused():
    with pytest.raises(ParameterError, match="smaller k"):
        grouped(np.zeros((1, 3)), 4)
    with pytest.raises(ParameterError, match="weaker diversity"):
        grouped(np.zeros((1, 3)), 2, diversity=contrast.Distinct(2))
    with pytest.raises(ParameterError, match="different lengths"):
        grouped(np.zeros((1, 3)), 2, secrets=["a"])
