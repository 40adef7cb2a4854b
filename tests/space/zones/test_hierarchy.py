import itertools

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from spatialdp.errors import ParameterError
from spatialdp.space.zones.hierarchy import ALL_ZONES, code_column, hierarchy, prefix_columns


def tree(**levels):
    return hierarchy({level: code_column(codes, level) for level, codes in levels.items()})


def test_unequal_families_and_leaves_at_several_depths():
    found = tree(state=["B", "A", "A", "A"], county=[None, "A2", "A1", "A1"], tract=[None, None, "x", "y"])
    assert found.levels == (ALL_ZONES, "state", "county", "tract")
    assert found.shape.offsets.tolist() == [0, 1, 3, 5, 7]
    assert found.codes.tolist() == [ALL_ZONES, "A", "B", "A1", "A2", "x", "y"]
    assert found.shape.n_children.tolist() == [2, 2, 0, 2, 0, 0, 0]
    assert found.rows.tolist() == [0, 1, 2, 3]  # B, A2, x, y


def test_one_zone_on_top_is_the_root():
    found = tree(country=["X", "X"], state=["1", "2"])
    assert found.levels == ("country", "state")
    assert tree(zone=["1"]).shape.n_nodes == 1


@pytest.mark.parametrize("order", list(itertools.permutations(range(4)))[::5])
def test_the_order_of_rows_changes_no_number(order):
    states, counties = np.array(["B", "A", "A", "C"], object), np.array(["b", "a1", "a2", "c"], object)
    want, found = tree(state=states, county=counties), tree(state=states[list(order)], county=counties[list(order)])
    assert found.codes.tolist() == want.codes.tolist()
    assert np.array(order)[found.rows].tolist() == want.rows.tolist()


@pytest.mark.parametrize(
    ("levels", "words"),
    [
        ({"state": ["A", "B"], "county": ["1", "1"]}, "'1' of level 'county' lies under 'A' and under 'B'"),
        ({"state": ["A", "A"], "county": ["1", "1"]}, "zone '1' of level 'county' occurs more than once"),
        ({"state": ["A", "A"], "county": [None, "1"]}, "zone 'A' of level 'state' has a row of its own"),
        ({"state": [None], "county": ["1"]}, "has no code of level 'state'"),
        ({"a": ["A"], "b": [None], "c": ["1"]}, "zone '1' of level 'c' has no code of level 'b'"),
        ({"state": []}, "there are no zones"),
        ({ALL_ZONES: ["A"]}, "levels are"),
        ({"a": ["A", "B"], "b": ["1", "2"], "c": ["x", "x"]}, "lies under 'A' and under 'B' of level 'a'"),
    ],
)
def test_what_is_no_hierarchy_is_refused_by_name(levels, words):
    with pytest.raises(ParameterError, match=words.replace("(", r"\(")):
        tree(**levels)


@pytest.mark.parametrize("codes", [[1, 2], np.array([1.5]), ["a", 1], [True], [""], ["x" * 201], ["a\x1b"]])
def test_codes_are_text_that_can_be_seen(codes):
    with pytest.raises(ParameterError, match=r"text|characters|long"):
        code_column(codes, "zone")


@pytest.mark.parametrize(
    "codes",
    [["01", None], np.array(["01", None], object), pd.Series(["01", None]), pd.Categorical(["01", None])],
)
def test_codes_in_all_forms(codes):
    assert code_column(codes, "zone").to_pylist() == ["01", None]


def test_prefixes_are_the_parents():
    columns = prefix_columns(code_column(["37063", "37001", "11"], "c"), {"state": 2, "county": 5})
    assert columns["state"].to_pylist() == ["37", "37", "11"]
    assert columns["county"].to_pylist() == ["37063", "37001", None]


@pytest.mark.parametrize("prefixes", [{}, {"a": 2, "b": 2}, {"a": 3, "b": 2}, {"a": 0}, {"a": "2"}, {"a": 2, "b": 4}])
def test_prefixes_that_do_not_fit_are_refused(prefixes):
    with pytest.raises(ParameterError):
        prefix_columns(pa.array(["37063"], pa.large_string()), prefixes)
