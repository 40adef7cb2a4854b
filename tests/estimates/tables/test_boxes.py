"""Questions about one map are refused by a table, all of them, in words."""

from __future__ import annotations

import pytest

import spatialdp as sdp
from spatialdp.errors import ReleaseError
from spatialdp.estimates.base import Estimate
from spatialdp.estimates.tables.boxes import ManyMaps

REFUSED = ["leaf_allowance", "leaf_values", "leaf_moments", "leaf_boxes"]
OF_AREAS = ["in_steps", "polygons_in_steps", "answer", "moments", "allowance", "polygon_allowance", "uniformity",
            "answer_polygons", "polygon_moments"]  # fmt: skip


def estimate_of():
    frame = sdp.Frame(sdp.Domain((0, 0, 1, 1)).grid((1, 1)))
    return sdp.Table().release([], frame, epsilon=1).estimate


@pytest.mark.parametrize("name", [*REFUSED, *OF_AREAS])
def test_every_question_is_refused_in_words(name):
    arguments = () if name in REFUSED else (None,)
    with pytest.raises(ReleaseError, match="a map for every time"):
        getattr(estimate_of(), name)(*arguments)


def test_a_table_has_all_that_the_protocol_names():
    estimate = estimate_of()
    for name in [*vars(Estimate), *Estimate.__annotations__]:
        if not name.startswith("_"):
            assert hasattr(estimate, name), name
    assert estimate.unbiased is estimate.finest is estimate
    assert issubclass(type(estimate), ManyMaps)
