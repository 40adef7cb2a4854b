"""The page's words and numbers; tests/browser/test_explorer.py has the tests of whole pages."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from dataclasses import replace

import pytest

import spatialdp as sdp
from spatialdp.outputs.explorer import page
from tests.helpers.cases import LARGE
from tests.helpers.releases import REGION, release_of


@pytest.mark.parametrize("name", LARGE)
def test_data_are_json_and_say_what_the_release_is(name):
    release = release_of(name, REGION)
    data = json.loads(page._json(page._data(release, 0.9)))
    assert data["kind"] == release.estimate.kind
    assert data["biased"] == release.estimate.biased
    assert data["percent"] == "90"
    assert 0 < data["scale"]["soft"] < data["scale"]["high"]
    assert 0 < data["finest"] <= 1
    assert len(set(data["look"]["colours"])) > 50


@pytest.mark.parametrize(
    "bounds",
    [(0, 0, 1e-59, 1e-59), (-1e60, -1e60, 1e60, 1e60), (0, 0, 1e60, 1e-59), (1e9, 1e9, 1e9 + 1e-3, 2e9)],
)
def test_domains_of_any_size_have_a_page(bounds):
    text = page.page_text(sdp.Flat((2, 2)).release([], sdp.Domain(bounds), epsilon=1))
    assert "--ratio: " in text
    assert "inf" not in re.findall(r'value="([^"]*)"', text)


def test_policy_names_the_scripts_and_the_style_by_their_hashes():
    text = page.page_text(release_of("kd", REGION))
    (policy,) = re.findall(r'Content-Security-Policy" content="([^"]*)"', text)
    assert "unsafe" not in policy
    assert policy.startswith("default-src 'none'; ")
    scripts = re.findall(r"<script(?: type=\"module\")?>(.*?)</script>", text, re.DOTALL)
    (style,) = re.findall(r"<style>(.*?)</style>", text, re.DOTALL)
    digests = [base64.b64encode(hashlib.sha256(part.encode()).digest()).decode() for part in (*scripts, style)]
    assert re.findall(r"'sha256-([^']*)'", policy) == digests
    assert len(digests) == 3
    assert "\r" not in text  # browsers change these before they compute a hash


def test_nothing_in_the_page_needs_an_inline_style_or_handler():
    """The policy refuses both; leaflet.js has none in its strings either."""
    text = page.page_text(release_of("flat", REGION), boundaries=REGION)
    assert not re.search(r"<[^<>]*\s(style|on[a-z]+)=", text)


def test_boundaries_come_with_a_switch():
    release = release_of("flat")
    with_, without = page.page_text(release, boundaries=REGION), page.page_text(release)
    assert 'id="boundaries"' in with_
    assert 'id="boundaries"' not in without
    assert '"boundaries":null' in without


def test_words_with_hyphens_stay_whole():
    assert page._words("ε (add-remove one)") == 'ε (<span class="whole">add-remove</span> one)'
    assert page._words("<b-c>") == '<span class="whole">&lt;b-c&gt;</span>'
    assert page._words("a - b") == "a - b"


def test_parameters_are_written_in_words():
    for value, words in ((None, "none"), (True, "yes"), (False, "no"), ("add", "add"), ([1, 2], "[1, 2]")):
        assert page._value(value) == words
    text = page.page_text(release_of("flat"))
    assert "<dt>Parameter cell size</dt><dd>none</dd>" in text


def test_a_forged_parameter_does_not_replace_a_row():
    release = release_of("flat")
    forged = replace(release.privacy, parameters={"private": "yes"})
    text = page.page_text(replace(release, privacy=forged))
    assert "<dt>Private</dt><dd>no</dd>" in text
    assert "<dt>Parameter private</dt>" in text


def test_numbers_are_per_cell_where_cells_are_alike_and_else_per_square_kilometre():
    units = {
        name: page._data(release_of(name), 0.95)["per"]["unit"] for name in ("flat", "quadtree", "hierarchy", "kd")
    }
    assert units == {"flat": "cell", "quadtree": "cell", "hierarchy": "cell", "kd": "km2"}
    plain = sdp.KdTree(2).release([], sdp.Domain((0, 0, 8, 6)), epsilon=1)
    assert page._data(plain, 0.95)["per"] == {"unit": "map"}


def test_sizes_in_words():
    assert page.size_in_words(release_of("flat").estimate) == "1,073 cells of a grid of 37 × 29"
    assert page.size_in_words(release_of("quadtree").estimate) == "1,024 leaves of a tree of 5 levels"


def test_modules_become_one_script():
    module = 'import { a } from "./a.mjs";\nexport function b() {\n  return "export a";\n}\nexport const c = 1;\n'
    assert page._inlined(module) == 'function b() {\n  return "export a";\n}\nconst c = 1;\n'
