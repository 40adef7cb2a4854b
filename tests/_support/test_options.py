"""Options: one parsing rule, whoever asks."""

from __future__ import annotations

import inspect
import pickle
from dataclasses import dataclass, replace

import pytest

from spatialdp._support.options import Choice, Option, defaults_of
from spatialdp.errors import ParameterError
from spatialdp.privacy.neighbours import Neighbours
from spatialdp.privacy.noise.laws import Law


def test_options_are_parsed_by_one_rule():
    assert Law.parse("Discrete_Laplace") is Law.DISCRETE_LAPLACE
    assert Neighbours.parse(Neighbours.REPLACE) is Neighbours.REPLACE
    with pytest.raises(ParameterError, match="'add-remove', 'replace'"):
        Neighbours.parse("substitute")
    with pytest.raises(ParameterError):
        Law.parse(3)


class Size(Option):
    SMALL = "small"
    VERY_LARGE = "very-large"


@dataclass(frozen=True)
class Box:
    size: Choice[Size] = Choice(Size.SMALL)


@pytest.mark.parametrize("name", ["very-large", "VERY-LARGE", "Very_Large", Size.VERY_LARGE])
def test_a_name_in_any_spelling_becomes_the_option_when_it_is_given(name):
    assert Box(name).size is Size.VERY_LARGE
    assert Box(name) == Box(Size.VERY_LARGE)


def test_the_default_is_an_option_and_copies_keep_theirs():
    assert Box().size is Size.SMALL
    assert replace(Box("very-large")).size is Size.VERY_LARGE
    assert pickle.loads(pickle.dumps(Box("very-large"))) == Box("very-large")


def test_the_default_of_a_field_is_the_option_itself():
    assert defaults_of(Box) == {"size": Size.SMALL}
    assert defaults_of(Box)["size"] is Size.SMALL
    assert str(inspect.signature(Box)) == f"(size: 'Choice[Size]' = {Size.SMALL!r}) -> None"


@pytest.mark.parametrize("wrong", ["", "huge", "verylarge", 1, None])
def test_other_values_are_refused_with_the_names_that_there_are(wrong):
    with pytest.raises(ParameterError, match=r"size is .*'small', 'very-large'"):
        Box(wrong)
