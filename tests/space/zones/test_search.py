import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import spatialdp as sdp
from spatialdp.errors import ParameterError
from tests.helpers.zones import counties


def deep():
    """Three levels, with a leaf on each, and a code that two levels have."""
    frame = pd.DataFrame({"a": ["X", "X", "Y", "Z"], "b": ["X1", "X2", "Y", None], "c": ["X1a", None, "Y1", None]})
    return sdp.Zones(frame, ["a", "b", "c"])


def test_nodes_are_found_by_code():
    zones = counties()
    assert zones.nodes_of("A").tolist() == [1]
    assert zones.nodes_of(np.array(["A2", "all zones", "B"], dtype=object)).tolist() == [4, 0, 2]
    assert zones.nodes_of(["A2"], "county").tolist() == [4]


@pytest.mark.parametrize("code", ["a", "", 5, None, "A3"])
def test_an_unknown_code_is_an_error_that_quotes_it(code):
    with pytest.raises(ParameterError, match=r"there is no zone"):
        counties().nodes_of([code])


def test_a_code_of_another_level_is_unknown_there():
    with pytest.raises(ParameterError, match="of level 'county'"):
        counties().nodes_of("A", "county")
    with pytest.raises(ParameterError, match="no level 'tract'"):
        counties().nodes_of("A", "tract")


def test_a_code_on_two_levels_needs_the_level():
    zones = deep()
    with pytest.raises(ParameterError, match="on the levels a and b"):
        zones.nodes_of("Y")
    assert zones.codes[zones.nodes_of("Y", "b")].tolist() == ["Y"]
    assert zones.nodes_of("Y", "a") != zones.nodes_of("Y", "b")
    assert zones.codes[zones.nodes_of(["X1a", "Z"])].tolist() == ["X1a", "Z"]


def test_leaves_below_nodes():
    zones = deep()
    names = zones.codes[zones.leaf_nodes]
    for node in range(zones.shape.n_nodes):
        want = [leaf for leaf, start in enumerate(zones.leaf_nodes.tolist()) if node in ancestors(zones, start)]
        assert sorted(zones.leaves_of(node).tolist()) == want
    assert names[zones.leaves_of(zones.nodes_of(["X", "Z"]))].tolist() == ["X1a", "X2", "Z"]


def ancestors(zones, node):
    found = [node]
    while found[-1] > 0:
        found.append(int(zones.shape.parent[found[-1]]))
    return found


def test_nodes_below_a_node():
    zones = deep()
    assert zones.codes[zones.under(0)].tolist() == ["X", "Y", "Z"]
    assert zones.codes[zones.under(0, "c")].tolist() == ["X1a", "Y1"]
    assert zones.under(int(zones.nodes_of("Z")[0])).size == 0


def test_codes_of_records_say_nothing():
    zones = counties()
    codes = pa.array(["A1", "A", "all zones", None, "a1", "A1 ", "B", "\x00"], pa.large_string())
    assert zones.codes[zones.leaf_nodes].tolist() == ["B", "A1", "A2"]
    assert zones.leaves_of_codes(codes).tolist() == [1, 3, 3, 3, 3, 3, 0, 3]
    assert zones.leaves_of_codes(codes[:0]).size == 0


def test_two_leaves_of_one_code_are_refused_for_codes():
    frame = pd.DataFrame({"a": ["X", "Y"], "b": [None, "X"]})
    with pytest.raises(ParameterError, match="two leaves have the code 'X'"):
        sdp.Zones(frame, ["a", "b"]).check_leaf_codes()
    counties().check_leaf_codes()
