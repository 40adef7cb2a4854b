"""The explorer's page in a notebook: a frame that holds the whole page, and no file."""

from __future__ import annotations

import html
import os
import re

import spatialdp as sdp
from spatialdp.outputs.explorer.notebook import NotebookPage
from spatialdp.outputs.explorer.page import page_text

RELEASE = sdp.Flat((4, 4)).release([], sdp.Domain((0, 0, 1, 1)), epsilon=1)


def test_without_a_path_the_page_is_shown_and_no_file_is_written(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    shown = RELEASE.explore(title="Homes")
    assert isinstance(shown, NotebookPage)
    assert os.listdir(tmp_path) == []
    assert shown.text == page_text(RELEASE, title="Homes")
    assert RELEASE.explore(tmp_path / "map.html") is None


def test_the_frame_holds_the_page_and_keeps_it_in(tmp_path):
    title = '"></iframe><script>alert(1)</script>'
    text = RELEASE.explore(title=title)._repr_html_()
    (source,) = re.findall(r'srcdoc="([^"]*)"', text)
    assert html.unescape(source) == page_text(RELEASE, title=title)
    assert text.count("<") == 2  # the frame begins and ends; all the rest is escaped
    assert 'sandbox="allow-scripts allow-forms"' in text
    assert "allow-same-origin" not in text
    assert "characters of HTML" in repr(RELEASE.explore())


def test_tables_say_how_large_they_are_and_where():
    kinds = sdp.Categories(["theft", "fraud"])
    codes = sdp.Zones.from_codes(["a1", "a2"], None, {"letter": 1, "code": 2})
    grid = sdp.Domain((0, 0, 1, 1), crs="EPSG:4326").grid((2, 2))
    for space, places, where in ((codes, sdp.Codes(["a1"]), "codes alone"), (grid, [[0.5, 0.5]], "EPSG:4326")):
        rows = sdp.Rows(places, kind=["theft"])
        words = sdp.Table().release(rows, sdp.Frame(space, kind=kinds), epsilon=1)._repr_html_()
        assert "cells of a table" in words
        assert where in words
