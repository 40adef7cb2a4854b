"""Values out of foreign JSON: what is written as it should be is taken exactly, all else is refused."""

from __future__ import annotations

import json
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spatialdp._support.json_values import (
    amount,
    exact_number,
    exact_numbers,
    flag,
    fraction,
    fractions,
    parsed,
    text,
    texts,
    whole,
    with_exact,
)


@given(st.fractions(min_value=0))
def test_fractions_survive_being_written_as_text(value):
    assert fraction(str(value)) == value
    assert fractions(json.loads(json.dumps({"a": str(value), "b": "1"}))) == {"a": value, "b": Fraction(1)}


@pytest.mark.parametrize("wrong", ["-1/2", "1.5", "1e9", "1/ 2", " 1", "1/2/3", "½", "", "9" * 401, "1/" + "9" * 401])
def test_texts_that_are_not_short_fractions_are_refused(wrong):
    with pytest.raises(ValueError, match="fraction"):
        fraction(wrong)


def test_fractions_are_never_read_from_numbers():
    for wrong in (1, 0.5, True, None, ["1"]):
        with pytest.raises(TypeError):
            fraction(wrong)
    with pytest.raises(ZeroDivisionError):  # which whoever reads a file has to expect
        fraction("1/0")


@pytest.mark.parametrize("wrong", [-1, -0.5, float("nan"), float("inf"), "1", None, [1]], ids=repr)
def test_amounts_are_finite_and_not_negative(wrong):
    assert amount(0) == 0.0
    assert isinstance(amount(3), float)
    with pytest.raises(ValueError, match="finite"):
        amount(wrong)


def test_only_true_and_false_are_flags():
    assert flag(True) is True
    assert flag(False) is False
    for wrong in (1, 0, "true", None):
        with pytest.raises(TypeError):
            flag(wrong)


def test_texts_are_taken_by_their_names_and_in_that_order():
    values = {"a": "1", "b": "2", "c": 3}
    assert texts(values, "b", "a") == ["2", "1"]
    assert text("") == ""
    with pytest.raises(TypeError):
        texts(values, "a", "c")
    with pytest.raises(KeyError):
        texts(values, "missing")


@given(st.fractions(min_value=0, max_value=1000), st.fractions(min_value=0, max_value=1000))
def test_exact_numbers_come_back_and_have_numbers_beside_them(one, other):
    written = json.loads(json.dumps(with_exact({"cost": one, "costs": {"a": one, "b": other}})))
    assert written["cost"] == float(one)
    assert exact_number(written, "cost") == one
    assert exact_numbers(written, "costs") == {"a": one, "b": other}
    assert exact_number({"cost": str(one)}, "cost") == one
    assert exact_numbers({"costs": {"a": str(one)}}, "costs") == {"a": one}


@pytest.mark.parametrize("number", [True, 0.2, -0.1, float("nan"), "0.1", None])
def test_numbers_that_contradict_the_exact_ones_are_refused(number):
    with pytest.raises((ValueError, TypeError)):
        exact_number({"cost": number, "cost_exact": "1/10"}, "cost")
    with pytest.raises((ValueError, TypeError)):
        exact_numbers({"costs": {"a": number}, "costs_exact": {"a": "1/10"}}, "costs")


@pytest.mark.parametrize("costs", [{"costs": [1]}, {"costs": {"a": 1.0}, "costs_exact": {"b": "1"}}, {"costs": "1"}])
def test_other_than_named_numbers_is_refused(costs):
    with pytest.raises((ValueError, TypeError)):
        exact_numbers(costs, "costs")


@pytest.mark.parametrize("depth", [33, 100, 900, 100_000])
@pytest.mark.parametrize("ends", ["[]", '{"a":', "mixed"])
def test_deep_nesting_is_one_error(depth, ends):
    """Python's own stack ends somewhere between: reading and writing fail at different depths."""
    opened, closed = {"[]": ("[", "]"), '{"a":': ('{"a":', "}"), "mixed": ('[{"a":', "}]")}[ends]
    with pytest.raises(ValueError, match="deep"):
        parsed(opened * depth + "1" + closed * depth)
    assert parsed(opened * 10 + "1" + closed * 10)


@pytest.mark.parametrize(
    "text", ["NaN", "[Infinity]", '{"a": -Infinity}', '"\\ud800"', '{"\\udfff": 1}', "9" * 5000, "{", ""]
)
def test_what_no_release_holds_is_refused(text):
    with pytest.raises(ValueError):  # noqa: PT011 - the reader of the file has the words
        parsed(text)


def test_whole_numbers_and_amounts_have_limits():
    assert whole(3, 1, 3) == 3
    assert amount(1, 1.0) == 1.0
    for bad in (0, 4, 2.0, True, "2", None, 10**400):
        with pytest.raises(ValueError, match="whole number"):
            whole(bad, 1, 3)
    for bad in (-1, 2, True, "1", None, float("nan"), float("inf"), 10**400):
        with pytest.raises(ValueError, match="finite number"):
            amount(bad, 1.0)
    with pytest.raises(ValueError, match="finite number"):
        amount(float("inf"))
