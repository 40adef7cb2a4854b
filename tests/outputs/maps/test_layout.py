"""No two words of a map overlap, and none leaves the figure, at any size."""

from __future__ import annotations

import contextlib
import itertools

import matplotlib.pyplot as plt
import numpy as np
import pytest
import shapely
from matplotlib.text import Text
from mpl_toolkits.axes_grid1.anchored_artists import AnchoredSizeBar

import spatialdp as sdp
from spatialdp.outputs.maps.save import save_figure
from tests.helpers.pictures import labels_of, overlaps

TITLE = "Homes in the county by a grid of cells, without those that were built before the first census"
DOMAINS = {
    "square": sdp.Domain((0, 0, 1, 1)),
    "degrees": sdp.Domain((-10, 40, 20, 62), crs="EPSG:4326"),
    "flat": sdp.Domain((500_000, 5_000_000, 530_000, 5_002_000), crs="EPSG:32633"),
    "tall": sdp.Domain((500_000, 5_000_000, 501_000, 5_020_000), crs="EPSG:32633"),
    "line": sdp.Domain((0, 0, 1000, 1)),
    "tiny": sdp.Domain((500_000, 5_000_000, 500_000.01, 5_000_000.008), crs="EPSG:32633"),
    "region": sdp.Domain((0, 0, 8, 6), crs="EPSG:4326", region=shapely.Point(4, 3).buffer(2.5)),
}
LOOKS = {
    "plain": {},
    "title": {"title": TITLE},
    "uncertainty": {"view": "uncertainty", "title": TITLE},
    "half-width, linear": {"view": "half-width", "log": False},
    "negative": {"limits": (-3e6, 7e6), "title": "Negative numbers"},
    "small numbers": {"limits": (-3e-6, 7e-6), "log": False},
    "bare": {"caption": False, "scale_bar": False, "mark_noise": False},
}
SIZES = [(3, 2.5), (2.5, 6), (12, 2.5), (9, 7)]
PAIRS = [*((name, "title") for name in DOMAINS), *(("degrees", look) for look in LOOKS if look != "title")]


def release_on(domain, mechanism=None, epsilon=0.5):
    xmin, ymin, _, _ = domain.bounds
    records = np.random.default_rng(2).normal(0.5, 0.2, (4000, 2)) * domain.size + (xmin, ymin)
    return (mechanism or sdp.Flat((24, 16))).release(records, domain, epsilon=epsilon, noise=sdp.SeededNoise(5))


@pytest.mark.unmeasured
@pytest.mark.parametrize(("turn", "name", "look"), [(turn, *pair) for turn, pair in enumerate(PAIRS)])
def test_words_do_not_overlap_and_stay_in_the_figure(turn, name, look):
    """In the smallest figure and in one of the others, in turn; `make audit` has all sizes."""
    words_are_apart(name, look, [SIZES[0], SIZES[1 + turn % 3]])


@pytest.mark.audit
@pytest.mark.parametrize(("name", "look"), PAIRS)
def test_words_do_not_overlap_in_figures_of_all_sizes(name, look):
    words_are_apart(name, look, SIZES)


def words_are_apart(name, look, sizes):
    ax = release_on(DOMAINS[name]).plot(**LOOKS[look])
    figure = ax.figure
    natural = tuple(figure.get_size_inches())
    for size in (natural, *sizes):
        figure.set_size_inches(*size)
        figure.canvas.draw()
        labels = labels_of(ax)
        assert not overlaps(labels), size
        frame = figure.bbox.padded(1)
        assert not [text for text, box in labels.items() if box.x0 < frame.x0 or box.x1 > frame.x1], size
        if size[1] >= 4:
            assert not [text for text, box in labels.items() if box.y0 < frame.y0 or box.y1 > frame.y1], size


@pytest.mark.parametrize("name", DOMAINS)
def test_a_figure_of_its_own_has_the_height_that_its_contents_need(name):
    ax = release_on(DOMAINS[name]).plot(title="A title")
    ax.figure.canvas.draw()
    boxes = [*labels_of(ax).values(), ax.get_window_extent()]
    lowest, highest = min(box.y0 for box in boxes), max(box.y1 for box in boxes)
    height = ax.figure.bbox.height
    assert 0 <= lowest < 25
    assert 0 <= height - highest < 25
    width, height = DOMAINS[name].size
    ratio = 1 / 20 if name == "line" else height * ax.get_aspect() / width
    assert ax.get_window_extent().height / ax.get_window_extent().width == pytest.approx(ratio, rel=0.02)


FILES = [((6, 5), 40), ((9, 4), 80), ((6, 5), 300)]
MORE_FILES = [((9, 4), 40), ((6, 5), 80), ((9, 4), 300)]  # in `make audit`


@pytest.mark.unmeasured
@pytest.mark.parametrize("files", [FILES, pytest.param(MORE_FILES, marks=pytest.mark.audit)], ids=["some", "others"])
@pytest.mark.parametrize("suffix", [".png", ".svg", ".pdf"])
def test_words_do_not_overlap_in_files_of_any_kind_and_resolution(suffix, files, tmp_path, monkeypatch):
    ax = release_on(DOMAINS["degrees"], sdp.KdTree(2)).plot(title=TITLE)
    figure, seen = ax.figure, []

    def look(*_, dpi, **__):
        figure.set_dpi(dpi if suffix == ".png" else 72)
        figure.canvas.draw()
        seen.append(overlaps(labels_of(ax)))
        figure.set_dpi(100)

    for size, dpi in files:
        figure.set_size_inches(*size)
        save_figure(figure, tmp_path / f"map{suffix}", dpi=dpi)
        with monkeypatch.context() as patch:
            patch.setattr(figure, "savefig", look)
            with contextlib.suppress(ValueError):  # there is nothing to write
                save_figure(figure, tmp_path / f"map{suffix}", dpi=dpi)
    assert seen == [[]] * 3
    assert figure.dpi == 100


@pytest.mark.parametrize("size", [(5, 4), (9, 3), (12, 12)])
def test_words_on_somebody_elses_axes_do_not_overlap(size):
    figure, (left, right) = plt.subplots(1, 2, figsize=size, layout="constrained")
    figure.canvas.draw()
    release = release_on(DOMAINS["degrees"])
    for ax in (left, right):
        release.plot(ax, title="Homes", caption=size[0] > 5)
    figure.canvas.draw()
    for ax in (left, right):
        assert not overlaps(labels_of(ax)), size
    assert figure.get_layout_engine() is not None


def test_an_overlap_would_be_noticed():
    ax = release_on(DOMAINS["degrees"]).plot(title=TITLE)
    ax.figure.canvas.draw()
    (bar,) = (artist for artist in ax.get_children() if isinstance(artist, AnchoredSizeBar))
    ax.figure.set_layout_engine("none")
    bar.set_bbox_to_anchor((0.5, 0.05), transform=ax.figure.transFigure)
    assert overlaps(labels_of(ax))
    assert all(isinstance(pair, tuple) for pair in overlaps(labels_of(ax)))


def test_ticks_of_a_short_bar_are_fewer():
    ax = release_on(DOMAINS["square"]).plot(limits=(0, 1000))
    figure, counts = ax.figure, []
    for height in (9, 2.5, 1.6):
        figure.set_size_inches(8, height)
        figure.canvas.draw()
        counts.append(len([tick for tick in figure.axes[1].get_yticklabels() if tick.get_text()]))
    assert counts == sorted(counts, reverse=True)
    assert counts[0] > counts[-1] >= 2


def test_letters_shrink_only_where_there_is_no_room():
    ax = release_on(DOMAINS["square"]).plot()
    sizes = []
    for size in ((8, 9), (3, 2.5), (2, 1.6)):
        ax.figure.set_size_inches(*size)
        ax.figure.canvas.draw()
        sizes.append(ax.xaxis.label.get_fontsize())
    assert sizes[0] == 8
    assert sizes[0] > sizes[1] > sizes[2] >= 5
    assert isinstance(ax.xaxis.label, Text)


def test_every_pair_of_labels_is_looked_at():
    ax = release_on(DOMAINS["degrees"]).plot(title=TITLE)
    ax.figure.canvas.draw()
    names = list(labels_of(ax))
    assert len(names) > 8  # title, ticks, label, marks, scale bar, caption
    assert len(list(itertools.combinations(names, 2))) > 28
