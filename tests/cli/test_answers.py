"""Tables of answers; tests/cli/commands/test_query.py and test_zones.py have the tests of the command."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import spatialdp as sdp
from spatialdp.cli.answers import Ask, answer_codes, answer_level, with_answers
from tests.helpers.zone_releases import release_of, zones_of

ASK = Ask(0.9, "truth", places=False)


def test_answers_stand_beside_their_queries():
    release = sdp.Flat((2, 2)).release([], sdp.Domain((0, 0, 1, 1)), epsilon=1, noise=sdp.SeededNoise(1))
    frame = with_answers(pd.DataFrame({"name": ["a"]}), release, [5.0], lambda: np.array([[4.0, 6.0]]))
    assert frame.iloc[0].tolist()[:4] == ["a", 5.0, 4.0, 6.0]
    assert "NOT PRIVATE" in frame["privacy"][0]


def test_zones_have_polygons_only_where_a_file_needs_them():
    release = release_of(zones_of())
    codes = (("A1", "A"), ("C",))
    assert "geometry" not in answer_codes(release, codes, None, ASK, together=False)
    placed = answer_codes(release, codes, None, Ask(0.9, "truth", places=True), together=False)
    assert [area.area for area in placed.geometry] == [8.0, 14.0, 4.0]  # a zone and the zone that it lies in
    together = answer_codes(release, codes, None, Ask(0.9, "truth", places=True), together=True)
    assert [area.area for area in together.geometry] == [14.0, 4.0]
    assert together["estimate"].to_numpy() == pytest.approx(release.answer_set([["A"], ["C"]]))


@pytest.mark.parametrize("about", ["truth", "noise"])
def test_levels_are_answered_as_the_release_answers_codes(about):
    release = release_of(zones_of())
    table = answer_level(release, "county", Ask(0.9, about, places=False))
    assert table["zone"].tolist() == ["C", "A1", "A2", "B1"]
    ends = release.interval(table["zone"].tolist(), 0.9, about=about)
    assert table[["lower", "upper"]].to_numpy() == pytest.approx(ends)


def test_biased_releases_have_no_intervals(capsys):
    table = answer_level(release_of(zones_of()).rounded(), "state", ASK)
    assert table[["lower", "upper"]].isna().all(axis=None)
    assert "has no intervals" in capsys.readouterr().err
