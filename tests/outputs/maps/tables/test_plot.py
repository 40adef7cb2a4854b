"""Maps of a table: one at a time, or several on one scale of colours, each with its marks, and one caption for all."""

from __future__ import annotations

import geopandas
import matplotlib
import matplotlib.pyplot as plt
import numpy as np
import pytest
import shapely

import spatialdp as sdp
from spatialdp.errors import ParameterError, ReleaseError
from spatialdp.outputs.maps.tables.plot import MOST_MAPS

matplotlib.use("Agg")

GRID = sdp.Domain((0, 0, 2, 1), crs="EPSG:4326").grid((8, 4))
KINDS = sdp.Categories({"theft": ["burglary", "shoplifting"], "assault": []})
HOURS = sdp.Time("2024-01-01", "2024-02-01", step="3 h", fold="hour of day")
HALVES = geopandas.GeoDataFrame(
    {"half": ["w", "w", "e"], "part": ["w1", "w2", "e1"]},
    geometry=[shapely.box(0, 0, 0.5, 1), shapely.box(0.5, 0, 1, 1), shapely.box(1, 0, 2, 1)],
    crs="EPSG:4326",
)
SPACES = {"cells": GRID, "zones": sdp.Zones(HALVES, levels=["half", "part"])}


@pytest.fixture(autouse=True)
def _closed():
    yield
    plt.close("all")


@pytest.fixture(scope="module", params=SPACES)
def release(request):
    rng = np.random.default_rng(2)
    times = np.datetime64("2024-01-01") + rng.integers(0, 31 * 24, 500).astype("timedelta64[h]")
    kinds = rng.choice(["burglary", "shoplifting", "assault"], 500, p=[0.7, 0.2, 0.1])
    rows = sdp.Rows(rng.uniform((0, 0), (2, 1), (500, 2)), time=times, kind=kinds)
    frame = sdp.Frame(SPACES[request.param], time=HOURS, kind=KINDS)
    return sdp.Table().release(rows, frame, epsilon=1, noise=sdp.SeededNoise(1))


def test_one_part_is_a_map_like_any_other(release):
    ax = release.plot(time=("06:00", "12:00"), kind="theft")
    assert ax.get_title(loc="left") == "time 06:00 to 12:00, kind theft"
    assert "would be ε = 1" in ax.get_xlabel()
    assert release.plot().get_title(loc="left") == ""
    assert release.plot(kind="theft", title="Thefts").get_title(loc="left") == "Thefts"
    own = plt.figure().add_subplot()
    assert release.plot(own, kind="theft") is own


def test_lists_are_drawn_beside_each_other_on_one_scale(release):
    axes = release.plot(kind=["theft", "assault", "burglary"])
    assert axes.shape == (3,)
    assert [ax.get_title(loc="left") for ax in axes] == ["kind theft", "kind assault", "kind burglary"]
    scales = [painted(ax).norm for ax in axes]
    assert len({(norm.vmin, norm.vmax) for norm in scales}) == 1
    alone = [painted(release.plot(kind=kind)).norm.vmax for kind in ("theft", "assault", "burglary")]
    assert scales[0].vmax == pytest.approx(max(alone))
    figure = axes[0].figure
    assert len(figure.axes) == 4  # one colour bar
    assert "NOT PRIVATE" in "".join(text.get_text() for text in figure.texts)


def painted(ax):
    """What has the colours of a map."""
    return next(each for each in (*ax.images, *ax.collections) if each.get_array() is not None)


def test_two_lists_are_rows_and_columns(release):
    axes = release.plot(kind=["theft", "assault"], time=["00:00", "12:00", "18:00"], title="All")
    assert axes.shape == (2, 3)
    assert axes[1, 2].get_title(loc="left") == "kind assault, time 18:00"
    assert axes[0, 0].get_position().y0 > axes[1, 0].get_position().y0
    assert axes[0, 0].figure.get_suptitle() == "All"
    marks = [each for each in axes[0, 0].artists if type(each).__name__ == "NoiseMarks"]
    assert marks


@pytest.mark.parametrize("view", ["uncertainty", "half-width"])
def test_views_of_uncertainty_are_drawn_too(release, view):
    assert release.plot(kind=["theft", "assault"], view=view).shape == (2,)
    with pytest.raises(ReleaseError, match="no intervals"):
        release.non_negative().plot(kind=["theft", "assault"], view=view)


def test_biased_tables_have_no_marks(release):
    ax = release.non_negative().plot(kind=["theft", "assault"])[0]
    assert not [each for each in ax.artists if type(each).__name__ == "NoiseMarks"]
    assert not ax.figure.legends


def test_a_scale_bar_stands_once(release):
    axes = release.plot(kind=["theft", "assault"])
    bars = [each for ax in axes for each in ax.artists if type(each).__name__ == "AnchoredSizeBar"]
    assert [bar.axes for bar in bars] == [axes[-1]]
    axes = release.plot(kind=["theft", "assault"], scale_bar=False)
    assert not [each for ax in axes for each in ax.artists if type(each).__name__ == "AnchoredSizeBar"]


def test_words_lie_within_the_figure(release):
    figure = release.plot(kind=["theft", "assault"], time=["00:00", "12:00"], per="km2", title="Beside").flat[0].figure
    figure.canvas.draw()
    width, height = figure.get_size_inches() * figure.dpi
    for text in (*figure.texts, figure.axes[-1].yaxis.label, *figure.legends[0].get_texts()):
        box = text.get_window_extent()
        assert box.x0 >= 0
        assert box.y0 >= 0
        assert box.x1 <= width + 1
        assert box.y1 <= height + 1


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"kind": ["theft"] * (MOST_MAPS + 1)}, "at most 36 are drawn beside each other"),
        ({"kind": []}, "0 maps were asked for"),
        ({"kind": ["theft"], "colour": "red"}, "colour is neither an axis of this table nor an option of maps"),
        ({"kind": "theft", "zone": "w", "box": (0, 0, 1, 1)}, "all of space|is no axis|unexpected"),
    ],
)
def test_what_does_not_fit_is_refused(release, options, words):
    with pytest.raises((ParameterError, TypeError), match=words):
        release.plot(**options)
    with pytest.raises(ParameterError, match="ax was given, but kind is a list"):
        release.plot(plt.figure().add_subplot(), kind=["theft"])


def test_a_dollar_sign_in_a_category_is_no_formula():
    kinds = ["$0-$25k", "$\\frac{1$"]
    release = sdp.Table().release(sdp.Rows([], kind=[]), sdp.Frame(GRID, kind=sdp.Categories(kinds)), epsilon=1)
    axes = release.plot(kind=kinds, title="$\\frac{1$")
    axes[0].figure.canvas.draw()
    assert axes[0].get_title(loc="left") == f"kind {kinds[0]}"
    release.plot(kind=kinds[1]).figure.canvas.draw()
