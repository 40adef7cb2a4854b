"""Categories are a public list, in groups or not; names are unique, and files of them are checked."""

from __future__ import annotations

import pytest

from spatialdp.errors import ParameterError
from spatialdp.space.frames.categories import Categories

NESTED = Categories({"property": {"theft": ["burglary", "shoplifting"], "fraud": []}, "assault": []})


def test_leaves_may_be_at_several_depths():
    assert NESTED.labels() == ["assault", "fraud", "burglary", "shoplifting"]
    assert NESTED.pick("property").tolist() == [1, 2, 3]
    assert NESTED.pick(("theft", "assault")).tolist() == [0, 2, 3]
    assert NESTED.names[-1] == "categories"
    assert NESTED.part_labels(NESTED.names[1]) == ["property", "assault"]
    assert NESTED.part_labels(NESTED.names[2]) == ["assault", "theft", "fraud"]
    assert NESTED.part_labels("all categories") == ["all categories"]
    assert NESTED.parts("categories").tolist() == [2, 4, 5, 6]


def test_plain_lists_have_one_level():
    kinds = Categories(["b", "a"], levels="kind")
    assert (kinds.labels(), kinds.names, kinds.counted) == (["b", "a"], ("all categories", "kind"), (False, True))
    assert repr(kinds) == "Categories(2 categories)"


@pytest.mark.parametrize(
    "names",
    [[], ["a", "a"], {"a": ["b"], "b": []}, [1, 2], [""], ["a\nb"], "theft", {"a": "b"}, ["x" * 201], {"a": ["b", 5]}],
    ids=str,
)
def test_lists_that_are_none_are_refused(names):
    with pytest.raises(ParameterError):
        Categories(names)


def test_levels_must_have_names_of_their_own():
    with pytest.raises(ParameterError, match="levels"):
        Categories(["a"], levels=("x", "y"))
    with pytest.raises(ParameterError, match="levels"):
        Categories({"a": ["b"]}, levels=("x", "x"))


@pytest.mark.parametrize("query", ["murder", ("theft", "murder"), 5, ()])
def test_unlisted_names_are_refused_in_public_queries(query):
    with pytest.raises(ParameterError, match="public list"):
        NESTED.pick(query)


def test_the_axis_comes_back_from_json():
    again = Categories.from_json(NESTED.to_json())
    assert again == NESTED
    assert hash(again) == hash(NESTED)
    assert again != Categories(["a"])


@pytest.mark.parametrize(
    "change",
    [
        {"children": [2, 2, 0, 2, 0, 0, 9]},
        {"children": [2, 2, 0, 2, 0, 0]},
        {"children": [2, 2, 0, 2, 0, 0, -1]},
        {"children": [2, 2, 0, 2, 0, True, 0]},
        {"children": [0, 2, 0, 2, 0, 0, 0]},
        {"names": ["a"] * 6},
        {"names": [1] * 6},
        {"levels": ["one"]},
    ],
    ids=str,
)
def test_forged_files_are_refused(change):
    with pytest.raises((ValueError, TypeError, KeyError)):
        Categories.from_json(NESTED.to_json() | change)
