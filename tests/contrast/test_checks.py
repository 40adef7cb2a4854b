"""Checks of groups equal slow ones, in fractions and by linear programming."""

from __future__ import annotations

import math
from collections import Counter
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spatialdp import contrast
from spatialdp.contrast.checks import discernibility, distances, entropies
from spatialdp.errors import ParameterError
from tests.reference import anonymity

VALUES = "abcde"
COUNTS = st.lists(st.lists(st.integers(0, 9), min_size=5, max_size=5).filter(any), min_size=1, max_size=6)


def counters(rows):
    counts = [Counter({v: n for v, n in zip(VALUES, row, strict=True) if n}) for row in rows]
    return counts, sum(counts, Counter())


@given(COUNTS)
@settings(max_examples=80, deadline=None)
def test_checks_are_those_of_slow_definitions(rows):
    slow, whole = counters(rows)
    checks = contrast.Checks.of(np.array(rows), 1, VALUES)
    assert checks.k == min(each.total() for each in slow)
    assert checks.distinct == min(map(len, slow))
    assert math.log(checks.entropy) == pytest.approx(min(map(anonymity.entropy, slow)), abs=1e-12)
    assert checks.folk == pytest.approx(min(each.total() / max(each.values()) for each in slow))
    assert checks.discernibility == sum(each.total() ** 2 for each in slow)
    assert checks.homogeneous == sum(each.total() for each in slow if len(each) == 1) / whole.total()
    assert checks.t == pytest.approx(float(max(anonymity.equal_distance(each, whole, VALUES) for each in slow)))


@given(COUNTS)
@settings(max_examples=80, deadline=None)
def test_ordered_distances_are_those_of_slow_definitions(rows):
    slow, whole = counters(rows)
    fast = distances(np.array(rows), np.array(rows).sum(axis=0), VALUES, "ordered")
    assert fast.tolist() == pytest.approx([float(anonymity.ordered_distance(each, whole, VALUES)) for each in slow])


TREE = contrast.Taxonomy({"a": ["ab", "abc", "*"], "b": ["ab", "abc", "*"], "c": ["c", "abc", "*"],
                          "d": ["de", "de", "*"], "e": ["de", "de", "*"]})  # fmt: skip


def height_of_common_ancestor(one, other):
    levels = [TREE.to_level(level) for level in range(TREE.height + 1)]
    places = TREE.encode(np.array([one, other], dtype=object))
    return next(height for height, codes in enumerate(levels) if codes[places[0]] == codes[places[1]])


@pytest.mark.parametrize("distance", ["equal", "ordered", TREE], ids=["equal", "ordered", "tree"])
def test_distances_are_the_cheapest_moves(distance):
    """By linear programming over all ways to move the mass, for the ground distance of the definition."""
    grounds = {
        "equal": lambda i, j: float(i != j),
        "ordered": lambda i, j: abs(i - j) / 4,
    }
    ground = grounds.get(
        distance if isinstance(distance, str) else "", lambda i, j: height_of_common_ancestor(VALUES[i], VALUES[j]) / 3
    )
    cost = [[ground(i, j) for j in range(5)] for i in range(5)]
    rng = np.random.default_rng(3)
    for _ in range(25):
        rows = rng.integers(0, 6, (3, 5)) + np.eye(5, dtype=int)[:3]
        whole = rows.sum(axis=0)
        for row, found in zip(rows, distances(rows, whole, VALUES, distance), strict=True):
            cheapest = anonymity.cheapest(row / row.sum(), whole / whole.sum(), cost)
            assert found == pytest.approx(cheapest, abs=1e-9)


@given(COUNTS, st.fractions(Fraction(1, 4), 4), st.integers(1, 4))
@settings(max_examples=80, deadline=None)
def test_recursive_diversity_is_exact(rows, c, l):  # noqa: E741
    slow, _ = counters(rows)
    held = contrast.Recursive(c, l).holds(np.array(rows), np.array(rows).sum(axis=0), VALUES)
    assert held.tolist() == [anonymity.is_recursive(each, c, l) for each in slow]
    limit = contrast.smallest_recursive(np.array(rows), l)
    assert all(held) == (c > limit)


def test_equality_passes_folk_diversity_and_fails_recursive():
    counts = np.array([[2, 2]])
    assert contrast.Folk(2).holds(counts, counts[0], "ab").all()
    assert not contrast.Recursive(1, 2).holds(counts, counts[0], "ab").any()


@given(COUNTS)
@settings(max_examples=40, deadline=None)
def test_merged_groups_keep_every_condition(rows):
    counts = np.array(rows)
    merged, whole = counts.sum(axis=0, keepdims=True), counts.sum(axis=0)
    for condition in (
        contrast.Distinct(2),
        contrast.Entropy(1.5),
        contrast.Recursive(2, 2),
        contrast.Folk(2),
        contrast.Closeness(0.3),
        contrast.Closeness(0.3, "ordered"),
        contrast.Closeness(0.3, TREE),
    ):
        if condition.holds(counts, whole, VALUES).all():
            assert condition.holds(merged, whole, VALUES).all()


def test_a_large_t_permits_homogeneous_groups():
    """t >= 1 - max q: a group of the commonest value alone is close enough."""
    counts = np.array([[50, 0, 0], [10, 20, 20]])
    whole = counts.sum(axis=0)
    t = float(1 - whole.max() / whole.sum())
    assert contrast.Closeness(t).holds(counts, whole, "abc")[0]
    assert not contrast.Closeness(t - 0.01).holds(counts, whole, "abc")[0]


def test_neighbouring_values_are_one_step_apart_whatever_they_are():
    counts = np.array([[2, 0, 0], [0, 2, 2]])
    near, far = (
        distances(counts, counts.sum(axis=0), values, "ordered") for values in (["1", "2", "3"], ["1", "2", "9"])
    )
    assert near.tolist() == far.tolist()


def test_suppressed_records_cost_the_whole_table_each():
    assert discernibility(np.array([4, 6]), suppressed=2) == 16 + 36 + 2 * 12


def test_entropy_of_equal_shares_is_the_logarithm_of_their_number():
    assert np.exp(entropies(np.full((1, 7), 3))).round(9).tolist() == [7.0]


def test_skewed_groups_are_larger_for_people_than_on_average():
    checks = contrast.Checks.of(np.array([[1], [1], [98]]), 1, ["a"])
    assert (round(checks.average, 1), checks.person_average) == (33.3, 96.06)


@pytest.mark.parametrize(
    "make",
    [
        lambda: contrast.Distinct(0),
        lambda: contrast.Entropy(0.5),
        lambda: contrast.Recursive(0, 2),
        lambda: contrast.Recursive(1, 0),
        lambda: contrast.Folk(0),
        lambda: contrast.Closeness(1.5),
        lambda: distances(np.array([[1]]), np.array([1]), "a", "far"),
    ],
)
def test_nonsense_is_refused(make):
    with pytest.raises(ParameterError, match=r"must be|give"):
        make()
