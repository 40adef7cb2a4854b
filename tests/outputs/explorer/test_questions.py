"""The form with which the page asks: a box to begin with, or the code of a zone and a level."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

import spatialdp as sdp
from spatialdp.outputs.explorer.questions import first_box, question
from tests.helpers.zone_releases import release_of, zones_of


@given(st.floats(-1e6, 1e6), st.floats(-1e6, 1e6), st.floats(1e-2, 1e6), st.floats(1e-2, 1e6))
def test_the_first_box_holds_the_domain_and_little_else(xmin, ymin, width, height):
    domain = sdp.Domain((xmin, ymin, xmin + width, ymin + height))
    box = [float(first_box(domain)[side]) for side in ("xmin", "ymin", "xmax", "ymax")]
    for shown, side, outwards in zip(box, domain.bounds, (-1, -1, 1, 1), strict=True):
        slack = 1e-9 * max(1, abs(side))
        assert -slack <= outwards * (shown - side) <= 1e-5 * min(domain.size) + slack


def test_zones_are_asked_by_code_and_level_and_cells_by_box():
    cells = sdp.Flat((2, 2)).release([], sdp.Domain((0, 0, 1, 1)), epsilon=1)
    of_cells, of_zones = (question(release.estimate, release) for release in (cells, release_of(zones_of())))
    assert of_cells.keys() == of_zones.keys()
    assert 'id="xmin"' in of_cells["question"]
    assert of_cells["levels"] == ""
    assert 'id="code"' in of_zones["question"]
    assert of_zones["levels"].count("<option") == 4
    assert 'value="3" selected>tract<' in of_zones["levels"]
    assert "add up" in of_zones["help"]
    assert "add up" not in question(*_raw())["help"]


def _raw():
    release = release_of(zones_of(), consistent=False)
    return release.estimate, release
