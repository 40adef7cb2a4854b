"""Taxonomies nest, and name every value."""

from __future__ import annotations

import numpy as np
import pytest

from spatialdp.contrast import Taxonomy
from spatialdp.errors import ParameterError


def test_levels_are_functions_of_the_level_below():
    zips = Taxonomy({"53715": ["5371*", "537**"], "53710": ["5371*", "537**"], "53706": ["5370*", "537**"]})
    assert zips.labels == (("53715", "53710", "53706"), ("5371*", "5370*"), ("537**",))
    assert [parents.tolist() for parents in zips.parents] == [[0, 0, 1], [0, 0]]
    assert zips.to_level(2).tolist() == [0, 0, 0]
    assert repr(zips) == "Taxonomy(3 → 2 → 1 labels)"


def test_levels_that_do_not_nest_are_refused():
    with pytest.raises(ParameterError, match="level 2 of the taxonomy does not nest"):
        Taxonomy({"a": ["low", "x"], "b": ["low", "y"]})


@pytest.mark.parametrize("labels", [{}, {"a": ["x"], "b": []}, {1: ["x"], "1": ["x"]}])
def test_values_need_as_many_labels_as_the_others(labels):
    with pytest.raises(ParameterError, match="different numbers of labels"):
        Taxonomy(labels)


def test_ranges_begin_at_multiples_of_their_width():
    ages = Taxonomy.ranges(17, 90, (5, 10, 20))
    assert (ages.height, ages.sizes) == (4, (74, 16, 9, 5, 1))
    assert [ages.generalise([39], level) for level in range(5)] == [["39"], ["35-39"], ["30-39"], ["20-39"], ["*"]]
    with pytest.raises(ParameterError, match="does not nest"):
        Taxonomy.ranges(0, 30, (4, 10))
    with pytest.raises(ParameterError, match="widths is 0"):
        Taxonomy.ranges(0, 30, (0,))


def test_numbers_and_texts_name_the_same_value():
    ages = Taxonomy.ranges(17, 20, ())
    for column in ([18, 20], [18.0, 20.0], ["18", "20"], np.array([18, 20], dtype=object)):
        assert ages.encode(column).tolist() == [1, 3]


def test_unknown_values_are_refused_and_not_named():
    with pytest.raises(ParameterError, match="not in its taxonomy") as told:
        Taxonomy.flat(["f"]).encode(["secret"])
    assert "secret" not in str(told.value)
