"""Marks, outlines, scale bars and words on a map."""

from __future__ import annotations

import math

import geopandas
import numpy as np
import pytest
import shapely

import spatialdp as sdp
from spatialdp.errors import CRSMismatchError, FileFormatError, ParameterError
from spatialdp.outputs.maps.ground import metres_per_unit
from tests.helpers.pictures import pixels
from tests.helpers.sources import ZeroNoise


def test_marks_fade_and_hatch_their_cells_only():
    domain = sdp.Domain((0, 0, 2, 1))
    release = sdp.Flat((2, 1)).release([[1.5, 0.5]] * 90, domain, epsilon=1, noise=ZeroNoise())
    halves = []
    for marked in (True, False):
        ax = release.plot(limits=(-10, 100), mark_noise=marked)
        picture, box = pixels(ax), ax.get_window_extent()
        rows = slice(int(picture.shape[0] - box.y1) + 9, int(picture.shape[0] - box.y0) - 9)
        for share in (0, 0.5):
            start = box.x0 + share * box.width
            halves.append(picture[rows, int(start) + 9 : int(start + box.width / 2) - 9].reshape(-1, 4).astype(float))
    hatched, with_records, plain, same = halves
    assert np.array_equal(np.unique(with_records, axis=0), np.unique(same, axis=0))
    assert len(np.unique(same, axis=0)) == len(np.unique(plain, axis=0)) == 1
    assert len(np.unique(hatched, axis=0)) > 3
    lines = hatched[:, :3].sum(axis=1)
    assert np.median(lines) > plain[0, :3].sum()  # faded
    assert np.median(lines) - lines.min() < 0.3 * 3 * 255  # calm: lines are not much darker than what is between them


def test_boundaries_are_reprojected(tmp_path):
    domain = sdp.Domain((0, 0, 8, 6), crs="EPSG:4326")
    release = sdp.Flat((4, 4)).release([], domain, epsilon=1)
    square = geopandas.GeoDataFrame(geometry=[shapely.box(1, 1, 2, 2), None], crs="EPSG:4326")
    square.to_crs("EPSG:3857").to_file(tmp_path / "square.gpkg")
    for given in (square, square.geometry, square.geometry[0], square.to_crs(3857), tmp_path / "square.gpkg"):
        (lines,) = release.plot(boundaries=given).collections
        (path,) = lines.get_paths()
        assert path.get_extents().extents == pytest.approx((1, 1, 2, 2), abs=1e-6)


def test_boundaries_that_do_not_fit_are_refused(tmp_path):
    release = sdp.Flat((4, 4)).release([], sdp.Domain((0, 0, 8, 6), crs="EPSG:4326"), epsilon=1)
    plain = sdp.Flat((4, 4)).release([], sdp.Domain((0, 0, 8, 6)), epsilon=1)
    square = geopandas.GeoSeries([shapely.box(1, 1, 2, 2)])
    with pytest.raises(CRSMismatchError, match="boundaries have none"):
        release.plot(boundaries=square)
    with pytest.raises(CRSMismatchError, match="but the domain has none"):
        plain.plot(boundaries=square.set_crs(4326))
    for wrong in (shapely.Point(1, 1), [], "polygon", 5):
        with pytest.raises((ParameterError, FileFormatError), match=r"polygons or lines|cannot be"):
            release.plot(boundaries=wrong)


@pytest.mark.parametrize(
    ("crs", "bounds", "metres"),
    [
        ("EPSG:4326", (10, 59, 14, 61), 111_320 * math.cos(math.radians(60))),
        ("EPSG:32633", (300_000, 5_000_000, 700_000, 5_200_000), 1.0),
        ("EPSG:2274", (2_100_000, 200_000, 2_300_000, 400_000), 0.3048),  # US feet
        ("EPSG:3857", (1_000_000, 8_300_000, 1_100_000, 8_450_000), math.cos(math.radians(60))),  # stretched metres
    ],
)
def test_scale_bar_is_as_long_as_it_says(crs, bounds, metres):
    from mpl_toolkits.axes_grid1.anchored_artists import AnchoredSizeBar

    domain = sdp.Domain(bounds, crs=crs)
    if crs == "EPSG:3857":  # the latitude in the middle, on a sphere
        north = (bounds[1] + bounds[3]) / 2 / 6_378_137
        metres = 1 / math.cosh(north)
    assert metres_per_unit(domain) == pytest.approx(metres, rel=0.01)
    ax = sdp.Flat((4, 4)).release([], domain, epsilon=1).plot()
    ax.figure.canvas.draw()
    (bar,) = (artist for artist in ax.get_children() if isinstance(artist, AnchoredSizeBar))
    (line,) = bar.size_bar.get_children()
    number, unit = bar.txt_label.get_text().replace(",", "").split()[:2]
    said = float(number) * {"m": 1, "km": 1000}[unit]
    assert line.get_width() * metres == pytest.approx(said, rel=0.01)
    assert 0.09 < line.get_width() / domain.size[0] <= 0.25
    shown = line.get_window_extent().width / ax.get_window_extent().width * domain.size[0]
    assert shown * metres == pytest.approx(said, rel=0.03)  # to the pixel


def test_no_scale_bar_where_lengths_are_not_known():
    release = sdp.Flat((4, 4)).release([], sdp.Domain((0, 0, 8, 6)), epsilon=1)
    before = len(release.plot(scale_bar=False).get_children())
    assert len(release.plot(scale_bar=True).get_children()) == before


def test_the_promise_is_written_in_words():
    release = sdp.Flat((4, 4)).release([], sdp.Domain((0, 0, 8, 6)), epsilon=0.5)
    told = release.plot().get_xlabel().replace("\n", " ")
    assert "ε = 0.5 (add-remove one record), flat" in told
    assert "at most e^ε = 1.649 (rounded up)" in told
    assert release.plot(caption=False).get_xlabel() == ""


def test_a_map_of_what_is_not_private_is_marked_even_without_a_caption():
    domain = sdp.Domain((0, 0, 8, 6))
    release = sdp.Flat((4, 4)).release([], domain, epsilon=0.5, noise=sdp.SeededNoise(1))
    label = release.plot(caption=False).xaxis.label
    assert label.get_text() == "NOT PRIVATE (seeded noise or true medians)"
    assert label.get_fontweight() == "bold"
    assert "would be ε = 0.5" in release.plot().get_xlabel().replace("\n", " ")
