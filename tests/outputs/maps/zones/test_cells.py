"""Choropleth maps: zones of a level with their estimates, noise and areas, with holes and outlines."""

from __future__ import annotations

import geopandas
import matplotlib
import matplotlib.pyplot as plt
import numpy as np
import pytest
import shapely

import spatialdp as sdp
from spatialdp.errors import ParameterError, ReleaseError
from spatialdp.outputs.maps.cells import Per, map_cells, measured
from spatialdp.outputs.maps.ground import square_kilometres
from tests.helpers.zone_releases import release_of, zones_of

matplotlib.use("Agg")


@pytest.fixture(autouse=True)
def _closed():
    yield
    plt.close("all")


@pytest.mark.parametrize("level", ["state", "county", "tract", 2, None])
def test_values_and_half_widths_are_those_of_the_zones(level):
    release = release_of(zones_of())
    cells = map_cells(release.estimate, level)
    codes = release.zones.codes[cells.zones.nodes].tolist()
    assert cells.values == pytest.approx(release.answer(codes))
    noise = release.interval(codes, about="noise")
    assert cells.half_widths == pytest.approx((noise[:, 1] - noise[:, 0]) / 2)
    assert np.array_equal(cells.within_noise, noise[:, 0] < 0)


def test_densities_divide_by_the_areas_on_the_ground():
    release = release_of(zones_of())
    cells, counts = measured(map_cells(release.estimate)), map_cells(release.estimate)
    assert cells.per is Per.KM2
    assert cells.areas == pytest.approx(square_kilometres(cells.domain, cells.boxes), rel=1e-3)  # the zones are boxes
    assert cells.values * cells.areas == pytest.approx(counts.values)
    shares = measured(map_cells(release.estimate), "map")
    assert shares.areas.sum() == pytest.approx(1000)


def test_units_name_the_level():
    release = release_of(zones_of())
    assert measured(map_cells(release.estimate, "county"), "cell").unit == "records per county"
    assert measured(map_cells(release.estimate, "county"), "km2", "persons").unit == "persons per km²"


def test_outlines_go_down_as_far_as_they_stay_few():
    cells = map_cells(release_of(zones_of()).estimate)
    assert [cells.outlined(most) for most in (1000, 9, 4, 3)] == [3, 2, 1, 0]
    assert len(cells.outlines(1)) == 3
    assert map_cells(release_of(zones_of()).estimate, "state").outlined(1000) == 1


def test_a_map_has_one_polygon_for_each_zone_with_its_holes():
    ring = shapely.Polygon(shapely.box(0, 0, 9, 9).exterior, [shapely.box(3, 3, 6, 6).exterior])
    parts = shapely.MultiPolygon([shapely.box(10, 0, 12, 2), shapely.box(10, 6, 12, 9)])
    frame = geopandas.GeoDataFrame({"zone": ["ring", "parts"]}, geometry=[ring, parts])
    release = sdp.ZoneTree().release(sdp.Codes(["parts"] * 5), sdp.Zones(frame, levels=["zone"]), epsilon=100)
    ax = release.plot(per="cell", mark_noise=False, lines=0)
    assert ax.collections[0].get_array().tolist() == pytest.approx(release.answer(["parts", "ring"]))
    ax.figure.canvas.draw()
    picture = np.asarray(ax.figure.canvas.buffer_rgba())[::-1]
    for place, painted in {(1, 4): True, (4, 4): False, (11, 1): True, (11, 4): False, (11, 8): True}.items():
        x, y = ax.transData.transform(place).astype(int)
        assert bool((picture[y, x, :3] < 255).any()) is painted, place


@pytest.mark.parametrize("view", ["estimate", "uncertainty", "half-width"])
@pytest.mark.parametrize("level", ["state", "tract"])
def test_every_view_of_every_level_is_drawn(view, level):
    ax = release_of(zones_of()).plot(view=view, level=level, title="Tracts")
    ax.figure.canvas.draw()
    assert "ε = 1" in ax.get_xlabel()


def test_many_zones_are_painted_on_pixels(monkeypatch):
    from spatialdp.outputs.maps import plot

    monkeypatch.setattr(plot, "_MOST_POLYGONS", 3)
    ax = release_of(zones_of()).plot()
    assert len(ax.images) == 1


def test_marks_speak_of_zones_and_biased_maps_have_none():
    release = release_of(zones_of())
    texts = release.plot().get_legend().get_texts()
    assert "of the empty zones" in " ".join(texts[0].get_text().split())
    biased = release.non_negative().plot()
    assert biased.get_legend() is None
    assert "cannot be marked" in " ".join(biased.get_xlabel().split())


def test_a_caption_says_first_which_totals_are_exact():
    zones = zones_of()
    release = sdp.ZoneTree(invariants=["state"]).release(sdp.Codes(["A1a"] * 3 + ["C"]), zones, epsilon=1)
    caption = " ".join(release.plot(level="state").get_xlabel().split())
    assert "not plain ε-DP: state totals are exact" in caption
    assert "This is not ε-differential privacy in the plain sense" in caption


def test_levels_that_are_not_there_and_codes_without_polygons_are_refused():
    with pytest.raises(ParameterError, match="levels of these zones"):
        release_of(zones_of()).plot(level="parish")
    with pytest.raises(ReleaseError, match="codes without polygons"):
        release_of(zones_of(geometry=False)).plot()
