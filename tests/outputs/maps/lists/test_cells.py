"""Maps of lists: dots at the centres of cells, rings where a count may be noise alone, words on what was searched."""

from __future__ import annotations

import matplotlib
import matplotlib.pyplot as plt
import numpy as np
import pytest
import shapely
from matplotlib.colors import to_rgba

import spatialdp as sdp
from spatialdp.errors import ParameterError, ReleaseError
from spatialdp.outputs.maps.cells import map_cells, measured
from spatialdp.outputs.maps.lists.cells import searched_in_words

matplotlib.use("Agg")
DOMAIN = sdp.Domain((4, 50, 6, 51), crs="EPSG:4326")


@pytest.fixture(autouse=True)
def _closed():
    yield
    plt.close("all")


def release_of(domain=DOMAIN, shape=(2**30, 2**30), false=50, **options):
    records = np.repeat([[4.5, 50.5], [5.5, 50.25]], [200, 2000], axis=0)
    mechanism = sdp.Sparse(shape, false=false, **options)
    return mechanism.release(records, domain, epsilon=1, noise=sdp.SeededNoise(2))


def test_dots_are_larger_where_more_was_counted():
    cells = map_cells(release_of().estimate)
    places, diameters = cells.dots
    order = np.argsort(cells.values)
    assert np.all(np.diff(diameters[order]) >= 0)
    assert places[order[-2:]] == pytest.approx(np.array([[4.5, 50.5], [5.5, 50.25]]), abs=1e-6)
    assert cells.finest == 2**-30
    assert cells.alike
    assert cells.shape is None


def test_rings_are_the_cells_that_may_be_noise_alone():
    release = release_of()
    cells = measured(map_cells(release.estimate))
    assert 0 < cells.within_noise.sum() < release.estimate.n_cells
    ax = release.plot()
    rings, dots = ax.collections[:2]
    assert len(rings.get_offsets()) == cells.within_noise.sum()
    assert len(dots.get_offsets()) == (~cells.within_noise).sum()
    assert rings.get_facecolor().size == 0 or np.all(rings.get_facecolor()[:, 3] == 0)
    assert ax.get_legend() is not None
    plain = release.plot(mark_noise=False)
    assert len(plain.collections[1].get_offsets()) == release.estimate.n_cells
    assert to_rgba(plain.get_facecolor())[:3] == (1, 1, 1)


@pytest.mark.parametrize("view", ["estimate", "uncertainty", "half-width"])
def test_views_are_drawn(view):
    assert release_of().plot(view=view).collections


def test_caption_says_what_was_searched_and_what_is_missing():
    release = release_of()
    caption = release.plot().get_xlabel().replace("\n", " ")
    assert f"{release.estimate.threshold:g} records" in caption
    assert "empty cells are expected" in caption
    assert "Searched were 15,800 km²" in caption
    half = sdp.Domain(DOMAIN.bounds, crs=DOMAIN.crs, region=shapely.box(4, 50, 5, 51))
    assert "Searched were 7,9" in searched_in_words(release_of(half).estimate, "records")
    plain = release_of(sdp.Domain(DOMAIN.bounds)).estimate
    assert searched_in_words(plain, "records") == plain.in_words()


def test_raster_has_the_values_at_the_places_of_cells():
    estimate = release_of(shape=(8, 4)).estimate
    raster = map_cells(estimate).raster(estimate.values, DOMAIN)
    assert raster.count() == estimate.n_cells
    assert sorted(raster.compressed().tolist()) == sorted(estimate.values.tolist())


def test_lists_have_no_levels():
    with pytest.raises(ParameterError, match="no levels"):
        release_of().plot(level=2)


def test_biased_lists_have_no_marks():
    release = release_of(remeasure=0)
    assert release.plot().get_legend() is None
    with pytest.raises(ReleaseError, match="listed by its own noise"):
        release.plot(view="half-width")


def test_empty_lists_are_drawn():
    release = release_of(sdp.Domain((0, 0, 1, 1)), false=1e-9)
    assert release.estimate.n_cells == 0
    assert release.plot().collections
