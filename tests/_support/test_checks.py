"""Public parameters: anything that is a whole number is taken, nothing that only looks like one."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from spatialdp._support.checks import positive_pair, true_or_false, whole_number, whole_pair
from spatialdp.errors import ParameterError


@pytest.mark.parametrize("value", [3, np.int8(3), np.uint64(3), np.array(3)], ids=lambda value: type(value).__name__)
def test_every_kind_of_integer_is_a_whole_number(value):
    number = whole_number(value, "count", 1, 5)
    assert number == 3
    assert type(number) is int


@pytest.mark.parametrize("value", [True, np.True_, 3.0, "3", None, Fraction(3), 0, 6, [3]], ids=repr)
def test_what_is_not_a_whole_number_in_bounds_is_refused_by_name(value):
    with pytest.raises(ParameterError, match=r"count is .* from 1 to 5"):
        whole_number(value, "count", 1, 5)


def test_both_bounds_are_allowed():
    assert (whole_number(1, "count", 1, 5), whole_number(5, "count", 1, 5)) == (1, 5)


@pytest.mark.parametrize("value", [1, 0, "no", None, np.True_], ids=repr)
def test_only_a_bool_is_true_or_false(value):
    assert true_or_false(True, "flag") is True
    assert true_or_false(False, "flag") is False
    with pytest.raises(ParameterError, match="flag is"):
        true_or_false(value, "flag")


def test_pairs_of_whole_numbers_come_from_any_sequence():
    assert whole_pair([2, 3], "shape") == whole_pair(np.array([2, 3]), "shape") == (2, 3)
    for wrong in (3, (1,), (1, 2, 3), (0, 1), (1.5, 2), (2**30 + 1, 1), None):
        with pytest.raises(ParameterError, match="shape is"):
            whole_pair(wrong, "shape")


def test_one_positive_number_stands_for_both_sides():
    assert positive_pair(0.5, "size") == (0.5, 0.5)
    assert positive_pair((1, 2.5), "size") == positive_pair(np.array([1, 2.5]), "size") == (1.0, 2.5)
    for wrong in (0, -1, float("nan"), float("inf"), (1, 0), (1, 2, 3), "a", None, 10**400):
        with pytest.raises(ParameterError, match="size is"):
            positive_pair(wrong, "size")
