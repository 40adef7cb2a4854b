"""The page's words and numbers; tests/browser/test_explorer.py has the tests of whole pages."""

from __future__ import annotations

import json

import numpy as np
import pytest
import shapely
from hypothesis import given
from hypothesis import strategies as st

import spatialdp as sdp
from spatialdp.outputs.explorer import page
from tests.helpers.cases import LARGE
from tests.helpers.releases import REGION, release_of


@given(st.floats(-1e6, 1e6), st.floats(-1e6, 1e6), st.floats(1e-2, 1e6), st.floats(1e-2, 1e6))
def test_the_first_box_holds_the_domain_and_little_else(xmin, ymin, width, height):
    domain = sdp.Domain((xmin, ymin, xmin + width, ymin + height))
    box = [float(page._first_box(domain)[side]) for side in ("xmin", "ymin", "xmax", "ymax")]
    for shown, side, outwards in zip(box, domain.bounds, (-1, -1, 1, 1), strict=True):
        slack = 1e-9 * max(1, abs(side))
        assert -slack <= outwards * (shown - side) <= 1e-5 * min(domain.size) + slack


@pytest.mark.parametrize("name", LARGE)
def test_data_are_json_and_say_what_the_release_is(name):
    release = release_of(name, REGION)
    data = json.loads(page._json(page._data(release, 0.9)))
    assert data["kind"] == release.estimate.kind
    assert data["biased"] == release.estimate.biased
    assert data["percent"] == "90"
    assert 0 < data["scale"]["soft"] < data["scale"]["high"]
    assert 0 < data["finest"] <= 1
    assert len(set(data["colours"])) > 200


def test_outlines_are_in_shares_of_the_domain():
    hole = shapely.box(2, 1, 8, 5) - shapely.box(3, 2, 4, 3)
    domain = sdp.Domain((2, 1, 10, 9), region=hole)
    outer, inner = sorted(page._outline(domain), key=lambda ring: -np.ptp(ring))
    for ring, bounds in ((outer, (0, 0, 0.75, 0.5)), (inner, (0.125, 0.125, 0.25, 0.25))):
        assert [*np.min(ring, axis=0), *np.max(ring, axis=0)] == pytest.approx(bounds)
    assert page._outline(sdp.Domain((0, 0, 1, 1))) == []


def test_sizes_in_words():
    assert page.size_in_words(release_of("flat").estimate) == "1,073 cells of a grid of 37 × 29"
    assert page.size_in_words(release_of("quadtree").estimate) == "1,024 leaves of a tree of 5 levels"


def test_modules_become_one_script():
    module = 'import { a } from "./a.mjs";\nexport function b() {\n  return "export a";\n}\nexport const c = 1;\n'
    assert page._inlined(module) == 'function b() {\n  return "export a";\n}\nconst c = 1;\n'
