"""Does `sample_and_aggregate` cost what it says? All coins of all records, for both relations."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import pytest

from tests.audit.aggregates import CRUMBS, FUNCTIONS, PLACES, law_of_aggregate, law_of_middle, parity, worst_aggregate
from tests.audit.enumeration import log_ratio, multisets, neighbours


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda function: function.__name__)
@pytest.mark.parametrize("relation", ["add-remove", "replace"])
@pytest.mark.parametrize("aggregate", ["median", "mean"])
def test_aggregates_cost_no_more_than_epsilon(aggregate, relation, function):
    for blocks, most in ((2, 4), (3, 3)):
        assert 0.2 < worst_aggregate(function, blocks, aggregate, relation, most) <= 1 + CRUMBS


@pytest.mark.parametrize("relation", ["add-remove", "replace"])
def test_medians_cost_no_more_than_an_eighth_of_epsilon_squared_in_zcdp(relation):
    """Over all coins, Rényi divergences are at most α ε²/8, though losses need not lie in one range of width ε."""
    worst = 0.0
    for function, blocks in itertools.product(FUNCTIONS, (1, 2)):
        for data in multisets(PLACES, 3):
            mine = law_of_aggregate(data, function, blocks, "median", relation)
            for other in set(neighbours(data, (*PLACES, 99), relation)):
                theirs = law_of_aggregate(other, function, blocks, "median", relation)
                worst = max(worst, divergence(mine, theirs), divergence(theirs, mine))
    assert 0.01 < worst <= 1 / 8 + CRUMBS


def divergence(mine, theirs):
    """The largest Rényi divergence over its order, for many orders."""
    return max(
        math.log(math.fsum(p * (p / theirs[place]) ** (order - 1) for place, p in mine.items())) / (order - 1) / order
        for order in (1.1, 1.5, 2, 3, 5, 9, 20, 60)
    )


@pytest.mark.audit
@pytest.mark.parametrize("relation", ["add-remove", "replace"])
@pytest.mark.parametrize("aggregate", ["median", "mean"])
def test_aggregates_of_five_records_cost_no_more_than_epsilon(aggregate, relation):
    for function in FUNCTIONS:
        assert worst_aggregate(function, 3, aggregate, relation, 5) <= 1 + CRUMBS


@pytest.mark.parametrize("relation", ["add-remove", "replace"])
@pytest.mark.parametrize("aggregate", ["median", "mean"])
def test_all_of_epsilon_is_used_where_one_record_decides(aggregate, relation):
    worst = max(worst_aggregate(function, 1, aggregate, relation, 3) for function in FUNCTIONS)
    assert (0.2 if aggregate == "median" else 0.99) < worst <= 1 + CRUMBS


def test_medians_of_blocks_are_nearly_tight_where_many_results_are_on_either_side():
    lists, one = list(itertools.combinations_with_replacement(range(6), 6)), Fraction(1)
    laws = {each: law_of_middle(each, 6, one) for each in lists if each.count(0) >= 2 and each.count(5) >= 2}
    pairs = [
        (each, other) for each in laws for place in range(6) if (other := tuple(sorted((*each[1:], place)))) in laws
    ]
    worst = max(log_ratio(laws[each], laws[other]) for each, other in pairs)
    assert 0.6 < worst <= 1 + CRUMBS


def test_laws_add_up_to_one():
    for aggregate in ("median", "mean"):
        law = law_of_aggregate((0, 0, 1), parity, 2, aggregate, "replace")
        assert math.fsum(law.values()) == pytest.approx(1, abs=1e-12)
