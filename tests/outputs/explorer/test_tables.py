"""The maps of a table on a page: which can be chosen, and that each has its own numbers, equal ones kept once."""

from __future__ import annotations

import geopandas
import pytest
import shapely

import spatialdp as sdp
from spatialdp.errors import ReleaseError
from spatialdp.outputs.explorer import tables
from spatialdp.outputs.explorer.data import estimate_data
from spatialdp.outputs.explorer.page import page_text
from spatialdp.outputs.explorer.tables import choices_in_html, parts_of_table, table_maps

GRID = sdp.Domain((0, 0, 2, 1), crs="EPSG:4326").grid((4, 2))
KINDS = sdp.Categories({"theft": ["burglary", "shoplifting"], "<b>assault</b>": []})
DAYS = sdp.Time("2024-03-30", "2024-04-02", step="1 d", zone="Europe/Vienna", levels=("month",))
HALVES = geopandas.GeoDataFrame(
    {"half": ["w", "w", "e"], "part": ["w1", "w2", "e1"]},
    geometry=[shapely.box(0, 0, 0.5, 1), shapely.box(0.5, 0, 1, 1), shapely.box(1, 0, 2, 1)],
    crs="EPSG:4326",
)


def release_of(space=GRID, biased=False, **axes):
    rows = sdp.Rows([], **{name: [] for name in axes})
    release = sdp.Table().release(rows, sdp.Frame(space, **axes), epsilon=1, noise=sdp.SeededNoise(3))
    return release.non_negative() if biased else release


def test_all_parts_can_be_chosen_each_once():
    offered = parts_of_table(release_of(day=DAYS, kind=KINDS), 8)
    assert [each.name for each in offered] == ["day", "kind"]
    assert [len(each.nodes) for each in offered] == [1 + 2 + 3, 1 + 2 + 2]
    assert [label for _, parts in offered[1].by_level for _, label in parts] == [
        "all categories",
        "theft",
        "<b>assault</b>",
        "burglary",
        "shoplifting",
    ]
    words = choices_in_html(offered)
    assert "&lt;b&gt;assault&lt;/b&gt;" in words
    assert "<b>" not in words
    assert "<option>2024-03-30</option>" in words
    assert choices_in_html(parts_of_table(release_of(), 8)) == ""


def test_the_finest_parts_of_the_longest_axis_are_left_out_first(monkeypatch):
    release = release_of(day=DAYS, kind=KINDS)
    monkeypatch.setattr(tables, "MOST_MAPS", 20)
    day, kind = parts_of_table(release, 8)
    assert (day.levels, day.left_out, kind.left_out) == (2, True, False)
    assert f"Not on this page, but in the release: day by {DAYS.names[-1]}." in choices_in_html([day, kind])
    monkeypatch.setattr(tables, "LARGEST_PAGE", 8)
    assert [len(each.nodes) for each in parts_of_table(release, 8)] == [1, 1]


@pytest.mark.parametrize("biased", [False, True])
def test_every_map_has_its_own_numbers_and_equal_ones_are_kept_once(biased):
    release = release_of(kind=KINDS, biased=biased)
    first = release.at()
    base, offered = estimate_data(first.estimate), parts_of_table(release, 8)
    made = table_maps(release, first, base, offered)
    queries = [{}, {"kind": "theft"}, {"kind": "<b>assault</b>"}, {"kind": "burglary"}, {"kind": "shoplifting"}]
    for entry, query in zip(made["maps"], queries, strict=True):
        changed = {name: made["pool"][place] for name, place in entry["estimate"].items()}
        assert base | changed == estimate_data(release.at(**query).estimate)
    assert made["maps"][0]["estimate"] == {}
    if not biased:  # noise is that of one category in three of the maps
        noise = [entry["estimate"]["noise"] for entry in made["maps"][2:]]
        assert len(set(noise)) == 1


def test_maps_of_zones_have_scales_for_all_levels_and_no_polygons():
    release = release_of(sdp.Zones(HALVES, levels=["half", "part"]), kind=KINDS)
    first = release.at()
    made = table_maps(release, first, estimate_data(first.estimate), parts_of_table(release, 6))
    assert {name for entry in made["maps"] for name in entry["estimate"]} <= {"values", "variances", "kurtosis"}
    assert all(len(entry["scales"]) == 3 for entry in made["maps"])


def test_pages_say_what_was_counted_and_how_to_choose():
    text = page_text(release_of(day=DAYS, kind=KINDS))
    assert "72 cells of a table, 8 (box) × 3 (day) × 3 (kind)" in text
    assert text.count('<select class="part"') == 2
    assert "Choose the time and the category" in text
    assert page_text(release_of(day=DAYS)) == page_text(release_of(day=DAYS))
    assert 'class="part"' not in page_text(release_of())


def test_zones_without_polygons_have_no_page():
    zones = sdp.Zones.from_codes(["a1", "a2"], None, {"letter": 1, "code": 2})
    release = sdp.Table().release(sdp.Rows(sdp.Codes([]), kind=[]), sdp.Frame(zones, kind=KINDS), epsilon=1)
    with pytest.raises(ReleaseError, match="are codes"):
        page_text(release)


def test_models_of_tables_have_pages_without_intervals():
    frame = sdp.Frame(GRID, kind=KINDS)
    release = sdp.PrivBayes().release(sdp.Rows([[0.5, 0.5]], kind=["burglary"]), frame, epsilon=1)
    assert "so it has no intervals" in page_text(release)
