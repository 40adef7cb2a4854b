"""The map of a table is a release under the table's own promise, and what is no single map is refused in words."""

from __future__ import annotations

import pytest

import spatialdp as sdp
from spatialdp.errors import ParameterError
from spatialdp.outputs.tables.single import in_words, single_map

GRID = sdp.Domain((0, 0, 2, 1), crs="EPSG:4326").grid((2, 1))
KINDS = sdp.Categories({"theft": ["burglary", "shoplifting"], "assault": []})
FRAME = sdp.Frame(GRID, day=sdp.Time("2024-01-01", "2024-01-08", step="1 d"), kind=KINDS)


def released(epsilon=100):
    days = ["2024-01-01", "2024-01-02", "2024-01-02"]
    rows = sdp.Rows([[0.5, 0.5], [0.5, 0.5], [1.5, 0.5]], day=days, kind=["burglary", "assault", "burglary"])
    return sdp.Table().release(rows, FRAME, epsilon=epsilon)


def test_axes_that_are_not_named_are_summed():
    release = released()
    assert single_map(release, {}).estimate.leaf_values().round().tolist() == [2, 1]
    assert single_map(release, {"kind": "theft"}).estimate.leaf_values().round().tolist() == [1, 1]
    second = {"day": "2024-01-02", "kind": "theft"}
    assert single_map(release, second).estimate.leaf_values().round().tolist() == [0, 1]


def test_the_promise_is_that_of_the_table():
    release = released()
    part = single_map(release, {"kind": "theft"})
    assert (part.privacy, part.domain, part.account) == (release.privacy, release.domain, release.account)


def test_a_map_can_be_made_whole_and_non_negative():
    part = single_map(released(epsilon=1), {"kind": "theft"}).non_negative().rounded()
    assert part.estimate.biased
    assert all(value >= 0 and value == round(value) for value in part.estimate.leaf_values())


@pytest.mark.parametrize(
    ("queries", "words"),
    [
        ({"box": (0, 0, 1, 1)}, "box was given, but a map shows all of space; leave it out"),
        ({"kind": ["theft", "assault"]}, "kind is a list, which has a map for each part"),
        ({"colour": "red"}, "colour is no axis of this table"),
        ({"kind": "arson"}, "'arson' is not on the public list"),
    ],
)
def test_what_is_no_single_map_is_refused(queries, words):
    with pytest.raises(ParameterError, match=words):
        single_map(released(), queries)


def test_titles_say_what_is_shown():
    assert in_words(FRAME, {"day": ("2024-01-01", "2024-01-03")}) == "day 2024-01-01 to 2024-01-03"
    assert in_words(FRAME, {"kind": None, "day": None}) == ""
