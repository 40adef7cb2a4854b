"""Does `sample_and_aggregate` cost what it says? All coins of all records, for both relations."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import pytest

from tests.audit.aggregates import CRUMBS, FUNCTIONS, law_of_aggregate, law_of_middle, parity, worst_aggregate
from tests.audit.enumeration import log_ratio


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda function: function.__name__)
@pytest.mark.parametrize("relation", ["add-remove", "replace"])
@pytest.mark.parametrize("aggregate", ["median", "mean"])
def test_aggregates_cost_no_more_than_epsilon(aggregate, relation, function):
    for blocks, most in ((2, 4), (3, 3)):
        assert 0.2 < worst_aggregate(function, blocks, aggregate, relation, most) <= 1 + CRUMBS


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
