"""Answers of tables as rows: all combinations of what is asked, with the numbers that Python gives."""

from __future__ import annotations

import click
import geopandas
import numpy as np
import pytest
import shapely

import spatialdp as sdp
from spatialdp.cli.tables import answer_table, require_table
from spatialdp.privacy.statement import NOT_PRIVATE

GRID = sdp.Domain((0, 0, 4, 3), crs="EPSG:4326", region=shapely.box(0, 0, 3, 3), region_cells="centres").grid((4, 3))
KINDS = sdp.Categories({"theft": ["burglary", "shoplifting"], "assault": []}, levels=("class", "kind"))
DAYS = sdp.Time("2024-01-01", "2024-01-15", step="1 d", levels=("week",))
FRAME = sdp.Frame(GRID, blocks=2, day=DAYS, kind=KINDS)


@pytest.fixture(scope="module")
def release():
    rng = np.random.default_rng(1)
    xy = rng.uniform((0, 0), (3, 3), (400, 2))
    times = np.datetime64("2024-01-01") + rng.integers(0, 14, 400)
    rows = sdp.Rows(xy, day=times, kind=rng.choice(KINDS.labels(), 400))
    return sdp.Table().release(rows, FRAME, epsilon=1, noise=sdp.SeededNoise(1))


def test_combinations_are_rows_with_space_first(release):
    asked = {"kind": ["theft", ("burglary", "assault")], "day": [("2024-01-01", "2024-01-03"), "2024-01-05"]}
    boxes = [(0.0, 0.0, 2.0, 1.0), (1.0, 1.0, 3.0, 3.0)]
    table = answer_table(release, asked | {"box": boxes}, [], 0.9)
    assert isinstance(table, geopandas.GeoDataFrame)
    assert list(table.columns[:6]) == ["xmin", "ymin", "xmax", "ymax", "day", "kind"]
    assert table["kind"].tolist()[:2] == ["theft", "burglary + assault"]
    assert table["day"].tolist()[::2][:2] == ["2024-01-01 to 2024-01-03", "2024-01-05"]
    assert table["estimate"].to_numpy() == pytest.approx(release.answer(box=boxes, **asked).ravel())
    ends = release.interval(level=0.9, box=boxes, **asked).reshape(-1, 2)
    assert table[["lower", "upper"]].to_numpy() == pytest.approx(ends)
    assert shapely.area(table.geometry.to_numpy())[[0, -1]].tolist() == [2, 4]


def test_all_parts_of_levels_are_those_of_marginals(release):
    table = answer_table(release, {}, [("day", "week"), ("kind", "class")], 0.95)
    expected = release.marginal(day="week", kind="class")
    for name in ("day", "kind", "estimate", "lower", "upper"):
        assert table[name].tolist() == expected[name].tolist()
    mixed = answer_table(release, {"day": ["2024-01-02"]}, [("kind", None)], 0.95)
    assert mixed["estimate"].to_numpy() == pytest.approx(release.answer(day="2024-01-02", kind=KINDS.labels()))
    assert answer_table(release, {}, [], 0.95)["estimate"].tolist() == [release.answer()]


@pytest.mark.parametrize("level", ["cells", "blocks of 2", None])
def test_cells_and_blocks_have_their_edges(release, level):
    table = answer_table(release, {}, [("box", level)], 0.95)
    boxes = table[["xmin", "ymin", "xmax", "ymax"]].to_numpy()
    assert table["estimate"].to_numpy() == pytest.approx(release.answer(box=boxes.tolist()))
    assert len(table) == (4 if level == "blocks of 2" else 9)


def test_intervals_of_boxes_that_cut_cells_are_about_what_was_asked(release):
    asked = {"box": [(0.5, 0, 1, 1)]}
    wide, narrow = (answer_table(release, asked, [], 0.95, about).iloc[0] for about in ("truth", "noise"))
    assert wide["estimate"] == narrow["estimate"]
    _, high = release.interval(box=(0, 0, 1, 1))  # the cell that is cut, as a whole
    assert (wide["lower"], wide["upper"]) == (0, high)
    assert narrow["upper"] - narrow["lower"] < wide["upper"]


@pytest.mark.parametrize(
    ("queries", "by", "words"),
    [
        ({}, [("nix", None)], "the axes of this table are box, day, kind"),
        ({"kind": ["theft"]}, [("kind", None)], "asked for twice"),
        ({"zone": ["A"]}, [], "the space of this table is cells"),
        ({}, [("zone", "county")], "the space of this table is cells"),
    ],
)
def test_what_does_not_fit_is_refused(release, queries, by, words):
    with pytest.raises(click.UsageError, match=words):
        answer_table(release, queries, by, 0.95)


def test_too_many_answers_are_refused(release, monkeypatch):
    monkeypatch.setattr("spatialdp.cli.tables._MOST_ROWS", 20)
    with pytest.raises(click.UsageError, match="27 answers were asked for"):
        answer_table(release, {}, [("box", None), ("kind", None)], 0.95)


def test_tables_of_zones_are_asked_by_code():
    zones = sdp.Zones.from_codes(["A1", "A2", "B1"], None, {"state": 1, "county": 2})
    frame = sdp.Frame(zones, kind=KINDS)
    rows = sdp.Rows(sdp.Codes(["A1"] * 3), kind=["assault"] * 3)
    release = sdp.Table().release(rows, frame, epsilon=100, noise=sdp.SeededNoise(1))
    table = answer_table(release, {"zone": ["A", ("A1", "B1")]}, [("kind", "kind")], 0.95)
    assert table["zone"].tolist() == ["A"] * 3 + ["A1 + B1"] * 3
    found = dict(zip(zip(table["zone"], table["kind"], strict=True), table["estimate"].round(), strict=True))
    assert {pair for pair, estimate in found.items() if estimate} == {("A", "assault"), ("A1 + B1", "assault")}
    assert set(table["privacy"]) == {NOT_PRIVATE}
    with pytest.raises(click.UsageError, match="the space of this table is zones"):
        answer_table(release, {"box": [(0, 0, 1, 1)]}, [], 0.95)


def test_other_releases_are_no_tables():
    release = sdp.Flat((2, 2)).release([], sdp.Domain((0, 0, 1, 1)), epsilon=1)
    with pytest.raises(click.UsageError, match="is no table"):
        require_table(release)
