"""Messages with words for Python and words for the command line."""

from __future__ import annotations

import math
import pickle
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spatialdp.errors import ParameterError
from spatialdp.privacy.neighbours import Neighbours
from spatialdp.wording import Mention, as_typed, either, parameter, quoted, split


def test_a_message_in_python_names_parameters_of_python():
    error = ParameterError(
        f"{parameter('cell_size')} is {quoted((0.5, 2))}; use {parameter('consistent', True)}, "
        f"{parameter('shape', '(nx, ny)', typed='NX,NY')}, {parameter('median', 'cell')} or {either('plot()', '-o')}."
    )
    assert str(error) == "cell_size is (0.5, 2); use consistent=True, shape=(nx, ny), median='cell' or plot()."


def test_options_are_quoted_by_their_names():
    (_, mention, _) = split(parameter("neighbours", Neighbours.ADD_REMOVE))
    assert mention == Mention("neighbours='add-remove'", "neighbours", "add-remove")
    assert split(quoted(Neighbours.ADD_REMOVE))[1].python == "'add-remove'"


@pytest.mark.parametrize(
    ("value", "typed"),
    [
        (3, "3"),
        (1e-9, "1e-09"),
        (Fraction(1, 3), "1/3"),
        ((8.0, 0.5, math.nan), "8,0.5,missing"),
        (False, "no"),
        ((), ""),
        (("hyperbolic", 3), "hyperbolic,3"),
        ([((0, 1), (2, 3)), ((4, 5),)], "0,1;2,3/4,5"),
    ],
)
def test_values_read_as_typed(value, typed):
    assert as_typed(value) == typed


@given(st.text())
def test_text_without_marks_stays_as_it_is(text):
    plain = "".join(character for character in text if character not in "\x02\x03")
    assert split(plain) == (plain,)
    assert str(ParameterError(plain)) == plain


@given(st.lists(st.text()), st.text())
def test_whatever_is_quoted_leaves_one_mention(texts, text):
    (before, mention, after) = split(f"a {either(text, '')} b")
    assert (before, after) == ("a ", " b")
    assert isinstance(mention, Mention)
    assert len(split(f"{quoted(texts)}{parameter('name', text)}")) == 5


def test_parts_survive_another_process():
    error = pickle.loads(pickle.dumps(ParameterError(f"{parameter('height')} is 99.")))
    assert str(error) == "height is 99."
    assert error.parts == ("", Mention("height", "height", ""), " is 99.")
